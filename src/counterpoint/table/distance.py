"""Gower's distance between genomes, and the exact distance to the nearest observed rows."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import kernel

# Triangle-inequality bounds and partial sums carry round-off; no true neighbour is lost to it.
SLACK = 1e-9


@kernel
def gower(a: Floats, b: Floats, inverse_range: Floats, is_level: Bools) -> float:
    """Return Gower's distance of two genomes: the mean over features of their differences.

    A number contributes ``|a - b| / range``, a level 0 or 1; a constant feature has
    ``inverse_range`` 0, contributes nothing and still counts in the mean.
    """
    total = 0.0
    for j in range(len(a)):
        if is_level[j]:
            if a[j] != b[j]:
                total += 1.0
        else:
            total += abs(a[j] - b[j]) * inverse_range[j]
    return total / len(a)


@kernel
def gower_to_all(row: Floats, rows: Floats, inverse_range: Floats, is_level: Bools) -> Floats:
    """Return Gower's distance of one genome (d,) to each of `rows` (n, d)."""
    distances = np.empty(len(rows))
    for i in range(len(rows)):
        distances[i] = gower(row, rows[i], inverse_range, is_level)
    return distances


@kernel
def _distance_below(
    a: Floats, b: Floats, inverse_range: Floats, is_level: Bools, limit: float
) -> float:
    """Return `gower(a, b)`, or something above `limit` as soon as it must exceed it."""
    total = 0.0
    enough = (limit + SLACK) * len(a)
    for j in range(len(a)):
        if is_level[j]:
            if a[j] != b[j]:
                total += 1.0
        else:
            total += abs(a[j] - b[j]) * inverse_range[j]
        if total > enough:
            return np.inf
    return total / len(a)


@kernel
def _insert(nearest: Floats, distance: float) -> None:
    """Put `distance` into the ascending list `nearest`, dropping its last."""
    i = len(nearest) - 1
    while i > 0 and nearest[i - 1] > distance:
        nearest[i] = nearest[i - 1]
        i -= 1
    nearest[i] = distance


@kernel
def nearest_distances(
    genome: Floats,
    own_distance: float,
    observed: Floats,
    order: Ints,
    radius: Floats,
    inverse_range: Floats,
    is_level: Bools,
    k: int,
) -> Floats:
    """Return the k smallest distances of `genome` to the observed rows, ascending and exact.

    Parameters
    ----------
    genome : ndarray of shape (d,)
        The candidate.
    own_distance : float
        Its distance to the explained row.
    observed : ndarray of shape (n, d)
        The observed rows.
    order : ndarray of shape (n,)
        Indices that sort the observed rows by distance to the explained row.
    radius : ndarray of shape (n,)
        Those distances, ascending.
    inverse_range, is_level : ndarray of shape (d,)
        See `gower`.
    k : int
        How many neighbours, at most n.

    Notes
    -----
    An observed row t is at least ``|d(t, row) - d(genome, row)|`` away (triangle inequality). So
    the rows are visited outwards from the candidate's own distance, and the visit ends when that
    bound passes the k-th best distance on both sides.
    """
    n = len(order)
    nearest = np.full(k, np.inf)
    above = np.searchsorted(radius, own_distance)
    below = above - 1
    while below >= 0 or above < n:
        gap_below = own_distance - radius[below] if below >= 0 else np.inf
        gap_above = radius[above] - own_distance if above < n else np.inf
        if min(gap_below, gap_above) > nearest[k - 1] + SLACK:
            break
        if gap_below <= gap_above:
            i, below = order[below], below - 1
        else:
            i, above = order[above], above + 1
        distance = _distance_below(genome, observed[i], inverse_range, is_level, nearest[k - 1])
        if distance < nearest[k - 1]:
            _insert(nearest, distance)
    return nearest
