"""Trees: the nodes of all trees of a model in one table, and the kernels that walk rows down them.

Leaves are added up in the order the model does, so that the sums have its bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.kernels import inner, kernel, part

LEAF = -1  # the child a leaf does not have, as scikit-learn writes it
LANES = 8  # rows walked side by side
LEVELS = 6  # steps of a tree that need no pointers: each of its first nodes has a fixed place
BLOCK = 512  # rows that all trees are walked with while both are in the processor's cache …
MOST_NODES, MOST_RANKS = 2**16, 2**22  # … which is too small for larger forests
COLUMN_BITS, RANK_BITS = 17, 19  # of a node's number; the rest says where its children are
TOP = 2**RANK_BITS - 1  # above all ranks
BY_THRESHOLD = -1  # the set of categories of a node that has none
N_CATEGORIES = 256  # most that histogram boosting knows


class Forest(NamedTuple):
    """The nodes of all trees, tree after tree; small integers, for a forest may be large."""

    roots: NDArray[np.int32]  # (trees,): where each tree begins
    # (nodes, 2): where a row goes from a node, left or right; a leaf leads to itself, so that rows
    # which are there already may be walked on with those that are not
    children: NDArray[np.int32]
    # (nodes,): a row goes left if its feature does not exceed the threshold …
    feature: NDArray[np.int32]
    threshold: Floats
    # (nodes,): … or, unless this is BY_THRESHOLD, if `goes_left` says so of its category
    category_set: NDArray[np.int32]
    # (nodes,): whether a row goes left whose value is missing (`MISSING` or NaN)
    missing_left: Bools
    goes_left: Bools  # (sets, categories): which categories go left; any other counts as missing
    value: Floats  # (nodes, c): what a leaf adds to each output


def is_leaf(forest: Forest) -> Bools:
    """Return which nodes are leaves, shape (nodes,)."""
    return np.asarray(forest.children[:, 0] == np.arange(len(forest.children)))


def goes_left_at(forest: Forest, nodes: Ints, values: Floats) -> Bools:
    """Return whether rows of these values (m, v) of a node's feature go left at nodes (m,)."""
    by_set, n_known = forest.category_set[nodes][:, None], forest.goes_left.shape[1]
    is_set = by_set != BY_THRESHOLD
    is_known = np.where(is_set, (values >= 0.0) & (values < n_known), values > MISSING)
    is_left = values <= forest.threshold[nodes][:, None]
    if is_set.any():
        code = np.where(is_set & is_known, values, 0.0).astype(np.int64)
        is_left = np.where(is_set, forest.goes_left[np.maximum(by_set, 0), code], is_left)
    return np.where(is_known, is_left, forest.missing_left[nodes][:, None])


def of_forest(trees: list[Any]) -> Forest:
    """Return the `tree_` of scikit-learn's decision trees as one table."""
    roots, shift = starts([tree.node_count for tree in trees])
    left, right = joined(trees, "children_left"), joined(trees, "children_right")
    return Forest(
        small(roots),
        children_of(left == LEAF, left + shift, right + shift),
        small(np.where(left == LEAF, 0, joined(trees, "feature"))),
        doubled(joined(trees, "threshold").astype(np.float64)),
        small(np.full(len(left), BY_THRESHOLD)),
        joined(trees, "missing_go_to_left").astype(np.bool_),
        np.zeros((0, N_CATEGORIES), dtype=np.bool_),
        np.ascontiguousarray(joined(trees, "value")[:, 0, :], dtype=np.float64),
    )


