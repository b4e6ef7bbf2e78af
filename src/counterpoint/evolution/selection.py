"""Selection: who mates and who survives, both by the same penalised order."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints, Keys
from counterpoint.evolution.dominance import best_first
from counterpoint.evolution.population import Population
from counterpoint.kernels import kernel
from counterpoint.problem.objectives import Surroundings
from counterpoint.streams import Stage, uniform

FIRST = int(Stage.TOURNAMENT_FIRST)
SECOND = int(Stage.TOURNAMENT_SECOND)


def select_survivors(
    population: Population, size: int, epsilon: float | None, around: Surroundings
) -> Population:
    """Return the `size` best candidates of each row, best first (elitist: parents compete too)."""
    limit = np.inf if epsilon is None else float(epsilon)
    index = _survivors(population.objectives, population.genomes, around, limit, size)
    return population.chosen(index)


@kernel
def _survivors(
    objectives: Floats, genomes: Floats, around: Surroundings, epsilon: float, size: int
) -> Ints:
    """Return the indices (r, size) of the survivors of each row."""
    index = np.empty((len(objectives), size), dtype=np.int64)
    for a in range(len(objectives)):
        index[a] = best_first(
            objectives[a], genomes[a], around.inverse_range[a], around.is_level, epsilon, size
        )
    return index


@kernel
def select_mates(keys: Keys, generation: int, n_parents: int, n_mates: int) -> Ints:
    """Return the winners (r, n_mates) of binary tournaments among parents kept best first.

    Two different parents are drawn; being sorted, the one with the smaller index is the better.
    """
    mates = np.empty((len(keys), n_mates), dtype=np.int64)
    for a in range(len(keys)):
        for i in range(n_mates):
            first = int(uniform(keys[a], FIRST, generation, i, 0) * n_parents)
            second = int(uniform(keys[a], SECOND, generation, i, 0) * (n_parents - 1))
            second += second >= first
            mates[a, i] = min(first, second)
    return mates
