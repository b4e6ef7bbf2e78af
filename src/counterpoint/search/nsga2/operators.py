"""Operators of the paper's search, as kernels: selection, recombination, mutation and the reset.

Mating and survival follow one order: fronts by dominance, with penalties for candidates far from
the target, and within a front the crowding distance in the spaces of objectives and of features.
Variation is that of sections 4.2 and 4.3 of Dandl et al. (2020).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys, Whole
from counterpoint.density.conditional import Trees, draw_value
from counterpoint.kernels import assign, inner, kernel, part
from counterpoint.neighbours.gower import gower
from counterpoint.problem.objectives import GAP
from counterpoint.search.explore.moves import GOES_MISSING
from counterpoint.search.feasibility import Candidates, SearchSpace
from counterpoint.streams import WHOLE, Stage, uniform
from counterpoint.table.space import Features, are_equal, from_uniform, snap

ETA = 5.0  # distribution index of the simulated binary crossover
PAIR, CROSS_GENE = np.int64(Stage.PAIR), np.int64(Stage.CROSS_GENE)
CROSS_LOW, CROSS_HIGH = np.int64(Stage.CROSS_LOW), np.int64(Stage.CROSS_HIGH)
CROSS_SWAP, CROSS_KEEP = np.int64(Stage.CROSS_SWAP), np.int64(Stage.CROSS_KEEP)
SURPLUS_FIRST = np.int64(Stage.CROSS_SURPLUS_FIRST)
SURPLUS_SECOND = np.int64(Stage.CROSS_SURPLUS_SECOND)
MUTANT, MUTATE_GENE = np.int64(Stage.MUTANT), np.int64(Stage.MUTATE_GENE)
RADIUS, ANGLE = np.int64(Stage.MUTATE_RADIUS), np.int64(Stage.MUTATE_ANGLE)
MUTATE_KEEP, KEEP_VALUE = np.int64(Stage.MUTATE_KEEP), np.int64(Stage.MUTATE_KEEP_VALUE)
MUTATE_SURPLUS, MUTATE_MISS = np.int64(Stage.MUTATE_SURPLUS), np.int64(Stage.MUTATE_MISS)
ORDER, VALUE = np.int64(Stage.CONDITIONAL_ORDER), np.int64(Stage.CONDITIONAL_VALUE)


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


@kernel
def find_best_of_all(
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


class OperatorProbabilities(NamedTuple):
    """How likely an operator changes a candidate, each of its genes, each of its indicators."""

    candidate: float
    gene: float
    keep: float


class DrawAddress(NamedTuple):
    """Where the draws of one candidate are found; see `streams`."""

    key: Keys
    stage: Whole
    generation: int
    individual: int


@inner
def reset_to_row(
    genome: Floats, keep: Bools, features: Features, max_free: int, address: DrawAddress
) -> None:
    """Set genes to the row's own value where `keep` says so, in place.

    Unchangeable features always keep. If more features are free than may change, randomly chosen
    ones are kept too, so that no candidate exceeds `max_changed`.
    """
    key, stage, generation, individual = address
    n_free = 0
    for j in range(len(genome)):
        keep[j] |= not features[j].may_change
        n_free += not keep[j] and not features[j].is_forced
    while n_free > max_free:  # keep the free gene with the smallest draw
        smallest, chosen = 2.0, -1
        for j in range(len(genome)):
            if not keep[j] and not features[j].is_forced:
                u = uniform(key, stage, generation, individual, j)
                if u < smallest:
                    smallest, chosen = u, j
        keep[chosen] = True
        n_free -= 1
    for j in range(len(genome)):
        if keep[j]:
            genome[j] = features[j].anchor


@inner
def spread_factor(u: float, room: float) -> float:
    """Return SBX's spread for a draw u, bounded so that the child stays in bounds (Deb 1995).

    `room` is 1 + 2 * (distance of the nearer parent to the bound) / (distance of the parents).
    """
    alpha = 2.0 - room ** -(ETA + 1.0)
    if u <= 1.0 / alpha:
        return math.pow(u * alpha, 1.0 / (ETA + 1.0))
    return math.pow(1.0 / (2.0 - u * alpha), 1.0 / (ETA + 1.0))


@inner
def cross_numbers(
    x: float, y: float, lower: float, upper: float, u_low: float, u_high: float
) -> tuple[float, float]:
    """Return the two children of a simulated binary crossover of numbers x and y."""
    small, large = min(x, y), max(x, y)
    middle, apart = 0.5 * (small + large), large - small
    low = middle - 0.5 * apart * spread_factor(u_low, 1.0 + 2.0 * (small - lower) / apart)
    high = middle + 0.5 * apart * spread_factor(u_high, 1.0 + 2.0 * (upper - large) / apart)
    return low, high


@inner
def cross_gene(
    x: float, y: float, feature: Any, key: Keys, generation: int, i: int, j: int
) -> tuple[float, float]:
    """Return gene j of both children: SBX for numbers that differ, else a swap."""
    if feature.is_level or abs(x - y) <= 1e-14 or x == MISSING or y == MISSING:
        return y, x
    widened = 0.5 if feature.grid == 1.0 else 0.0  # so that rounding can reach both ends
    lower, upper = feature.lower - widened, feature.upper + widened
    u_low = uniform(key, CROSS_LOW, generation, i, j)
    u_high = uniform(key, CROSS_HIGH, generation, i, j)
    first, second = cross_numbers(x, y, lower, upper, u_low, u_high)
    first, second = snap(first, feature), snap(second, feature)
    if uniform(key, CROSS_SWAP, generation, i, j) < 0.5:
        return second, first
    return first, second


@kernel
def recombine_pairs(
    parents: Candidates,
    mates: Ints,
    chances: OperatorProbabilities,
    allowed: SearchSpace,
    keys: Keys,
    generation: int,
    children: Candidates,
) -> None:
    """Write the children (r, n_mates, d) of all pairs of all rows."""
    genomes, keeps = children.genomes, children.keeps
    r, n_mates, d = genomes.shape
    for a in range(r):
        key, features, max_free = keys[a], allowed.features[a], allowed.max_free[a]
        for i in range(n_mates):
            assign(genomes[a, i], parents.genomes[a, mates[a, i]])
            assign(keeps[a, i], parents.keeps[a, mates[a, i]])
        for i in range(n_mates // 2):
            k = i + n_mates // 2
            if uniform(key, PAIR, generation, i, WHOLE) >= chances.candidate:
                continue
            for j in range(d):
                if uniform(key, CROSS_GENE, generation, i, j) < chances.gene:
                    genomes[a, i, j], genomes[a, k, j] = cross_gene(
                        genomes[a, i, j], genomes[a, k, j], features[j], key, generation, i, j
                    )
                if uniform(key, CROSS_KEEP, generation, i, j) < chances.keep:
                    keeps[a, i, j], keeps[a, k, j] = keeps[a, k, j], keeps[a, i, j]
            for child, stage in ((i, SURPLUS_FIRST), (k, SURPLUS_SECOND)):
                address = DrawAddress(key, stage, generation, i)
                reset_to_row(genomes[a, child], keeps[a, child], features, max_free, address)


@inner
def mutate_keeps(keep: Bools, p_keep: float, key: Keys, generation: int, i: int) -> None:
    """Redraw use-original indicators, in place, holding their expected number (Hamming weight)."""
    d, n_kept = len(keep), 0
    for j in range(d):
        n_kept += keep[j]
    share = (n_kept + 1.0) / (d + 2.0)
    for j in range(d):
        if uniform(key, MUTATE_KEEP, generation, i, j) < 2.0 * p_keep:
            keep[j] = uniform(key, KEEP_VALUE, generation, i, j) < share


@inner
def step_gene(
    value: float, scale: float, feature: Any, key: Keys, generation: int, i: int, j: int
) -> float:
    """Return one mutated gene: a Gaussian step, a flip of two levels, or a redraw of many."""
    radius = uniform(key, RADIUS, generation, i, j)
    if feature.may_miss and uniform(key, MUTATE_MISS, generation, i, j) < GOES_MISSING:
        return MISSING
    if feature.is_binary and value != MISSING:
        return 1.0 - value
    if feature.is_level or value == MISSING:
        return from_uniform(radius, feature)
    angle = uniform(key, ANGLE, generation, i, j)  # Box and Muller (1958)
    normal = math.sqrt(-2.0 * math.log(1.0 - radius)) * math.cos(2.0 * math.pi * angle)
    return snap(value + scale * normal, feature)


@kernel
def mutate_by_steps(
    mutants: Candidates,
    chances: OperatorProbabilities,
    scale: Floats,
    allowed: SearchSpace,
    keys: Keys,
    generation: int,
) -> None:
    """Mutate the chosen children in place: genes by steps, indicators, then the reset."""
    r, n, d = mutants.genomes.shape
    for a in range(r):
        key, features, max_free = keys[a], allowed.features[a], allowed.max_free[a]
        for i in range(n):
            if uniform(key, MUTANT, generation, i, WHOLE) >= chances.candidate:
                continue
            genome, keep = mutants.genomes[a, i], mutants.keeps[a, i]
            for j in range(d):
                if uniform(key, MUTATE_GENE, generation, i, j) < chances.gene:
                    genome[j] = step_gene(genome[j], scale[j], features[j], key, generation, i, j)
            mutate_keeps(keep, chances.keep, key, generation, i)
            address = DrawAddress(key, MUTATE_SURPLUS, generation, i)
            reset_to_row(genome, keep, features, max_free, address)


class Turns(NamedTuple):
    """Scratch for the random order in which genes are drawn: a number for each, and the order."""

    draws: Floats
    order: Ints


@kernel
def mutate_conditionally(
    mutants: Candidates,
    chances: OperatorProbabilities,
    trees: Trees,
    allowed: SearchSpace,
    keys: Keys,
    generation: int,
    turns: Turns,
) -> None:
    """Mutate the chosen children in place: indicators, the reset, then free genes in random order.

    Each gene is drawn given the current values of all others, earlier draws included.
    """
    r, n, d = mutants.genomes.shape
    for a in range(r):
        key, features, max_free = keys[a], allowed.features[a], allowed.max_free[a]
        for i in range(n):
            if uniform(key, MUTANT, generation, i, WHOLE) >= chances.candidate:
                continue
            genome, keep = mutants.genomes[a, i], mutants.keeps[a, i]
            mutate_keeps(keep, chances.keep, key, generation, i)
            address = DrawAddress(key, MUTATE_SURPLUS, generation, i)
            reset_to_row(genome, keep, features, max_free, address)
            for j in range(d):
                turns.order[j], turns.draws[j] = j, uniform(key, ORDER, generation, i, j)
            sort_by(turns.draws, turns.order, d, turns.order)
            for j in turns.order:
                if not keep[j] and uniform(key, MUTATE_GENE, generation, i, j) < chances.gene:
                    drawn = draw_value(trees, j, genome, uniform(key, VALUE, generation, i, j))
                    genome[j] = snap(drawn, features[j])
