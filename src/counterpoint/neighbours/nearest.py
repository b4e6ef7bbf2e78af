"""The search of the nearest rows: blocks in single precision, then exact distances.

Single precision tells, sixteen rows at a time, which rows are too far; what remains is measured by
the definition. Bounds leave room for round-off, so the result is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Floats, Ints, Singles
from counterpoint.kernels import inner, kernel, part
from counterpoint.neighbours.gower import gower_around, insert, term

LANES = 16  # observed rows compared at once
SLACK = 1e-9  # bounds carry round-off; no true neighbour may be lost to it
ROUGH = 2.0**-23  # and so do distances in single precision: so much for each feature and four more
NOTHING = np.float32(0.0)


class Neighbours(NamedTuple):
    """Scratch arrays for one genome's search of its nearest observed rows.

    Attributes
    ----------
    distances : ndarray of shape (k,)
        The smallest distances found, ascending; infinite where there are fewer observed rows.
    places : ndarray of shape (k,)
        Where those rows stand in the order of the blocks.
    rough, rough_cap : ndarray of shape (d,)
        The genome in units of its weights, and the caps, in single precision.
    sums : ndarray of shape (LANES,)
        The summed differences to the rows of a block, likewise.
    """

    distances: Floats
    places: Ints
    rough: Singles
    rough_cap: Singles
    sums: Singles


def empty_neighbours(cap: Floats, k: int) -> Neighbours:
    """Return scratch arrays for k neighbours of genomes with the caps (d,) of their features."""
    return Neighbours(
        np.empty(k),
        np.zeros(k, dtype=np.int64),  # a place even for a genome to which nothing is near
        np.empty(len(cap), dtype=np.float32),
        cap.astype(np.float32),
        np.empty(LANES, dtype=np.float32),
    )


class Neighbourhood(NamedTuple):
    """Observed rows around an explained one, by ascending distance to it.

    Attributes
    ----------
    row, weight, cap : ndarray of shape (d,)
        The explained row and what `gower` needs.
    origin, ratio : ndarray of shape (d,)
        ``(value - origin) * weight / ratio`` stands in the blocks.
    blocks : ndarray of shape (n_blocks, d, LANES)
        The observed rows in single precision, LANES side by side.
    radius : ndarray of shape (n_blocks * LANES,)
        About their distances to the explained row; the padding repeats the last.
    order : ndarray of shape (n_blocks * LANES,)
        Which of `observed` stands in each place.
    n : int
        How many there are.
    observed : ndarray of shape (at least n, d)
        All observed rows, in any order.
    slack : float
        How far a distance in single precision may be off.
    least, after : float, int
        Rows nearer than `least`, and those at `least` that are `after` in `observed` or before, are
        passed over: they are known already.
    """

    row: Floats
    weight: Floats
    cap: Floats
    origin: Floats
    ratio: Singles
    blocks: Singles
    radius: Floats
    order: Ints
    n: int
    observed: Floats
    slack: float
    least: float
    after: int


@inner
def find_nearest(
    genome: Floats, own: float, neighbourhood: Neighbourhood, near: Neighbours
) -> None:
    """Put the rows of a neighbourhood among the nearest of a genome, ascending and exact.

    Parameters
    ----------
    genome : ndarray of shape (d,)
        The genome.
    own : float
        Its distance to the explained row.
    circle : Neighbourhood
        The observed rows.
    near : Neighbours
        Its `distances` hold what is known so far, infinite if nothing is; they are written to.

    Notes
    -----
    An observed row t is at least ``|d(t, row) - d(genome, row)|`` away (triangle inequality). So
    the blocks are visited outwards from the genome's own distance, and the visit ends when that
    bound passes the k-th best distance on both sides.
    """
    n_blocks, best, slack = len(neighbourhood.blocks), near.distances, neighbourhood.slack
    prepare(genome, neighbourhood, near)
    above = _block_of(own, neighbourhood.radius)
    below = above - 1
    while below >= 0 or above < n_blocks:
        gap_below = own - neighbourhood.radius[below * LANES + LANES - 1] if below >= 0 else np.inf
        gap_above = neighbourhood.radius[above * LANES] - own if above < n_blocks else np.inf
        if min(gap_below, gap_above) > best[-1] + slack:
            break
        if gap_below <= gap_above:
            block, below = below, below - 1
        else:
            block, above = above, above + 1
        visit(genome, block, neighbourhood, near)


@inner
def scan_nearest(genome: Floats, neighbourhood: Neighbourhood, near: Neighbours) -> None:
    """Put rows that are in no order among the nearest of a genome; see `find_nearest`."""
    prepare(genome, neighbourhood, near)
    for block in range(len(neighbourhood.blocks)):
        visit(genome, block, neighbourhood, near)


@part
def prepare(genome: Floats, neighbourhood: Neighbourhood, near: Neighbours) -> None:
    """Begin the search of a genome's neighbours."""
    for j in range(len(genome)):
        near.rough[j] = (genome[j] - neighbourhood.origin[j]) * neighbourhood.weight[j]


