"""Selection: which candidates mate and which survive.

Both follow one order: fronts by dominance, with penalties for candidates far from the target, and
within a front the crowding distance in the spaces of objectives and of features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys, Whole
from counterpoint.kernels import inner, kernel, part
from counterpoint.neighbours.gower import gower
from counterpoint.neighbours.index import NearRows
from counterpoint.problem.objectives import GAP
from counterpoint.streams import WHOLE, Stage, uniform
from counterpoint.table.space import are_equal


class Ranking(NamedTuple):
    """Room to rank n candidates. All but the two lists are indexed by candidate."""

    fronts: Ints  # (n,): the front of each candidate, from 1
    # (n,): lists: the candidates of one front by index, and sorted by something else
    members: Ints
    order: Ints
    values: Floats  # (n,): what they are sorted by
    # (n,): how far each is from its neighbours in both spaces
    in_objectives: Floats
    in_features: Floats
    crowding: Floats  # (n,): the same on the whole


def empty_ranking(n: int) -> Ranking:
    """Return room to rank n candidates."""
    return Ranking(*np.empty((3, n), dtype=np.int64), *np.empty((4, n)))


@inner
def dominates(a: Floats, b: Floats) -> bool:
    """Whether objectives `a` are nowhere worse than `b` and somewhere better."""
    is_better, is_worse = False, False
    for m in range(len(a)):
        is_better |= a[m] < b[m]
        is_worse |= a[m] > b[m]
    return is_better and not is_worse


@inner
def sort_by(values: Floats, members: Ints, n: int, order: Ints) -> None:
    """Write the first n members into `order`, by ascending value; equal ones keep their order.

    By insertion: they are few, and to compile NumPy's sorts takes longer than all of this module.
    Both lists may be the same.
    """
    for k in range(n):
        new, place = members[k], k
        while place > 0 and values[order[place - 1]] > values[new]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = new


@inner
def sort_by_objective(
    objectives: Floats, m: Whole, members: Ints, n: int, order: Ints, values: Floats
) -> None:
    """Write the first n members into `order`, by ascending objective m; it is left in `values`."""
    for i in range(len(objectives)):
        values[i] = objectives[i, m]
    sort_by(values, members, n, order)


@part
def find_fronts(objectives: Floats, ranking: Ranking) -> int:
    """Write the front of each point, make all points members, and return the last front.

    Front k, from 1, is non-dominated without the fronts below k. So a point stands right behind the
    last front that dominates it.
    """
    n, last, fronts, order = len(objectives), 0, ranking.fronts, ranking.order
    for i in range(n):
        ranking.members[i] = order[i] = i
    for m in range(objectives.shape[1] - 1, -1, -1):
        sort_by_objective(objectives, m, order, n, order, ranking.values)
    for k in range(n):  # lexsorted, so no later point dominates an earlier one
        i, front = order[k], 1
        for earlier in range(k):
            j = order[earlier]
            if fronts[j] >= front and dominates(objectives[j], objectives[i]):
                front = fronts[j] + 1
        fronts[i] = front
        last = max(last, front)
    return last


@part
def find_penalized_fronts(objectives: Floats, epsilon: float, ranking: Ranking) -> None:
    """Write fronts with those beyond `epsilon` sent behind, and repeated objectives last.

    The candidates with a gap above epsilon leave the K ordinary fronts for K + 1, K + 2, … in
    order of their gap (Dandl et al. 2020, section 4.3; ties by index). Those whose objectives
    already occurred earlier in the list share one front behind all.
    """
    n, fronts, order, gaps = len(objectives), ranking.fronts, ranking.order, ranking.values
    last = find_fronts(objectives, ranking)
    sort_by_objective(objectives, np.int64(GAP), ranking.members, n, order, gaps)
    for k in range(n):
        if gaps[order[k]] > epsilon:
            last += 1
            fronts[order[k]] = last
    for i in range(n):
        for j in range(i):
            if are_equal(objectives[i], objectives[j]):
                fronts[i] = last + 1
                break


@inner
def add_ranks(values: Floats, members: Ints, n: int, order: Ints, ranks: Floats) -> None:
    """Add the ascending ranks of the first n members, from 1; equal ones share their mean rank."""
    sort_by(values, members, n, order)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and values[order[stop]] == values[order[start]]:
            stop += 1
        for k in range(start, stop):
            ranks[order[k]] += (start + 1 + stop) / 2.0
        start = stop


@part
def find_crowding(
    objectives: Floats, genomes: Floats, weight: Floats, cap: Floats, n: int, ranking: Ranking
) -> None:
    """Write how far each of the n members is from its neighbours; larger is better.

    Along each objective a member gets the normalised difference of its two neighbours' values
    and its Gower distances to both; the extremes get infinity. An objective that is constant in
    the front tells nothing and is left out. The two sums are joined by their ranks, which gives
    both spaces the same weight whatever their scales.
    """
    members, order, values = ranking.members, ranking.order, ranking.values
    in_objectives, in_features = ranking.in_objectives, ranking.in_features
    for k in range(n):
        i = members[k]
        in_objectives[i], in_features[i], ranking.crowding[i] = 0.0, 0.0, 0.0
    for m in range(objectives.shape[1]):
        sort_by_objective(objectives, m, members, n, order, values)
        first, last = order[0], order[n - 1]
        spread = values[last] - values[first]
        if spread == 0.0:
            continue
        in_objectives[first] = in_objectives[last] = np.inf
        in_features[first] = in_features[last] = np.inf
        for k in range(1, n - 1):
            before, i, after = order[k - 1], order[k], order[k + 1]
            in_objectives[i] += (values[after] - values[before]) / spread
            in_features[i] += gower(genomes[i], genomes[before], weight, cap)
            in_features[i] += gower(genomes[i], genomes[after], weight, cap)
    add_ranks(in_objectives, members, n, order, ranking.crowding)
    add_ranks(in_features, members, n, order, ranking.crowding)


@inner
def list_members(front: int, n: int, ranking: Ranking) -> int:
    """Write which of the n candidates are in a front; return how many."""
    n_members = 0
    for i in range(n):
        if ranking.fronts[i] == front:
            ranking.members[n_members] = i
            n_members += 1
    return n_members


@part
def find_best(
    objectives: Floats,
    genomes: Floats,
    weight: Floats,
    cap: Floats,
    epsilon: float,
    ranking: Ranking,
    best: Ints,
) -> None:
    """Write the best of one population (n, m), best first, as many as there is room for.

    Fronts are taken in order; within a front the least crowded come first, ties by index.
    """
    find_penalized_fronts(objectives, epsilon, ranking)
    n_chosen, front = 0, 0
    while n_chosen < len(best):
        front += 1
        n = list_members(front, len(objectives), ranking)
        if n == 0:  # its members were all sent behind
            continue
        find_crowding(objectives, genomes, weight, cap, n, ranking)
        for k in range(n):
            ranking.values[ranking.members[k]] = -ranking.crowding[ranking.members[k]]
        sort_by(ranking.values, ranking.members, n, ranking.order)
        for k in range(min(n, len(best) - n_chosen)):
            best[n_chosen] = ranking.order[k]
            n_chosen += 1


class Population(NamedTuple):
    """Judged candidates, for r rows at once; after selection the best come first."""

    # (r, n, d): see `Candidates`
    genomes: Floats
    keeps: Bools
    objectives: Floats  # (r, n, m): gap, distance, changes, implausibility

    def joined(self, other: Population) -> Population:
        """Return both populations as one, this one's members first."""
        return Population(
            np.concatenate([self.genomes, other.genomes], axis=1),
            np.concatenate([self.keeps, other.keeps], axis=1),
            np.concatenate([self.objectives, other.objectives], axis=1),
        )

    def of_rows(self, which: Ints) -> Population:
        """Return the populations of some of the rows only."""
        return Population(self.genomes[which], self.keeps[which], self.objectives[which])


