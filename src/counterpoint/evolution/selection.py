"""Selection: who mates and who survives, both by the same penalised order."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints, Keys
from counterpoint.evolution.dominance import Ranking, empty_ranking, find_best
from counterpoint.evolution.population import Population
from counterpoint.kernels import kernel
from counterpoint.problem.surroundings import Surroundings
from counterpoint.streams import WHOLE, Stage, uniform

FIRST = np.int64(Stage.TOURNAMENT_FIRST)
SECOND = np.int64(Stage.TOURNAMENT_SECOND)


def select_survivors(
    population: Population, size: int, epsilon: float | None, around: Surroundings
) -> Population:
    """Return the `size` best candidates of each row, best first (elitist: parents compete too)."""
    limit = np.inf if epsilon is None else float(epsilon)
    weight = around.weight[around.at]
    best = np.empty((len(weight), size), dtype=np.int64)
    ranking = empty_ranking(population.genomes.shape[1])
    _find_best_of_all(
        population.objectives, population.genomes, weight, around.cap, limit, ranking, best
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
