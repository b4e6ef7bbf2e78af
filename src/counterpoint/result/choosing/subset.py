"""Subsets: choosing a few of many counterfactuals."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import InvalidInput
from counterpoint.evolution.indicators import hypervolume


def greatest_contribution(objectives: Floats, n: int, worst: Floats | None = None) -> Ints:
    """Return the positions of the paper's choice of n: valid ones first, then by hypervolume.

    Parameters
    ----------
    objectives : ndarray of shape (k, m)
        gap, distance, changes, implausibility, and the caller's own.
    n : int
        How many at most.
    worst : ndarray of shape (1, m - 2), optional
        Where hypervolume ends in distance, implausibility and the caller's own; 1 if None.

    Returns
    -------
    ndarray of shape (at most n,)
        Positions in the order they were chosen.
    """
    check_size(n)
    if len(objectives) <= n:
        return np.arange(len(objectives))
    valid = np.flatnonzero(objectives[:, 0] <= 0.0)
    is_plenty = len(valid) > n
    pool: Ints = valid if is_plenty else np.arange(len(objectives))
    chosen: list[int] = [] if is_plenty else valid.tolist()
    # The authors' reference: gaps are probabilities around 0.5, one more change than any has.
    ends = np.ones(2) if worst is None else worst[0]
    reference = np.array([0.5, ends[0], objectives[pool, 2].max() + 1.0, *ends[1:]])
    while len(chosen) < n:
        rest = [int(i) for i in pool if i not in chosen]
        volumes = [hypervolume(objectives[[*chosen, i]], reference) for i in rest]
        chosen.append(rest[int(np.argmax(volumes))])
    return np.array(chosen, dtype=np.int64)


def check_size(n: object) -> None:
    """Refuse what is no number of counterfactuals."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidInput(f"select needs a whole number of at least 1, got {n!r}.")
