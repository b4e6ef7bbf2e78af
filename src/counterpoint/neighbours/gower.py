"""Gower's rule for missing values: a feature that is missing on either side does not count.

The distance of two rows is the mean over the features both have, and 1 if they share none. That is
no metric, so no bound can spare a look: observed rows with missing values, and all observed rows
if the explained row misses some, are compared one by one, each only until it is too far.

Gower's distance between genomes, and the exact distance to the nearest observed rows.

A feature contributes ``min(|a - b| * weight, cap)``: for a number, weight 1 / range and no cap; for
a level, weight 1 and cap 1, so that codes count as equal or not; for a constant feature, weight 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Singles
from counterpoint.kernels import inner, kernel, part

LANES = 16  # observed rows compared at once
SLACK = 1e-9  # bounds carry round-off; no true neighbour may be lost to it
ROUGH = 2.0**-23  # and so do distances in single precision: so much for each feature and four more
NOTHING = np.float32(0.0)


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


class Neighbours(NamedTuple):
    """Room for one genome's search of its nearest observed rows.

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
    """Return room for k neighbours of genomes with the caps (d,) of their features."""
    return Neighbours(
        np.empty(k),
        np.zeros(k, dtype=np.int64),  # a place even for a genome to which nothing is near
        np.empty(len(cap), dtype=np.float32),
        cap.astype(np.float32),
        np.empty(LANES, dtype=np.float32),
    )


class Circle(NamedTuple):
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
    least: float
    after: int


@inner
def find_nearest(genome: Floats, own: float, circle: Circle, near: Neighbours) -> None:
    """Put the rows of a circle among the nearest of a genome, ascending and exact.

    Parameters
    ----------
    genome : ndarray of shape (d,)
        The genome.
    own : float
        Its distance to the explained row.
    circle : Circle
        The observed rows.
    near : Neighbours
        Its `distances` hold what is known so far, infinite if nothing is; they are written to.

    Notes
    -----
    An observed row t is at least ``|d(t, row) - d(genome, row)|`` away (triangle inequality). So
    the blocks are visited outwards from the genome's own distance, and the visit ends when that
    bound passes the k-th best distance on both sides.
    """
    n_blocks, best, slack = len(circle.blocks), near.distances, ROUGH * (len(genome) + 4)
    prepare(genome, circle, near)
    above = _block_of(own, circle.radius)
    below = above - 1
    while below >= 0 or above < n_blocks:
        gap_below = own - circle.radius[below * LANES + LANES - 1] if below >= 0 else np.inf
        gap_above = circle.radius[above * LANES] - own if above < n_blocks else np.inf
        if min(gap_below, gap_above) > best[-1] + slack:
            break
        if gap_below <= gap_above:
            block, below = below, below - 1
        else:
            block, above = above, above + 1
        visit(genome, block, circle, near)


@inner
def scan_nearest(genome: Floats, circle: Circle, near: Neighbours) -> None:
    """Put rows that are in no order among the nearest of a genome; see `find_nearest`."""
    prepare(genome, circle, near)
    for block in range(len(circle.blocks)):
        visit(genome, block, circle, near)


@part
def prepare(genome: Floats, circle: Circle, near: Neighbours) -> None:
    """Begin the search of a genome's neighbours."""
    for j in range(len(genome)):
        near.rough[j] = (genome[j] - circle.origin[j]) * circle.weight[j]


