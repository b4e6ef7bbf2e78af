"""Adversarial random forest: the density of a table, learnt by telling it from its own imitation.

Watson, Blesch, Kapar, Wright (2023), *Adversarial random forests for density estimation and
generative modeling*. A forest learns to tell the observed rows from synthetic ones whose features
are independent. Synthetic rows are then made anew, with features independent within each leaf only,
and the next forest has to tell those, until it does no better than chance: then within the leaves
of the forest before it features are as good as independent, and its density is a mixture over
leaves of products of simple ones (`forest_density.py`).

The forests are scikit-learn's, imported when one is fitted; their trees are walked by our kernel.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import inner, kernel
from counterpoint.streams import Stage, row_keys, uniforms
from counterpoint.table.space import Space

LEAF = -1  # the child a leaf does not have, as scikit-learn writes it
BY_THRESHOLD = -1  # the level of a split on a number
MOST_LEVELS = 32  # of one feature that are told apart; the rarest share one place
LEAST_ROWS = 10  # fewer teach a forest nothing


class Columns(NamedTuple):
    """What the forest's columns are: numbers as they are, one column for each level."""

    # (p,): which features are numbers, and which are levels
    numbers: Ints
    levels: Ints
    groups: Ints  # (q, most levels): the place of each level among those told apart
    n_groups: Ints  # (q,): how many are told apart
    # (columns,): the feature of each of the forest's columns, and the place of its level;
    # BY_THRESHOLD for a number
    feature: Ints
    level: Ints


class Grove(NamedTuple):
    """The nodes of all trees, tree after tree."""

    roots: Ints  # (trees,): where each tree begins
    # (nodes,): A row goes right if its number exceeds the threshold, or if its level is this one
    feature: Ints
    level: Ints
    threshold: Floats
    # (nodes,): where it goes; LEAF in a leaf
    left: Ints
    right: Ints


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the forest is grown; see `ForestPlausibility`, which adds what makes a score of it."""

    trees: int = 50
    min_leaf: int = 5
    rounds: int = 10
    delta: float = 0.0
    rows: int = 5000
    seed: int = 0


def columns_of(genomes: Floats, space: Space) -> Columns:
    """Return the forest's columns for observed rows (n, d)."""
    numbers, levels = np.flatnonzero(~space.is_level), np.flatnonzero(space.is_level)
    widest = int(space.n_levels[levels].max(initial=1))
    groups = np.zeros((len(levels), widest), dtype=np.int64)
    for k, j in enumerate(levels.tolist()):
        counts = np.bincount(genomes[:, j].astype(np.int64), minlength=widest)
        by_count = np.argsort(-counts, kind="stable")
        groups[k, by_count] = np.minimum(np.arange(widest), MOST_LEVELS - 1)
    n_groups = np.minimum(space.n_levels[levels], MOST_LEVELS)
    pairs = [(j, BY_THRESHOLD) for j in numbers.tolist()]
    for j, n in zip(levels.tolist(), n_groups.tolist(), strict=True):
        pairs += [(j, level) for level in range(int(n == 2), n)]  # of two one tells all
    feature, level = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Columns(numbers, levels, groups, n_groups, feature.copy(), level.copy())


def grouped(genomes: Floats, columns: Columns) -> Floats:
    """Return genomes (n, d) with each level replaced by its place among those told apart."""
    places = genomes.copy()
    for k, j in enumerate(columns.levels):
        places[:, j] = columns.groups[k, genomes[:, j].astype(np.int64)]
    return places


def grow(genomes: Floats, columns: Columns, settings: Settings) -> tuple[Grove, list[float]]:
    """Return the forest within whose leaves features are as good as independent.

    The observed rows (n, d) have their levels `grouped`. Also returned is how well each forest told
    observed from synthetic rows, out of bag.
    """
    keys = row_keys(int(settings.seed), np.zeros((1, 1)))
    u = uniforms(keys, Stage.FOREST_MARGIN, 0, *genomes.shape)[0]
    synthetic = np.take_along_axis(genomes, (u * len(genomes)).astype(np.int64), axis=0)
    grove, accuracy = _tell_apart(genomes, synthetic, columns, settings, 0)
    history = [accuracy]
    for round_ in range(1, settings.rounds + 1):
        if accuracy <= 0.5 + settings.delta:
            break
        synthetic = imitate(genomes, leaves_of(grove, genomes), keys, round_)
        judge, accuracy = _tell_apart(genomes, synthetic, columns, settings, round_)
        history.append(accuracy)
        if accuracy <= 0.5 + settings.delta or accuracy >= history[-2]:
            break  # it cannot tell what `grove` imitates, or no longer learns to imitate better
        grove = judge
    return grove, history


