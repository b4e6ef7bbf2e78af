"""Who is better: non-dominated fronts with penalties, crowding in two spaces, one order."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import inner, kernel
from counterpoint.table.distance import gower
from counterpoint.table.identity import are_equal


@inner
def compare(a: Floats, b: Floats) -> int:
    """Return 1 if objectives `a` dominate `b`, -1 if `b` dominates `a`, else 0.

    One dominates another if it is nowhere worse and somewhere better.
    """
    is_better, is_worse = False, False
    for m in range(len(a)):
        is_better |= a[m] < b[m]
        is_worse |= a[m] > b[m]
    return int(is_better and not is_worse) - int(is_worse and not is_better)


@kernel
def nondominated_fronts(objectives: Floats) -> Ints:
    """Return the front of each point, from 1: front k is non-dominated without fronts below k."""
    n = len(objectives)
    n_above = np.zeros(n, dtype=np.int64)  # how many points of no front yet dominate each
    beats = np.zeros((n, n), dtype=np.int8)
    for i in range(n):
        for j in range(i):
            verdict = compare(objectives[i], objectives[j])
            if verdict > 0:
                beats[i, j] = 1
                n_above[j] += 1
            elif verdict < 0:
                beats[j, i] = 1
                n_above[i] += 1
    fronts = np.zeros(n, dtype=np.int64)
    front, n_placed = 0, 0
    while n_placed < n:
        front += 1
        for i in range(n):
            if fronts[i] == 0 and n_above[i] == 0:
                fronts[i] = front
        for i in range(n):
            if fronts[i] == front:
                n_placed += 1
                for j in range(n):
                    n_above[j] -= beats[i, j]
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
            if are_equal(objectives[i], objectives[j]):
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
def crowding(objectives: Floats, genomes: Floats, weight: Floats, cap: Floats) -> Floats:
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
            in_features[i] += gower(genomes[i], genomes[before], weight, cap)
            in_features[i] += gower(genomes[i], genomes[after], weight, cap)
    return average_ranks(in_objectives) + average_ranks(in_features)


@kernel
def best_first(
    objectives: Floats,
    genomes: Floats,
    weight: Floats,
    cap: Floats,
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
            crowd = crowding(objectives[members], genomes[members], weight, cap)
            members = members[np.argsort(-crowd, kind="mergesort")]
        for i in members[: n_wanted - n_chosen]:
            chosen[n_chosen] = i
            n_chosen += 1
    return chosen
