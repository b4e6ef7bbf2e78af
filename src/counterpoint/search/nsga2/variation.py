"""Variation: recombination, mutation and the reset to the row, as in sections 4.2 and 4.3."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys, Whole
from counterpoint.density.conditional import Trees, draw_value
from counterpoint.kernels import assign, inner, kernel
from counterpoint.search.explore.moves import GOES_MISSING
from counterpoint.search.feasibility import Candidates, SearchSpace
from counterpoint.search.nsga2.selection import Population, sort_by
from counterpoint.search.settings import NSGA2
from counterpoint.streams import WHOLE, Stage, uniform
from counterpoint.table.space import Features, Space, from_uniform, snap

ETA = 5.0  # distribution index of the simulated binary crossover
PAIR, CROSS_GENE = np.int64(Stage.PAIR), np.int64(Stage.CROSS_GENE)
CROSS_LOW, CROSS_HIGH = np.int64(Stage.CROSS_LOW), np.int64(Stage.CROSS_HIGH)
CROSS_SWAP, CROSS_KEEP = np.int64(Stage.CROSS_SWAP), np.int64(Stage.CROSS_KEEP)
SURPLUS_FIRST = np.int64(Stage.CROSS_SURPLUS_FIRST)
SURPLUS_SECOND = np.int64(Stage.CROSS_SURPLUS_SECOND)
MUTANT, MUTATE_GENE = np.int64(Stage.MUTANT), np.int64(Stage.MUTATE_GENE)
RADIUS, ANGLE = np.int64(Stage.MUTATE_RADIUS), np.int64(Stage.MUTATE_ANGLE)
MUTATE_KEEP, KEEP_VALUE = np.int64(Stage.MUTATE_KEEP), np.int64(Stage.MUTATE_KEEP_VALUE)
MUTATE_SURPLUS = np.int64(Stage.MUTATE_SURPLUS)
MUTATE_MISS = np.int64(Stage.MUTATE_MISS)
ORDER, VALUE = np.int64(Stage.CONDITIONAL_ORDER), np.int64(Stage.CONDITIONAL_VALUE)


class OperatorProbabilities(NamedTuple):
    """How likely an operator changes a candidate, each of its genes, each of its indicators."""

    candidate: float
    gene: float
    keep: float


class Operators(NamedTuple):
    """What recombination and mutation of r rows need besides the parents."""

    search: NSGA2  # the settings
    space: Space  # what is known of the features
    allowed: SearchSpace  # where each row may be searched
    trees: Trees | None  # what conditional mutation draws from; None mutates by steps
    keys: Keys  # (r, 2): the keys of the rows' draws


def vary(parents: Population, mates: Ints, operators: Operators, generation: int) -> Candidates:
    """Return the children of the mates: recombined, then mutated."""
    return mutate(recombine(parents, mates, operators, generation), operators, generation)


def recombine(
    parents: Population, mates: Ints, operators: Operators, generation: int
) -> Candidates:
    """Return two children of each pair of mates (i, i + n/2); see `cross_gene`."""
    search, allowed, keys = operators.search, operators.allowed, operators.keys
    chances = _floats(search.p_recombine, search.p_recombine_gene, search.p_recombine_keep)
    shape = (*mates.shape, parents.genomes.shape[2])
    children = Candidates(np.empty(shape), np.empty(shape, dtype=np.bool_))
    _recombine(parents, mates, chances, allowed, keys, generation, children)
    size = search.population  # an odd one has a child too many
    return Candidates(children.genomes[:, :size], children.keeps[:, :size])


def mutate(children: Candidates, operators: Operators, generation: int) -> Candidates:
    """Return the children after mutation: conditional where there are trees, else by steps."""
    search, space, allowed, trees, keys = operators
    chances = _floats(search.p_mutate, search.p_mutate_gene, search.p_mutate_keep)
    mutants, d = Candidates(children.genomes.copy(), children.keeps.copy()), len(space.grid)
    if trees is None:
        span = space.high - space.low if search.step == "deviation_times_range" else 1.0
        _mutate_by_steps(mutants, chances, space.deviation * span, allowed, keys, generation)
    else:
        turns = Turns(np.empty(d), np.empty(d, dtype=np.int64))
        _mutate_conditionally(mutants, chances, trees, allowed, keys, generation, turns)
    return mutants


def _floats(candidate: float, gene: float, keep: float) -> OperatorProbabilities:
    """Return probabilities as floats: for a whole number kernels would be compiled once more."""
    return OperatorProbabilities(float(candidate), float(gene), float(keep))


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
def _recombine(
    parents: Population,
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
                genome, keep = genomes[a, child], keeps[a, child]
                reset_to_row(
                    genome, keep, features, max_free, DrawAddress(key, stage, generation, i)
                )


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
def _mutate_by_steps(
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
def _mutate_conditionally(
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