def _tell_apart(
    genomes: Floats, synthetic: Floats, columns: Columns, settings: Settings, round_: int
) -> tuple[Grove, float]:
    """Return the forest that tells observed from synthetic rows, and its accuracy out of bag."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        settings.trees,
        min_samples_leaf=settings.min_leaf,
        oob_score=True,
        n_jobs=-1,  # on threads; the trees are the same on any number of them
        random_state=(int(settings.seed) + round_) % 2**32,
    )
    rows = as_columns(np.concatenate([genomes, synthetic]), columns)
    is_real = np.repeat([1, 0], [len(genomes), len(synthetic)])
    with warnings.catch_warnings():  # a few rows may be in every tree's bag: no matter
        warnings.simplefilter("ignore")
        forest.fit(rows, is_real)
    return grove_of(forest.estimators_, columns), float(forest.oob_score_)


def as_columns(genomes: Floats, columns: Columns) -> Any:
    """Return grouped genomes (n, d) as the forest reads them: a column for each level."""
    values = genomes[:, columns.feature]
    is_number = columns.level == BY_THRESHOLD
    return np.where(is_number, values, values == columns.level).astype(np.float32)


def grove_of(estimators: list[Any], columns: Columns) -> Grove:
    """Return the trees of scikit-learn's estimators in terms of features and levels."""
    trees = [estimator.tree_ for estimator in estimators]
    sizes = np.array([tree.node_count for tree in trees])
    roots = np.cumsum(sizes) - sizes
    shift = np.repeat(roots, sizes)

    def joined(name: str) -> Any:
        return np.concatenate([getattr(tree, name) for tree in trees])

    left, right = joined("children_left"), joined("children_right")
    column = np.where(left == LEAF, 0, joined("feature"))
    return Grove(
        roots,
        columns.feature[column],
        columns.level[column],
        joined("threshold").astype(np.float64),
        np.where(left == LEAF, LEAF, left + shift).astype(np.int64),
        np.where(left == LEAF, LEAF, right + shift).astype(np.int64),
    )


@inner
def find_leaf(grove: Grove, root: int, genome: Floats) -> int:
    """Return the leaf a grouped genome (d,) falls into, by its node."""
    node = root
    while grove.left[node] != LEAF:
        value = genome[grove.feature[node]]
        if grove.level[node] == BY_THRESHOLD:
            goes_right = value > grove.threshold[node]
        else:
            goes_right = value == grove.level[node]
        node = grove.right[node] if goes_right else grove.left[node]
    return int(node)


def leaves_of(grove: Grove, genomes: Floats) -> Ints:
    """Return the leaf of each grouped genome (n, d) in each tree, by its node: (trees, n)."""
    leaves = np.empty((len(grove.roots), len(genomes)), dtype=np.int64)
    _find_leaves(grove, np.ascontiguousarray(genomes), leaves)
    return leaves


@kernel
def _find_leaves(grove: Grove, genomes: Floats, leaves: Ints) -> None:
    for t in range(len(grove.roots)):
        for i in range(len(genomes)):
            leaves[t, i] = find_leaf(grove, grove.roots[t], genomes[i])


def imitate(genomes: Floats, leaves: Ints, keys: Any, round_: int) -> Floats:
    """Return synthetic rows (n, d): each takes its values from random rows of one leaf.

    The leaf is that of one observed row in a tree drawn at random, so leaves come as often as they
    cover observed rows.
    """
    n, d = genomes.shape
    tree = (uniforms(keys, Stage.FOREST_TREE, round_, n, 1)[0, :, 0] * len(leaves)).astype(np.int64)
    u = uniforms(keys, Stage.FOREST_VALUE, round_, n, d)[0]
    synthetic = np.empty_like(genomes)
    for t in range(len(leaves)):
        mine = np.flatnonzero(tree == t)
        order = np.argsort(leaves[t], kind="stable")
        inside = leaves[t, order]
        start = np.searchsorted(inside, leaves[t, mine], side="left")
        count = np.searchsorted(inside, leaves[t, mine], side="right") - start
        lent = order[start[:, None] + (u[mine] * count[:, None]).astype(np.int64)]
        synthetic[mine] = np.take_along_axis(genomes, lent, axis=0)
    return synthetic


class Spots(NamedTuple):
    """Where a feature stands in the arrays of leaves."""

    first: Ints  # (d,): its column among the numbers, or the place of its first level
    width: Ints  # (d,): how many places its levels take; 1 for numbers


class Boxes(NamedTuple):
    """What the splits on the way to each leaf leave to its rows."""

    # (leaves, p): the range of each number
    lower: Floats
    upper: Floats
    allowed: Bools  # (leaves, places): which levels are left


@kernel
def find_boxes(
    grove: Grove, rows: Floats, tree: Ints, member: Ints, spots: Spots, boxes: Boxes
) -> None:
    """Write the box of each leaf but the root's, and its levels: the path of a row in it tells."""
    lower, upper, spot = boxes.lower, boxes.upper, spots.first
    for leaf in range(1, len(tree)):
        node = grove.roots[tree[leaf] - 1]  # tree 0 is the root alone
        while grove.left[node] != LEAF:
            j, edge = grove.feature[node], grove.threshold[node]
            value = rows[member[leaf], j]
            if grove.level[node] == BY_THRESHOLD:
                goes_right = value > edge
                if goes_right:
                    lower[leaf, spot[j]] = max(lower[leaf, spot[j]], edge)
                else:
                    upper[leaf, spot[j]] = min(upper[leaf, spot[j]], edge)
            else:
                goes_right = value == grove.level[node]
                for level in range(spots.width[j]):
                    if (level == grove.level[node]) != goes_right:
                        boxes.allowed[leaf, spot[j] + level] = False
            node = grove.right[node] if goes_right else grove.left[node]
