"""The nearest-neighbour index: all observed rows in blocks, and the near ones of each row.

Around a row Gower's distance has weights of its own, for its range includes the row's values. Most
candidates find their nearest row among those at hand; for the others see `tree`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, NARROWEST, Floats, Ints, Singles
from counterpoint.kernels import inner, kernel
from counterpoint.neighbours.gower import (
    BLOCK,
    LANES,
    fill_blocks,
    fill_near_blocks,
    gower,
    gower_with_missing,
    measure_roughly,
)
from counterpoint.neighbours.nearest import (
    DIFFERENCE,
    NEAR,
    SLACK,
    Neighbourhood,
    Neighbours,
)
from counterpoint.table.space import Space, first_copies

ROUGH = 2.0**-23  # what a distance in single precision is off, for each feature and four more
SINGLE = 4  # bytes of a number in single precision
N_BINS = 1024  # of distances, to select the nearest rows without sorting all


class IndexedRows(NamedTuple):
    """The observed rows that count for nearness."""

    genomes: Floats  # (n, d): them, without needless copies
    which: Ints  # (n,): which observed row each is
    # (d,): ``(value - origin) * unit`` stands in the blocks
    origin: Floats
    unit: Floats
    # (n_blocks, d, LANES): the genomes in single precision: a look at all of them takes a fraction
    # of the time
    blocks: Singles
    places: Ints  # (n,): 0 … n - 1
    slack: float  # how far a distance in single precision may be off


def gower_weights(rows: Floats, space: Space) -> tuple[Floats, Floats]:
    """Return the weights (r, d) and caps (d,) of Gower's distance around each row (r, d).

    Ranges too narrow to divide by are taken for `NARROWEST`: what differs there is hardly far.
    """
    rows = np.where(rows == MISSING, space.low, rows)
    ranges = np.maximum(space.high, rows) - np.minimum(space.low, rows)
    ranges = np.where(space.width > 0.0, space.width, ranges)
    weight = np.where(ranges > 0, 1.0 / np.maximum(ranges, NARROWEST), 0.0)
    weight = np.ascontiguousarray(np.where(space.is_level, 1.0, weight))
    return weight, np.where(space.is_level | (space.width > 0.0), 1.0, np.inf)


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


def distances_to(row: Floats, genomes: Floats, weight: Floats, cap: Floats) -> Floats:
    """Return the distances of a genome (d,) to others (n, d), whether or not some miss values.

    Where none does they are those of `gower_to_all`, bit for bit.
    """
    if (row == MISSING).any() or (genomes == MISSING).any():
        return np.asarray(gower_with_missing(row[None], genomes, weight, cap)[0])
    return gower_to_all(row, genomes, weight, cap)


def index_rows(genomes: Floats, k: int, space: Space) -> IndexedRows:
    """Return the observed rows (n, d), equal ones k times at most: more copies tell nothing new.

    Where few are dropped, all stay: the copy would cost memory and save no time.
    """
    n_all, which = len(genomes), np.flatnonzero(first_copies(genomes, k))
    if 2 * len(which) > len(genomes):
        which = np.arange(len(genomes))
    else:
        genomes = np.ascontiguousarray(genomes[which])
    genomes = genomes.view()
    genomes.flags.writeable = False  # always, for kernels are compiled anew for what is not
    span = space.high - space.low
    origin = np.where(space.is_level, 0.0, space.low)
    lengths = np.where(space.width > 0.0, space.width, np.maximum(span, NARROWEST))
    unit = 1.0 / np.where(space.is_level | (span <= 0.0), 1.0, lengths)
    places = np.arange(len(genomes)) if len(genomes) < n_all else which
    blocks = empty_blocks(len(genomes), genomes.shape[1])
    fill_blocks(genomes, padded(places, LANES), origin, unit, blocks)
    wide = np.where(space.width > 0.0, span * unit, 0.0)
    return IndexedRows(genomes, which, origin, unit, blocks, places, single_slack(wide))


def single_slack(wide: Floats) -> float:
    """Return how far a distance in single precision may be off.

    `wide` (d,) tells how many units numbers spread over in the blocks, where that is more than one:
    so many times as much are they off, and at most by the 1 that such a feature can count.
    """
    d = len(wide)
    return float(ROUGH * (d + 4) + np.minimum(4.0 * ROUGH * wide, 1.0).sum() / d)


def empty_blocks(n: int, d: int) -> Singles:
    """Return room for n observed rows of d features."""
    return np.empty((-(-n // LANES), d, LANES), dtype=np.float32)


def padded(places: Ints, size: int) -> Ints:
    """Return places (n,) with the last repeated up to a whole block of some size."""
    return np.pad(places, (0, -len(places) % size), mode="edge")


def rough_distances(
    rows: Floats, indexed: IndexedRows, weight: Floats, cap: Floats, into: Singles | None = None
) -> Singles:
    """Return the distances (r, n) of rows (r, d) to all indexed ones, off by its slack.

    They are written `into` some memory, if there is any: new one takes as long as measuring does.
    """
    shape = len(rows), len(indexed.blocks), LANES
    distances = np.empty(shape, dtype=np.float32) if into is None else into[: len(rows)]
    rough = ((rows - indexed.origin) * weight).astype(np.float32)
    # At most 1, for no range is narrower there; where all rows are the same any number will do.
    ratio = np.minimum(weight / indexed.unit, 1.0).astype(np.float32)
    measure_roughly(indexed.blocks, rough, ratio, cap.astype(np.float32), distances)
    return distances.reshape(len(rows), -1)[:, : len(indexed.genomes)]


def nearest_first(distances: Singles, n: int) -> Ints:
    """Return which are the n smallest of some distances, ascending, ties by index.

    Examples
    --------
    >>> distances = np.array([0.5, 0.1, 0.3, 0.1], dtype=np.float32)
    >>> nearest_first(distances, 3)
    array([1, 3, 2])
    """
    some = np.arange(len(distances))
    if 4 * n < len(distances):
        some = np.flatnonzero(distances <= radius_of(distances, n))
    # Bits of floats above 0 are ordered as they are, and whole numbers are sorted far quicker.
    keys = distances[some].view(np.uint32).astype(np.uint64) << np.uint64(32) | some.astype(
        np.uint64
    )
    keys.sort()
    return (keys & np.uint64(2**32 - 1)).astype(np.int64)[:n]


def radius_of(distances: Singles, n: int) -> float:
    """Return a radius within which at least n of the distances lie, and not many more."""
    highest = float(distances.max())
    counts = np.zeros(N_BINS + 1, dtype=np.int64)
    _count(distances, N_BINS / highest if highest > 0.0 else 0.0, counts)
    b = int(np.searchsorted(np.cumsum(counts), n))  # the first bin that makes n
    return min(highest, (b + 1.0) / N_BINS * highest * (1.0 + SLACK))


@kernel
def _count(distances: Singles, scale: float, counts: Ints) -> None:
    """Count the distances that fall into each bin of width 1 / scale."""
    last = len(counts) - 1
    for i in range(len(distances)):
        counts[max(0, min(int(distances[i] * scale), last))] += 1  # whatever is measured


SHARED = 8  # explained rows measured in one pass over the observed ones


class NearRows(NamedTuple):
    """The nearest observed rows of each of r explained rows, as kernels read them."""

    # (r,): where each row stands in the arrays below; they may hold rows no longer searched
    at: Ints
    # all observed rows that count, and what is known of them; see `IndexedRows`
    observed: Floats
    origin: Floats
    slack: float
    # (rows, …): those near each row; see `Neighbourhood`
    blocks: Singles
    radius: Singles
    order: Ints
    # (rows, d): 1 / R_j of Gower's distance, over the observed rows and the explained one; 0 if
    # constant or missing in the explained row
    weight: Floats
    cap: Floats  # (d,): the most a feature contributes: 1 for levels, which are equal or not
    shares: Floats  # (k,): weights of the k nearest rows, the nearest first, summing to one
    n_near: int  # how many observed rows are at hand; the rest of the last block is padding
    # (rows,): how near to the explained row an observed row that is not at hand may be
    horizon: Floats

    def of_rows(self, which: Ints) -> NearRows:
        """Return what is near some of the rows only; nothing is copied."""
        return self._replace(at=self.at[which])


@inner
def neighbourhood_at(near_rows: NearRows, at: int, row: Floats) -> Neighbourhood:
    """Return what is at hand around the explained row that stands at `at`."""
    return Neighbourhood(
        row,
        near_rows.weight[at],
        near_rows.cap,
        near_rows.origin,
        near_rows.blocks[at],
        near_rows.radius[at],
        near_rows.order[at],
        near_rows.n_near,
        near_rows.observed,
        near_rows.slack,
    )


def find_near_rows(
    rows: Floats,
    indexed: IndexedRows,
    space: Space,
    shares: Floats,
    most: int = NEAR,
) -> NearRows:
    """Sort the nearest observed rows around each explained row (r, d), once per search."""
    weight, cap = gower_weights(rows, space)
    weight = np.where(rows == MISSING, 0.0, weight)  # nothing is near or far in what it lacks
    n_near = min(most, len(indexed.genomes))
    near_rows = empty_near_rows(indexed, weight, cap, shares, n_near)
    room = np.empty((min(len(rows), SHARED), len(indexed.blocks), LANES), dtype=np.float32)
    for first in range(0, len(rows), SHARED):
        some = slice(first, first + SHARED)
        shared = rough_distances(rows[some], indexed, weight[some], cap, room)
        for a, distances in enumerate(shared, first):
            fill_near(near_rows, a, nearest_first(distances, n_near), distances)
    return near_rows


def empty_near_rows(
    indexed: IndexedRows, weight: Floats, cap: Floats, shares: Floats, n_near: int
) -> NearRows:
    """Return arrays for n observed rows near each row, of rows with these weights (r, d)."""
    (r, d), n_blocks = weight.shape, -(-n_near // BLOCK)
    return NearRows(
        at=np.arange(r),
        observed=indexed.genomes,
        origin=indexed.origin,
        slack=indexed.slack,
        blocks=np.empty((r, n_blocks, d, BLOCK), dtype=np.float32),
        radius=np.empty((r, n_blocks * BLOCK), dtype=np.float32),
        order=np.empty((r, n_blocks * BLOCK), dtype=np.int64),
        weight=weight,
        cap=cap,
        shares=shares,
        n_near=n_near,
        horizon=np.empty(r),
    )


def fill_near(near_rows: NearRows, a: int, nearest: Ints, distances: Singles) -> None:
    """Write the `nearest` indexed rows, in that order, to place a; rough `distances` (n,)."""
    observed, order, weight = near_rows.observed, padded(nearest, BLOCK), near_rows.weight[a]
    near_rows.order[a], near_rows.radius[a] = order, distances[order]  # refuses other than it holds
    near_rows.radius[a, len(nearest) :] = np.inf
    unit = weight / len(weight)
    fill_near_blocks(observed, order, near_rows.origin, unit, near_rows.blocks[a])
    is_all = len(nearest) == len(observed)
    farthest = float(distances[nearest[-1]])
    near_rows.horizon[a] = np.inf if is_all else farthest - near_rows.slack


def bytes_per_near_row(d: int) -> int:
    """Return the memory of one observed row at hand: its values, its distance and its place."""
    return SINGLE * (d + 1) + 8


def empty_neighbours(d: int, k: int, n: int = NEAR) -> Neighbours:
    """Return scratch for k neighbours among n rows, of genomes with d features."""
    n_blocks = -(-n // BLOCK)
    places = np.zeros(k, dtype=np.int64)  # a place even for a genome to which nothing is near
    sums, least = np.empty((n_blocks, BLOCK), np.float32), np.empty(n_blocks, np.float32)
    return Neighbours(np.empty(k), places, np.empty(k), np.zeros(d + 2, DIFFERENCE), sums, least)
