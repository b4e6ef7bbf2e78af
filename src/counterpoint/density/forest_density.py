"""The density of an adversarial forest, a mixture over its leaves (FORDE), and plausibility by it.

Within a leaf features are taken as independent: a number has the normal distribution of the leaf's
observed rows, truncated to the leaf's box; a level their frequencies. A leaf weighs as much as the
share of observed rows in it. One more tree is the root alone, so that no density is zero.

Two departures from Watson et al. (2023), for leaves hold few rows: variances and frequencies are
shrunk, by the weight of one row, towards the leaf's box and the whole table's frequencies; and the
observed rows are themselves rated by leaves without them, or else no other row would be as likely.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from counterpoint.arrays import Bools, Floats, Ints, Singles
from counterpoint.checks import check_number, check_whole
from counterpoint.density.adversarial_forest import (
    LEAST_ROWS,
    Boxes,
    Columns,
    Grove,
    Settings,
    Spots,
    columns_of,
    find_boxes,
    find_leaf,
    grouped,
    grow,
    leaves_of,
)
from counterpoint.errors import InvalidInput, MissingDependency
from counterpoint.kernels import kernel
from counterpoint.streams import MAX_INDIVIDUALS, Stage, check_seed, row_keys, uniforms
from counterpoint.table.space import Space

LOG_ROOT = 0.5 * np.log(2.0 * np.pi)
SMALLEST = 1e-6  # standard deviation of a constant column, as a share of its value
ROOT = -1  # stands for the tree that is the root alone


class Leaves(NamedTuple):
    """The distributions of all leaves with observed rows; the first is the root's."""

    of_node: Ints  # (nodes,): the place of a leaf below; -1 if it is none, or without observed rows
    log_share: Floats  # (leaves,): logarithm of the share of observed rows
    # (leaves, p): of each number: a value x has the log-density ``constant - (scale * (x -
    # mean))**2 / 2``
    mean: Floats
    scale: Floats
    constant: Floats
    # (leaves, places): logarithm of the probability of each level, feature by feature …
    log_level: Singles
    offset: Ints  # (q,): … and where each feature begins


@dataclass(frozen=True)
class Statistics:
    """What the observed rows in each leaf add up to."""

    count: Floats  # (leaves,): how many there are
    # (leaves, p): their means, and sums of squared differences from these
    mean: Floats
    square: Floats
    # (leaves, p): the leaf's box
    lower: Floats
    upper: Floats
    # (leaves, places): how often each level occurs, and whether it can
    level_count: Floats
    allowed: Bools

    def at(self, places: Ints) -> Statistics:
        """Return those of some leaves, repeated as they are."""
        return Statistics(*(getattr(self, name)[places] for name in self.__dataclass_fields__))

    def without(self, numbers: Floats, spots: Ints) -> Statistics:
        """Return those of leaves without one row each: its numbers (leaves, p), its level places.

        A leaf that has no other row keeps a count of 0.
        """
        count = self.count - 1.0
        rest = np.maximum(count, 1.0)[:, None]
        apart = numbers - self.mean
        square = np.maximum(self.square - apart**2 * (self.count[:, None] / rest), 0.0)
        level_count = self.level_count.copy()
        others = np.take_along_axis(level_count, spots, 1) - 1.0
        np.put_along_axis(level_count, spots, others, axis=1)
        mean = np.where(count[:, None] > 0.0, self.mean - apart / rest, self.mean)
        return replace(self, count=count, mean=mean, square=square, level_count=level_count)


@dataclass(frozen=True)
class Margins:
    """What the whole table says of each feature: what leaves are shrunk towards."""

    # (p,): range and variance of each number, and the least standard deviation it may have
    low: Floats
    high: Floats
    variance: Floats
    least: Floats
    # (places,): of each level, and how many levels share its place
    frequency: Floats
    n_pooled: Floats
    offset: Ints  # (q,): the first place of each feature

    @classmethod
    def of(cls, genomes: Floats, columns: Columns, space: Space, level_count: Floats) -> Margins:
        """Return the margins of observed rows (n, d), given how often (places,) levels occur."""
        numbers = genomes[:, columns.numbers]
        low, high = numbers.min(axis=0), numbers.max(axis=0)
        grid = space.grid[columns.numbers]
        step = np.where(grid > 0.0, 1.0 / np.where(grid > 0.0, grid, 1.0), 0.0)
        least = np.maximum(step / np.sqrt(12.0), SMALLEST * np.maximum(1.0, np.abs(high)))
        n_places = np.repeat(columns.n_groups, columns.n_groups)
        n_pooled = np.ones(len(level_count))
        last = np.cumsum(columns.n_groups) - 1
        n_pooled[last] += space.n_levels[columns.levels] - columns.n_groups
        frequency = (level_count + 1.0) / (len(genomes) + n_places)
        offset = last + 1 - columns.n_groups
        return cls(low, high, numbers.var(axis=0), least, frequency, n_pooled, offset)


