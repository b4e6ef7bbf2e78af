"""The tree of all observed rows, for candidates that may be near to one that is not at hand.

Rows stand in blocks, like beside like; boxes stand around sixteen blocks, boxes around these, and
so on. A box tells how near a row in it may be at least, so that most are not looked at. What is
looked at comes from memory that is far from the processor: it is kept as short numbers, and fetched
before it is needed. A tree is made when it is first needed, and all explained rows share it.

Short numbers are steps from one end of a feature's values to the other. Where a few outliers would
leave all other rows only few steps, these have them all, and outliers stand at the end: there they
are no farther from anything than where they are. How far a genome lies beyond that end is counted
apart, in double precision: beside it single precision could not tell the other rows apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Codes, Floats, Ints, Singles
from counterpoint.kernels import assign, fetch, inner, kernel, part
from counterpoint.neighbours.gower import (
    BLOCK,
    LANES,
    NOTHING,
    gower_around,
    insert,
    sum_up,
)
from counterpoint.neighbours.index import (
    ROUGH,
    IndexedRows,
    NearRows,
    empty_neighbours,
    neighbourhood_at,
    padded,
)
from counterpoint.neighbours.nearest import Neighbourhood, Neighbours

DEEP = 16  # levels that a tree may have: more than there can be rows for
N_ASKED = 64  # rows that tell which feature differs most
N_TOLD = 4096  # rows that tell where nearly all are, but for a share at both ends …
OUTSIDE = 0.001
CROWDED = 0.25  # … which have all steps if they fill no more of the feature's range than this
MOST_CODE = 2.0**16 - 1.0  # of steps: a short number
ROUNDED = 0.52  # of a step: what a short number is off, single precision included
PER_LINE = 2  # features of LANES rows, as short numbers, that memory sends together

WAITING = np.dtype(  # a group of boxes of a tree that is still to be looked at
    [("level", np.int64), ("group", np.int64), ("low", np.float32)],  # and how near it may be
    align=True,
)

BEYOND = np.dtype(  # a feature in which a genome lies beyond all steps
    [
        ("feature", np.int64),
        ("far", np.float32),  # how far, in units of the explained row
        ("is_above", np.bool_),
    ],
    align=True,
)


class RowTree(NamedTuple):
    """All observed rows in blocks of similar ones, boxes around these, and boxes of boxes."""

    # (n_blocks * LANES,): which of the observed rows stands in each place; the padding repeats the
    # last
    order: Ints
    n: int  # how many there are
    # (n_blocks, d, LANES): they, as short numbers: a value is so many steps above `low`, up to
    # rounding, which makes a summed difference wrong by `off` at most
    blocks: Codes
    low: Floats  # (d,): a value
    unit: Floats  # (d,): times a value …
    step: Floats  # (d,): … a step is so long …
    least: Floats  # (d,): … and there the steps begin and end; infinite if no row is beyond them
    most: Floats  # (d,)
    off: float
    # (n_groups, d, LANES): the ends of the boxes as such numbers, LANES side by side: of the
    # blocks, then of groups of boxes
    lower: Codes
    upper: Codes
    # (n_levels,): Where the groups of each level begin, and how many boxes it has. Box i of a level
    # is around group i of the level below it, or around block i.
    starts: Ints
    sizes: Ints


class TreeScratch(NamedTuple):
    """Scratch arrays for a genome's search in a tree, where all features are looked at."""

    # (d,): the genome in units of the explained row, what the blocks are times, and the caps
    rough: Singles
    ratio: Singles
    cap: Singles
    beyond: Any  # (d,): where the genome lies beyond all steps; see `BEYOND`
    waiting: Any  # (DEEP * LANES + 1,): what is still to be looked at; see `WAITING`
    near: Neighbours


