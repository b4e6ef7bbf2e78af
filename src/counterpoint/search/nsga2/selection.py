"""Selection: who mates and who survives, both by the same penalised order.

Population: genomes, their use-original indicators and their objectives, never apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys
from counterpoint.kernels import kernel
from counterpoint.neighbours.index import NearRows
from counterpoint.search.nsga2.dominance import Ranking, empty_ranking, find_best
from counterpoint.streams import WHOLE, Stage, uniform


class Population(NamedTuple):
    """Judged candidates, for r rows at once; after selection the best come first.

    Attributes
    ----------
    genomes, keeps : ndarray of shape (r, n, d)
        See `Candidates`.
    objectives : ndarray of shape (r, n, m)
        gap, distance, changes, implausibility.
    """

    genomes: Floats
    keeps: Bools
    objectives: Floats

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
