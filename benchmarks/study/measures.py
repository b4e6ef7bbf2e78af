"""Measures of stored objectives beside the paper's coverage of published ones: pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import moocore
import numpy as np
from scipy.stats import rankdata

from benchmarks.peers.subjects import Bools, Floats
from benchmarks.study.coverage import Coverage, is_covered


def nondominated(objectives: Floats) -> Bools:
    """Return which points no other dominates; equal ones stay, shape (n,)."""
    if len(objectives) == 0:
        return np.zeros(0, dtype=bool)
    return np.asarray(moocore.is_nondominated(objectives, keep_weakly=True), dtype=bool)


def coverage(pairs: Sequence[tuple[Floats, Floats]]) -> Coverage:
    """Return how many of the others' points ours dominate, pooled over pairs (others, ours).

    Only points that reach the target count, of the others only those that are not dominated among
    themselves, and only pairs where ours reach it at all.
    """
    total = Coverage()
    for others, ours in pairs:
        others = others[nondominated(others)]
        others, ours = others[others[:, 0] <= 0], ours[ours[:, 0] <= 0]
        if len(ours) and len(others):
            total += Coverage(int(is_covered(others, ours).sum()), len(others))
    return total


def ranks(volumes: Floats) -> Floats:
    """Return ranks along the last axis: 1 is the smallest volume, ties share their mean."""
    return np.asarray(rankdata(volumes, axis=-1), dtype=np.float64)