def doubled(threshold: Floats) -> Floats:
    """Return thresholds for numbers in double precision that the model rounds to single first.

    A number exceeds the result if and only if, rounded, it exceeds the threshold.
    """
    nearest = threshold.astype(np.float32)
    lower = np.where(nearest > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    upper = np.nextafter(lower, np.float32(np.inf))
    middle = (lower.astype(np.float64) + upper) / 2.0  # which is rounded to one of them
    is_lower = middle.astype(np.float32) == lower
    return np.where(is_lower, middle, np.nextafter(middle, -np.inf))


def of_boosting(model: Any) -> Forest:
    """Return the trees of scikit-learn's histogram boosting as one table."""
    trees = [(k, tree) for round_ in model._predictors for k, tree in enumerate(round_)]
    nodes = np.concatenate([tree.nodes for _, tree in trees])
    sizes = [len(tree.nodes) for _, tree in trees]
    roots, shift = starts(sizes)
    value = np.zeros((len(nodes), model.n_trees_per_iteration_))
    value[np.arange(len(nodes)), np.repeat([k for k, _ in trees], sizes)] = nodes["value"]
    is_leaf, by_category = nodes["is_leaf"] != 0, nodes["is_categorical"] != 0
    return Forest(
        small(roots),
        children_of(is_leaf, nodes["left"] + shift, nodes["right"] + shift),
        small(np.where(is_leaf, 0, nodes["feature_idx"])),
        nodes["num_threshold"].astype(np.float64),
        small(np.where(by_category, np.cumsum(by_category) - 1, BY_THRESHOLD)),
        nodes["missing_go_to_left"] != 0,
        categories_going_left(model, [tree for _, tree in trees]),
        value,
    )


def categories_going_left(model: Any, trees: list[Any]) -> Bools:
    """Return which categories go left at each node that splits by category, in their order.

    Categories the model does not know go where missing values go.
    """
    known, position = model._bin_mapper.make_known_categories_bitsets()
    rows = [np.zeros((0, N_CATEGORIES), dtype=np.bool_)]
    for tree in trees:
        nodes = tree.nodes[tree.nodes["is_categorical"] != 0]
        is_known = unpacked(known)[position[nodes["feature_idx"]]]
        is_left = unpacked(tree.raw_left_cat_bitsets)[nodes["bitset_idx"]]
        rows.append(is_left | (~is_known & (nodes["missing_go_to_left"] != 0)[:, None]))
    return np.concatenate(rows)


def unpacked(bitsets: Any) -> Bools:
    """Return bitsets of eight 32-bit words (n, 8) as truth values (n, 256)."""
    words = np.ascontiguousarray(bitsets, dtype="<u4").reshape(-1, 8)
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)


def starts(sizes: list[int]) -> tuple[Ints, Ints]:
    """Return where each tree begins, once per tree and once per node."""
    ends = np.cumsum(sizes, dtype=np.int64)
    roots = ends - np.array(sizes, dtype=np.int64)
    return roots, np.repeat(roots, sizes)


def small(numbers: Any) -> NDArray[np.int32]:
    """Return whole numbers in half the memory."""
    return np.ascontiguousarray(numbers, dtype=np.int32)


def children_of(is_leaf: Bools, left: Any, right: Any) -> NDArray[np.int32]:
    """Return both children of every node; a leaf is its own."""
    own = np.arange(len(is_leaf))
    return small(np.column_stack([np.where(is_leaf, own, left), np.where(is_leaf, own, right)]))


def joined(trees: list[Any], name: str) -> Any:
    """Return an array of every tree, one after the other."""
    return np.concatenate([np.asarray(getattr(tree, name)) for tree in trees])


# One column of ranks: one argument of a kernel instead of five, which it compiles faster.
COLUMN = np.dtype(
    [
        ("feature", np.int64),
        ("category_set", np.int64),  # BY_THRESHOLD if it ranks numbers
        ("missing_rank", np.int64),
        ("start", np.int64),  # where its thresholds begin
        ("size", np.int64),  # of them and what fills their tree
        ("first", np.int64),  # how many ranks the columns before it have
        ("n_ranks", np.int64),
    ]
)


class RankColumns(NamedTuple):
    """What ranks rows: of a row only its rank among the thresholds of a feature counts.

    That is how many of them lie below its value; at a node of bound b a row goes right if its rank
    is above b. A split by category has ranks 0, left, and 1. Where both ways of missing values
    occur at nodes of one feature, it has a column of ranks for each.
    """

    columns: NDArray[np.void]  # (columns,): what each column ranks, see `COLUMN`
    # (thresholds,): the thresholds of one column after the other, each as a complete tree: see
    # `heap_of`
    threshold: Floats
    goes_left: Bools  # (sets, categories): see `Forest`


