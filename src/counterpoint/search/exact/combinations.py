"""Combinations: few enough of them are asked one by one, which no solver does faster."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.search.exact.cells import Options
from counterpoint.search.exact.leaves import Reach

MOST = 8192  # combinations that are asked one by one


def combinations_within(
    options: list[Options], which: list[Bools], reach: Reach, most: int | None = None
) -> tuple[Floats, Floats] | None:
    """Return all genomes (n, d) of some options within reach, and their distances (n,).

    None if there are more than `most` to look at, or than `MOST` if nobody says.
    """
    places = [np.flatnonzero(each) for each in which]
    if not all(len(each) for each in places):
        return np.empty((0, len(options))), np.empty(0)
    if count_combinations(options, places, reach.changes) > (MOST if most is None else most):
        return None
    parts = list(_parts(options, places, reach.changes))
    if not parts:
        return np.empty((0, len(options))), np.empty(0)
    tables = [_product(options, part, reach.distance) for part in parts]
    genomes = np.concatenate([table[0] for table in tables])
    return genomes, np.concatenate([table[1] for table in tables])


def count_combinations(options: list[Options], places: list[Ints], most: int) -> float:
    """Return how many combinations change at most so many features."""
    by_changes = np.ones(1)  # the combinations of the features so far, by their changes
    for each, own in zip(options, places, strict=True):
        n_own = float(each.is_own[own].any())
        by_changes = np.convolve(by_changes, [n_own, len(own) - n_own])
    return float(by_changes[: most + 1].sum()) if most >= 0 else 0.0


def _parts(options: list[Options], places: list[Ints], most: int) -> Iterator[list[Ints]]:
    """Yield the options of each set of features that may change together; no two overlap."""
    is_free = [bool(o.is_own[p].any()) and len(p) > 1 for o, p in zip(options, places, strict=True)]
    n_forced = sum(not o.is_own[p].any() for o, p in zip(options, places, strict=True))
    free = np.flatnonzero(is_free).tolist()
    if n_forced + len(free) <= most:
        yield places
        return
    # Every combination once: of each set of features those that change all of it.
    for size in range(most - n_forced + 1):
        for some in itertools.combinations(free, size):
            yield [
                p[o.is_own[p]]
                if is_free[j] and j not in some
                else p[~o.is_own[p]]
                if is_free[j]
                else p
                for j, (o, p) in enumerate(zip(options, places, strict=True))
            ]


def _product(options: list[Options], places: list[Ints], distance: float) -> tuple[Floats, Floats]:
    """Return all combinations of some options that are no farther than `distance`."""
    chosen, far = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    for each, own in zip(options, places, strict=True):
        if len(own) > 1 or each.shares[own[0]] > 0.0:
            farther = far[:, None] + each.shares[own]
            rows, columns = np.nonzero(farther <= distance)
            far = farther[rows, columns]
        else:
            rows, columns = np.arange(len(far)), np.zeros(len(far), dtype=np.int64)
        chosen = np.column_stack([chosen[rows], own[columns]])
    values = [each.values[chosen[:, j]] for j, each in enumerate(options)]
    return np.column_stack(values), far