@part
def visit(genome: Floats, block: int, circle: Circle, near: Neighbours) -> None:
    """Keep what is nearest in a block: single precision tells what is too far, by some slack."""
    d, best, first = len(genome), near.distances, block * LANES
    slack = ROUGH * (d + 4)
    limit = np.float32((best[-1] + slack) * d)
    sum_up(circle.blocks, block, near.rough, circle.ratio, near.rough_cap, near.sums)
    for q in range(min(LANES, circle.n - first)):
        if near.sums[q] <= limit:
            which, radius = circle.order[first + q], circle.radius[first + q]
            if radius < circle.least or (radius == circle.least and which <= circle.after):
                continue
            distance = gower_around(
                genome, circle.observed[which], circle.row, circle.weight, circle.cap
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
            total = sums[q] + min(abs(a - blocks[block, j, q] * by_a), most_a)
            total += min(abs(b - blocks[block, j + 1, q] * by_b), most_b)
            total += min(abs(c - blocks[block, j + 2, q] * by_c), most_c)
            sums[q] = total + min(abs(e - blocks[block, j + 3, q] * by_e), most_e)
    for j in range(d - d % 4, d):
        for q in range(LANES):
            sums[q] += min(abs(rough[j] - blocks[block, j, q] * ratio[j]), cap[j])


@part
def gower_around(a: Floats, b: Floats, row: Floats, weight: Floats, cap: Floats) -> float:
    """Return Gower's distance of two genomes seen from a row: small numbers keep their digits."""
    total = 0.0
    for j in range(len(a)):
        total += min(abs((a[j] - row[j]) * weight[j] - (b[j] - row[j]) * weight[j]), cap[j])
    return total / len(a)


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


def gower_with_gaps(
    rows: Floats, others: Floats, weight: Floats, cap: Floats, costs: Floats | None = None
) -> Floats:
    """Return Gower's distances of rows (n, d) to others (m, d), by his rule for missing values.

    The plain definition; kernels are tested against it. `costs` (d,) weigh the features.

    Examples
    --------
    >>> row, other = np.array([[1.0, 2.0]]), np.array([[MISSING, 2.5], [3.0, 2.5]])
    >>> gower_with_gaps(row, other, np.ones(2), np.full(2, np.inf))
    array([[0.5 , 1.25]])
    """
    both = (rows[:, None] != MISSING) & (others != MISSING)
    apart = np.minimum(np.abs(np.where(both, rows[:, None] - others, 0.0)) * weight, cap)
    shares = both * (1.0 if costs is None else costs)
    total = shares.sum(axis=2)
    summed = (shares * apart).sum(axis=2)
    return np.where(total > 0.0, summed / np.where(total > 0.0, total, 1.0), 1.0)


def distances_to(row: Floats, genomes: Floats, weight: Floats, cap: Floats) -> Floats:
    """Return the distances of a genome (d,) to others (n, d), whether or not some miss values.

    Where none does they are those of `gower_to_all`, bit for bit.
    """
    if (row == MISSING).any() or (genomes == MISSING).any():
        return np.asarray(gower_with_gaps(row[None], genomes, weight, cap)[0])
    return gower_to_all(row, genomes, weight, cap)


def filled(genomes: Floats) -> Floats:
    """Return genomes (n, d) with the lower median of its column for what is missing.

    A column without any value, which only a loaded result of one row has, is filled with 0.
    """
    present = [genes[genes != MISSING] for genes in genomes.T]
    medians = [np.quantile(g, 0.5, method="lower") if len(g) else 0.0 for g in present]
    return np.where(genomes == MISSING, np.array(medians), genomes)


def whole_rows(genomes: Floats) -> Floats:
    """Return the genomes (n, d) that miss nothing; if there are none, all of them filled."""
    is_complete = (genomes != MISSING).all(axis=1)
    if is_complete.all():
        return genomes
    return genomes[is_complete] if is_complete.any() else filled(genomes)


def look_among(
    genomes: Floats,
    which: Bools,
    others: Floats,
    weight: Floats,
    cap: Floats,
    distances: Floats,
) -> None:
    """Put observed rows among the nearest of genomes (r, n, d), at distances (r, n, k), in place.

    Parameters
    ----------
    genomes : ndarray of shape (r, n, d)
        Candidates of r rows.
    which : ndarray of shape (r, n)
        Those that are looked at.
    others : ndarray of shape (m, d)
        Observed rows.
    weight, cap : ndarray of shape (r, d), (d,)
        What Gower's distance needs around each row.
    distances : ndarray of shape (r, n, k)
        The smallest found so far, ascending.
    """
    n_present = (others != MISSING).sum(axis=1)
    places = np.empty(distances.shape[2], dtype=np.int64)
    _look_among(genomes, which, others, n_present, weight, cap, distances, places)


@kernel
def _look_among(
    genomes: Floats,
    which: Bools,
    others: Floats,
    n_present: Ints,
    weight: Floats,
    cap: Floats,
    distances: Floats,
    places: Ints,
) -> None:
    """See `look_among`; `n_present` (m,) is how many features each of the others has."""
    for a in range(genomes.shape[0]):
        for i in range(genomes.shape[1]):
            if not which[a, i]:
                continue
            nearest = distances[a, i]
            for q in range(len(others)):
                most = nearest[-1] * n_present[q]
                distance = _distance(genomes[a, i], others[q], weight[a], cap, most)
                if distance < nearest[-1]:
                    insert(nearest, places, distance, q)


@part
def _distance(genome: Floats, other: Floats, weight: Floats, cap: Floats, most: float) -> float:
    """Return the distance, or infinity as soon as the differences add up to more than `most`.

    They are divided by the number of features of the observed row at most, so that it is farther.
    """
    total, n_both = 0.0, 0
    for j in range(len(genome)):
        if genome[j] != MISSING and other[j] != MISSING:
            total += min(abs(genome[j] - other[j]) * weight[j], cap[j])
            n_both += 1
            if total > most:
                return np.inf
    return total / n_both if n_both > 0 else 1.0
