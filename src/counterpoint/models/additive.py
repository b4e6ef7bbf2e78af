"""Additive models: trees and weights as data in gene space, to score, search and prove with.

A tree ensemble or a linear model that is known is read once. Encoders and scalers before it are
gone from what is read: it is written for genes. It is believed after a trial only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from counterpoint.arrays import MISSING, Floats
from counterpoint.models.gene_space import (
    CONSTANT,
    NO_GENES,
    ModelColumns,
    forest_in_genes,
)
from counterpoint.models.trees import BY_THRESHOLD, Forest, Walk, add_up, is_leaf, walk_of
from counterpoint.table.encoding import Encoding
from counterpoint.table.features import Feature, Kind

Link: TypeAlias = Literal["identity", "mean", "logistic", "softmax", "exp", "labels"]

MOST_THRESHOLDS = 512  # at which a trial asks
TOLERANCE = 1e-6  # how far answers may be from the model's, of numbers above 1 relative to them


class AdditiveModel(NamedTuple):
    """A model whose raw scores are sums: of one leaf of each tree, or of a share for each gene.

    The raw scores of a genome are ``(base + leaves + shares of genes) / divisor``.

    Attributes
    ----------
    forest : Forest or None
        The trees in gene space: `feature` is a gene, `threshold` in units of it, categories are
        codes of levels. None for linear models.
    base : ndarray of shape (c,)
        What the sums begin with.
    slopes : ndarray of shape (d, c)
        What a unit of a numeric gene adds; 0 for levels and for trees.
    level_values : ndarray of shape (d, most levels + 1, c)
        What a level adds; what a missing value adds, of numbers too, comes last.
    divisor : float
        The number of trees of a forest that averages, else 1.
    link : {"identity", "mean", "logistic", "softmax", "exp", "labels"}
        What makes outputs of raw scores: nothing ("identity" for a number, "mean" for
        probabilities), the logistic function, of which the one raw score gives the probability
        of the second class, softmax, or of numbers the exponential function. Of a model without
        probabilities the label is that of the highest raw score, or the second if the one raw
        score is above 0: its outputs are 0 and 1.
    is_single : bool
        Whether sums are rounded to single precision after each tree.
    walk : Walk or None
        The forest as kernels walk it; made anew for each call if it is None.
    """

    forest: Forest | None
    base: Floats
    slopes: Floats
    level_values: Floats
    divisor: float
    link: Link
    is_single: bool = False
    walk: Walk | None = None

    def raw(self, genomes: Floats) -> Floats:
        """Return the raw scores (n, c) of genomes (n, d)."""
        total = np.repeat(self.base[None], len(genomes), axis=0)
        if self.forest is not None:
            walk = self.walk or walk_of(self.forest)
            add_up(genomes, walk, total, is_single=self.is_single)
            return total / self.divisor
        is_missing = genomes == MISSING
        total += np.where(is_missing, 0.0, genomes) @ self.slopes
        is_level = self.level_values[:, :-1].any(axis=(1, 2))
        codes = np.where(is_missing, -1.0, np.where(is_level, genomes, 0.0)).astype(np.int64)
        total += self.level_values[np.arange(genomes.shape[1]), codes].sum(axis=1)
        return total

    def outputs(self, genomes: Floats) -> Floats:
        """Return what the model's outputs are by these sums: shape (n, classes) or (n, 1)."""
        from scipy.special import expit, softmax  # loaded with the model, so late

        raw = self.raw(genomes)
        if self.link == "logistic":
            second = expit(raw[:, 0])
            return np.column_stack([1.0 - second, second])
        if self.link == "softmax":
            return np.asarray(softmax(raw, axis=1))
        if self.link == "labels":
            is_second = raw[:, 0] > 0.0
            chosen = is_second.astype(np.int64) if raw.shape[1] == 1 else raw.argmax(axis=1)
            return np.asarray(np.eye(max(2, raw.shape[1]))[chosen])
        return np.exp(raw) if self.link == "exp" else raw


