"""Gower's distance between genomes, and the exact distance to the nearest observed rows.

A feature contributes ``min(|a - b| * weight, cap)``: for a number, weight 1 / range and no cap; for
a level, weight 1 and cap 1, so that codes count as equal or not; for a constant feature, weight 0.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import kernel

LANES = 8  # observed rows compared at once
SLACK = 1e-9  # bounds carry round-off; no true neighbour may be lost to it


@kernel
def gower(a: Floats, b: Floats, weight: Floats, cap: Floats) -> float:
    """Return Gower's distance of two genomes: the mean over features of their differences.

    A constant feature contributes nothing and still counts in the mean.
    """
    total = 0.0
    for j in range(len(a)):
        total += min(abs(a[j] - b[j]) * weight[j], cap[j])
    return total / len(a)


@kernel
def gower_to_all(row: Floats, rows: Floats, weight: Floats, cap: Floats) -> Floats:
    """Return Gower's distance of one genome (d,) to each of `rows` (n, d)."""
    distances = np.empty(len(rows))
    for i in range(len(rows)):
        distances[i] = gower(row, rows[i], weight, cap)
    return distances


@kernel
def _insert(nearest: Floats, places: Ints, distance: float, place: int) -> None:
    """Put `distance` into the ascending list `nearest`, dropping its last; `places` go along."""
    i = len(nearest) - 1
    while i > 0 and nearest[i - 1] > distance:
        nearest[i], places[i] = nearest[i - 1], places[i - 1]
        i -= 1
    nearest[i], places[i] = distance, place


@kernel
def _sums_to_block(scaled: Floats, block: Floats, cap: Floats, sums: Floats) -> None:
    """Write the summed differences of one genome (d,) to the rows of a block (d, LANES)."""
    for q in range(LANES):
        sums[q] = 0.0
    for j in range(len(scaled)):
        for q in range(LANES):  # one vector instruction, not a loop
            sums[q] += min(abs(scaled[j] - block[j, q]), cap[j])


@kernel
def nearest_distances(
    scaled: Floats,
    own: float,
    blocks: Floats,
    radius: Floats,
    cap: Floats,
    n: int,
    nearest: Floats,
    places: Ints,
) -> None:
    """Write the smallest distances of a genome to the n observed rows, ascending and exact.

    Parameters
    ----------
    scaled : ndarray of shape (d,)
        The genome minus the explained row, times the weights of `gower`.
    own : float
        Its distance to the explained row.
    blocks : ndarray of shape (n_blocks, d, LANES)
        The observed rows, likewise, by ascending distance to the explained row.
    radius : ndarray of shape (n_blocks * LANES,)
        Those distances; the padding repeats the last.
    cap : ndarray of shape (d,)
        See `gower`.
    n : int
        Number of observed rows.
    nearest : ndarray of shape (k,)
        Written to: the k smallest distances, k at most n.
    places : ndarray of shape (k,)
        Written to: where those rows stand in the order of the blocks.

    Notes
    -----
    An observed row t is at least ``|d(t, row) - d(genome, row)|`` away (triangle inequality). So
    the blocks are visited outwards from the genome's own distance, and the visit ends when that
    bound passes the k-th best distance on both sides.
    """
    d, n_blocks, k = len(scaled), len(blocks), len(nearest)
    nearest[:] = np.inf
    sums = np.empty(LANES)
    above = min(int(np.searchsorted(radius, own)) // LANES, n_blocks - 1)
    below = above - 1
    while below >= 0 or above < n_blocks:
        gap_below = own - radius[below * LANES + LANES - 1] if below >= 0 else np.inf
        gap_above = radius[above * LANES] - own if above < n_blocks else np.inf
        if min(gap_below, gap_above) > nearest[k - 1] + SLACK:
            break
        if gap_below <= gap_above:
            block, below = below, below - 1
        else:
            block, above = above, above + 1
        _sums_to_block(scaled, blocks[block], cap, sums)
        for q in range(min(LANES, n - block * LANES)):
            if sums[q] / d < nearest[k - 1]:
                _insert(nearest, places, sums[q] / d, block * LANES + q)
