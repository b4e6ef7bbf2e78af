"""The paper's search: NSGA-II (Deb et al. 2002) as changed by Dandl et al. (2020), section 4.2.

All rows of a problem are searched side by side: one model call judges the candidates of every row.
"""

from __future__ import annotations

import time

import numpy as np

from counterpoint.evolution.archive import Archive
from counterpoint.evolution.initialization import initialize
from counterpoint.evolution.population import Population
from counterpoint.evolution.search import Search
from counterpoint.evolution.selection import select_mates, select_survivors
from counterpoint.evolution.variation import mutate, recombine
from counterpoint.problem.problem import Problem


def evolve(problem: Problem, search: Search) -> Archive:
    """Search the counterfactuals of every row of `problem`; return all that was evaluated."""
    deadline = time.monotonic() + (search.seconds or float("inf"))
    space, size = problem.space, search.population
    n_mates = size + size % 2
    trees = problem.observed.conditional.trees if search.mutation == "conditional" else None

    first, asked = initialize(problem, search)
    judged = problem.evaluate(first.genomes)
    rows = np.arange(len(problem.rows))  # those still searched
    last = search.last_generation(1 + asked + first.genomes.shape[1])
    archive = Archive(problem, first.genomes.shape[1] + int(last.max()) * size, asked)
    archive.add(first.genomes, judged, rows, generation=0)
    parents = select_survivors(
        Population(*first, judged.objectives), size, search.epsilon, problem.around
    )

    for generation in range(1, int(last.max()) + 1):
        mates = select_mates(problem.keys, generation, size, n_mates)
        children = recombine(
            parents, mates, search, space, problem.box, problem.keys, generation
        )
        children = mutate(children, search, space, problem.box, trees, problem.keys, generation)
        judged = problem.evaluate(children.genomes)
        offspring = Population(*children, judged.objectives)

        parents = select_survivors(
            parents.joined(offspring), size, search.epsilon, problem.around
        )
        archive.add(children.genomes, judged, rows, generation)

        is_late = time.monotonic() > deadline
        going = archive.still_going(rows, generation, last, search.patience, is_late)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem, parents = rows[going], problem.take(going), parents.of_rows(going)
    return archive
