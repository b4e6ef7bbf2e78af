"""Orders: candidates from best to worst in one respect, those that reach the target first.

Also which of them satisfy conditions stated afterwards, and the attributes that people may care
about when they choose, as shares from 0, the best, to 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.checks import check_list
from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.neighbours.gower import gower_weights, terms
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP, IMPLAUSIBILITY
from counterpoint.problem.target import Target
from counterpoint.result.data import ResultData
from counterpoint.rules.rules import Rules
from counterpoint.rules.tree import compared_places


@dataclass(frozen=True, eq=False)
class Attributes:
    """The candidates of a choice and what tells them apart.

    Parameters
    ----------
    candidates : ndarray of shape (c,)
        Their positions in the result.
    aims : tuple of str
        The objectives that differ between candidates.
    features : tuple of hashable
        The features in which candidates differ.
    shares : ndarray of shape (c, n_aims + 2 * n_features)
        The normalised objectives; whether each feature changes; by how much, as a share of the
        largest change among the candidates.
    """

    candidates: Ints
    aims: tuple[str, ...]
    features: tuple[Hashable, ...]
    shares: Floats


def attributes_of(found: ResultData, candidates: Ints) -> Attributes:
    """Return the attributes of the counterfactuals at these positions (c,)."""
    objectives = found.objectives[candidates]
    aims = normalised(objectives, np.ones(len(objectives), dtype=np.bool_))
    weight, cap = gower_weights(found.genome[None], found.space)
    genomes = found.genomes[candidates]
    row = found.genome
    sizes = terms(genomes, row, weight[0], cap)
    lacks = (genomes == MISSING) | (row == MISSING)
    sizes = np.where(lacks, (genomes != row).astype(np.float64), sizes)  # all the way, or none
    largest = sizes.max(axis=0)
    sizes = sizes / np.where(largest > 0.0, largest, 1.0)
    names = found.encoding.schema.names
    has_aim, differs = _varies(aims), _varies(genomes)
    changed = found.changed[candidates].astype(np.float64)
    return Attributes(
        candidates,
        tuple(found.objective_names[m] for m in np.flatnonzero(has_aim)),
        tuple(names[j] for j in np.flatnonzero(differs)),
        np.hstack([aims[:, has_aim], changed[:, differs], sizes[:, differs]]),
    )


def _varies(values: Floats) -> Bools:
    """Return which columns of (n, k) hold more than one value."""
    return np.asarray(values.min(axis=0) < values.max(axis=0))


def matching(found: ResultData, conditions: str | Iterable[str], keep: Iterable[Hashable]) -> Ints:
    """Return the positions for which all conditions hold and the features to keep do not change.

    A condition on what a counterfactual lacks does not hold.
    """
    schema = found.encoding.schema
    is_list = isinstance(conditions, Iterable) and not isinstance(conditions, str)
    texts: list[Any] = list(conditions) if is_list else [conditions]
    if not all(isinstance(each, str) for each in texts):
        raise InvalidInput(
            f"filter takes a rule or a list of rules as text, got {conditions!r}; "
            "for example found.filter('duration >= 24')."
        )
    rules = Rules.parse(texts, schema)
    row = found.genome
    fits = rules.holds(found.genomes, row)
    for rule in rules.written:
        for j in sorted(compared_places(rule.statement)):
            if row[j] == MISSING:
                raise InvalidInput(
                    f'filter: the rule "{rule}" compares {schema.names[j]!r}, which is missing in '
                    "the row, so that it can neither hold nor fail; leave it out."
                )
            fits &= found.genomes[:, j] != MISSING
    for name in check_list("filter: keep", keep, "features", "keep=['job']"):
        if name not in schema.names:
            raise UnknownFeatureError.of(name, schema.names, argument="filter: keep")
        fits &= ~found.changed[:, schema.names.index(name)]
    return np.flatnonzero(fits)


def in_order(found: ResultData, *scores: Floats) -> Ints:
    """Return all positions by gap, then by the scores (n,), less being better, then as they are.

    Whatever reaches the target has no gap. So these come first, in the order of the scores, and
    then the others: those that miss it by least before the rest.
    """
    return np.lexsort((*reversed(scores), found.objectives[:, GAP]))


def closest(found: ResultData) -> Ints:
    """Return all positions by distance, those with fewer changes first where it is equal."""
    return in_order(found, found.objectives[:, DISTANCE], found.objectives[:, CHANGES])


def fewest(found: ResultData) -> Ints:
    """Return all positions by the number of changes, the closest first where it is equal."""
    return in_order(found, found.objectives[:, CHANGES], found.objectives[:, DISTANCE])


def plausible(found: ResultData) -> Ints:
    """Return all positions by implausibility, the closest first where it is equal."""
    return in_order(found, found.objectives[:, IMPLAUSIBILITY], found.objectives[:, DISTANCE])


def knee(found: ResultData) -> Ints:
    """Return all positions by their distance from the ideal; see `knee_scores`."""
    return in_order(found, knee_scores(found.objectives, best_of(found)))


def weighted(found: ResultData, weights: Floats) -> Ints:
    """Return all positions by the weighted sum of the normalised objectives; weights (m,)."""
    return in_order(found, normalised(found.objectives, best_of(found)) @ weights)


def best_of(found: ResultData) -> Bools:
    """Return which a choice is among, shape (n,): those that reach the target, or else all."""
    return found.reaches if found.reaches.any() else np.ones(len(found.genomes), dtype=np.bool_)


def normalised(objectives: Floats, pool: Bools) -> Floats:
    """Return objectives (n, m) as shares of their range in a pool (n,): 0 is its best, 1 its worst.

    An objective that is the same throughout the pool is 0: there is nothing to choose by it. What
    is not of the pool may lie outside of 0 and 1.

    Examples
    --------
    >>> values = np.array([[0.0, 2.0], [0.0, 4.0], [0.0, 3.0]])
    >>> normalised(values, np.array([True, True, False]))
    array([[0. , 0. ],
           [0. , 1. ],
           [0. , 0.5]])
    """
    low, high = objectives[pool].min(axis=0), objectives[pool].max(axis=0)
    span = np.where(high > low, high - low, np.inf)
    return np.asarray((objectives - low) / span)


def knee_scores(objectives: Floats, pool: Bools) -> Floats:
    """Return how far each is from the ideal, which has the pool's best of every objective.

    The distance is Euclid's in normalised objectives, each scaled to its range in the pool. The
    least is the knee of the front: the compromise from which no objective has to give up much of
    what the others get (Zeleny's compromise solution with exponent 2).

    Examples
    --------
    >>> front = np.array([[0.0, 9.0], [1.0, 2.0], [10.0, 0.0]])
    >>> int(np.argmin(knee_scores(front, np.ones(3, dtype=bool))))
    1
    """
    return np.asarray(np.sqrt((normalised(objectives, pool) ** 2).sum(axis=1)))


def margins(found: ResultData) -> Floats:
    """Return how far each prediction is inside the target, shape (n,); below 0 if it is outside.

    It is the distance to the nearer end of the interval. An end that no prediction can pass, 0 or 1
    of a probability, is no boundary and does not count.
    """
    low, high = _boundaries(found.target, found.row_prediction)
    inside = np.minimum(found.predictions - low, high - found.predictions)
    gaps = found.objectives[:, GAP]
    return np.where(gaps > 0.0, -gaps, np.maximum(inside, 0.0))


def _boundaries(target: Target, now: float) -> tuple[float, float]:
    """Return the ends of the target a prediction could pass, infinite where there is none.

    A single output is taken for a probability if it is one for the explained row: a result that
    was loaded from a file knows no other.
    """
    is_probability = target.label is not None or 0.0 <= now <= 1.0
    low = -np.inf if is_probability and target.low <= 0.0 else target.low
    high = np.inf if is_probability and target.high >= 1.0 else target.high
    if np.isinf(low) and np.isinf(high):  # all probabilities are wanted: none is the safer
        return target.low, target.high
    return low, high
