"""Trees: the nodes of all trees of a model in one table, and the kernels that walk rows down them.

Leaves are added up in the order the model does, so that the sums have its bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.kernels import kernel

LEAF = -1  # the child a leaf does not have, as scikit-learn writes it
LANES = 8  # rows walked side by side
BLOCK = 512  # rows that all trees are walked with while both are in the processor's cache …
MOST_NODES = 2**14  # … which is too small for larger forests
BY_THRESHOLD = -1  # the set of categories of a node that has none
N_CATEGORIES = 256  # most that histogram boosting knows


class Forest(NamedTuple):
    """The nodes of all trees, tree after tree; small integers, for a forest may be large.

    Attributes
    ----------
    roots : ndarray of shape (trees,)
        Where each tree begins.
    children : ndarray of shape (nodes, 2)
        Where a row goes from a node, left or right; a leaf leads to itself, so that rows which are
        there already may be walked on with those that are not.
    feature, threshold : ndarray of shape (nodes,)
        A row goes left if its feature does not exceed the threshold …
    category_set : ndarray of shape (nodes,)
        … or, unless this is BY_THRESHOLD, if `goes_left` says so of its category.
    missing_left : ndarray of shape (nodes,)
        Whether a row goes left whose value is missing (`MISSING` or NaN).
    goes_left : ndarray of shape (sets, categories)
        Which categories go left; any other counts as missing.
    value : ndarray of shape (nodes, c)
        What a leaf adds to each output.
    """

    roots: NDArray[np.int32]
    children: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: Floats
    category_set: NDArray[np.int32]
    missing_left: Bools
    goes_left: Bools
    value: Floats


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
    return np.asarray(numbers, dtype=np.int32)


def children_of(is_leaf: Bools, left: Any, right: Any) -> NDArray[np.int32]:
    """Return both children of every node; a leaf is its own."""
    own = np.arange(len(is_leaf))
    return small(np.column_stack([np.where(is_leaf, own, left), np.where(is_leaf, own, right)]))


def joined(trees: list[Any], name: str) -> Any:
    """Return an array of every tree, one after the other."""
    return np.concatenate([np.asarray(getattr(tree, name)) for tree in trees])


def add_up(rows: Floats, forest: Forest, total: Floats) -> None:
    """Add to `total` (n, c) what each tree says of rows (n, d), tree by tree."""
    n_even = 0
    if not len(forest.goes_left) and (rows > MISSING).all():  # which NaN is not, either
        n_even, lanes = len(rows) - len(rows) % LANES, np.empty(LANES, dtype=np.int64)
        size = BLOCK if len(forest.threshold) <= MOST_NODES else max(n_even, LANES)
        for i in range(0, n_even, size):
            _walk_numbers(rows[i : min(i + size, n_even)], forest, total[i:], lanes)
    _walk(rows[n_even:], forest, total[n_even:])


@kernel
def _walk(rows: Floats, forest: Forest, total: Floats) -> None:
    """Walk rows with categories or missing values one by one."""
    for root in forest.roots:
        for i in range(len(rows)):
            node = root
            while forest.children[node, 0] != node:
                value = rows[i, forest.feature[node]]
                by_set = forest.category_set[node]
                goes_left = forest.missing_left[node]
                if by_set == BY_THRESHOLD and value > MISSING:
                    goes_left = value <= forest.threshold[node]
                elif by_set != BY_THRESHOLD and 0.0 <= value < forest.goes_left.shape[1]:
                    goes_left = forest.goes_left[by_set, np.int64(value)]
                node = forest.children[node, int(not goes_left)]
            for c in range(total.shape[1]):
                total[i, c] += forest.value[node, c]


@kernel
def _walk_numbers(rows: Floats, forest: Forest, total: Floats, node: Ints) -> None:
    """Walk rows of numbers, eight at a time and without a branch: twice as fast as one by one."""
    for root in forest.roots:
        for first in range(0, len(rows), LANES):
            for q in range(LANES):
                node[q] = root
            n_moved = 1
            while n_moved > 0:
                n_moved = 0
                for q in range(LANES):
                    is_above = rows[first + q, forest.feature[node[q]]] > forest.threshold[node[q]]
                    goal = forest.children[node[q], int(is_above)]
                    n_moved += goal != node[q]
                    node[q] = goal
            for q in range(LANES):
                for c in range(total.shape[1]):
                    total[first + q, c] += forest.value[node[q], c]
