"""Orders: counterfactuals from best to worst in one respect, those that reach the target first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP, IMPLAUSIBILITY
from counterpoint.problem.target import Target

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals


def in_order(found: Counterfactuals, *scores: Floats) -> Ints:
    """Return all positions by gap, then by the scores (n,), less being better, then as they are.

    Whatever reaches the target has no gap. So these come first, in the order of the scores, and
    then the others: those that miss it by least before the rest.
    """
    return np.lexsort((*reversed(scores), found.objectives[:, GAP]))


def closest(found: Counterfactuals) -> Ints:
    """Return all positions by distance, those with fewer changes first where it is equal."""
    return in_order(found, found.objectives[:, DISTANCE], found.objectives[:, CHANGES])


def fewest(found: Counterfactuals) -> Ints:
    """Return all positions by the number of changes, the closest first where it is equal."""
    return in_order(found, found.objectives[:, CHANGES], found.objectives[:, DISTANCE])


def plausible(found: Counterfactuals) -> Ints:
    """Return all positions by implausibility, the closest first where it is equal."""
    return in_order(found, found.objectives[:, IMPLAUSIBILITY], found.objectives[:, DISTANCE])


def knee(found: Counterfactuals) -> Ints:
    """Return all positions by their distance from the ideal; see `knee_scores`."""
    return in_order(found, knee_scores(found.objectives, best_of(found)))


def weighted(found: Counterfactuals, weights: Floats) -> Ints:
    """Return all positions by the weighted sum of the normalised objectives; weights (m,)."""
    return in_order(found, normalised(found.objectives, best_of(found)) @ weights)


def best_of(found: Counterfactuals) -> Bools:
    """Return which a choice is among, shape (n,): those that reach the target, or else all."""
    return found.reaches if found.reaches.any() else np.ones(len(found), dtype=np.bool_)


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


def margins(found: Counterfactuals) -> Floats:
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
