"""Variation: recombination, mutation and the reset to the row, as in sections 4.2 and 4.3."""

from __future__ import annotations

import math

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys
from counterpoint.evolution.population import Brood, Population
from counterpoint.evolution.search import Search
from counterpoint.kernels import inner, kernel
from counterpoint.problem.limits import Box
from counterpoint.streams import Stage, uniform
from counterpoint.table.conditional import Trees, draw_value
from counterpoint.table.space import Space, from_uniform, snap

ETA = 5.0  # distribution index of the simulated binary crossover
PAIR, CROSS_GENE, CROSS_LOW = int(Stage.PAIR), int(Stage.CROSS_GENE), int(Stage.CROSS_LOW)
CROSS_HIGH, CROSS_SWAP = int(Stage.CROSS_HIGH), int(Stage.CROSS_SWAP)
CROSS_KEEP = int(Stage.CROSS_KEEP)
CROSS_SURPLUS = (int(Stage.CROSS_SURPLUS_FIRST), int(Stage.CROSS_SURPLUS_SECOND))
MUTANT, MUTATE_GENE = int(Stage.MUTANT), int(Stage.MUTATE_GENE)
RADIUS, ANGLE = int(Stage.MUTATE_RADIUS), int(Stage.MUTATE_ANGLE)
MUTATE_KEEP, KEEP_VALUE = int(Stage.MUTATE_KEEP), int(Stage.MUTATE_KEEP_VALUE)
MUTATE_SURPLUS = int(Stage.MUTATE_SURPLUS)
ORDER, VALUE = int(Stage.CONDITIONAL_ORDER), int(Stage.CONDITIONAL_VALUE)


def recombine(
    parents: Population,
    mates: Ints,
    search: Search,
    space: Space,
    box: Box,
    keys: Keys,
    generation: int,
) -> Brood:
    """Return two children of each pair of mates (i, i + n/2); see `cross_pair`."""
    chances = (search.p_recombine, search.p_recombine_gene, search.p_recombine_keep)
    genomes, keeps = _recombine(
        parents.genomes, parents.keeps, mates, chances, space, box, keys, generation
    )
    return Brood(genomes[:, : search.population], keeps[:, : search.population])


def mutate(
    children: Brood,
    search: Search,
    space: Space,
    box: Box,
    trees: Trees | None,
    keys: Keys,
    generation: int,
) -> Brood:
    """Return the children after mutation: conditional where `trees` are given, else by steps."""
    chances = (search.p_mutate, search.p_mutate_gene, search.p_mutate_keep)
    genomes, keeps = children.genomes.copy(), children.keeps.copy()
    if trees is None:
        span = space.high - space.low if search.step == "deviation_times_range" else 1.0
        scale = np.ascontiguousarray(space.deviation * span)
        _mutate_by_steps(genomes, keeps, chances, scale, space, box, keys, generation)
    else:
        _mutate_conditionally(genomes, keeps, chances, trees, space, box, keys, generation)
    return Brood(genomes, keeps)


@inner
def reset_to_row(
    genome: Floats,
    keep: Bools,
    a: int,
    box: Box,
    key: Keys,
    stage: int,
    generation: int,
    individual: int,
) -> None:
    """Set genes to row a's own value where `keep` says so, in place.

    Unchangeable features always keep. If more features are free than may change, randomly chosen
    ones are kept too, so that no candidate exceeds `max_changed`.
    """
    n_free = 0
    for j in range(len(genome)):
        if not box.may_change[a, j]:
            keep[j] = True
        elif not keep[j] and not box.is_forced[a, j]:
            n_free += 1
    while n_free > box.max_free[a]:  # keep the free gene with the smallest draw
        smallest, chosen = 2.0, -1
        for j in range(len(genome)):
            if not keep[j] and not box.is_forced[a, j]:
                u = uniform(key, stage, generation, individual, j)
                if u < smallest:
                    smallest, chosen = u, j
        keep[chosen] = True
        n_free -= 1
    for j in range(len(genome)):
        if keep[j]:
            genome[j] = box.anchor[a, j]