def of_trees(forest: Forest, base: Floats, divisor: float, link: Link) -> AdditiveModel:
    """Return a sum over trees alone."""
    nothing = np.zeros((0, len(base)))
    return AdditiveModel(forest, base, nothing, nothing[:, None], divisor, link)


def in_genes(own: AdditiveModel, columns: ModelColumns) -> AdditiveModel:
    """Return sums over a model's columns as sums over genes."""
    d, c = len(columns.features), len(own.base)
    n_levels = max(1, *(len(feature.levels) for feature in columns.features))
    empty = own._replace(slopes=np.zeros((d, c)), level_values=np.zeros((d, n_levels + 1, c)))
    if own.forest is not None:
        forest = forest_in_genes(own.forest, columns)
        return empty._replace(forest=forest, walk=walk_of(forest))
    slopes, level_values, base = empty.slopes, empty.level_values, own.base.copy()
    for k, weights in enumerate(own.slopes):
        j, missing = int(columns.owner[k]), columns.missing[k]
        if j == CONSTANT:
            base += columns.levels[k, 0] * weights
            continue
        if columns.features[j].is_numeric:
            slope, start = line_through(*columns.knots[k])
            slopes[j] += slope * weights
            base += start * weights
            missing -= start  # which the base has already
        else:
            values = columns.levels[k, : len(columns.features[j].levels)]
            level_values[j, : len(values)] += values[:, None] * weights
        if columns.features[j].has_missing:
            level_values[j, -1] += missing * weights
    return empty._replace(base=base)


def line_through(genes: Floats, values: Floats) -> tuple[float, float]:
    """Return slope and start of a column that is a line over its gene; raise if it is none."""
    slope = (values[-1] - values[0]) / (genes[-1] - genes[0])
    start = values[0] - slope * genes[0]
    if (np.abs(start + slope * genes - values) > TOLERANCE * np.abs(values).max()).any():
        raise ValueError(NO_GENES)
    return float(slope), float(start)


def is_true(sums: AdditiveModel, ask: Callable[[Floats], Floats], questions: list[Floats]) -> bool:
    """Whether sums say what the model says of genomes, up to `TOLERANCE`."""
    try:
        for rows in questions:
            answers, expected = sums.outputs(rows), ask(rows)
            room = TOLERANCE * np.maximum(1.0, np.abs(expected))
            if answers.shape != expected.shape or (np.abs(answers - expected) > room).any():
                return False
    except Exception:  # the model refuses rows that nobody has
        return False
    return True


def rows_at_thresholds(forest: Forest, encoding: Encoding, genomes: Floats) -> Floats:
    """Return genomes with one gene each at a threshold of a forest and the values beside it."""
    features = encoding.schema.features
    nodes = np.flatnonzero(~is_leaf(forest) & (forest.category_set == BY_THRESHOLD))
    nodes = nodes[np.linspace(0, len(nodes) - 1, min(len(nodes), MOST_THRESHOLDS)).astype(np.int64)]
    rows = []
    for i, node in enumerate(nodes.tolist()):
        j = int(forest.feature[node])
        for value in beside(float(forest.threshold[node]), features[j]):
            row = genomes[i % len(genomes)].copy()
            row[j] = value
            rows.append(row)
    return np.array(rows) if rows else genomes


def beside(threshold: float, feature: Feature) -> list[float]:
    """Return the values of a feature at a threshold, as its dtype has them, on both sides."""
    low, high = feature.dtype_range
    if not low < threshold < high:
        return []
    if feature.kind is Kind.INTEGER:
        return [np.floor(threshold), np.floor(threshold) + 1.0]
    if feature.is_single:
        at = np.float32(threshold)
        return [float(np.nextafter(at, np.float32(side))) for side in (-np.inf, at, np.inf)]
    return [float(np.nextafter(threshold, side)) for side in (-np.inf, threshold, np.inf)]