@part
def visit(genome: Floats, block: int, neighbourhood: Neighbourhood, near: Neighbours) -> None:
    """Keep what is nearest in a block: single precision tells what is too far, by some slack."""
    d, best, first = len(genome), near.distances, block * LANES
    slack = neighbourhood.slack
    limit = np.float32((best[-1] + slack) * d)
    sum_up(neighbourhood.blocks, block, near.rough, neighbourhood.ratio, near.rough_cap, near.sums)
    for q in range(min(LANES, neighbourhood.n - first)):
        if near.sums[q] <= limit:
            which, radius = neighbourhood.order[first + q], neighbourhood.radius[first + q]
            if radius < neighbourhood.least or (
                radius == neighbourhood.least and which <= neighbourhood.after
            ):
                continue
            distance = gower_around(
                genome,
                neighbourhood.observed[which],
                neighbourhood.row,
                neighbourhood.weight,
                neighbourhood.cap,
            )
            if distance < best[-1]:
                insert(best, near.places, distance, first + q)
                limit = np.float32((best[-1] + slack) * d)


@part
def sum_up(
    blocks: Singles,
    block: int,
    rough: Singles,
    ratio: Singles,
    cap: Singles,
    sums: Singles,
) -> None:
    """Write the summed differences of a genome to the rows of a block.

    Four features at a time are written out: only so do they become vector instructions.
    """
    d = len(rough)
    for q in range(LANES):
        sums[q] = NOTHING
    for j in range(0, d - d % 4, 4):
        a, b, c, e = rough[j], rough[j + 1], rough[j + 2], rough[j + 3]
        by_a, by_b, by_c, by_e = ratio[j], ratio[j + 1], ratio[j + 2], ratio[j + 3]
        most_a, most_b, most_c, most_e = cap[j], cap[j + 1], cap[j + 2], cap[j + 3]
        for q in range(LANES):
            total = sums[q] + term(a - blocks[block, j, q] * by_a, most_a)
            total += term(b - blocks[block, j + 1, q] * by_b, most_b)
            total += term(c - blocks[block, j + 2, q] * by_c, most_c)
            sums[q] = total + term(e - blocks[block, j + 3, q] * by_e, most_e)
    for j in range(d - d % 4, d):
        for q in range(LANES):
            sums[q] += term(rough[j] - blocks[block, j, q] * ratio[j], cap[j])


@part
def _block_of(own: float, radius: Floats) -> int:
    """Return the last block that starts below a distance, or the first."""
    block, n_left = 0, len(radius) // LANES
    while n_left > 1:
        half = n_left // 2
        block += half * (radius[(block + half) * LANES] < own)  # no branch to guess
        n_left -= half
    return block


@kernel
def measure_roughly(
    blocks: Singles, rough: Singles, ratio: Singles, cap: Singles, distances: Singles
) -> None:
    """Write the distances (r, n_blocks, LANES) of r genomes (r, d) to all rows, in one pass."""
    r, d = rough.shape
    for block in range(len(blocks)):
        for a in range(r):
            sums = distances[a, block]
            sum_up(blocks, block, rough[a], ratio[a], cap, sums)
            for q in range(LANES):
                sums[q] /= np.float32(d)


@kernel
def fill_blocks(
    genomes: Floats, which: Ints, origin: Floats, unit: Floats, blocks: Singles
) -> None:
    """Write some genomes (n, d) into blocks (n_blocks, d, LANES)."""
    for block in range(len(blocks)):
        for j in range(genomes.shape[1]):
            for q in range(LANES):
                value = genomes[which[block * LANES + q], j]
                blocks[block, j, q] = (value - origin[j]) * unit[j]