@inner
def spread_factor(u: float, room: float) -> float:
    """Return SBX's spread for a draw u, bounded so that the child stays in its room (Deb 1995).

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
    x: float, y: float, a: int, i: int, j: int, space: Space, box: Box, key: Keys, generation: int
) -> tuple[float, float]:
    """Return gene j of both children: SBX for numbers that differ, else a swap."""
    if space.is_level[j] or abs(x - y) <= 1e-14:
        return y, x
    lower, upper = box.lower[a, j], box.upper[a, j]
    widened = 0.5 if space.grid[j] == 1.0 else 0.0  # so that rounding can reach both ends
    u_low = uniform(key, CROSS_LOW, generation, i, j)
    u_high = uniform(key, CROSS_HIGH, generation, i, j)
    first, second = cross_numbers(x, y, lower - widened, upper + widened, u_low, u_high)
    first = snap(first, j, space, lower, upper)
    second = snap(second, j, space, lower, upper)
    if uniform(key, CROSS_SWAP, generation, i, j) < 0.5:
        return second, first
    return first, second


@kernel
def _recombine(
    genomes: Floats,
    keeps: Bools,
    mates: Ints,
    chances: tuple[float, float, float],
    space: Space,
    box: Box,
    keys: Keys,
    generation: int,
) -> tuple[Floats, Bools]:
    """Return the children (r, n_mates, d) of all pairs of all rows."""
    r, n_mates = mates.shape
    d = genomes.shape[2]
    p_pair, p_gene, p_keep = chances
    children = np.empty((r, n_mates, d))
    child_keeps = np.empty((r, n_mates, d), dtype=np.bool_)
    for a in range(r):
        key = keys[a]
        for i in range(n_mates // 2):
            k = i + n_mates // 2
            children[a, i], child_keeps[a, i] = genomes[a, mates[a, i]], keeps[a, mates[a, i]]
            children[a, k], child_keeps[a, k] = genomes[a, mates[a, k]], keeps[a, mates[a, k]]
            if uniform(key, PAIR, generation, i, 0) >= p_pair:
                continue
            for j in range(d):
                if uniform(key, CROSS_GENE, generation, i, j) < p_gene:
                    children[a, i, j], children[a, k, j] = cross_gene(
                        children[a, i, j], children[a, k, j], a, i, j, space, box, key, generation
                    )
                if uniform(key, CROSS_KEEP, generation, i, j) < p_keep:
                    kept = child_keeps[a, i, j]
                    child_keeps[a, i, j] = child_keeps[a, k, j]
                    child_keeps[a, k, j] = kept
            for child, stage in ((i, CROSS_SURPLUS[0]), (k, CROSS_SURPLUS[1])):
                reset_to_row(
                    children[a, child], child_keeps[a, child], a, box, key, stage, generation, i
                )
    return children, child_keeps


@inner
def mutate_keeps(keep: Bools, p_keep: float, key: Keys, generation: int, i: int) -> None:
    """Redraw use-original indicators, in place, holding their expected number (Hamming weight)."""
    d = len(keep)
    share = (keep.sum() + 1.0) / (d + 2.0)
    for j in range(d):
        if uniform(key, MUTATE_KEEP, generation, i, j) < 2.0 * p_keep:
            keep[j] = uniform(key, KEEP_VALUE, generation, i, j) < share


@inner
def step_gene(
    value: float,
    a: int,
    i: int,
    j: int,
    scale: float,
    space: Space,
    box: Box,
    key: Keys,
    generation: int,
) -> float:
    """Return one mutated gene: a Gaussian step, a flip of two levels, or a redraw of many."""
    lower, upper = box.lower[a, j], box.upper[a, j]
    radius = uniform(key, RADIUS, generation, i, j)
    if space.is_binary[j]:
        return 1.0 - value
    if space.is_level[j]:
        return from_uniform(radius, j, space, lower, upper)
    angle = uniform(key, ANGLE, generation, i, j)  # Box and Muller (1958)
    normal = math.sqrt(-2.0 * math.log(1.0 - radius)) * math.cos(2.0 * math.pi * angle)
    return snap(value + scale * normal, j, space, lower, upper)


@inner
def _mutate_by_steps(
    genomes: Floats,
    keeps: Bools,
    chances: tuple[float, float, float],
    scale: Floats,
    space: Space,
    box: Box,
    keys: Keys,
    generation: int,
) -> None:
    """Mutate the chosen children in place: genes by steps, indicators, then the reset."""
    p_child, p_gene, p_keep = chances
    r, n, d = genomes.shape
    for a in range(r):
        key = keys[a]
        for i in range(n):
            if uniform(key, MUTANT, generation, i, 0) >= p_child:
                continue
            for j in range(d):
                if uniform(key, MUTATE_GENE, generation, i, j) < p_gene:
                    genomes[a, i, j] = step_gene(
                        genomes[a, i, j], a, i, j, scale[j], space, box, key, generation
                    )
            mutate_keeps(keeps[a, i], p_keep, key, generation, i)
            reset_to_row(genomes[a, i], keeps[a, i], a, box, key, MUTATE_SURPLUS, generation, i)


@kernel
def _mutate_conditionally(
    genomes: Floats,
    keeps: Bools,
    chances: tuple[float, float, float],
    trees: Trees,
    space: Space,
    box: Box,
    keys: Keys,
    generation: int,
) -> None:
    """Mutate the chosen children in place: indicators, the reset, then free genes in random order.

    Each gene is drawn given the current values of all others, earlier draws included.
    """
    p_child, p_gene, p_keep = chances
    r, n, d = genomes.shape
    turn = np.empty(d)
    for a in range(r):
        key = keys[a]
        for i in range(n):
            if uniform(key, MUTANT, generation, i, 0) >= p_child:
                continue
            mutate_keeps(keeps[a, i], p_keep, key, generation, i)
            reset_to_row(genomes[a, i], keeps[a, i], a, box, key, MUTATE_SURPLUS, generation, i)
            for j in range(d):
                turn[j] = uniform(key, ORDER, generation, i, j)
            for j in np.argsort(turn):
                if not keeps[a, i, j] and uniform(key, MUTATE_GENE, generation, i, j) < p_gene:
                    drawn = draw_value(
                        trees, j, genomes[a, i], uniform(key, VALUE, generation, i, j)
                    )
                    genomes[a, i, j] = snap(drawn, j, space, box.lower[a, j], box.upper[a, j])
