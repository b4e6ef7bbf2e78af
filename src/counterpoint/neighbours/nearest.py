"""The search of the nearest rows: blocks in single precision, then exact distances.

A candidate differs from the row it explains in few features. So its distance to an observed row is
that row's own distance to the explained one, which is known, and a correction for each feature that
differs: how many features there are costs nothing. Single precision tells, a block of rows at a
time, which are too far; the few that remain are measured by the definition. Bounds leave room for
round-off, so the result is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import Floats, Ints, Singles
from counterpoint.kernels import assign, inner, part
from counterpoint.neighbours.gower import BLOCK, LANES, NOTHING, gower_around, term
from counterpoint.table.space import are_equal

NEAR = 4096  # observed rows kept at hand for each explained row
SLACK = 1e-9  # bounds carry round-off; no true neighbour may be lost to it
HIGHEST = np.int32(2**31 - 1)


DIFFERENCE = np.dtype(  # a feature in which a genome differs from the explained row
    [
        ("feature", np.int64),
        ("new", np.float32),  # the genome's value there, as it stands in the blocks …
        ("old", np.float32),  # … that of the explained row …
        ("cap", np.float32),  # … and the cap
    ],
    align=True,
)


class Neighbours(NamedTuple):
    """Scratch arrays for one genome's search of its nearest observed rows."""

    # (k,): the smallest distances found, ascending; infinite where there are fewer observed rows
    distances: Floats
    places: Ints  # (k,): where those rows stand in the order of the blocks
    bounds: Floats  # (k,): the same distances in single precision, found first
    # (d + 2,): where the genome differs from the explained row, see `DIFFERENCE`, and twice nothing
    differences: Any
    sums: Singles  # (n_blocks, BLOCK): the distances to the rows of each block, likewise
    least: Singles  # (n_blocks,): the smallest of each block


class Neighbourhood(NamedTuple):
    """Observed rows around an explained one, by ascending distance to it."""

    # (d,): the explained row and what `gower` needs
    row: Floats
    weight: Floats
    cap: Floats
    # (d,): ``(value - origin) * weight / d`` stands in the blocks: as a share of a distance
    origin: Floats
    # (n_blocks, d, BLOCK): the observed rows in single precision, BLOCK side by side
    blocks: Singles
    # (n_blocks * BLOCK,): about their distances to the explained row; infinite in the padding
    radius: Singles
    order: Ints  # (n_blocks * BLOCK,): which of `observed` stands in each place
    n: int  # how many there are
    observed: Floats  # (at least n, d): all observed rows, in any order
    slack: float  # how far a distance in single precision may be off


@inner
def find_nearest(
    genome: Floats, own: float, neighbourhood: Neighbourhood, near: Neighbours
) -> None:
    """Put the rows of a neighbourhood among the nearest of a genome, ascending and exact.

    `own` is its distance to the explained row. The `distances` of `near` hold what is known so far,
    infinite if nothing is; they are written to.
    """
    n_changed, _ = compare(genome, neighbourhood, near)
    search_blocks(genome, n_changed, own, neighbourhood, near)


@part
def compare(genome: Floats, neighbourhood: Neighbourhood, near: Neighbours) -> tuple[int, float]:
    """Note how a genome differs from the explained row; return in how many features, and how far.

    The distance is that of `gower`: what does not differ adds 0.
    """
    row, weight, cap = neighbourhood.row, neighbourhood.weight, neighbourhood.cap
    origin, differences = neighbourhood.origin, near.differences
    d, n_changed, total = len(genome), 0, 0.0
    for j in range(d):  # no branch to guess: each is written, and stays if the next place is taken
        differences[n_changed].feature = j
        n_changed += genome[j] != row[j]
    share = 1.0 / d
    for c in range(n_changed):
        it = differences[c]
        j, unit = it.feature, weight[it.feature] * share
        total += term((genome[j] - row[j]) * weight[j], cap[j])
        it.new, it.old = (genome[j] - origin[j]) * unit, (row[j] - origin[j]) * unit
        it.cap = cap[j] * share
    for c in range(n_changed, n_changed + 2):  # a feature that counts nothing, to make pairs
        it = near.differences[c]
        it.feature, it.new, it.old, it.cap = 0, NOTHING, NOTHING, NOTHING
    return n_changed, total / d


@part
def search_blocks(
    genome: Floats, n_changed: int, own: float, neighbourhood: Neighbourhood, near: Neighbours
) -> None:
    """Search the neighbours of a genome that was compared with the explained row.

    An observed row t is at least ``|d(t, row) - d(genome, row)|`` away (triangle inequality). So
    the blocks are visited outwards from the genome's own distance, and the visit ends when that
    bound passes the k-th best distance on both sides.
    """
    n_blocks, radius, bounds = len(neighbourhood.blocks), neighbourhood.radius, near.bounds
    last = len(bounds) - 1
    # The known distance and the corrections are off, and more so for a genome out of all ranges.
    slack = 2.0 * neighbourhood.slack * (1.0 + own)
    assign(bounds, near.distances)
    above = block_of(own, radius, BLOCK)
    below = above - 1
    while below >= 0 or above < n_blocks:
        gap_below = own - radius[below * BLOCK + BLOCK - 1] if below >= 0 else np.inf
        gap_above = radius[above * BLOCK] - own if above < n_blocks else np.inf
        if min(gap_below, gap_above) > bounds[last] + 2.0 * slack:
            break
        if gap_below <= gap_above:
            block, below = below, below - 1
        else:
            block, above = above, above + 1
        correct(block, n_changed, neighbourhood, near)
        if near.least[block] < bounds[last]:
            lower(near.sums[block], near.least[block], bounds)
    limit = np.float32(bounds[last] + 2.0 * slack)
    for block in range(below + 1, above):
        if near.least[block] <= limit:
            measure_block(genome, block, own, limit, neighbourhood, near)