def normal_shapes(leaves: Statistics, margins: Margins) -> tuple[Floats, Floats]:
    """Return scale and constant (leaves, p) of the truncated normals; see `Leaves`."""
    width = np.minimum(leaves.upper, margins.high) - np.maximum(leaves.lower, margins.low)
    prior = np.minimum(margins.variance, width**2 / 12.0)  # of a uniform number in the box
    variance = (leaves.square + prior) / np.maximum(leaves.count, 1.0)[:, None]
    deviation = np.maximum(np.sqrt(variance), margins.least)
    mass = ndtr((leaves.upper - leaves.mean) / deviation)
    mass -= ndtr((leaves.lower - leaves.mean) / deviation)
    flat = np.minimum(leaves.upper - leaves.lower, deviation) / deviation
    mass = np.where(mass > 0.0, mass, flat)  # of a box so narrow that round-off leaves it nothing
    return 1.0 / deviation, -np.log(deviation) - np.log(mass) - LOG_ROOT


def log_levels(leaves: Statistics, margins: Margins) -> Floats:
    """Return the logarithm of the probability (leaves, places) of each level; finite everywhere."""
    if leaves.level_count.shape[1] == 0:
        return leaves.level_count
    prior = np.where(leaves.allowed, margins.frequency, 0.0)
    sums = np.add.reduceat(prior, margins.offset, axis=1)
    prior /= np.repeat(sums, np.diff(margins.offset, append=prior.shape[1]), axis=1)
    shrunk = (leaves.level_count + prior) / (leaves.count[:, None] + 1.0)
    return np.asarray(np.log(np.where(leaves.allowed, shrunk / margins.n_pooled, 1.0)))


class ForestDensity:
    """The density of a table under an adversarial forest.

    `own` is the log-likelihood of each observed row, by leaves without it.
    """

    def __init__(self, grove: Grove, columns: Columns, genomes: Floats, space: Space) -> None:
        self.grove, self.columns = grove, columns
        rows = grouped(genomes, columns)
        nodes = np.vstack([np.full(len(rows), ROOT), leaves_of(grove, rows)])
        ids, flat = np.unique(nodes, return_inverse=True)  # the root comes first
        places = flat.reshape(nodes.shape)
        offset = np.cumsum(columns.n_groups) - columns.n_groups
        spots = rows[:, columns.levels].astype(np.int64) + offset
        total = gather(grove, columns, rows, ids, places, spots)
        margins = Margins.of(rows, columns, space, total.level_count[0])
        scale, constant = normal_shapes(total, margins)
        of_node = np.full(len(grove.feature), -1, dtype=np.int64)
        of_node[ids[1:]] = np.arange(1, len(ids))
        self.leaves = Leaves(
            of_node,
            np.log(total.count / len(rows)),
            total.mean,
            scale,
            constant,
            log_levels(total, margins).astype(np.float32),
            offset,
        )
        self.own = _rate_own(rows[:, columns.numbers], spots, places, total, margins)

    def log_likelihood(self, genomes: Floats) -> Floats:
        """Return the log-likelihood (n,) of genomes (n, d), each by itself."""
        rows, columns = grouped(genomes, self.columns), self.columns
        highest, total = np.full(len(rows), -np.inf), np.zeros(len(rows))
        _rate(self.grove, self.leaves, columns.numbers, columns.levels, rows, highest, total)
        return np.asarray(highest + np.log(total) - np.log(len(self.grove.roots) + 1.0))


