"""Who is better: non-dominated fronts with penalties, crowding in two spaces, one order."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import kernel
from counterpoint.table.distance import gower


@kernel
def dominates(a: Floats, b: Floats) -> bool:
    """Whether objectives `a` are nowhere worse than `b` and somewhere better."""
    is_better = False
    for m in range(len(a)):
        if a[m] > b[m]:
            return False
        if a[m] < b[m]:
            is_better = True
    return is_better


@kernel
def nondominated_fronts(objectives: Floats) -> Ints:
    """Return the front of each point, from 1: front k is non-dominated without fronts below k."""
    n = len(objectives)
    n_above = np.zeros(n, dtype=np.int64)  # how many points of no front yet dominate each
    beats = np.zeros((n, n), dtype=np.bool_)
    for i in range(n):
        for j in range(n):
            if dominates(objectives[i], objectives[j]):
                beats[i, j] = True
                n_above[j] += 1
    fronts = np.zeros(n, dtype=np.int64)
    front, n_placed = 0, 0
    while n_placed < n:
        front += 1
        members = np.flatnonzero((fronts == 0) & (n_above == 0))
        for i in members:
            fronts[i] = front
        for i in members:
            for j in range(n):
                n_above[j] -= beats[i, j]
        n_placed += len(members)
    return fronts


@kernel
def penalized_fronts(objectives: Floats, epsilon: float) -> Ints:
    """Return fronts with those beyond `epsilon` sent behind, and repeated objectives last.

    The candidates with a gap above epsilon leave the K ordinary fronts for K + 1, K + 2, … in
    order of their gap (Dandl et al. 2020, section 4.3; ties by index). Those whose objectives
    already occurred earlier in the list share one front behind all.
    """
    fronts = nondominated_fronts(objectives)
    n = len(fronts)
    last = fronts.max()
    order = np.argsort(objectives[:, 0], kind="mergesort")
    for i in order:
        if objectives[i, 0] > epsilon:
            last += 1
            fronts[i] = last
    for i in range(n):
        for j in range(i):
            if np.all(objectives[i] == objectives[j]):
                fronts[i] = last + 1
                break
    return fronts


@kernel
def average_ranks(values: Floats) -> Floats:
    """Return ascending ranks from 1; equal values share their mean rank."""
    n = len(values)
    order = np.argsort(values, kind="mergesort")
    ranks = np.empty(n)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and values[order[stop]] == values[order[start]]:
            stop += 1
        for i in range(start, stop):
            ranks[order[i]] = (start + 1 + stop) / 2.0
        start = stop
    return ranks


@kernel
def crowding(
    objectives: Floats, genomes: Floats, inverse_range: Floats, is_level: Bools
) -> Floats:
    """Return how far each member of one front (n, m) is from its neighbours; larger is better.

    Along each objective a member gets the normalised difference of its two neighbours' values
    and its Gower distances to both; the extremes get infinity. An objective that is constant in
    the front tells nothing and is left out. The two sums are joined by their ranks, which gives
    both spaces the same weight whatever their scales.
    """
    n, n_objectives = objectives.shape
    in_objectives, in_features = np.zeros(n), np.zeros(n)
    for m in range(n_objectives):
        order = np.argsort(objectives[:, m], kind="mergesort")
        first, last = order[0], order[-1]
        spread = objectives[last, m] - objectives[first, m]
        if spread == 0.0:
            continue
        in_objectives[first] = in_objectives[last] = np.inf
        in_features[first] = in_features[last] = np.inf
        for position in range(1, n - 1):
            i, before, after = order[position], order[position - 1], order[position + 1]
            in_objectives[i] += (objectives[after, m] - objectives[before, m]) / spread
            in_features[i] += gower(genomes[i], genomes[before], inverse_range, is_level)
            in_features[i] += gower(genomes[i], genomes[after], inverse_range, is_level)
    return average_ranks(in_objectives) + average_ranks(in_features)


@kernel
def best_first(
    objectives: Floats,
    genomes: Floats,
    inverse_range: Floats,
    is_level: Bools,
    epsilon: float,
    n_wanted: int,
) -> Ints:
    """Return the `n_wanted` best of one population (n, 4), best first.

    Fronts are taken in order; within a front the least crowded come first, ties by index.
    """
    fronts = penalized_fronts(objectives, epsilon)
    chosen = np.empty(n_wanted, dtype=np.int64)
    n_chosen, front = 0, 0
    while n_chosen < n_wanted:
        front += 1
        members = np.flatnonzero(fronts == front)
        if len(members) > 1:
            crowd = crowding(objectives[members], genomes[members], inverse_range, is_level)
            members = members[np.argsort(-crowd, kind="mergesort")]
        for i in members[: n_wanted - n_chosen]:
            chosen[n_chosen] = i
            n_chosen += 1
    return chosen
