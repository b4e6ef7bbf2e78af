"""Trees in one table, walked by a kernel that adds up leaves in the order the model does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import kernel

LEAF = -1  # the child a leaf does not have, as scikit-learn writes it
LANES = 8  # rows walked side by side
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
        Whether a row without a value goes left.
    goes_left : ndarray of shape (sets, N_CATEGORIES)
        Which categories go left.
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


def of_forest(trees: list[Any]) -> Forest:
    """Return the `tree_` of scikit-learn's decision trees as one table."""
    roots, shift = starts([tree.node_count for tree in trees])
    left, right = joined(trees, "children_left"), joined(trees, "children_right")
    return Forest(
        small(roots),
        children_of(left == LEAF, left + shift, right + shift),
        small(np.where(left == LEAF, 0, joined(trees, "feature"))),
        joined(trees, "threshold").astype(np.float64),
        small(np.full(len(left), BY_THRESHOLD)),
        joined(trees, "missing_go_to_left").astype(np.bool_),
        np.zeros((0, N_CATEGORIES), dtype=np.bool_),
        np.ascontiguousarray(joined(trees, "value")[:, 0, :], dtype=np.float64),
    )


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


def one_leaf() -> Forest:
    """Return the smallest forest: one tree that says 0 of every row."""
    return Forest(
        small([0]),
        small([[0, 0]]),
        small([0]),
        np.zeros(1),
        small([BY_THRESHOLD]),
        np.zeros(1, dtype=np.bool_),
        np.zeros((0, N_CATEGORIES), dtype=np.bool_),
        np.zeros((1, 1)),
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


def add_up(rows: Any, forest: Forest, total: Floats) -> None:
    """Add to `total` (n, c) what each tree says of rows (n, d), tree by tree."""
    n_even = 0
    if not len(forest.goes_left) and not np.isnan(rows).any():
        n_even = len(rows) - len(rows) % LANES
        _walk_numbers(rows[:n_even], forest, total[:n_even], np.empty(LANES, dtype=np.int64))
    _walk(rows[n_even:], forest, total[n_even:])


@kernel
def _walk(rows: Any, forest: Forest, total: Any) -> None:
    """Walk rows with categories or missing values one by one."""
    for root in forest.roots:
        for i in range(len(rows)):
            node = root
            while forest.children[node, 0] != node:
                value = rows[i, forest.feature[node]]
                by_set = forest.category_set[node]
                if np.isnan(value) or (by_set != BY_THRESHOLD and value < 0.0):
                    goes_left = forest.missing_left[node]
                elif by_set != BY_THRESHOLD:
                    goes_left = forest.goes_left[by_set, np.int64(value) % N_CATEGORIES]
                else:
                    goes_left = value <= forest.threshold[node]
                node = forest.children[node, int(not goes_left)]
            for c in range(total.shape[1]):
                total[i, c] += forest.value[node, c]


@kernel
def _walk_numbers(rows: Any, forest: Forest, total: Any, node: Any) -> None:
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