def gather(
    grove: Grove, columns: Columns, rows: Floats, ids: Ints, places: Ints, spots: Ints
) -> Statistics:
    """Return the statistics of leaves by their nodes `ids`, with rows (n, d) at (trees, n)."""
    flat, n_trees, n_leaves = places.ravel(), len(places), len(ids)
    count = np.bincount(flat, minlength=n_leaves).astype(np.float64)
    p, n_places = len(columns.numbers), int(columns.n_groups.sum())
    mean, square = np.empty((n_leaves, p)), np.empty((n_leaves, p))
    for k, j in enumerate(columns.numbers):
        values = np.tile(rows[:, j], n_trees)
        mean[:, k] = np.bincount(flat, values, n_leaves) / count
        square[:, k] = np.bincount(flat, (values - mean[flat, k]) ** 2, n_leaves)
    level_count = np.zeros((n_leaves, n_places))
    for k in range(spots.shape[1]):
        np.add.at(level_count, (flat, np.tile(spots[:, k], n_trees)), 1.0)
    _, first = np.unique(flat, return_index=True)
    tree, member = np.divmod(first, places.shape[1])
    spot = np.zeros(rows.shape[1], dtype=np.int64)
    spot[columns.numbers] = np.arange(p)
    spot[columns.levels] = np.cumsum(columns.n_groups) - columns.n_groups
    width = np.ones(rows.shape[1], dtype=np.int64)
    width[columns.levels] = columns.n_groups
    boxes = Boxes(
        np.full((n_leaves, p), -np.inf),
        np.full((n_leaves, p), np.inf),
        np.ones((n_leaves, n_places), dtype=np.bool_),
    )
    find_boxes(grove, rows, tree, member, Spots(spot, width), boxes)
    return Statistics(count, mean, square, boxes.lower, boxes.upper, level_count, boxes.allowed)


def _rate_own(
    numbers: Floats, spots: Ints, places: Ints, total: Statistics, margins: Margins
) -> Floats:
    """Return the log-likelihood (n,) of observed rows, each by leaves without it."""
    n = len(numbers)
    sums = np.full(n, -np.inf)
    for at in places:
        rest = total.at(at).without(numbers, spots)
        scale, constant = normal_shapes(rest, margins)
        logs = (constant - 0.5 * (scale * (numbers - rest.mean)) ** 2).sum(axis=1)
        logs += np.take_along_axis(log_levels(rest, margins), spots, axis=1).sum(axis=1)
        share = rest.count / max(n - 1, 1)
        logs += np.where(share > 0.0, np.log(np.where(share > 0.0, share, 1.0)), -np.inf)
        sums = np.logaddexp(sums, logs)
    return np.asarray(sums - np.log(len(places)))


@kernel
def _rate(
    grove: Grove,
    leaves: Leaves,
    numbers: Ints,
    levels: Ints,
    rows: Floats,
    highest: Floats,
    total: Floats,
) -> None:
    """Add up the likelihoods of each row: ``exp(highest) * total``, tree after tree.

    All rows pass through a tree before the next: its leaves then stay in the processor's cache.
    """
    for t in range(ROOT, len(grove.roots)):
        for i in range(len(rows)):
            place = 0 if t == ROOT else leaves.of_node[find_leaf(grove, grove.roots[t], rows[i])]
            if place < 0:
                continue
            value = leaves.log_share[place]
            for k in range(len(numbers)):
                z = (rows[i, numbers[k]] - leaves.mean[place, k]) * leaves.scale[place, k]
                value += leaves.constant[place, k] - 0.5 * z * z
            for k in range(len(levels)):
                spot = leaves.offset[k] + int(rows[i, levels[k]])
                value += leaves.log_level[place, spot]
            if value > highest[i]:
                total[i] = total[i] * np.exp(highest[i] - value) + 1.0
                highest[i] = value
            else:
                total[i] += np.exp(value - highest[i])