@part
def lower(sums: Singles, least: float, bounds: Floats) -> None:
    """Put what is nearer in a block among the bounds, ascending."""
    if len(bounds) == 1:
        bounds[0] = least
    else:
        for q in range(BLOCK):
            if sums[q] < bounds[len(bounds) - 1]:
                i = len(bounds) - 1
                while i > 0 and bounds[i - 1] > sums[q]:
                    bounds[i] = bounds[i - 1]
                    i -= 1
                bounds[i] = sums[q]


@part
def correct(block: int, n_changed: int, neighbourhood: Neighbourhood, near: Neighbours) -> None:
    """Write the distances of a genome to the rows of a block, and the least of them."""
    sums, values = near.sums[block], neighbourhood.blocks[block]
    radius = neighbourhood.radius[block * BLOCK : block * BLOCK + BLOCK]
    if n_changed <= 1:
        least = add_one(values, near, radius, sums)
    else:
        least = add_two(0, values, near, radius, sums)
        for c in range(2, n_changed, 2):
            least = add_two(c, values, near, sums, sums)
    near.least[block] = np.int32(least).view(np.float32)


@part
def change_of(value: float, new: float, old: float, cap: float) -> float:
    """Return how much farther an observed value is from a new one than from the old one."""
    return term(new - value, cap) - term(old - value, cap)


@part
def add_one(values: Singles, near: Neighbours, start: Singles, sums: Singles) -> np.int32:
    """Add the correction for the first feature that differs; see `add_two`."""
    it = near.differences[0]
    one, new, old, cap = values[it.feature], it.new, it.old, it.cap
    least = HIGHEST
    for q in range(BLOCK):
        total = start[q] + change_of(one[q], new, old, cap)
        sums[q] = total
        least = min(least, np.float32(total).view(np.int32))
    return least


@part
def add_two(c: int, values: Singles, near: Neighbours, start: Singles, sums: Singles) -> np.int32:
    """Add the corrections for two features that differ, and return the bits of the least sum.

    As whole numbers, bits of floats above 0 are ordered as they are, and their least is found by
    vector instructions. A sum below 0 is round-off: that one of several is taken does no harm.
    """
    first, second = near.differences[c], near.differences[c + 1]
    one, new, old, cap = values[first.feature], first.new, first.old, first.cap
    two, newer, older, most = values[second.feature], second.new, second.old, second.cap
    least = HIGHEST
    for q in range(BLOCK):
        change = change_of(one[q], new, old, cap) + change_of(two[q], newer, older, most)
        total = start[q] + change
        sums[q] = total
        least = min(least, np.float32(total).view(np.int32))
    return least


@part
def measure_block(
    genome: Floats,
    block: int,
    own: float,
    limit: np.float32,
    neighbourhood: Neighbourhood,
    near: Neighbours,
) -> None:
    """Measure the rows of a block that are not beyond the limit, by the definition."""
    sums, first, n_within, at = near.sums[block], block * BLOCK, 0, 0
    for q in range(BLOCK):  # vector instructions, and it is mostly one
        n_within += sums[q] <= limit
        at += q * (sums[q] <= limit)
    start, stop = (at, at + 1) if n_within == 1 else (0, BLOCK)
    for place in range(first + start, min(first + stop, neighbourhood.n)):
        if sums[place - first] <= limit:
            other = neighbourhood.observed[neighbourhood.order[place]]
            is_row = neighbourhood.radius[place] == NOTHING and are_equal(other, neighbourhood.row)
            distance = (
                own
                if is_row
                else gower_around(
                    genome, other, neighbourhood.row, neighbourhood.weight, neighbourhood.cap
                )
            )
            put(distance, place, own, neighbourhood.radius, near)


@part
def put(distance: float, place: int, own: float, radius: Singles, near: Neighbours) -> None:
    """Put a distance among the nearest; where some are equal, the first that is come to is first.

    That is by the order in which blocks of LANES rows are visited outwards.
    """
    best, places, i = near.distances, near.places, len(near.distances) - 1
    if distance < best[i] or (
        distance == best[i] and distance < np.inf and is_before(place, places[i], own, radius)
    ):
        while i > 0 and (
            best[i - 1] > distance
            or (best[i - 1] == distance and is_before(place, places[i - 1], own, radius))
        ):
            best[i], places[i] = best[i - 1], places[i - 1]
            i -= 1
        best[i], places[i] = distance, place


@inner
def is_before(place: int, other: int, own: float, radius: Singles) -> bool:
    """Whether a place is come to before another by who goes outwards from a distance."""
    start = block_of(own, radius, LANES)
    block, other_block = place // LANES, other // LANES
    if block == other_block:
        return place < other
    if block >= start and other_block >= start:
        return block < other_block
    if block < start and other_block < start:
        return block > other_block
    if block < start:
        return bool(own - radius[block * LANES + LANES - 1] <= radius[other_block * LANES] - own)
    return bool(own - radius[other_block * LANES + LANES - 1] > radius[block * LANES] - own)


@part
def block_of(own: float, radius: Singles, size: int) -> int:
    """Return the last block of some rows that starts below a distance, or the first."""
    block, n_left = 0, len(radius) // size
    while n_left > 1:
        half = n_left // 2
        block += half * (radius[(block + half) * size] < own)  # no branch to guess
        n_left -= half
    return block
