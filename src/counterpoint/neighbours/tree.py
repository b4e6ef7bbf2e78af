"""The tree of all observed rows, for candidates that may be near to one that is not at hand.

Rows stand in blocks, like beside like; boxes stand around sixteen blocks, boxes around these, and
so on. A box tells how near a row in it may be at least, so that most are not looked at. What is
looked at comes from memory that is far from the processor: it is kept as short numbers, and fetched
before it is needed. A tree is made when it is first needed, and all explained rows share it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import Codes, Floats, Ints, Singles
from counterpoint.kernels import assign, fetch, inner, kernel, part
from counterpoint.neighbours.gower import (
    BLOCK,
    LANES,
    NOTHING,
    fill_blocks,
    gower,
    gower_around,
    insert,
    sum_up,
)
from counterpoint.neighbours.index import (
    IndexedRows,
    NearRows,
    empty_blocks,
    empty_neighbours,
    neighbourhood_at,
    padded,
)
from counterpoint.neighbours.nearest import Neighbourhood, Neighbours

DEEP = 16  # levels that a tree may have: more than there can be rows for
N_ASKED = 64  # rows that tell which feature differs most
MOST_CODE = 2.0**16 - 1.0  # of steps: a short number
ROOM = 0.05  # of a step: more than values in single precision are off
PER_LINE = 2  # features of LANES rows, as short numbers, that memory sends together

WAITING = np.dtype(  # a group of boxes of a tree that is still to be looked at
    [("level", np.int64), ("group", np.int64), ("low", np.float32)],  # and how near it may be
    align=True,
)


class RowTree(NamedTuple):
    """All observed rows, like beside like, in blocks, in boxes around these, and boxes of boxes."""

    # (n_blocks * LANES,): which of the observed rows stands in each place; the padding repeats the
    # last
    order: Ints
    n: int  # how many there are
    # (n_blocks, d, LANES): they, as short numbers: ``(value - origin) * unit`` is so many steps, up
    # to rounding, which makes a summed difference wrong by `off` at most
    blocks: Codes
    unit: Floats  # (d,)
    step: Floats  # (d,)
    off: float
    # (n_groups, d, LANES): the ends of the boxes in steps, LANES side by side: of the blocks, then
    # of groups of boxes
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
    waiting: Any  # (DEEP * LANES + 1,): what is still to be looked at; see `WAITING`
    near: Neighbours


def grow_tree(indexed: IndexedRows) -> RowTree:
    """Return all indexed rows in a tree: a group of boxes at its top, blocks of rows at its end."""
    (n, d), order = indexed.genomes.shape, np.arange(len(indexed.genomes))
    waiting, moments = np.empty((2, 128), dtype=np.int64), np.empty((2, d))
    _put_like_beside_like(indexed.genomes, indexed.unit, order, waiting, moments)
    order, blocks = padded(order, LANES), empty_blocks(n, d)
    fill_blocks(indexed.genomes, order, indexed.origin, indexed.unit, blocks)
    most = blocks.max(axis=(0, 2)).astype(np.float64)
    is_whole = np.array([(blocks[:, j] == np.rint(blocks[:, j])).all() for j in range(d)])
    is_exact = (is_whole & (most <= MOST_CODE)) | (most == 0.0)
    step, room = np.where(is_exact, 1.0, most / MOST_CODE), np.where(is_exact, 0.0, ROOM)
    # What is wider than 1 is capped there.
    off = float(np.where(is_exact, 0.0, np.minimum((0.5 + ROOM) * step, 1.0)).sum())
    ends, lower, upper, sizes = (blocks.min(axis=2), blocks.max(axis=2)), [], [], []
    while True:
        grouped = [_in_groups(each) for each in ends]
        sizes.append(len(ends[0]))
        ends = grouped[0].min(axis=2), grouped[1].max(axis=2)
        lower.append(_in_steps(grouped[0], step, np.floor, -room))
        upper.append(_in_steps(grouped[1], step, np.ceil, room))
        if len(grouped[0]) == 1:
            break
    starts = np.cumsum([0, *map(len, lower[:-1])])
    boxes = np.concatenate(lower), np.concatenate(upper)
    codes = _in_steps(blocks, step, np.rint, np.zeros(d))
    return RowTree(order, n, codes, indexed.unit, step, off, *boxes, starts, np.array(sizes))


def _in_steps(values: Singles, step: Floats, round_off: Any, room: Floats) -> Codes:
    """Return values (n, d, LANES) as numbers of steps (d,), which are written to `values` first.

    `room` (d,) is added before they are rounded off.
    """
    values /= step.astype(np.float32)[:, None]
    values += room.astype(np.float32)[:, None]
    round_off(values, out=values)
    codes: Codes = np.clip(values, 0.0, MOST_CODE, out=values).astype(np.uint16)
    return codes


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
    scratch = TreeScratch(rough, ratio, cap, np.empty(DEEP * LANES + 1, WAITING), near)
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
                own = gower(genomes[a, i], rows[a], around.weight, around.cap)
                search_tree(genomes[a, i], own, around, tree, scratch)
                assign(distances[a, i], near.distances)


@inner
def search_tree(
    genome: Floats,
    own: float,
    around: Neighbourhood,
    tree: RowTree,
    scratch: TreeScratch,
) -> None:
    """Put all rows of a tree among the nearest of a genome, as far as they count.

    The `distances` of its scratch hold bounds of these, ascending: nothing farther than the last is
    looked at.
    """
    near = scratch.near
    d, n_left, last = len(genome), 1, len(near.distances) - 1
    reach = near.distances[last]
    slack = 2.0 * around.slack * (1.0 + own)
    for j in range(d):
        scratch.rough[j] = (genome[j] - around.origin[j]) * around.weight[j]
        scratch.ratio[j] = min(around.weight[j] / tree.unit[j], 1.0) * tree.step[j]
    near.distances[:] = np.inf
    top = scratch.waiting[0]
    top.level, top.group, top.low = len(tree.sizes) - 1, 0, NOTHING
    while n_left > 0:
        n_left -= 1
        level, group = scratch.waiting[n_left].level, scratch.waiting[n_left].group
        limit = (min(reach, near.distances[last]) + slack) * d
        if scratch.waiting[n_left].low > limit:
            continue
        sum_up_boxes(tree, tree.starts[level] + group, scratch, near.sums[0])
        n_within = list_within(tree, level, group, limit, scratch, n_left)
        if level > 0:
            n_left += n_within
            continue
        for k in range(n_left, n_left + n_within):
            block = scratch.waiting[k].group
            limit = (min(reach, near.distances[last]) + slack) * d
            if scratch.waiting[k].low <= limit:
                sum_up(tree.blocks, block, scratch.rough, scratch.ratio, scratch.cap, near.sums[1])
                visit(genome, block, limit + tree.off, around, tree, near)


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