@dataclass(frozen=True, kw_only=True)
class ForestPlausibility(Settings):
    """Plausibility as the likelihood under an adversarial random forest (Watson et al. 2023).

    `implausibility` is then the share of the data that is likelier than the candidate, by the
    forest's density: 0 for what is as likely as the likeliest observed row, 1 for what is less
    likely than all of them. It follows the true density better than the distance to the nearest
    observed row does (docs/plausibility.md). Needs scikit-learn.

    Parameters
    ----------
    trees : int, default=50
        Trees of the forest.
    min_leaf : int, default=5
        The fewest rows in a leaf, observed and synthetic ones together.
    rounds : int, default=10
        The most forests that learn to tell observed rows from those the one before imitates.
    delta : float, default=0.0
        It is enough if a forest is right this much more often than by chance.
    rows : int, default=5000
        The most observed rows it learns from; of more, so many are drawn.
    seed : int, default=0
        Same seed, same forest.

    Examples
    --------
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> heights = [150.0 + i for i in range(50)]
    >>> data = pd.DataFrame({"height": heights, "weight": [h - 100.0 for h in heights]})
    >>> explainer = cp.Explainer(
    ...     lambda rows: rows["weight"] / 100, data, plausibility=cp.ForestPlausibility(trees=20)
    ... )
    >>> score = explainer.observed.aims.plausibility.score
    >>> usual, odd = score(np.array([[170.0, 70.0], [151.0, 98.0]]))
    >>> bool(usual < 0.9), bool(odd > 0.9)
    (True, True)

    References
    ----------
    Watson, Blesch, Kapar, Wright (2023), Adversarial random forests for density estimation and
    generative modeling, AISTATS.
    """

    def __post_init__(self) -> None:
        wholes = {"trees": 10_000, "min_leaf": 2**31, "rounds": 1000, "rows": MAX_INDIVIDUALS}
        for name, most in wholes.items():
            check_whole(f"ForestPlausibility.{name}", getattr(self, name), 1, most)
        check_number("ForestPlausibility.delta", self.delta, 0.0, 0.5)
        check_seed(self.seed)

    def fit(self, genomes: Floats, space: Space) -> ForestScore:
        """Return the score that observed rows (n, d) teach.

        Raises
        ------
        InvalidInput
            If a number is too large for the forest, which compares in single precision.
        """
        if np.abs(genomes).max() > np.finfo(np.float32).max:
            raise InvalidInput(
                "plausibility=ForestPlausibility cannot learn from numbers beyond 3.4e+38; use "
                "another unit, or leave it out, which takes the nearness of observed rows."
            )
        rows = self._drawn(genomes)
        columns = columns_of(rows, space)
        empty = np.zeros(0, dtype=np.int64)
        grove, accuracy = Grove(empty, empty, empty, np.zeros(0), empty, empty), [0.5]
        if len(rows) >= LEAST_ROWS:
            check_scikit_learn()
            grove, accuracy = grow(grouped(rows, columns), columns, self)
        density = ForestDensity(grove, columns, rows, space)
        return ForestScore(density, np.sort(density.own), tuple(accuracy))

    def _drawn(self, genomes: Floats) -> Floats:
        """Return at most `rows` of the observed rows, in their order."""
        n = len(genomes)
        if n <= self.rows:
            return np.array(genomes)
        # One of each of `rows` equal parts of the data, so that sorted tables are drawn evenly.
        keys = row_keys(int(self.seed), np.zeros((1, 1)))
        u = uniforms(keys, Stage.FOREST_MARGIN, 1, self.rows, 1)[0, :, 0]
        starts = np.arange(self.rows)
        drawn = ((starts + u) * n / self.rows).astype(np.int64)
        return np.ascontiguousarray(genomes[np.minimum(drawn, n - 1)])


@dataclass(frozen=True, eq=False)
class ForestScore:
    """A forest's density in percentiles of the data."""

    density: ForestDensity = field(repr=False)
    observed_logs: Floats = field(
        repr=False
    )  # (n,): log-likelihoods of the observed rows, ascending
    # how well each forest told observed from synthetic rows: about 0.5 in the end
    accuracy: tuple[float, ...]

    @property
    def words(self) -> str:
        """What it is, for readers of a result."""
        return "the share of the data that an adversarial random forest finds likelier"

    def score(self, genomes: Floats) -> Floats:
        """Return for genomes (n, d) the share of observed rows that are likelier, from 0 to 1."""
        n = len(self.observed_logs)
        shares = np.linspace(1.0, 0.0, n) if n > 1 else np.zeros(1)
        logs = self.density.log_likelihood(np.ascontiguousarray(genomes))
        return np.interp(logs, self.observed_logs, shares, left=1.0, right=0.0)


def check_scikit_learn() -> None:
    """Say that scikit-learn is needed, if it is not there."""
    try:
        import sklearn.ensemble  # noqa: F401 - looked for
    except ImportError as error:
        raise MissingDependency(
            "ForestPlausibility needs scikit-learn, which is not installed; run: "
            "pip install scikit-learn."
        ) from error