class RankScratch(NamedTuple):
    """Scratch for ranking rows, a block of them at a time."""

    value: Floats  # (BLOCK,): their values of one column
    place: Keys  # (BLOCK,): how far each is on its way down the tree of thresholds


def rank_scratch() -> RankScratch:
    """Return scratch for ranking rows."""
    return RankScratch(np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint64))


class Walk(NamedTuple):
    """A forest as kernels walk it: a node is one number, and a row is the ranks of its values."""

    # (nodes,): Where the children are, the right one after the left one; the rank above which a row
    # goes right; the column of the rank. A leaf leads to itself.
    nodes: Keys
    # (trees,): how many steps lead to the deepest leaf of each tree; roots are the first nodes
    depth: NDArray[np.int32]
    # (trees, 2**LEVELS): The first levels of each tree as a complete one: the children of the node
    # at i are at 2i and 2i + 1, and the root is at 1. Rank and column as in `nodes`.
    tops: Keys
    # (trees, 2**LEVELS): which node a row is at after these levels, or after all if there are fewer
    ends: NDArray[np.int32]
    value: Floats  # (nodes, c): what a leaf adds to each output
    ranking: RankColumns


def rank_columns_of(forest: Forest, inside: Ints) -> tuple[RankColumns, Ints, Ints]:
    """Return what ranks rows for a forest, and the column and the bound of its nodes `inside`."""
    n_sets = len(forest.goes_left) + 1
    kind = (forest.feature.astype(np.int64) * n_sets + forest.category_set + 1) * 2
    kinds, column = np.unique((kind + forest.missing_left)[inside], return_inverse=True)
    category_set = kinds // 2 % n_sets - 1
    order = np.argsort(column)
    ends = np.searchsorted(column[order], np.arange(len(kinds) + 1))
    bound, thresholds = np.zeros(len(inside), dtype=np.int64), [np.empty(0)] * len(kinds)
    for k in np.flatnonzero(category_set == BY_THRESHOLD).tolist():
        own = order[ends[k] : ends[k + 1]]
        thresholds[k], bound[own] = np.unique(forest.threshold[inside[own]], return_inverse=True)
    heaps = [heap_of(each) for each in thresholds]
    columns = np.zeros(len(kinds), dtype=COLUMN)
    columns["feature"], columns["category_set"] = kinds // 2 // n_sets, category_set
    top = np.where(category_set == BY_THRESHOLD, [len(each) for each in thresholds], 1)
    columns["missing_rank"] = np.where(kinds % 2 != 0, 0, top)  # above all bounds goes right
    columns["size"] = [len(heap) for heap in heaps]
    columns["start"] = np.cumsum(columns["size"]) - columns["size"]
    columns["n_ranks"] = top + 1
    columns["first"] = np.cumsum(top + 1) - (top + 1)
    ranking = RankColumns(columns, np.concatenate([*heaps, np.empty(0)]), forest.goes_left)
    return ranking, column, bound


def walk_of(forest: Forest) -> Walk:
    """Return the table that kernels walk; raise OverflowError if a forest is too large for it."""
    inside = np.flatnonzero(~is_leaf(forest))
    ranking, column, bound = rank_columns_of(forest, inside)
    n_trees, columns = len(forest.roots), ranking.columns
    old = np.concatenate([forest.roots, forest.children[inside].reshape(-1)])
    most = columns["n_ranks"].max(initial=0)
    if len(columns) * LANES > 2**COLUMN_BITS or most > TOP or len(old) >= 2**28:
        raise OverflowError
    split = np.full(len(forest.children), -1)  # which split a node is; -1 for a leaf
    split[inside] = np.arange(len(inside))
    at, is_end = split[old], split[old] < 0
    child = np.where(is_end, np.arange(len(old)), n_trees + 2 * at)
    bounds, ranked = (np.append(each, end)[at] for each, end in ((bound, TOP), (LANES * column, 0)))
    splits = bounds.astype(np.uint64) << np.uint64(COLUMN_BITS) | ranked.astype(np.uint64)
    depth = depths(child, n_trees)
    return Walk(
        child.astype(np.uint64) << np.uint64(COLUMN_BITS + RANK_BITS) | splits,
        small(depth),
        *tops_of(child, splits, depth),
        np.ascontiguousarray(forest.value[old]),
        ranking,
    )