FIRST = np.int64(Stage.TOURNAMENT_FIRST)
SECOND = np.int64(Stage.TOURNAMENT_SECOND)


def select_survivors(
    population: Population, size: int, epsilon: float | None, near_rows: NearRows
) -> Population:
    """Return the `size` best candidates of each row, best first (elitist: parents compete too)."""
    limit = np.inf if epsilon is None else float(epsilon)
    weight = near_rows.weight[near_rows.at]
    best = np.empty((len(weight), size), dtype=np.int64)
    ranking = empty_ranking(population.genomes.shape[1])
    _find_best_of_all(
        population.objectives, population.genomes, weight, near_rows.cap, limit, ranking, best
    )
    rows = np.arange(len(weight))[:, None]
    genomes, keeps, objectives = population
    return Population(genomes[rows, best], keeps[rows, best], objectives[rows, best])


@kernel
def _find_best_of_all(
    objectives: Floats,
    genomes: Floats,
    weight: Floats,
    cap: Floats,
    epsilon: float,
    ranking: Ranking,
    best: Ints,
) -> None:
    """Write the best of each row's population, as many as there is room for."""
    for a in range(len(best)):
        find_best(objectives[a], genomes[a], weight[a], cap, epsilon, ranking, best[a])


def select_mates(keys: Keys, generation: int, n_parents: int, n_mates: int) -> Ints:
    """Return the winners (r, n_mates) of binary tournaments among parents kept best first.

    Two different parents are drawn; being sorted, the one with the smaller index is the better.
    """
    mates = np.empty((len(keys), n_mates), dtype=np.int64)
    _hold_tournaments(keys, generation, n_parents, mates)
    return mates


@kernel
def _hold_tournaments(keys: Keys, generation: int, n_parents: int, mates: Ints) -> None:
    """Write the winners of all tournaments."""
    for a in range(mates.shape[0]):
        for i in range(mates.shape[1]):
            first = int(uniform(keys[a], FIRST, generation, i, WHOLE) * n_parents)
            second = int(uniform(keys[a], SECOND, generation, i, WHOLE) * (n_parents - 1))
            second += second >= first
            mates[a, i] = min(first, second)
