"""The nearest-neighbour index: all observed rows in blocks, and the near ones of each row.

Around a row Gower's distance has weights of its own, for its range includes the row's values.
For the few candidates that may be nearer to a row that is not at hand, all rows stand in a tree of
boxes, which is made when it is first needed and which all explained rows share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, NARROWEST, Floats, Ints, Singles
from counterpoint.kernels import assign, inner, kernel, part
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
    DEEP,
    DIFFERENCE,
    NEAR,
    SLACK,
    WAITING,
    Neighbourhood,
    Neighbours,
    RowTree,
    TreeScratch,
    search_tree,
)
from counterpoint.table.space import Space, first_copies

ROUGH = 2.0**-23  # what a distance in single precision is off, for each feature and four more
SINGLE = 4  # bytes of a number in single precision
N_ASKED = 64  # rows that tell which feature differs most
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


def rough_distances(rows: Floats, indexed: IndexedRows, weight: Floats, cap: Floats) -> Singles:
    """Return the distances (r, n) of rows (r, d) to all indexed ones, off by its slack."""
    distances = np.empty((len(rows), len(indexed.blocks), LANES), dtype=np.float32)
    rough = ((rows - indexed.origin) * weight).astype(np.float32)
    ratio = ratio_of(weight, indexed)
    measure_roughly(indexed.blocks, rough, ratio, cap.astype(np.float32), distances)
    return distances.reshape(len(rows), -1)[:, : len(indexed.genomes)]


def ratio_of(weight: Floats, indexed: IndexedRows) -> Singles:
    """Return weights (r, d) in the units of the index: at most 1, for no range is narrower there.

    Where these are all the same, 0 stands in the blocks and any finite number will do.
    """
    ratio: Singles = np.minimum(weight / indexed.unit, 1.0).astype(np.float32)
    return ratio


def nearest_first(distances: Singles, n: int, after: int = -1) -> Ints:
    """Return which are the n smallest of some distances, ascending, ties by index.

    Those up to `after` in that order are left out.

    Examples
    --------
    >>> distances = np.array([0.5, 0.1, 0.3, 0.1], dtype=np.float32)
    >>> nearest_first(distances, 3), nearest_first(distances, 3, after=3)
    (array([1, 3, 2]), array([2]))
    """
    least = np.float32(0.0) if after < 0 else distances[after]
    is_some = distances >= least
    if 4 * n < len(distances):
        is_some &= distances <= radius_of(distances, n)
    some = np.flatnonzero(is_some)
    # Bits of floats above 0 are ordered as they are, and whole numbers are sorted far quicker.
    keys = distances[some].view(np.uint32).astype(np.uint64) << np.uint64(32) | some.astype(
        np.uint64
    )
    keys.sort()
    places = (keys & np.uint64(2**32 - 1)).astype(np.int64)
    if after < 0:
        return places[:n]
    n_before = int(np.count_nonzero(distances < least))
    n_known = int(np.flatnonzero(places == after)[0]) + 1
    return places[n_known : n - n_before]


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
    for first in range(0, len(rows), SHARED):
        some = slice(first, first + SHARED)
        for a, distances in enumerate(
            rough_distances(rows[some], indexed, weight[some], cap), first
        ):
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


class FarRows:
    """The observed rows that are not at hand, for the few candidates that may need them.

    `near_rows` are at hand; `tree` returns all rows in a tree.
    """

    def __init__(self, rows: Floats, near_rows: NearRows, tree: Callable[[], RowTree]) -> None:
        self.rows, self.near_rows, self.tree = rows, near_rows, tree

    def complete(self, at: int, genomes: Floats, distances: Floats) -> None:
        """Bring the distances (m, k) of genomes (m, d) to their nearest rows to an end, in place.

        They explain the row at `at`, and the distances are those to rows at hand.
        """
        near = empty_neighbours(genomes.shape[1], distances.shape[1], 2 * BLOCK)
        rough, ratio = np.empty((2, genomes.shape[1]), dtype=np.float32)
        cap, waiting = self.near_rows.cap.astype(np.float32), np.empty(DEEP * LANES, WAITING)
        scratch = TreeScratch(rough, ratio, cap, waiting)
        one = self.near_rows._replace(at=np.array([at]))
        _search_all(genomes, self.rows[at], one, self.tree(), near, scratch, distances)


@kernel
def _search_all(
    genomes: Floats,
    row: Floats,
    near_rows: NearRows,
    tree: RowTree,
    near: Neighbours,
    scratch: TreeScratch,
    distances: Floats,
) -> None:
    """Bring the distances (m, k) of genomes (m, d) to an end; see `FarRows.complete`."""
    around = neighbourhood_at(near_rows, near_rows.at[0], row)
    for i in range(len(genomes)):
        assign(near.distances, distances[i])
        own = gower(genomes[i], row, around.weight, around.cap)
        search_tree(genomes[i], own, around, tree, near, scratch)
        assign(distances[i], near.distances)


def grow_tree(indexed: IndexedRows) -> RowTree:
    """Return all indexed rows in a tree: a group of boxes at its top, blocks of rows at its end."""
    (n, d), order = indexed.genomes.shape, np.arange(len(indexed.genomes))
    room = np.empty((2, 128), dtype=np.int64)
    _put_like_beside_like(indexed.genomes, indexed.unit, order, room, np.empty((2, d)))
    order, blocks = padded(order, LANES), empty_blocks(n, d)
    fill_blocks(indexed.genomes, order, indexed.origin, indexed.unit, blocks)
    ends, lower, upper, sizes = (blocks.min(axis=2), blocks.max(axis=2)), [], [], []
    while True:
        grouped = [_in_groups(each) for each in ends]
        lower.append(grouped[0])
        upper.append(grouped[1])
        sizes.append(len(ends[0]))
        if len(grouped[0]) == 1:
            break
        ends = grouped[0].min(axis=2), grouped[1].max(axis=2)
    starts = np.cumsum([0, *map(len, lower[:-1])])
    boxes = np.concatenate(lower), np.concatenate(upper)
    return RowTree(order, n, blocks, indexed.unit, *boxes, starts, np.array(sizes))


def _in_groups(ends: Singles) -> Singles:
    """Return ends of boxes (n, d) as (n_groups, d, LANES), the last repeated to fill its group."""
    filled = np.pad(ends, ((0, -len(ends) % LANES), (0, 0)), mode="edge")
    return np.ascontiguousarray(filled.reshape(-1, LANES, ends.shape[1]).transpose(0, 2, 1))


@kernel
def _put_like_beside_like(
    genomes: Floats, unit: Floats, order: Ints, room: Ints, moments: Floats
) -> None:
    """Halve the rows again and again by the feature that they differ in most, sorting `order`.

    The halves end where groups of boxes do. `room` holds what is still to be halved.
    """
    n_left = 1
    room[0, 0], room[1, 0] = 0, len(order)
    while n_left > 0:
        n_left -= 1
        start, stop, size = room[0, n_left], room[1, n_left], LANES
        if stop - start <= LANES:
            continue
        while size * LANES < stop - start:
            size *= LANES
        middle = start + ((stop - start + size - 1) // size + 1) // 2 * size
        j = _most_different(genomes, unit, order[start:stop], moments)
        _halve(genomes, j, order, start, stop - 1, middle)
        room[0, n_left], room[1, n_left] = start, middle
        room[0, n_left + 1], room[1, n_left + 1] = middle, stop
        n_left += 2


@part
def _most_different(genomes: Floats, unit: Floats, some: Ints, moments: Floats) -> int:
    """Return the feature that differs most among some rows, by 64 or so of them."""
    step, n = max(1, len(some) // N_ASKED), 0
    moments[:] = 0.0
    for i in range(0, len(some), step):
        n += 1
        for j in range(len(unit)):
            value = (genomes[some[i], j] - genomes[some[0], j]) * unit[j]
            moments[0, j] += value
            moments[1, j] += value * value
    most, found = -1.0, 0
    for j in range(len(unit)):
        # Codes of levels may be far apart, and count no more than 1.
        variance = min(moments[1, j] / n - (moments[0, j] / n) ** 2, 0.25)
        if variance > most:
            most, found = variance, j
    return found


@part
def _halve(genomes: Floats, j: int, order: Ints, low: int, high: int, middle: int) -> None:
    """Reorder rows so that none before `middle` is above one after it in a feature (Hoare)."""
    while low < high:
        pivot, i, k = genomes[order[middle], j], low, high
        while i <= k:
            while genomes[order[i], j] < pivot:
                i += 1
            while pivot < genomes[order[k], j]:
                k -= 1
            if i <= k:
                order[i], order[k] = order[k], order[i]
                i += 1
                k -= 1
        if k < middle:
            low = i
        if middle < i:
            high = k
