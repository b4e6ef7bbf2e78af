"""Plausible values of one feature given the others: what the conditional mutator draws from.

`grow_trees` learns one transformation tree per feature and lays all of them out in flat arrays,
which compiled kernels can walk. To draw a gene, descend its tree with the genome's other genes and
invert the leaf's distribution function.

A node is split as in conditional inference trees (Hothorn, Hornik, Zeileis 2006), here with the
node's own distribution model supplying the scores (transformation trees, Hothorn and Zeileis
2021). First a permutation test of each covariate against the scores chooses the covariate, or
stops; then the cut of this covariate that separates the scores best is taken. So the choice of
covariate is not biased towards those with many possible cuts.

Whatever the kind of the response, its observations lie in K *cells*, and its scores depend on
the cell alone: a node's tests need its cell counts, not its rows.

The response enters a permutation test by its scores. Given the observed scores and the observed
covariate, under independence all pairings of the two are equally likely; mean and covariance of a
linear statistic over the pairings are known exactly, and its quadratic form is asymptotically
chi-squared (Strasser and Weber 1999; the ``quadratic`` test of R's coin and partykit).

Numbers enter as they are, as in the authors' trees (partykit's default). Where a covariate is very
skewed the chi-squared limit is optimistic: with a log-normal one the test at level 1 % rejects 2 to
6 % of independent tables. Ranks would hold the level; they also split more, and the mutator's draws
then stay so close to the row that on skewed tables it misses what the published runs find.

References
----------
Hothorn, T., Hornik, K., Zeileis, A. (2006). Unbiased recursive partitioning: a conditional
inference framework. Journal of Computational and Graphical Statistics 15.
Hothorn, T., Zeileis, A. (2021). Predictive distribution modeling using transformation forests.
Journal of Computational and Graphical Statistics 30.
Strasser, H., Weber, C. (1999). On the asymptotic theory of permutation statistics. Mathematical
Methods of Statistics 8.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.density.bernstein import Response
from counterpoint.kernels import inner, kernel

# The authors' ctree_control(maxdepth = 5), and partykit's defaults.
SIGNIFICANCE = 0.05
MAX_DEPTH = 5
MIN_SPLIT = 20
MIN_BUCKET = 7
MIN_BUCKET_SHARE = 0.01
N_TRIED_COVARIATES = 2  # a chosen covariate may have no admissible cut


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


def grow_trees(
    genomes: Floats, *, is_categorical: Bools, is_integer: Bools, n_levels: Ints
) -> Trees:
    """Return the trees of all features; nothing is drawn.

    `genomes` (n, d) are C-contiguous, with categories as codes 0 .. levels - 1 and nothing missing.
    Ordered categories are integers here. `n_levels` counts levels that were not observed, too.

    Examples
    --------
    Two features that are always equal, categories 0 and 1, of which each tree asks for the other:

    >>> genomes = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    >>> both = np.array([True, True])
    >>> trees = grow_trees(
    ...     genomes, is_categorical=both, is_integer=~both, n_levels=np.array([2, 2])
    ... )
    >>> trees.split_feature[trees.root], trees.cumulative.tolist()
    (array([1, 0]), [[1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
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
    return _flatten(forest, [response.support for response in responses], levels)


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


class Covariates(NamedTuple):
    """The features a tree may split on.

    `genomes` (n, d), whether a gene `is_categorical` (d,), and the number of
    levels (d,), 0 for numbers. `feature` is the response's own column, which is never split on.
    """

    genomes: Floats
    is_categorical: Bools
    n_levels: Ints
    feature: int


def association(cells: Ints, covariates: Covariates, rows: Ints, scores: Floats) -> Floats:
    """Return the log p-value (d,) of each covariate's permutation test against the scores.

    The statistic is the quadratic form of Strasser and Weber's linear statistic. With whitened
    scores (K, r) and a number ``x`` centred to unit length it is ``(n - 1) |Z'x|^2``, and
    ``(n - 1) sum_l n_l |mean of z in level l|^2`` for categories. `cells` (n,) are those of the
    node's `rows` (n,). It is plus infinity for the response and for what is constant in the node.
    """
    d, rank = covariates.genomes.shape[1], scores.shape[1]
    mean, norm, statistic = np.zeros((3, d))
    scratch = ColumnSums(np.zeros((len(scores), d)), mean, norm)
    _test_numbers(covariates.genomes, rows, cells, scores, scratch, statistic)
    freedom = np.ones(d)
    for feature in np.flatnonzero(covariates.is_categorical):
        sums, sizes = level_sums(cells, covariates, rows, scores, int(feature))
        present = sizes > 0
        statistic[feature] = np.sum(sums[present] ** 2 / sizes[present, None])
        freedom[feature] = present.sum() - 1
    log_p = np.full(d, np.inf)
    tested = (freedom > 0) & (statistic >= 0)
    tested[covariates.feature] = False
    log_p[tested] = log_survival((len(rows) - 1) * statistic[tested], rank * freedom[tested])
    return log_p


def level_sums(
    cells: Ints, covariates: Covariates, rows: Ints, scores: Floats, feature: int
) -> tuple[Floats, Ints]:
    """Sum of the scores, and number of rows, in each level of a categorical covariate."""
    n_levels, n_cells = int(covariates.n_levels[feature]), len(scores)
    levels = covariates.genomes[rows, feature].astype(np.int64)
    table = np.bincount(levels * n_cells + cells, minlength=n_levels * n_cells)
    table = table.reshape(n_levels, n_cells)
    return table @ scores, table.sum(axis=1)


def log_survival(statistic: Floats, freedom: Floats) -> Floats:
    """Log upper tail probability of the chi-squared distribution, without underflow."""
    from scipy.special import gammaincc  # not at the top: few searches need it, and it loads slowly

    shape, half = 0.5 * freedom, 0.5 * statistic
    tail = gammaincc(shape, half)
    far = tail < 1e-280
    logarithm = np.log(np.where(far, 1.0, tail))
    if far.any():
        logarithm[far] = _log_far_tail(shape[far], half[far])
    return logarithm


def _log_far_tail(shape: Floats, half: Floats) -> Floats:
    """Legendre's continued fraction of the incomplete gamma function, from the far end."""
    from scipy.special import gammaln  # not at the top: few searches need it, and it loads slowly

    n_terms = 60
    fraction = half + 2 * n_terms + 1 - shape
    for i in range(n_terms, 0, -1):
        fraction = half + 2 * i - 1 - shape - i * (i - shape) / fraction
    return np.asarray(shape * np.log(half) - half - gammaln(shape) - np.log(fraction))


class ColumnSums(NamedTuple):
    """Scratch of one test of all columns, zero at first."""

    deviations: Floats  # (K, d): the sum of a column's deviations from its mean, in each cell
    # (d,): the column's mean, and the sum of its squared deviations
    mean: Floats
    norm: Floats


@kernel
def _test_numbers(
    genomes: Floats, rows: Ints, cells: Ints, scores: Floats, scratch: ColumnSums, statistic: Floats
) -> None:
    d, sums, mean, norm = genomes.shape[1], scratch.deviations, scratch.mean, scratch.norm
    for j in range(d):
        statistic[j] = -1.0  # until the column is seen to vary
    for row in rows:
        for j in range(d):
            mean[j] += genomes[row, j]
            if genomes[row, j] != genomes[rows[0], j]:
                statistic[j] = 0.0
    for j in range(d):
        mean[j] /= len(rows)
    for i in range(len(rows)):
        for j in range(d):
            deviation = genomes[rows[i], j] - mean[j]
            sums[cells[i], j] += deviation
            norm[j] += deviation * deviation
    for j in range(d):
        if not norm[j] > 0.0:
            statistic[j] = -1.0
        if statistic[j] < 0.0:
            continue
        for r in range(scores.shape[1]):
            product = 0.0
            for cell in range(len(scores)):
                product += scores[cell, r] * sums[cell, j]
            statistic[j] += product * product / norm[j]


class Split(NamedTuple):
    """A rule for going left: a value up to `threshold`, or a level marked in `left_levels`."""

    feature: int
    threshold: float
    left_levels: Bools | None

    def sends_left(self, column: Floats) -> Bools:
        """Tell which values of the feature go left."""
        if self.left_levels is None:
            return column <= self.threshold
        return np.asarray(self.left_levels[column.astype(np.int64)])


class TreeNode(NamedTuple):
    """A node in the list of its tree; a leaf has no split, its children follow one another."""

    split: Split | None
    left: int
    probabilities: Floats


def grow(response: Response, covariates: Covariates) -> list[TreeNode]:
    """Grow one tree breadth first; the covariates' column `feature` is ignored.

    The root is first; an inner node's children are ``left`` and ``left + 1``.
    """
    nodes: list[TreeNode] = []
    pending = [(np.arange(len(response.cells)), 0)]
    for rows, depth in pending:  # grows while it is walked
        fitted = response.fit(rows)
        split = None
        if depth < MAX_DEPTH and len(rows) >= MIN_SPLIT:
            split = _find_split(response.cells[rows], covariates, rows, fitted.scores)
        nodes.append(TreeNode(split, len(pending), fitted.probabilities))
        if split is not None:
            goes_left = split.sends_left(covariates.genomes[rows, split.feature])
            pending += [(rows[goes_left], depth + 1), (rows[~goes_left], depth + 1)]
    return nodes


def _find_split(cells: Ints, covariates: Covariates, rows: Ints, scores: Floats) -> Split | None:
    """Best split of a node, or nothing if no covariate is associated with the response."""
    if scores.shape[1] == 0:
        return None
    log_p = association(cells, covariates, rows, scores)
    n_tested = max(1, int(np.isfinite(log_p).sum()))
    bonferroni = math.log(-math.expm1(math.log1p(-SIGNIFICANCE) / n_tested))
    for feature in np.argsort(log_p, kind="stable")[:N_TRIED_COVARIATES]:
        if log_p[feature] >= bonferroni:
            break
        split = _best_split(cells, covariates, rows, scores, int(feature))
        if split is not None:
            return split
    return None


def _best_split(
    cells: Ints, covariates: Covariates, rows: Ints, scores: Floats, feature: int
) -> Split | None:
    """Cut of one covariate that separates the scores best, if a cut is admissible."""
    column = covariates.genomes[rows, feature]
    is_categorical = bool(covariates.is_categorical[feature])
    if is_categorical:
        sums, sizes = level_sums(cells, covariates, rows, scores, feature)
        rank_of_level = _rank_levels(sums, sizes)
        column = rank_of_level[column.astype(np.int64)]
    order = np.argsort(column, kind="stable")
    bucket = max(MIN_BUCKET, math.ceil(MIN_BUCKET_SHARE * len(rows)))
    n_left = _best_cut(column[order], cells[order], scores, bucket, np.zeros(scores.shape[1]))
    if n_left == 0:
        return None
    threshold = float(column[order[n_left - 1]])
    if not is_categorical:
        return Split(feature, threshold, None)
    left_levels = rank_of_level <= threshold
    left_levels[sizes == 0] = 2 * n_left > len(rows)  # unseen here: to the larger child
    return Split(feature, np.nan, left_levels)


def _rank_levels(sums: Floats, sizes: Ints) -> Floats:
    """Rank the levels along the first principal direction of their mean scores.

    With two classes or one score this order holds the best of all binary splits (Breiman et
    al. 1984, section 4.2.2); with more it is a good one, and spares the search of 2^L subsets.
    """
    means = sums / np.maximum(sizes, 1)[:, None]
    direction = np.linalg.eigh(means.T @ sums)[1][:, -1]
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    ranks = np.empty(len(sizes))
    ranks[np.argsort(means @ direction, kind="stable")] = np.arange(len(sizes))
    return ranks


@kernel
def _best_cut(column: Floats, cells: Ints, scores: Floats, bucket: int, running: Floats) -> int:
    """Size of the left part at the best cut of a sorted column, 0 if none is admissible.

    Compares ``|sum of z on the left|^2 (1 / n_left + 1 / n_right)``: the quadratic form of the
    two-sample statistic up to a constant. The first maximiser wins. `running` starts at zero.
    """
    n, rank = len(column), scores.shape[1]
    best, best_size = 0.0, 0
    for size in range(1, n):
        length = 0.0
        for r in range(rank):
            running[r] += scores[cells[size - 1], r]
            length += running[r] * running[r]
        if column[size - 1] < column[size] and size >= bucket and n - size >= bucket:
            statistic = length * (1.0 / size + 1.0 / (n - size))
            if statistic > best:
                best, best_size = statistic, size
    return best_size
