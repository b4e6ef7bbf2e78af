"""Additive models: trees and weights as data in gene space, to score, search and prove with.

A tree ensemble or a linear model that is known is read once. Encoders and scalers that stand before
it are gone from what is read: it is written for genes. What a column of the model is for each level
of its gene is read off by asking them. Of numbers, a column must rise or fall with its one gene:
then the threshold in units of the gene is found by asking again, until two neighbouring numbers
enclose it. What was read is believed after a trial only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.models.leaf_bits import LeafBits, add_up_leaves, leaf_bits_of
from counterpoint.models.trees import (
    BY_THRESHOLD,
    Forest,
    Walk,
    add_up,
    goes_left_at,
    is_leaf,
    small,
    walk_of,
)
from counterpoint.table.features import Feature, Kind
from counterpoint.table.schema import Encoding

Encode: TypeAlias = Callable[[Floats], Floats]  # from genomes (n, d) to a model's columns (n, k)
Link: TypeAlias = Literal["identity", "mean", "logistic", "softmax", "exp", "labels"]

CONSTANT = -1  # the gene of a column that depends on none
N_KNOTS = 64  # values of a number at which its columns are looked at
MOST_CELLS = 2**25  # of what an encoder is asked to fill at first
NO_GENES = "a column of the model is no function of one gene that rises, falls or has levels"
WIDEN = 16  # how much wider each step of the search for a threshold is than the one before
PIECES, MOST_PROBES = 16, 512  # into how many an interval is cut at once; rows of one call
MOST_THRESHOLDS = 512  # at which a trial asks
TOLERANCE = 1e-6  # how far answers may be from the model's, of numbers above 1 relative to them


class ModelColumns(NamedTuple):
    """What the k columns of a model are in terms of d genes."""

    encode: Encode  # returns the columns (n, k) of genomes (n, d)
    # (d,): the genome of which one gene at a time is changed to see what changes with it
    base: Floats
    features: tuple[Feature, ...]  # what the genes are
    owner: Ints  # (k,): the gene that a column depends on, or CONSTANT
    # (k, most levels): what a column is for each level of its gene; a constant column is always the
    # first
    levels: Floats
    # (k,): what a column is where its gene is missing; NaN if the model has to deal with that
    missing: Floats
    # what a column is for some values of its gene if that is a number, by rising gene
    knots: list[tuple[Floats, Floats]]


def columns_of(encode: Encode, encoding: Encoding, observed: Floats) -> ModelColumns:
    """Return what the columns of a model are; raise if one is no function of a single gene."""
    features, base = encoding.schema.features, observed[0]
    asked = [values_to_ask(feature, observed[:, j]) for j, feature in enumerate(features)]
    ends = np.cumsum([len(values) for values in asked]).tolist()
    spans = [slice(end - len(values), end) for end, values in zip(ends, asked, strict=True)]
    rows = np.repeat(base[None], ends[-1], axis=0)
    for j, span in enumerate(spans):
        rows[span, j] = asked[j]
    usual = encode(base[None])[0]
    if len(rows) * len(usual) > MOST_CELLS:
        raise ValueError(NO_GENES)
    made = encode(rows)
    owner = owners_of(made, usual, spans)
    levels = np.full((len(usual), max(1, *(len(each.levels) for each in features))), np.nan)
    missing, knots = np.full(len(usual), np.nan), [(np.empty(0), np.empty(0))] * len(usual)
    levels[:, 0] = usual
    for k, j in enumerate(owner.tolist()):
        if j == CONSTANT:
            continue
        genes, values = asked[j], made[spans[j], k]
        if features[j].has_missing:  # which is asked last
            genes, values, missing[k] = genes[:-1], values[:-1], values[-1]
        if features[j].is_numeric:
            knots[k] = (genes, in_order(values))
        else:
            levels[k, : len(values)] = values
    return ModelColumns(encode, base, features, owner, levels, missing, knots)


def values_to_ask(feature: Feature, observed: Floats) -> Floats:
    """Return the levels of a feature, or some of its numbers; what is missing comes last."""
    values: Floats = np.arange(float(len(feature.levels)))
    if feature.is_numeric:
        seen = np.unique(observed[observed != MISSING])
        some = seen[np.linspace(0, len(seen) - 1, min(len(seen), N_KNOTS)).astype(np.int64)]
        values = np.unique([*some, feature.low, feature.high])
        if len(values) == 1:  # the model may know more values than these data have
            values = np.array([values[0], values[0] + 1.0])
    return np.append(values, MISSING) if feature.has_missing else values


def owners_of(made: Floats, usual: Floats, spans: list[slice]) -> Ints:
    """Return the gene each column depends on; raise if one needs several."""
    is_other = (made != usual) & ~(np.isnan(made) & np.isnan(usual))
    depends = np.array([is_other[span].any(axis=0) for span in spans])
    if (depends.sum(axis=0) > 1).any():
        raise ValueError(NO_GENES)
    return np.where(depends.any(axis=0), depends.argmax(axis=0), CONSTANT)


def in_order(values: Floats) -> Floats:
    """Return what a column is for rising genes, if it rises or falls with them."""
    steps = np.diff(values)
    if not ((steps >= 0.0).all() or (steps <= 0.0).all()):
        raise ValueError(NO_GENES)
    return values


def falls(columns: ModelColumns) -> Bools:
    """Return which columns (k,) fall while their gene rises."""
    return np.array([len(values) > 0 and values[0] > values[-1] for _, values in columns.knots])


def forest_in_genes(forest: Forest, columns: ModelColumns) -> Forest:
    """Return a forest that says of genomes what `forest` says of their columns."""
    inside = ~is_leaf(forest)
    owner = np.where(inside, columns.owner[forest.feature], CONSTANT)
    is_level = np.array([not feature.is_numeric for feature in columns.features])
    by_level = inside & (owner != CONSTANT) & is_level[owner]
    by_number = inside & (owner != CONSTANT) & ~is_level[owner]
    if (forest.category_set[by_number] != BY_THRESHOLD).any():  # numbers taken for categories
        raise ValueError(NO_GENES)
    forest = without_constants(forest, inside & (owner == CONSTANT), columns)
    nodes = np.flatnonzero(inside & (owner != CONSTANT))
    missing_left = forest.missing_left.copy()
    missing_left[nodes] = goes_left_at(
        forest, nodes, columns.missing[forest.feature[nodes]][:, None]
    )[:, 0]
    threshold, category_set = forest.threshold.copy(), np.full(len(inside), BY_THRESHOLD)
    threshold[by_number] = thresholds_in_genes(
        columns, forest.feature[by_number].astype(np.int64), forest.threshold[by_number]
    )
    nodes = np.flatnonzero(by_level)
    left = goes_left_at(forest, nodes, columns.levels[forest.feature[nodes]])
    goes_left, sets = np.unique(left, axis=0, return_inverse=True)
    category_set[nodes] = sets.reshape(-1)  # NumPy 2.0.0 returns a column
    may_miss = np.array([feature.has_missing for feature in columns.features])
    is_mirrored = by_number & falls(columns)[forest.feature]
    return Forest(
        forest.roots,
        np.where(is_mirrored[:, None], forest.children[:, ::-1], forest.children),
        small(np.where(owner == CONSTANT, 0, owner)),
        threshold,
        small(category_set),
        (missing_left ^ is_mirrored) & may_miss[owner],
        goes_left,
        forest.value,
    )


def without_constants(forest: Forest, is_constant: Bools, columns: ModelColumns) -> Forest:
    """Return a forest in which nothing leads to nodes at which all rows go the same way."""
    nodes, goal = np.flatnonzero(is_constant), np.arange(len(is_constant))
    values = columns.levels[forest.feature[nodes], :1]
    goes_right = ~goes_left_at(forest, nodes, values)[:, 0]
    goal[nodes] = forest.children[nodes, goes_right.astype(np.int64)]
    while is_constant[goal].any():
        goal = goal[goal]
    return forest._replace(roots=small(goal[forest.roots]), children=small(goal[forest.children]))


def thresholds_in_genes(columns: ModelColumns, which: Ints, at: Floats) -> Floats:
    """Return the largest gene for which columns `which` (m,) are on their first side of `at` (m,).

    The first side of a threshold is where small genes are: not above it for a column that rises.
    """
    is_same = np.array([np.array_equal(genes, values) for genes, values in columns.knots])
    asked = np.flatnonzero(~is_same[which] & np.isfinite(at))
    asked = asked[np.lexsort((at[asked], which[asked]))]
    is_new = (np.diff(which[asked], prepend=-1) != 0) | (np.diff(at[asked], prepend=0.0) != 0.0)
    first, found = asked[is_new], at.copy()
    if len(first) * max(len(columns.base), len(is_same)) > MOST_CELLS:
        raise ValueError(NO_GENES)
    if len(first):
        found[asked] = last_before(columns, which[first], at[first])[np.cumsum(is_new) - 1]
    return np.where(falls(columns)[which] & np.isinf(at), -found, found)


def last_before(columns: ModelColumns, which: Ints, at: Floats) -> Floats:
    """Search the thresholds of columns that are not their gene: from a guess outwards, then in."""
    gene, is_falling = columns.owner[which], falls(columns)[which]
    ends = np.array([columns.features[j].dtype_range for j in gene.tolist()])
    is_whole = np.array([columns.features[j].kind is Kind.INTEGER for j in gene.tolist()])
    low = place_of(ends[:, 0], is_whole)  # which is on the first side …
    high = place_of(ends[:, 1], is_whole) + 1  # … and this is not
    has_low, has_high = np.zeros(len(which), np.bool_), np.zeros(len(which), np.bool_)
    probe = np.clip(place_of(guesses(columns, which, at), is_whole), low, high - 1)
    step = 1
    while len(open_ := np.flatnonzero(high > low + 1)):
        is_between = (has_low & has_high)[open_]
        probes = probes_of(low[open_], high[open_], probe[open_], is_between)
        n_probes = probes.shape[1]
        rows = np.repeat(columns.base[None], probes.size, axis=0)
        genes = number_at(probes.ravel(), np.repeat(is_whole[open_], n_probes))
        rows[np.arange(len(rows)), np.repeat(gene[open_], n_probes)] = genes
        made = columns.encode(rows)[np.arange(len(rows)), np.repeat(which[open_], n_probes)]
        if np.isnan(made).any():
            raise ValueError(NO_GENES)
        is_first = (made.reshape(probes.shape) <= at[open_, None]) ^ is_falling[open_, None]
        n_first = np.where(is_first.all(axis=1), n_probes, np.argmin(is_first, axis=1))
        bounds = np.column_stack([low[open_], probes, high[open_]])
        low[open_] = bounds[np.arange(len(open_)), n_first]
        high[open_] = bounds[np.arange(len(open_)), n_first + 1]
        has_low[open_] |= n_first > 0
        has_high[open_] |= n_first < n_probes
        middle = (low & high) + ((low ^ high) >> 1)  # of numbers whose difference is too large
        is_near = high.astype(np.float64) - low <= step
        upwards = np.where(is_near, high - 1, low + step)
        downwards = np.where(is_near, low + 1, high - step)
        probe = np.where(has_low & has_high, middle, np.where(has_low, upwards, downwards))
        step = min(step * WIDEN, 2**60)
    return number_at(low, is_whole)


def probes_of(low: Ints, high: Ints, probe: Ints, is_between: Bools) -> Ints:
    """Return places to ask about (m, k), rising: `probe` again and again, or spread in between.

    An encoder takes about as long for a few hundred rows as for one, so that few thresholds are
    each cut into several pieces at once.

    Examples
    --------
    >>> one, yes = np.array([0]), np.array([True])
    >>> probes_of(one, one + 32, one + 16, yes)[0, [0, 7, 14]].tolist()
    [2, 16, 30]
    """
    n_pieces = 1 + int(np.clip(MOST_PROBES // len(low), 1, PIECES - 1))
    is_far = high.astype(np.float64) - low > 2.0**62  # the difference would overflow
    span, part = np.where(is_far, 0, high - low)[:, None], np.arange(1, n_pieces)
    spread = low[:, None] + span // n_pieces * part + span % n_pieces * part // n_pieces
    return np.where((is_between & ~is_far)[:, None], spread, probe[:, None])


def guesses(columns: ModelColumns, which: Ints, at: Floats) -> Floats:
    """Return about where columns reach `at`, between the knots."""
    found = np.empty(len(which))
    for k in np.unique(which).tolist():
        genes, values = columns.knots[k]
        order = 1 if values[-1] >= values[0] else -1
        found[which == k] = np.interp(at[which == k], values[::order], genes[::order])
    return found


def place_of(numbers: Floats, is_whole: Bools) -> Ints:
    """Return the place of each number among whole ones, or all that a float can be; 0 is at 0.

    Examples
    --------
    >>> place_of(np.array([7.0, 5e-324, -5e-324]), np.array([True, False, False]))
    array([ 7,  1, -1])
    """
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    among_all = np.where(bits >= 0, bits, np.iinfo(np.int64).min - bits)
    return np.where(is_whole, np.where(is_whole, numbers, 0.0).astype(np.int64), among_all)


def number_at(places: Ints, is_whole: Bools) -> Floats:
    """Return the numbers at places: what `place_of` came from."""
    bits = np.where(places >= 0, places, np.iinfo(np.int64).min - places)
    return np.where(is_whole, places, np.ascontiguousarray(bits).view(np.float64))


class AdditiveModel(NamedTuple):
    """A model whose raw scores are sums: of one leaf of each tree, or of a share for each gene.

    The raw scores of a genome are ``(base + leaves + shares of genes) / divisor``.
    """

    # The trees in gene space: `feature` is a gene, `threshold` in units of it, categories are codes
    # of levels. None for linear models.
    forest: Forest | None
    base: Floats  # (c,): what the sums begin with
    slopes: Floats  # (d, c): what a unit of a numeric gene adds; 0 for levels and for trees
    # (d, most levels + 1, c): what a level adds; what a missing value adds, of numbers too, comes
    # last
    level_values: Floats
    divisor: float  # the number of trees of a forest that averages, else 1
    # What makes outputs of raw scores: nothing ("identity" for a number, "mean" for probabilities),
    # the logistic function, of which the one raw score gives the probability of the second class,
    # softmax, or of numbers the exponential function. Of a model without probabilities the label is
    # that of the highest raw score, or the second if the one raw score is above 0: its outputs are
    # 0 and 1.
    link: Link
    is_single: bool = False  # whether sums are rounded to single precision after each tree
    # the forest as kernels take it; made anew for each call if it is None
    table: LeafBits | Walk | None = None

    def raw(self, genomes: Floats) -> Floats:
        """Return the raw scores (n, c) of genomes (n, d)."""
        total = np.repeat(self.base[None], len(genomes), axis=0)
        if self.forest is not None:
            if isinstance(self.table, LeafBits):
                add_up_leaves(genomes, self.table, total, is_single=self.is_single)
            else:
                walk = self.table or walk_of(self.forest)
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
        return empty._replace(forest=forest, table=leaf_bits_of(forest) or walk_of(forest))
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
    """Return genomes of which each has one gene at a threshold of a forest, or next to it."""
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