def heap_of(rising: Floats) -> Floats:
    """Return rising numbers as a complete tree: what lies below one at i is at 2i, above at 2i + 1.

    The root is at 1; the size is a power of two, and infinity fills what is left. So looking a
    number up takes no branch that the processor could guess wrong.

    Examples
    --------
    >>> heap_of(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [inf, 4.0, 2.0, inf, 1.0, 3.0, inf, inf]
    """
    n_levels = len(rising).bit_length()
    heap = np.full(2**n_levels, np.inf)
    for level in range(n_levels):
        step = 2 ** (n_levels - level - 1)
        own = rising[step - 1 :: 2 * step]
        heap[2**level : 2**level + len(own)] = own
    return heap


def depths(child: Ints, n_trees: int) -> Ints:
    """Return how many steps lead to the deepest leaf of each tree; see `Walk.nodes`."""
    depth, tree, node = np.zeros(n_trees, dtype=np.int64), np.arange(n_trees), np.arange(n_trees)
    while len(tree := tree[child[node] != node]):
        node = child[node[child[node] != node]]
        depth[tree] += 1
        tree, node = np.repeat(tree, 2), np.stack([node, node + 1], axis=1).reshape(-1)
    return depth


def tops_of(child: Ints, splits: Keys, depth: Ints) -> tuple[Keys, NDArray[np.int32]]:
    """Return the first levels of trees as complete ones, and where they end; see `Walk`."""
    n_trees = len(depth)
    tops = np.zeros((n_trees, 2**LEVELS), dtype=np.uint64)
    ends = np.zeros((n_trees, 2**LEVELS), dtype=np.int32)
    node = np.arange(n_trees)[:, None]
    for level in range(LEVELS + 1):
        is_last = depth == level if level < LEVELS else depth >= level
        ends[is_last, : 2**level] = node[is_last]
        if level < LEVELS:
            tops[:, 2**level : 2 ** (level + 1)] = splits[node]
            right = child[node] + (child[node] != node)  # a leaf leads to itself
            node = np.stack([child[node], right], axis=2).reshape(n_trees, -1)
    return tops, ends


