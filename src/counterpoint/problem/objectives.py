"""The four objectives of Dandl et al. (2020), all minimised.

==================  =======  ==================================================================
``gap``             o1       distance of the prediction to the target interval
``distance``        o2       Gower distance to the explained row
``changes``         o3       number of features that differ from the explained row
``implausibility``  o4       weighted mean Gower distance to the k nearest observed rows
==================  =======  ==================================================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.kernels import assign, inner, kernel, part
from counterpoint.neighbours.gower import gower, search_incomplete, terms
from counterpoint.neighbours.index import (
    NearRows,
    neighbourhood_at,
)
from counterpoint.neighbours.nearest import (
    SLACK,
    Neighbours,
    compare,
    search_blocks,
)

OBJECTIVES = ("gap", "distance", "changes", "implausibility")
GAP, DISTANCE, CHANGES, IMPLAUSIBILITY = range(4)
JUST_MISSED = 2.0**-53  # gap of a candidate in the interval whose class `predict` denies


class IncompleteRows(NamedTuple):
    """What else counts where values are missing."""

    observed: Floats  # (n, d): all observed rows
    incomplete: Floats  # (m, d): those that miss values
    # whether others do not; else the indexed rows are made up, to lend values only
    has_complete: bool
    whole: Floats  # (m, d): those that miss nothing; all of them filled if there are none
    # (r, d): weights and caps of Gower's distance around each row
    scale: tuple[Floats, Floats]

    def drop_indexed(self, genomes: Floats, rows: Floats, reach: Floats, distances: Floats) -> None:
        """Leave out the indexed rows near genomes (r, n, d) where they do not count, in place."""
        is_alone = self._misses(genomes, rows) | (not self.has_complete)
        distances[is_alone] = np.inf
        reach[is_alone] = 0.0

    def search(self, genomes: Floats, rows: Floats, distances: Floats) -> None:
        """Put what else counts among the nearest of genomes (r, n, d), at distances (r, n, k)."""
        misses, is_incomplete = self._misses(genomes, rows), (genomes == MISSING).any(axis=2)
        search_incomplete(genomes, ~misses, self.incomplete, self.scale, distances)
        if misses.any():
            # A row that was filled is as plausible as complete rows are near: one that shares
            # little with it would be near for what it lacks.
            search_incomplete(genomes, misses & ~is_incomplete, self.whole, self.scale, distances)
            search_incomplete(genomes, is_incomplete, self.observed, self.scale, distances)

    def _misses(self, genomes: Floats, rows: Floats) -> Bools:
        """Return which genomes (r, n, d) miss a value, or explain a row that does."""
        is_lacking = (rows == MISSING).any(axis=1)[:, None]
        return np.asarray((genomes == MISSING).any(axis=2) | is_lacking)


def denied_gaps(gaps: Floats, predictions: Floats) -> Floats:
    """Return the gaps of candidates whose class `predict` denies: above 0, less where likelier.

    Examples
    --------
    >>> denied_gaps(np.array([0.25, 0.0]), np.array([0.25, 0.75])) > 0.0
    array([ True,  True])
    """
    return np.maximum(gaps, JUST_MISSED * (2.0 - predictions))


class DistanceScale(NamedTuple):
    """What a feature counts in the distance to rows where values are missing."""

    # (r, d): as in Gower's distance around each row
    weight: Floats
    cap: Floats
    # (d,): how far two different observed values are apart on average: what it counts to fill in a
    # value that the row lacks, or to lack one that it has
    typical: Floats
    costs: Floats  # (d,): the features' weights


def mean_difference(values: Floats) -> float:
    """Return the mean difference of all pairs of different values; 0 if there are none.

    Examples
    --------
    >>> mean_difference(np.array([1.0, 1.0, 3.0, 6.0]))
    3.4
    """
    ordered, n = np.sort(values), len(values)
    summed = float(((2.0 * np.arange(n) - (n - 1)) * ordered).sum())
    counts = np.unique(ordered, return_counts=True)[1].astype(np.float64)
    n_pairs = (n * (n - 1.0) - (counts * (counts - 1.0)).sum()) / 2.0
    return float(summed / n_pairs) if n_pairs > 0.0 else 0.0


def correct_distance(measured: Floats, genomes: Floats, rows: Floats, scale: DistanceScale) -> None:
    """Let distances in objectives (r, n, 4) count what genomes (r, n, d) fill in or lack.

    What is missing in both is the same in both, and so counts nothing.
    """
    for a, row in enumerate(rows):
        which = np.flatnonzero((genomes[a] == MISSING).any(axis=1) | (row == MISSING).any())
        if len(which) == 0:
            continue
        some, weight = genomes[a, which], scale.weight[a]
        apart = feature_shares(some, row, weight, scale.cap, scale.typical)
        measured[a, which, DISTANCE] = apart @ scale.costs / scale.costs.sum()


def feature_shares(
    genomes: Floats, row: Floats, weight: Floats, cap: Floats, typical: Floats
) -> Floats:
    """Return what each feature of genomes (n, d) counts in the distance to a row (d,).

    Both may miss values. Costs are not in it; see `DistanceScale` for the rest.
    """
    has_own, has_new = row != MISSING, genomes != MISSING
    both = has_own & has_new
    apart = terms(np.where(both, genomes, 0.0), np.where(both, row, 0.0), weight, cap)
    new = np.where(typical > 0.0, np.minimum(typical * weight, 1.0), 1.0)
    return np.where(has_own != has_new, new, apart)


class Answers(NamedTuple):
    """What the model says of candidates, and what it should say."""

    predictions: Floats  # (r, n): of each of them
    # (r, 3): both ends of each row's target, and the gap of a tie that is won; -1 if none is
    goals: Floats


class Measures(NamedTuple):
    """What is measured of n candidates of each of r rows."""

    objectives: Floats  # (r, n, 4)
    # (r, n): 0 where `implausibility` is exact, else the distance from the explained row up to
    # which observed rows would have to be known
    reach: Floats
    distances: Floats  # (r, n, k): those to the nearest observed rows at hand


def nearness(genomes: Floats, answers: Answers, rows: Floats, near_rows: NearRows) -> Floats:
    """Return what `closeness` does but for the implausibility, which is left 0."""
    measured = np.zeros((*genomes.shape[:2], 4))
    _measure_near(np.ascontiguousarray(genomes), answers, rows, near_rows, measured)
    return measured


@inner
def gap_to(prediction: float, goal: Floats) -> float:
    """Return what `gap` does for one prediction; 0 for a tie that is won. See `Answers.goals`."""
    gap = max(0.0, goal[0] - prediction, prediction - goal[1])
    return 0.0 if gap == goal[2] else gap


@kernel
def _measure_near(
    genomes: Floats, answers: Answers, rows: Floats, near_rows: NearRows, measured: Floats
) -> None:
    """Write gap, distance and changes of genomes (r, n, d)."""
    for a in range(genomes.shape[0]):
        weight = near_rows.weight[near_rows.at[a]]
        for i in range(genomes.shape[1]):
            n_changed = 0
            for j in range(genomes.shape[2]):
                n_changed += genomes[a, i, j] != rows[a, j]
            measured[a, i, GAP] = gap_to(answers.predictions[a, i], answers.goals[a])
            measured[a, i, DISTANCE] = gower(genomes[a, i], rows[a], weight, near_rows.cap)
            measured[a, i, CHANGES] = n_changed


@kernel
def measure_all(
    genomes: Floats,
    answers: Answers,
    rows: Floats,
    near_rows: NearRows,
    near: Neighbours,
    found: Measures,
) -> int:
    """Measure genomes (r, n, d) as far as the observed rows at hand tell; see `Measures`.

    Returned is of how many they do not tell all.
    """
    n_short = 0
    for a in range(genomes.shape[0]):
        for i in range(genomes.shape[1]):
            own = found.objectives[a, i]
            own[GAP] = gap_to(answers.predictions[a, i], answers.goals[a])
            found.reach[a, i] = measure(genomes[a, i], rows[a], near_rows, a, near, own)
            n_short += found.reach[a, i] > 0.0
            assign(found.distances[a, i], near.distances)
    return n_short


@part
def measure(
    genome: Floats,
    row: Floats,
    near_rows: NearRows,
    a: int,
    near: Neighbours,
    measured: Floats,
) -> float:
    """Write distance, changes and implausibility of a candidate of row a; see `measure_all`."""
    neighbourhood = neighbourhood_at(near_rows, near_rows.at[a], row)
    n_changed, own = compare(genome, neighbourhood, near)
    measured[DISTANCE], measured[CHANGES] = own, n_changed
    near.distances[:] = np.inf
    search_blocks(genome, n_changed, own, neighbourhood, near)
    for q in range(len(near.distances)):
        measured[IMPLAUSIBILITY] += near.distances[q] * near_rows.shares[q]
    farthest = own + near.distances[len(near.distances) - 1] + SLACK
    return farthest if farthest > near_rows.horizon[near_rows.at[a]] else 0.0
