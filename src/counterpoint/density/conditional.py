"""Plausible values of one feature given the others: what the conditional mutator draws from.

`ConditionalSampler.fit` grows one transformation tree per feature and lays all of them out in
flat arrays, which compiled kernels can walk. To draw a gene, descend its tree with the genome's
other genes and invert the leaf's distribution function.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.density.transformation_tree import (
    Covariates,
    Response,
    TreeNode,
    grow,
    nearest_cells,
)
from counterpoint.kernels import inner, kernel

PROBABILITY_FLOOR = 1e-12  # of a cell that a leaf deems impossible, in log-likelihoods


class Trees(NamedTuple):
    """The trees of all features, side by side: a tuple, because Numba takes it as an argument."""

    root: Ints  # (d,): first node of each feature's tree
    split_feature: Ints  # (nodes,): feature a node asks for, -1 in a leaf
    threshold: Floats  # (nodes,): numbers up to the threshold go left
    is_level_split: Bools  # (nodes,): whether `goes_left` decides instead of the threshold
    goes_left: Bools  # (nodes, max levels): whether a level goes left
    # (nodes,): children, -1 in a leaf
    left: Ints
    right: Ints
    leaf: Ints  # (nodes,): row of `cumulative`, -1 in an inner node
    # (leaves, max K): distribution function over the cells, 1.0 from the last possible cell on
    cumulative: Floats
    support: Floats  # (d, max K): values of the cells, padded with the last
    n_cells: Ints  # (d,): K of each feature


@inner
def find_leaf(trees: Trees, feature: int, genome: Floats) -> int:
    """Return the row of `trees.cumulative` that a genome (d,) leads to, its own gene left aside."""
    node = trees.root[feature]
    while trees.split_feature[node] >= 0:
        value = genome[trees.split_feature[node]]
        if trees.is_level_split[node]:
            goes_left = trees.goes_left[node, int(value)]
        else:
            goes_left = value <= trees.threshold[node]
        node = trees.left[node] if goes_left else trees.right[node]
    leaf: int = trees.leaf[node]
    return leaf


@inner
def draw_value(trees: Trees, feature: int, genome: Floats, u: float) -> float:
    """Draw one gene given the others: the first cell whose cumulative probability exceeds u.

    `u` is a uniform number in [0, 1); the gene's present value is not looked at.
    """
    leaf = find_leaf(trees, feature, genome)
    low, high = 0, trees.n_cells[feature] - 1
    while low < high:
        middle = (low + high) // 2
        if trees.cumulative[leaf, middle] > u:
            high = middle
        else:
            low = middle + 1
    value: float = trees.support[feature, low]
    return value


@kernel
def _draw_column(
    trees: Trees, feature: int, genomes: Floats, uniforms: Floats, values: Floats
) -> None:
    for i in range(len(genomes)):
        values[i] = draw_value(trees, feature, genomes[i], uniforms[i])


@kernel
def _find_leaves(trees: Trees, feature: int, genomes: Floats, leaves: Ints) -> None:
    for i in range(len(genomes)):
        leaves[i] = find_leaf(trees, feature, genomes[i])


@dataclass(frozen=True)
class ConditionalSampler:
    """Conditional distributions of every feature given all the others.

    Examples
    --------
    Two features that are always equal, categories 0 and 1:

    >>> genomes = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    >>> sampler = ConditionalSampler.fit(
    ...     genomes,
    ...     is_categorical=np.array([True, True]),
    ...     is_integer=np.array([False, False]),
    ...     n_levels=np.array([2, 2]),
    ... )
    >>> sampler.sample(np.array([[0.0, 0.0], [0.0, 1.0]]), 0, np.array([0.3, 0.3]))
    array([0., 1.])
    """

    trees: Trees  # one tree per feature

    @classmethod
    def fit(
        cls, genomes: Floats, *, is_categorical: Bools, is_integer: Bools, n_levels: Ints
    ) -> ConditionalSampler:
        """Grow the trees of all features; nothing is drawn.

        `genomes` (n, d) are C-contiguous, with categories as codes 0 .. levels - 1 and nothing
        missing. Ordered categories are integers here. `n_levels` counts levels that were not
        observed, too.
        """
        levels = np.where(is_categorical, n_levels, 0).astype(np.int64)
        responses, forest = [], []
        for feature in range(genomes.shape[1]):
            response = Response.of(
                genomes[:, feature],
                is_integer=bool(is_integer[feature]),
                n_levels=int(levels[feature]),
            )
            responses.append(response)
            forest.append(grow(response, Covariates(genomes, is_categorical, levels, feature)))
        return cls(_flatten(forest, [response.support for response in responses], levels))

    def sample(self, genomes: Floats, feature: int, uniforms: Floats) -> Floats:
        """Draw a feature (n,) for genomes (n, d), given uniform numbers (n,) in [0, 1).

        The genomes are C-contiguous; their column `feature` is not looked at.
        """
        values = np.empty(len(genomes))
        _draw_column(self.trees, feature, genomes, uniforms, values)
        return values

    def log_likelihood(self, genomes: Floats, feature: int) -> Floats:
        """Return the log probability (n,) of each genome's value of a feature, given its others.

        It is that of the cell nearest to the value, at least ``log(1e-12)``.
        """
        n_cells = self.trees.n_cells[feature]
        cells = nearest_cells(self.trees.support[feature, :n_cells], genomes[:, feature])
        leaves = np.empty(len(genomes), dtype=np.int64)
        _find_leaves(self.trees, feature, genomes, leaves)
        upper = self.trees.cumulative[leaves, cells]
        lower = np.where(cells > 0, self.trees.cumulative[leaves, cells - 1], 0.0)
        return np.log(np.maximum(upper - lower, PROBABILITY_FLOOR))


def _flatten(forest: list[list[TreeNode]], supports: list[Floats], n_levels: Ints) -> Trees:
    """Lay the trees out one after the other."""
    nodes = [node for tree in forest for node in tree]
    roots = np.array([0, *accumulate(len(tree) for tree in forest)], dtype=np.int64)[:-1]
    shift = np.repeat(roots, [len(tree) for tree in forest])
    is_leaf = np.array([node.split is None for node in nodes])
    left = np.where(is_leaf, -1, shift + np.array([node.left for node in nodes]))
    width = max(len(support) for support in supports)
    return Trees(
        root=roots,
        split_feature=np.array([node.split.feature if node.split else -1 for node in nodes]),
        threshold=np.array([node.split.threshold if node.split else np.nan for node in nodes]),
        is_level_split=np.array(
            [node.split is not None and node.split.left_levels is not None for node in nodes]
        ),
        goes_left=_level_table(nodes, max(1, int(n_levels.max()))),
        left=left,
        right=np.where(is_leaf, -1, left + 1),
        leaf=np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
        cumulative=np.array([_cumulative(n.probabilities, width) for n in nodes if not n.split]),
        support=np.array([np.pad(s, (0, width - len(s)), mode="edge") for s in supports]),
        n_cells=np.array([len(support) for support in supports]),
    )


def _level_table(nodes: list[TreeNode], max_levels: int) -> Bools:
    table = np.zeros((len(nodes), max_levels), dtype=np.bool_)
    for row, node in zip(table, nodes, strict=True):
        if node.split is not None and node.split.left_levels is not None:
            row[: len(node.split.left_levels)] = node.split.left_levels
    return table


def _cumulative(probabilities: Floats, width: int) -> Floats:
    """Distribution function, padded; exactly one where it ends, so no impossible cell is drawn."""
    cumulative = np.ones(width)
    last = int(np.flatnonzero(probabilities)[-1])
    cumulative[:last] = np.minimum(np.cumsum(probabilities[:last]), 1.0)
    return cumulative
