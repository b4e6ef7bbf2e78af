"""Leaf bits: which leaf of each tree a row is at, from sets of leaves instead of steps.

Every rank of a column rules out leaves: at each node with a bound below the rank, all that are on
its left. What a row's ranks leave of a tree, read from the left, begins with the leaf that the row
is at (QuickScorer: Lucchese et al. 2015). Sets are bits of words, so that a few vector instructions
stand for the steps down all trees, as long as trees are small and columns few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import Floats, Ints, Keys
from counterpoint.kernels import fetch, inner, kernel, part
from counterpoint.models.trees import (
    BLOCK,
    LANES,
    Forest,
    RankColumns,
    RankScratch,
    as_kernels_take,
    is_leaf,
    rank_columns_of,
    rank_rows,
    rank_scratch,
    starts,
)

BITS = 64  # of a word
ALL = np.uint64(2**BITS - 1)
MOST_BYTES = 2**24  # of the sets of all ranks; beyond that they are far from the processor …
MOST_WORDS = 48  # … and of one tree, in all columns together, steps cost less
PER_LINE = 8  # words that memory sends together
FEW_WORDS = 2**17  # of a table that needs not be fetched
SIDE_BY_SIDE = 4  # columns whose sets meet in one go
EXPONENT, BIAS = np.uint64(52), np.int64(1023)  # where a float has its power of two, and above 0


class LeafBits(NamedTuple):
    """A forest as sets of leaves, those of one tree numbered from the left."""

    ranking: RankColumns
    # (ranks + 1, words): The leaves that a rank of a column leaves possible, those of the ranks
    # below it ruled out, too; in the end all. The first word of every tree comes before the second
    # words.
    possible: Keys
    start: Ints  # (trees,): where the leaves of each tree begin in `value`
    value: Floats  # (leaves, c): what each adds to each output


class LeafScratch(NamedTuple):
    """Scratch for the work on some rows."""

    # (blocks, LANES * columns): their ranks, those of LANES rows side by side
    ranks: NDArray[np.uint32]
    ranking: RankScratch
    # (LANES, columns): where the sets of LANES rows stand; filled up by that of all leaves
    place: Ints
    possible: Keys  # (words,): the leaves that all columns of one row leave
    leaf: Ints  # (LANES, trees): where the values of the leaves of LANES rows stand …
    total: Floats  # (LANES,): … and what they are together


def leaf_bits_of(forest: Forest) -> LeafBits | None:
    """Return a forest as sets of leaves; None if walking its trees costs less."""
    inside = np.flatnonzero(~is_leaf(forest))
    ranking, column, bound = rank_columns_of(forest, inside)
    tree, first, size = leaves_of(forest)
    n_leaves, n_trees = size[forest.roots], len(forest.roots)
    n_words, n_ranks = -(-int(n_leaves.max()) // BITS), ranking.columns["n_ranks"]
    n_bytes = int(n_ranks.sum()) * n_words * n_trees * 8
    if n_words * len(n_ranks) > MOST_WORDS or n_bytes > MOST_BYTES:
        return None
    reached = tree[inside] >= 0
    inside, column, bound = inside[reached], column[reached], bound[reached]
    possible = np.full((int(n_ranks.sum()) + 1, n_words * n_trees), ALL)
    left, at = forest.children[inside, 0], ranking.columns["first"][column] + bound + 1
    for word in range(n_words):
        ruled_out = ones(first[left] + size[left] - word * BITS) & ~ones(first[left] - word * BITS)
        np.bitwise_and.at(possible, (at, word * n_trees + tree[inside]), ~ruled_out)
    for each in ranking.columns:
        ranks = slice(each["first"], each["first"] + each["n_ranks"])
        np.bitwise_and.accumulate(possible[ranks], axis=0, out=possible[ranks])
    ends = np.flatnonzero(is_leaf(forest) & (tree >= 0))
    start, _ = starts(n_leaves.tolist())
    value = np.empty((int(n_leaves.sum()), forest.value.shape[1]))
    value[start[tree[ends]] + first[ends]] = forest.value[ends]
    return LeafBits(ranking, possible, start, value)


def leaves_of(forest: Forest) -> tuple[Ints, Ints, Ints]:
    """Return the tree of each node (-1: of none), its first leaf, and how many leaves it has."""
    inside, levels = ~is_leaf(forest), [forest.roots.astype(np.int64)]
    tree, size, first = np.full(len(inside), -1), np.where(inside, 0, 1), np.zeros_like(inside, int)
    tree[forest.roots] = np.arange(len(forest.roots))
    while len(split := levels[-1][inside[levels[-1]]]):
        tree[forest.children[split]] = tree[split][:, None]
        levels.append(forest.children[split].reshape(-1).astype(np.int64))
    for nodes in reversed(levels):
        split = nodes[inside[nodes]]
        size[split] = size[forest.children[split]].sum(axis=1)
    for nodes in levels:
        split = nodes[inside[nodes]]
        left, right = forest.children[split].T
        first[left], first[right] = first[split], first[split] + size[left]
    return tree, first, size


def ones(n: Ints) -> Keys:
    """Return words whose lowest n bits are set: none if n is negative, and all above 63.

    Examples
    --------
    >>> ones(np.array([-3, 2, 70])).tolist() == [0, 3, 2**64 - 1]
    True
    """
    few = np.uint64(1) << np.clip(n, 0, BITS - 1).astype(np.uint64)
    return np.where(n >= BITS, ALL, few - np.uint64(1))


def add_up_leaves(rows: Floats, bits: LeafBits, total: Floats, *, is_single: bool = False) -> None:
    """Add to `total` (n, c) what each tree says of rows (n, d); see `trees.add_up`."""
    rows, n_trees, n_columns = as_kernels_take(rows), len(bits.start), len(bits.ranking.columns)
    scratch = LeafScratch(
        np.zeros((-(-min(BLOCK, len(rows)) // LANES), LANES * n_columns), dtype=np.uint32),
        rank_scratch(),
        np.empty((LANES, -(-max(n_columns, 1) // SIDE_BY_SIDE) * SIDE_BY_SIDE), dtype=np.int64),
        np.empty(bits.possible.shape[1], dtype=np.uint64),
        np.zeros((LANES, n_trees), dtype=np.int64),
        np.empty(LANES),
    )
    _look_up(rows, bits, scratch, total, is_single)


@kernel
def _look_up(
    rows: Floats, bits: LeafBits, scratch: LeafScratch, total: Floats, is_single: bool
) -> None:
    """Find the leaves of LANES rows and add up what they say, again and again."""
    size = LANES * len(scratch.ranks)
    for start in range(0, len(rows), size):
        stop = min(start + size, len(rows))
        rank_rows(rows[start:stop], bits.ranking, scratch.ranks, scratch.ranking)
        for first in range(start, stop, LANES):
            n = min(LANES, stop - first)
            _place(n, scratch.ranks[(first - start) // LANES], bits, scratch.place)
            for q in range(n):
                _meet(scratch.place[q], bits.possible, scratch.possible)
                _write_leaves(bits.start, scratch.possible, scratch.leaf[q])
            for c in range(total.shape[1]):
                for q in range(n):
                    scratch.total[q] = total[first + q, c]
                _add(bits.value, c, scratch, is_single)
                for q in range(n):
                    total[first + q, c] = scratch.total[q]


@part
def _place(n: int, ranks: NDArray[np.uint32], bits: LeafBits, place: Ints) -> None:
    """Write where the sets stand that the ranks of n rows leave, and have those fetched.

    Small tables are in the processor's cache anyway.
    """
    columns, last, n_words = bits.ranking.columns, len(bits.possible) - 1, bits.possible.shape[1]
    is_small = last * n_words < FEW_WORDS
    for q in range(n):
        for k in range(len(columns)):
            place[q, k] = columns[k].first + np.int64(ranks[k * LANES + q])
            if not (is_small or (q > 0 and place[q, k] == place[q - 1, k])):
                for word in range(0, n_words, PER_LINE):
                    fetch(bits.possible[place[q, k]], word)
        for k in range(len(columns), place.shape[1]):
            place[q, k] = last


@part
def _meet(place: Ints, possible: Keys, meet: Keys) -> None:
    """Write the leaves that all columns of a row leave, whose sets stand at these places."""
    for k in range(0, len(place), SIDE_BY_SIDE):
        one, two = possible[place[k]], possible[place[k + 1]]
        three, four = possible[place[k + 2]], possible[place[k + 3]]
        if k == 0:
            for i in range(len(meet)):
                meet[i] = (one[i] & two[i]) & (three[i] & four[i])
        else:
            for i in range(len(meet)):
                meet[i] &= (one[i] & two[i]) & (three[i] & four[i])


@inner
def _write_leaves(start: Ints, possible: Keys, leaf: Ints) -> None:
    """Write where the value of each tree's first possible leaf stands.

    The lowest bit of a word, alone, is a power of two, whose exponent as a float says which it is:
    so do vector instructions find it.
    """
    n_trees = len(start)
    for word in range(len(possible) // n_trees - 1, -1, -1):
        some = possible[word * n_trees : (word + 1) * n_trees]
        for t in range(n_trees):
            lowest = np.float64(some[t] & (~some[t] + np.uint64(1))).view(np.uint64)
            place = np.int64(lowest >> EXPONENT) - BIAS + start[t] + word * BITS
            leaf[t] = place if some[t] != np.uint64(0) else leaf[t]


@inner
def _add(value: Floats, c: int, scratch: LeafScratch, is_single: bool) -> None:
    """Add what LANES rows' leaves say of an output, in the order of the trees."""
    total, leaf = scratch.total, scratch.leaf
    for t in range(leaf.shape[1]):
        for q in range(LANES):
            added = total[q] + value[leaf[q, t], c]
            total[q] = np.float32(added) if is_single else added
