"""Growing one transformation tree: the distribution of one feature given all the others.

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
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.density import bernstein
from counterpoint.kernels import kernel

_RANK_TOLERANCE = 1e-8  # relative to the largest eigenvalue, for pseudo-inverses


class Covariates(NamedTuple):
    """The features a tree may split on.

    `genomes` (n, d), whether a gene `is_categorical` (d,), and the number of
    levels (d,), 0 for numbers. `feature` is the response's own column, which is never split on.
    """

    genomes: Floats
    is_categorical: Bools
    n_levels: Ints
    feature: int


def whiten(scores: Floats, counts: Floats) -> Floats:
    """Return scores (K, q) centred and decorrelated over the observations, `counts` (K,) per cell.

    That is Z (K, r) with ``sum_k counts[k] z_k = 0`` and ``sum_k counts[k] z_k z_k' = I``; r is the
    rank of the scores' covariance, 0 if they are constant.
    """
    centred = scores - counts @ scores / counts.sum()
    spread, directions = np.linalg.eigh(centred.T @ (centred * counts[:, None]))
    scale = np.max(np.abs(scores) * (counts > 0)[:, None]) ** 2 * counts.sum()
    kept = spread > _RANK_TOLERANCE * max(spread[-1], 1e-6 * scale)
    return np.ascontiguousarray(centred @ (directions[:, kept] / np.sqrt(spread[kept])))


def association(cells: Ints, covariates: Covariates, rows: Ints, scores: Floats) -> Floats:
    """Return the log p-value (d,) of each covariate's permutation test against the scores.

    The statistic is the quadratic form of Strasser and Weber's linear statistic. With whitened
    scores (K, r) and a number ``x`` centred to unit length it is ``(n - 1) |Z'x|^2``, and
    ``(n - 1) sum_l n_l |mean of z in level l|^2`` for categories. `cells` (n,) are those of the
    node's `rows` (n,). It is plus infinity for the response and for what is constant in the node.
    """
    d = covariates.genomes.shape[1]
    rank = scores.shape[1]
    statistic, freedom = number_statistics(covariates.genomes, rows, cells, scores), np.ones(d)
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


def number_statistics(genomes: Floats, rows: Ints, cells: Ints, scores: Floats) -> Floats:
    """Return ``|Z'x|^2`` of every column, centred to unit length; -1 if it is constant here."""
    d = genomes.shape[1]
    mean, norm, statistic = np.zeros((3, d))
    scratch = ColumnSums(np.zeros((len(scores), d)), mean, norm)
    _test_numbers(genomes, rows, cells, scores, scratch, statistic)
    return statistic


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
    """Write the statistics of all columns."""
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


# The authors' ctree_control(maxdepth = 5), and partykit's defaults.
SIGNIFICANCE = 0.05
MAX_DEPTH = 5
MIN_SPLIT = 20
MIN_BUCKET = 7
MIN_BUCKET_SHARE = 0.01
N_TRIED_COVARIATES = 2  # a chosen covariate may have no admissible cut

MAX_POINTS = 100  # cells of a smooth response, and the values it can be given
MAX_DISTINCT = 10  # a numeric feature with no more values than this is described by frequencies

ResponseKind = Literal["smooth", "values", "levels"]


class Fitted(NamedTuple):
    """A response's distribution in one node: cell probabilities (K,), whitened scores (K, r)."""

    probabilities: Floats
    scores: Floats


@dataclass(frozen=True)
class Response:
    """The feature a tree describes."""

    # many-valued numbers (Bernstein polynomial), few-valued numbers, or categories (both:
    # frequencies)
    kind: ResponseKind
    support: Floats  # (K,): the value that stands for each cell, increasing
    cells: Ints  # (n,): cell of each observation

    @classmethod
    def of(cls, values: Floats, *, is_integer: bool, n_levels: int) -> Response:
        """Choose kind and cells for a column; `n_levels` is 0 for numbers."""
        if n_levels > 0:
            return cls("levels", np.arange(n_levels, dtype=np.float64), values.astype(np.int64))
        distinct = np.unique(values)
        is_smooth = len(distinct) > MAX_DISTINCT
        support = _points(values.min(), values.max(), is_integer) if is_smooth else distinct
        return cls("smooth" if is_smooth else "values", support, nearest_cells(support, values))

    def fit(self, rows: Ints) -> Fitted:
        """Distribution and scores in the node that holds these rows."""
        n_cells = len(self.support)
        counts = np.bincount(self.cells[rows], minlength=n_cells).astype(np.float64)
        probabilities = counts / counts.sum()
        if self.kind == "smooth":
            theta = bernstein.fit(counts)
            probabilities = bernstein.cell_probabilities(theta, n_cells)
            scores = bernstein.cell_scores(theta, n_cells)
        elif self.kind == "levels":
            scores = np.eye(n_cells)[:, counts > 0]
        else:
            scores = (self.support - self.support[0])[:, None]
        return Fitted(probabilities, whiten(scores, counts))


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


def nearest_cells(support: Floats, values: Floats) -> Ints:
    """Index of the nearest support point of each value; halves go to the lower one."""
    middles = support[:-1] + 0.5 * np.diff(support)
    return np.searchsorted(middles, values, side="left").astype(np.int64)


def _points(low: float, high: float, is_integer: bool) -> Floats:
    """Values of a smooth response: every integer if they are few, else an even grid."""
    if is_integer and high - low < MAX_POINTS:
        return np.arange(low, high + 1.0)
    points = np.linspace(low, high, MAX_POINTS)
    return np.unique(np.rint(points)) if is_integer else points


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
