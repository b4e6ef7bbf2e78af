"""Measures: the paper's choice of ten, coverage, ranks; pure functions of stored objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import moocore
import numpy as np
from scipy.stats import binomtest, rankdata

from benchmarks.peers.subjects import Bools, Floats

N_BEST = 10
SIGNIFICANCE = 0.05
DIGITS = 10  # published values that differ beyond them are ties


class Rate(NamedTuple):
    """A share of `n`, and whether a one-sided binomial test finds it above one half."""

    covered: int
    n: int

    @property
    def value(self) -> float:
        """The share; not a number if there is nothing to cover."""
        return self.covered / self.n if self.n else float("nan")

    @property
    def is_significant(self) -> bool:
        """Whether more than half are covered, at the level 0.05."""
        if self.n == 0:
            return False
        test: Any = binomtest(self.covered, self.n, 0.5, alternative="greater")
        return bool(test.pvalue < SIGNIFICANCE)

    def __str__(self) -> str:
        """Return the rate as the paper prints it: ``0.92* (24)``."""
        if self.n == 0:
            return ""
        return f"{self.value:.2g}{'*' if self.is_significant else ''} ({self.n})"


def hypervolume(objectives: Floats, reference: Floats) -> float:
    """Return the hypervolume of points (n, m) strictly better than the reference (m,)."""
    inside = objectives[(objectives < reference).all(axis=1)]
    return float(moocore.hypervolume(inside, ref=reference)) if len(inside) else 0.0


def nondominated(objectives: Floats) -> Bools:
    """Return which points no other dominates; equal ones stay, shape (n,)."""
    if len(objectives) == 0:
        return np.zeros(0, dtype=bool)
    return np.asarray(moocore.is_nondominated(objectives, keep_weakly=True), dtype=bool)


def best_ten(objectives: Floats, n: int = N_BEST) -> list[int]:
    """Return the positions of the n points the paper reports of a larger set.

    Those that reach the target come first; what is missing, or too many, is decided by what adds
    most hypervolume. A point may be chosen twice, which only happens when no other adds anything.
    """
    if len(objectives) <= n:
        return list(range(len(objectives)))
    reached = [int(i) for i in np.flatnonzero(objectives[:, 0] <= 0)]
    if len(reached) > n:
        return _greedy(objectives, reached, [], n)
    return _greedy(objectives, list(range(len(objectives))), reached, n)


def _greedy(objectives: Floats, pool: list[int], chosen: list[int], n: int) -> list[int]:
    """Add points of a pool until there are n, each time the one that adds most hypervolume."""
    reference = np.array([0.5, 1.0, objectives[pool, 2].max() + 1.0, 1.0])
    while len(chosen) < n:
        volumes = [hypervolume(objectives[[*chosen, i]], reference) for i in pool]
        chosen = [*chosen, pool[int(np.argmax(volumes))]]
    return chosen


def dominated(points: Floats, by: Floats) -> Bools:
    """Return which points (n, m) are dominated by any of others (k, m); ties are not, (n,)."""
    points, by = points.round(DIGITS), by.round(DIGITS)
    no_worse = np.all(by[None] <= points[:, None], axis=2)
    better = np.any(by[None] < points[:, None], axis=2)
    return np.asarray((no_worse & better).any(axis=1))


def coverage(pairs: Sequence[tuple[Floats, Floats]]) -> Rate:
    """Return how many of the others' points ours dominate, pooled over pairs (others, ours).

    Only points that reach the target count, of the others only those that are not dominated among
    themselves, and only pairs where ours reach it at all.
    """
    covered = n = 0
    for others, ours in pairs:
        others = others[nondominated(others)]
        others, ours = others[others[:, 0] <= 0], ours[ours[:, 0] <= 0]
        if len(ours) and len(others):
            covered += int(dominated(others, ours).sum())
            n += len(others)
    return Rate(covered, n)


def ranks(volumes: Floats) -> Floats:
    """Return ranks along the last axis: 1 is the smallest volume, ties share their mean."""
    return np.asarray(rankdata(volumes, axis=-1), dtype=np.float64)
