"""Selection: who mates and who survives, both by the same penalised order."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys
from counterpoint.evolution.dominance import best_first
from counterpoint.evolution.population import Population
from counterpoint.kernels import kernel
from counterpoint.problem.surroundings import Surroundings
from counterpoint.streams import Stage, uniform

FIRST = int(Stage.TOURNAMENT_FIRST)
SECOND = int(Stage.TOURNAMENT_SECOND)


def select_survivors(
    population: Population, size: int, epsilon: float | None, around: Surroundings
) -> Population:
    """Return the `size` best candidates of each row, best first (elitist: parents compete too)."""
    limit = np.inf if epsilon is None else float(epsilon)
    return Population(*_survivors(*population, around, limit, size))


@kernel
def _survivors(
    genomes: Floats,
    keeps: Bools,
    objectives: Floats,
    around: Surroundings,
    epsilon: float,
    size: int,
) -> tuple[Floats, Bools, Floats]:
    """Return genomes, indicators and objectives of the survivors of each row."""
    r, _, d = genomes.shape
    best_genomes, best_keeps = np.empty((r, size, d)), np.empty((r, size, d), dtype=np.bool_)
    best_objectives = np.empty((r, size, objectives.shape[2]))
    for a in range(r):
        weight = around.weight[around.at[a]]
        best = best_first(objectives[a], genomes[a], weight, around.cap, epsilon, size)
        for place, i in enumerate(best):
            best_genomes[a, place] = genomes[a, i]
            best_keeps[a, place] = keeps[a, i]
            best_objectives[a, place] = objectives[a, i]
    return best_genomes, best_keeps, best_objectives


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
