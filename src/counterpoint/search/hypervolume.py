"""Indicators: how good a set of objective vectors is."""

from __future__ import annotations

import moocore
import numpy as np

from counterpoint.arrays import Bools, Floats, Ints

MOST_EXACT = 5  # objectives; with more the exact volume of a large set takes minutes …
FEW = 20  # … but not of so few points
N_DIRECTIONS = 2**14  # by which it is approximated then


def hypervolume(objectives: Floats, reference: Floats) -> float:
    """Return the volume dominated by `objectives` (n, m) up to `reference` (m,).

    Points that are not strictly better than the reference in every objective add nothing. Of more
    than 20 points in more than five objectives it is approximated, the same way every time: to
    about a thousandth with six or seven objectives, a hundredth with twelve.

    Examples
    --------
    >>> hypervolume(np.array([[0.5, 0.5], [0.9, 0.9]]), np.array([1.0, 1.0]))
    0.25
    """
    inside = objectives[(objectives < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if not is_exact(len(inside), len(reference)):
        return _approximate(inside, reference)
    return float(moocore.hypervolume(inside, ref=reference))


def is_exact(n: int, m: int) -> bool:
    """Whether the volume of n points in m objectives is measured, not approximated."""
    return n <= FEW or m <= MOST_EXACT


def _approximate(inside: Floats, reference: Floats) -> float:
    """Return about the volume dominated by points that are all better than the reference.

    In units of the best values: directions are spread evenly, and so must be what they measure.
    """
    span = reference - inside.min(axis=0)
    scaled = (inside - reference) / span + 1.0
    share = moocore.hv_approx(
        scaled, ref=np.ones(len(span)), nsamples=N_DIRECTIONS, method="DZ2019-HW"
    )
    return float(share * np.prod(span))


def hypervolume_history(
    objectives: Floats, generation: Ints, n_generations: int, reference: Floats
) -> Floats:
    """Return the hypervolume after each generation 0 … n_generations - 1.

    Parameters
    ----------
    objectives : ndarray of shape (n, m)
        Points in the order they came.
    generation : ndarray of shape (n,)
        The generation each came in, ascending.
    n_generations : int
        How many generations there were.
    reference : ndarray of shape (m,)
        The reference point.
    """
    ends = np.searchsorted(generation, np.arange(n_generations), side="right")
    volumes = np.zeros(n_generations)
    best = objectives[:0]
    for g, (start, stop) in enumerate(zip(np.r_[0, ends][:-1], ends, strict=True)):
        if stop == start:
            volumes[g] = volumes[g - 1] if g else 0.0
            continue
        best = np.concatenate([best, objectives[start:stop]])
        best = best[moocore.is_nondominated(best)]
        volumes[g] = hypervolume(best, reference)
    return np.maximum.accumulate(volumes)  # where it is approximated it could else seem to shrink


def covered(points: Floats, by: Floats) -> Bools:
    """Return which `points` (n, m) some vector of `by` (k, m) dominates.

    Equal vectors do not cover each other (Zitzler and Thiele 1998, as used by Dandl et al.).

    Examples
    --------
    >>> covered(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([[0.5, 1.0]]))
    array([ True, False])
    """
    nowhere_worse = np.all(by[None] <= points[:, None], axis=2)
    somewhere_better = np.any(by[None] < points[:, None], axis=2)
    return np.asarray(np.any(nowhere_worse & somewhere_better, axis=1))
