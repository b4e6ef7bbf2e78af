"""Gower's distance between genomes, and the exact distance to the nearest observed rows.

A feature contributes ``min(|a - b| * weight, cap)``: for a number, weight 1 / range and no cap; for
a level, weight 1 and cap 1, so that codes count as equal or not; for a constant feature, weight 0.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import inner, kernel

LANES = 16  # observed rows compared at once
CUT = 8  # features after which a block that is too far is given up
SLACK = 1e-9  # bounds carry round-off; no true neighbour may be lost to it


@inner
def gower(a: Floats, b: Floats, weight: Floats, cap: Floats) -> float:
    """Return Gower's distance of two genomes: the mean over features of their differences.

    A constant feature contributes nothing and still counts in the mean.
    """
    total = 0.0
    for j in range(len(a)):
        total += min(abs(a[j] - b[j]) * weight[j], cap[j])
    return total / len(a)


def gower_to_all(row: Floats, rows: Floats, weight: Floats, cap: Floats) -> Floats:
    """Return Gower's distance of one genome (d,) to each of `rows` (n, d)."""
    distances = np.empty(len(rows))
    _measure_all(row, rows, weight, cap, distances)
    return distances


@kernel
def _measure_all(row: Floats, rows: Floats, weight: Floats, cap: Floats, distances: Floats) -> None:
    """Write Gower's distance of one genome (d,) to each of `rows` (n, d)."""
    for i in range(len(rows)):
        distances[i] = gower(row, rows[i], weight, cap)


@inner
def insert(nearest: Floats, places: Ints, distance: float, place: int) -> None:
    """Put `distance` into the ascending list `nearest`, dropping its last; `places` go along."""
    i = len(nearest) - 1
    while i > 0 and nearest[i - 1] > distance:
        nearest[i], places[i] = nearest[i - 1], places[i - 1]
        i -= 1
    nearest[i], places[i] = distance, place


@inner
def _sums_to_block(scaled: Floats, block: Floats, cap: Floats, limit: float, sums: Floats) -> bool:
    """Write the summed differences of one genome (d,) to the rows of a block (d, LANES).

    Returns False as soon as all of them exceed `limit`; the sums are partial then.
    """
    d = len(scaled)
    for q in range(LANES):
        sums[q] = 0.0
    for j in range(0, d - d % 4, 4):
        _add_four(scaled[j : j + 4], block[j : j + 4], cap[j : j + 4], sums)
        if j % CUT == CUT - 4 and not _any_within(sums, limit):
            return False
    for j in range(d - d % 4, d):
        for q in range(LANES):
            sums[q] += min(abs(scaled[j] - block[j, q]), cap[j])
    return _any_within(sums, limit)


@inner
def _add_four(scaled: Floats, block: Floats, cap: Floats, sums: Floats) -> None:
    """Add the differences in four features; written out, they become vector instructions."""
    a, b, c, d = scaled[0], scaled[1], scaled[2], scaled[3]
    most_a, most_b, most_c, most_d = cap[0], cap[1], cap[2], cap[3]
    of_a, of_b, of_c, of_d = block[0], block[1], block[2], block[3]
    for q in range(LANES):
        total = sums[q] + min(abs(a - of_a[q]), most_a)
        total += min(abs(b - of_b[q]), most_b)
        total += min(abs(c - of_c[q]), most_c)
        sums[q] = total + min(abs(d - of_d[q]), most_d)


@inner
def _any_within(sums: Floats, limit: float) -> bool:
    """Whether one of the sums is at most `limit`."""
    n_within = 0
    for q in range(LANES):
        n_within += sums[q] <= limit
    return n_within > 0


@inner
def _first_at_least(ascending: Floats, value: float) -> int:
    """Return the first place of an ascending list whose number is at least `value`."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def nearest_distances(
    scaled: Floats,
    own: float,
    blocks: Floats,
    radius: Floats,
    cap: Floats,
    n: int,
    nearest: Floats,
    places: Ints,
    sums: Floats,
) -> None:
    """Write the smallest distances of a genome to n observed rows, ascending and exact.

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
        Written to: the k smallest distances, infinite where n is less than k.
    places : ndarray of shape (k,)
        Written to: where those rows stand in the order of the blocks.
    sums : ndarray of shape (LANES,)
        Scratch.

    Notes
    -----
    An observed row t is at least ``|d(t, row) - d(genome, row)|`` away (triangle inequality). So
    the blocks are visited outwards from the genome's own distance, and the visit ends when that
    bound passes the k-th best distance on both sides.
    """
    d, n_blocks, k = len(scaled), len(blocks), len(nearest)
    nearest[:] = np.inf
    above = min(_first_at_least(radius, own) // LANES, n_blocks - 1)
    below = above - 1
    while below >= 0 or above < n_blocks:
        gap_below = own - radius[below * LANES + LANES - 1] if below >= 0 else np.inf
        gap_above = radius[above * LANES] - own if above < n_blocks else np.inf
        limit = nearest[k - 1] + SLACK * d
        if min(gap_below, gap_above) * d > limit:
            break
        if gap_below <= gap_above:
            block, below = below, below - 1
        else:
            block, above = above, above + 1
        if not _sums_to_block(scaled, blocks[block], cap, limit, sums):
            continue
        for q in range(min(LANES, n - block * LANES)):
            if sums[q] < nearest[k - 1]:
                insert(nearest, places, sums[q], block * LANES + q)
    for i in range(k):  # they were sums so far, which saves a division per observed row
        nearest[i] /= d