def add_up(rows: Floats, walk: Walk, total: Floats, *, is_single: bool = False) -> None:
    """Add to `total` (n, c) what each tree says of rows (n, d), tree by tree.

    Single sums are rounded to single precision after each tree.
    """
    rows, n_columns = as_kernels_take(rows), len(walk.ranking.columns)
    is_large = len(walk.nodes) > MOST_NODES
    most = MOST_RANKS // max(1, n_columns) if is_large else BLOCK
    ranks = np.zeros((-(-min(most, len(rows)) // LANES), LANES * n_columns), dtype=np.uint32)
    scratch = WalkScratch(ranks, rank_scratch(), np.empty(LANES, dtype=np.uint64))
    _walk(rows, walk, scratch, total, is_single)


def as_kernels_take(rows: Floats) -> Floats:
    """Return rows in the one form that kernels are compiled for."""
    return np.ascontiguousarray(rows if rows.flags.writeable else rows.copy(), dtype=np.float64)


class WalkScratch(NamedTuple):
    """Scratch for the work on some rows."""

    # (blocks, LANES * columns): their ranks, those of LANES rows side by side
    ranks: NDArray[np.uint32]
    ranking: RankScratch
    node: Keys  # (LANES,): where rows are


@kernel
def _walk(rows: Floats, walk: Walk, scratch: WalkScratch, total: Floats, is_single: bool) -> None:
    """Walk rows block by block, so that their ranks stay in the processor's cache."""
    ranks, node = scratch.ranks, scratch.node
    size = LANES * len(ranks)
    for start in range(0, len(rows), size):
        stop = min(start + size, len(rows))
        rank_rows(rows[start:stop], walk.ranking, ranks, scratch.ranking)
        for tree in range(len(walk.depth)):
            for first in range(start, stop, LANES):
                _walk_lanes(walk, tree, ranks[(first - start) // LANES], node)
                for q in range(min(LANES, stop - first)):
                    for c in range(total.shape[1]):
                        added = total[first + q, c] + walk.value[node[q], c]
                        total[first + q, c] = np.float32(added) if is_single else added


@part
def _walk_lanes(walk: Walk, tree: int, ranks: Any, node: Keys) -> None:
    """Walk rows side by side down a tree, without a branch; their ranks lie side by side, too."""
    top, n_steps = walk.tops[tree], min(LEVELS, walk.depth[tree])
    a = b = c = d = e = f = g = h = np.uint64(1)  # in registers, as an array would not be
    for _ in range(n_steps):
        a, b = _step(top, a, ranks, np.uint64(0)), _step(top, b, ranks, np.uint64(1))
        c, d = _step(top, c, ranks, np.uint64(2)), _step(top, d, ranks, np.uint64(3))
        e, f = _step(top, e, ranks, np.uint64(4)), _step(top, f, ranks, np.uint64(5))
        g, h = _step(top, g, ranks, np.uint64(6)), _step(top, h, ranks, np.uint64(7))
    ends, past = walk.ends[tree], np.uint64(1) << np.uint64(n_steps)
    node[0], node[1], node[2] = ends[a - past], ends[b - past], ends[c - past]
    node[3], node[4], node[5] = ends[d - past], ends[e - past], ends[f - past]
    node[6], node[7] = ends[g - past], ends[h - past]
    for _ in range(walk.depth[tree] - n_steps):
        moved = np.uint64(0)
        for q in range(LANES):
            at = walk.nodes[node[q]]
            bound = (at >> np.uint64(COLUMN_BITS)) & np.uint64(TOP)
            rank = np.uint64(ranks[(at & np.uint64(2**COLUMN_BITS - 1)) + np.uint64(q)])
            goal = (at >> np.uint64(COLUMN_BITS + RANK_BITS)) + np.uint64(rank > bound)
            moved |= goal ^ node[q]
            node[q] = goal
        if moved == 0:
            break


@inner
def _step(top: Keys, at: Any, ranks: Any, q: Any) -> Any:
    """Return where the row of a lane goes from a place of a complete tree."""
    split = top[at]
    rank = np.uint64(ranks[(split & np.uint64(2**COLUMN_BITS - 1)) + q])
    return at + at + np.uint64(rank > split >> np.uint64(COLUMN_BITS))


@inner
def rank_rows(rows: Floats, ranking: RankColumns, ranks: Any, scratch: RankScratch) -> None:
    """Write the ranks of rows, LANES of them side by side, column after column."""
    for first in range(0, len(rows), BLOCK):
        n = min(BLOCK, len(rows) - first)
        for k in range(len(ranking.columns)):
            column, value, place = ranking.columns[k], scratch.value, scratch.place
            for i in range(n):
                value[i] = rows[first + i, column.feature]
            if column.category_set == BY_THRESHOLD:
                _rank_numbers(n, column, ranking.threshold, scratch)
            else:
                goes_left = ranking.goes_left[column.category_set]
                for i in range(n):
                    is_known = 0.0 <= value[i] < len(goes_left)
                    place[i] = np.uint64(column.missing_rank)
                    if is_known:
                        place[i] = np.uint64(not goes_left[np.int64(value[i])])
            for i in range(n):
                block, q = divmod(first + i, LANES)
                ranks[block, k * LANES + q] = place[i]


@inner
def _rank_numbers(n: int, column: Any, threshold: Floats, scratch: RankScratch) -> None:
    """Look up n values of a column among its thresholds: all of them a level at a time.

    None waits for another then, and nothing is guessed.
    """
    value, place, start, size = scratch.value, scratch.place, column.start, np.uint64(column.size)
    missing_rank = np.uint64(column.missing_rank)
    for i in range(n):
        place[i] = 1
    level = np.uint64(1)
    while level < size:
        for i in range(n):
            place[i] += place[i] + np.uint64(threshold[np.uint64(start) + place[i]] < value[i])
        level += level
    for i in range(n):  # NaN is not above MISSING, either
        place[i] = place[i] - size if value[i] > MISSING else missing_rank