def grow_tree(indexed: IndexedRows) -> RowTree:
    """Return all indexed rows in a tree: a group of boxes at its top, blocks of rows at its end."""
    (n, d), order = indexed.genomes.shape, np.arange(len(indexed.genomes))
    waiting, moments = np.empty((2, 128), dtype=np.int64), np.empty((2, d))
    _put_like_beside_like(indexed.genomes, indexed.unit, order, waiting, moments)
    order = padded(order, LANES)
    low, high, is_exact = _ends_of_steps(indexed)
    step = np.where(is_exact, 1.0, (high - low) * indexed.unit / MOST_CODE)
    is_cut = (low > indexed.genomes.min(axis=0)) | (high < indexed.genomes.max(axis=0))
    least, most = np.where(is_cut, 0.0, -np.inf), np.where(is_cut, MOST_CODE * step, np.inf)
    # What is wider than 1 is capped there.
    off = float(np.where(is_exact, ROUGH, np.minimum(ROUNDED * step, 1.0)).sum())
    blocks = np.empty((len(order) // LANES, d, LANES), dtype=np.uint16)
    _fill_codes(indexed.genomes, order, low, indexed.unit / step, blocks)
    ends, lower, upper, sizes = (blocks.min(axis=2), blocks.max(axis=2)), [], [], []
    while True:
        lower.append(_in_groups(ends[0]))
        upper.append(_in_groups(ends[1]))
        sizes.append(len(ends[0]))
        ends = lower[-1].min(axis=2), upper[-1].max(axis=2)
        if len(lower[-1]) == 1:
            break
    starts = np.cumsum([0, *map(len, lower[:-1])])
    boxes = np.concatenate(lower), np.concatenate(upper)
    steps = low, indexed.unit, step, least, most, off
    return RowTree(order, n, blocks, *steps, *boxes, starts, np.array(sizes))


def _ends_of_steps(indexed: IndexedRows) -> tuple[Floats, Floats, Bools]:
    """Return at which values each feature's steps begin and end, and where nothing is lost."""
    genomes, unit = indexed.genomes, indexed.unit
    low, high = genomes.min(axis=0), genomes.max(axis=0)
    is_whole = np.array([(genes == np.rint(genes)).all() for genes in genomes.T])
    is_exact = (is_whole & (unit == 1.0) & (high - low <= MOST_CODE)) | (high == low)
    some = np.sort(genomes[:: max(1, len(genomes) // N_TOLD)], axis=0)
    n_outside = min(int(np.ceil(OUTSIDE * len(some))), (len(some) - 1) // 2)
    first, last = some[n_outside], some[-1 - n_outside]
    is_crowded = ~is_exact & (first < last) & (last - first <= CROWDED * (high - low))
    return np.where(is_crowded, first, low), np.where(is_crowded, last, high), is_exact


@kernel
def _fill_codes(genomes: Floats, order: Ints, low: Floats, per_unit: Floats, blocks: Codes) -> None:
    """Write the genomes (n, d) in some order into blocks, as so many steps above `low` (d,)."""
    for block in range(len(blocks)):
        for j in range(genomes.shape[1]):
            for q in range(LANES):
                value = (genomes[order[block * LANES + q], j] - low[j]) * per_unit[j]
                blocks[block, j, q] = np.uint16(min(max(np.rint(value), 0.0), MOST_CODE))


def _in_groups(ends: Codes) -> Codes:
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


def search_far(
    genomes: Floats,
    rows: Floats,
    near_rows: NearRows,
    tree: RowTree,
    reach: Floats,
    distances: Floats,
) -> None:
    """Bring the distances (r, n, k) of genomes (r, n, d) around rows (r, d) to an end, in place.

    They are those to rows at hand. Only genomes whose `reach` (r, n) is above 0 may be nearer to
    another, which is in the tree of all.
    """
    d, cap = rows.shape[1], near_rows.cap.astype(np.float32)
    near = empty_neighbours(d, distances.shape[2], 2 * BLOCK)
    rough, ratio = np.empty((2, d), dtype=np.float32)
    beyond, waiting = np.empty(d, BEYOND), np.empty(DEEP * LANES + 1, WAITING)
    scratch = TreeScratch(rough, ratio, cap, beyond, waiting, near)
    _search_all(genomes, rows, near_rows, tree, scratch, reach, distances)


@kernel
def _search_all(
    genomes: Floats,
    rows: Floats,
    near_rows: NearRows,
    tree: RowTree,
    scratch: TreeScratch,
    reach: Floats,
    distances: Floats,
) -> None:
    """Bring distances to an end; see `search_far`."""
    near = scratch.near
    for a in range(len(rows)):
        around = neighbourhood_at(near_rows, near_rows.at[a], rows[a])
        for i in range(genomes.shape[1]):
            if reach[a, i] > 0.0:
                assign(near.distances, distances[a, i])
                search_tree(genomes[a, i], around, tree, scratch)
                assign(distances[a, i], near.distances)


@inner
def search_tree(genome: Floats, around: Neighbourhood, tree: RowTree, scratch: TreeScratch) -> None:
    """Put all rows of a tree among the nearest of a genome, as far as they count.

    The `distances` of its scratch hold bounds of these, ascending: nothing farther than the last is
    looked at.
    """
    near, n_left, last = scratch.near, 1, len(scratch.near.distances) - 1
    reach = near.distances[last]
    n_beyond, beyond, off = place_genome(genome, around, tree, scratch)
    near.distances[:] = np.inf
    top = scratch.waiting[0]
    top.level, top.group, top.low = len(tree.sizes) - 1, 0, -np.inf
    while n_left > 0:
        n_left -= 1
        level, group = scratch.waiting[n_left].level, scratch.waiting[n_left].group
        limit = sum_within(min(reach, near.distances[last]), beyond, off, len(genome))
        if scratch.waiting[n_left].low > limit:
            continue
        at = tree.starts[level] + group
        sum_up_boxes(tree, at, scratch, near.sums[0])
        if n_beyond > 0:
            spare_outliers(tree.lower, tree.upper, at, n_beyond, scratch, near.sums[0])
        n_within = list_within(tree, level, group, limit, scratch, n_left)
        if level > 0:
            n_left += n_within
            continue
        for k in range(n_left, n_left + n_within):
            block = scratch.waiting[k].group
            limit = sum_within(min(reach, near.distances[last]), beyond, off, len(genome))
            if scratch.waiting[k].low <= limit:
                sum_up(tree.blocks, block, scratch.rough, scratch.ratio, scratch.cap, near.sums[1])
                if n_beyond > 0:
                    spare_outliers(tree.blocks, tree.blocks, block, n_beyond, scratch, near.sums[1])
                visit(genome, block, limit, around, tree, near)


@part
def place_genome(
    genome: Floats, around: Neighbourhood, tree: RowTree, scratch: TreeScratch
) -> tuple[int, float, float]:
    """Write where a genome is among the steps.

    Returned are in how many features it lies beyond them all, how far in all of these together, and
    what sums may be off. A feature that is capped counts its cap there, and no more.
    """
    n_beyond, beyond, off = 0, 0.0, tree.off
    for j in range(len(genome)):
        ratio = min(around.weight[j] / tree.unit[j], 1.0)
        at = (genome[j] - tree.low[j]) * tree.unit[j]
        inside = min(max(at, tree.least[j]), tree.most[j])
        scratch.rough[j], scratch.ratio[j] = inside * ratio, tree.step[j] * ratio
        off += ROUGH * abs(inside * ratio)
        if at != inside and around.cap[j] == np.inf:
            it, far = scratch.beyond[n_beyond], abs(at - inside) * ratio
            it.feature, it.far, it.is_above = j, far, at > inside
            beyond += far
            n_beyond += 1
    return n_beyond, beyond, off


@inner
def sum_within(distance: float, beyond: float, off: float, d: int) -> float:
    """Return up to which sum a row may be as near as a distance; sums are in single precision."""
    limit = distance * d - beyond + off
    return limit + ROUGH * (d + 4) * abs(limit) if limit < np.inf else limit


@inner
def spare_outliers(
    lower: Codes, upper: Codes, at: int, n_beyond: int, scratch: TreeScratch, sums: Singles
) -> None:
    """Count nothing of what a genome lies beyond all steps for rows that may lie there, too."""
    for k in range(n_beyond):
        it = scratch.beyond[k]
        ends, end = (upper, MOST_CODE) if it.is_above else (lower, 0.0)
        for q in range(LANES):
            sums[q] -= it.far if ends[at, it.feature, q] == end else NOTHING


@inner
def list_within(
    tree: RowTree, level: int, group: int, limit: float, scratch: TreeScratch, n_left: int
) -> int:
    """Put the boxes of a group that are within the limit on top of what waits, and fetch them.

    They are listed without a branch, which nobody could guess: each is written, and stays if the
    next place is taken then. In which order makes no difference to speak of, for rows at hand tell
    nearly how far the nearest is.
    """
    waiting, sums, n = scratch.waiting, scratch.near.sums[0], n_left
    for q in range(min(LANES, tree.sizes[level] - group * LANES)):
        it = waiting[n]
        it.level, it.group, it.low = level - 1, group * LANES + q, sums[q]
        n += sums[q] <= limit
    for k in range(n_left, n):
        below = waiting[k].group
        if level > 0:
            below += tree.starts[level - 1]
        for j in range(0, len(scratch.rough), PER_LINE):
            if level > 0:
                fetch(tree.lower[below, j], 0)
                fetch(tree.upper[below, j], 0)
            else:
                fetch(tree.blocks[below, j], 0)
    return n - n_left


@part
def sum_up_boxes(tree: RowTree, group: int, scratch: TreeScratch, sums: Singles) -> None:
    """Write the least summed differences of a genome to whatever is in each box of a group."""
    lower, upper = tree.lower[group], tree.upper[group]
    for q in range(LANES):
        sums[q] = NOTHING
    for j in range(len(lower)):
        low, high, value = lower[j], upper[j], scratch.rough[j]
        by, cap = scratch.ratio[j], scratch.cap[j]
        for q in range(LANES):
            outside = max(np.float32(low[q]) * by - value, value - np.float32(high[q]) * by)
            sums[q] += min(max(outside, NOTHING), cap)


@part
def visit(
    genome: Floats,
    block: int,
    limit: float,
    around: Neighbourhood,
    tree: RowTree,
    near: Neighbours,
) -> None:
    """Measure what single precision found within the limit of a block, by the definition."""
    first, sums = block * LANES, near.sums[1]
    for place in range(first, min(first + LANES, tree.n)):
        if sums[place - first] <= limit:
            other = around.observed[tree.order[place]]
            distance = gower_around(genome, other, around.row, around.weight, around.cap)
            if distance < near.distances[len(near.distances) - 1]:
                insert(near.distances, near.places, distance, place)
