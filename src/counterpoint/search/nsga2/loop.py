"""The paper's search: NSGA-II (Deb et al. 2002) as changed by Dandl et al. (2020), section 4.2.

All rows of a problem are searched side by side: one model call judges the candidates of every row.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import count

import numpy as np

from counterpoint.arrays import Ints
from counterpoint.problem.problem import Problem
from counterpoint.progress import Watch
from counterpoint.search.archive import Archive
from counterpoint.search.feasibility import Candidates, feasible, search_space
from counterpoint.search.nsga2.initialization import (
    Curves,
    ice_curves,
    initialize,
    random_candidates,
)
from counterpoint.search.nsga2.selection import Population, select_mates, select_survivors
from counterpoint.search.nsga2.variation import Operators, vary
from counterpoint.search.settings import NSGA2


def evolve(problem: Problem, search: NSGA2, watch: Watch | None = None) -> Archive:
    """Search the counterfactuals of every row of `problem`; return all that was evaluated."""
    watch = watch or Watch()
    deadline = search.deadline()
    space, size = problem.space, search.population
    n_mates = size + size % 2
    trees = problem.observed.conditional.trees if search.mutation == "conditional" else None

    operators = Operators(search, space, search_space(space, problem.box), trees, problem.keys)
    rows = np.arange(len(problem.rows))  # those still searched
    curves = ice_curves(problem, search.most_ice_points) if search.initialization == "ice" else None
    draw = partial(draw_first, problem, initialize(problem, search, curves))
    first, counts = feasible(problem, draw, generation=0)
    judged = problem.evaluate(first.genomes)
    archive, last = start_archive(problem, search, first, curves)
    archive.add(first.genomes, judged, rows, generation=0, counts=counts)
    parents = select_survivors(
        Population(*first, judged.objectives), size, search.epsilon, problem.near_rows
    )

    for generation in count(1):  # until no row may go on, at the latest after its last generation
        is_late = time.monotonic() >= deadline
        going = archive.still_going(
            rows, generation - 1, last, search.patience, is_late, is_stopped=watch.is_stopped
        )
        watch.hear(len(rows) * size, len(rows) - len(going), archive)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem, parents = rows[going], problem.take(going), parents.of_rows(going)
            allowed = search_space(space, problem.box)
            operators = operators._replace(allowed=allowed, keys=problem.keys)

        mates = select_mates(problem.keys, generation, size, n_mates)
        vary_mates = partial(vary, parents, mates, operators)
        try:
            children, counts = feasible(problem, vary_mates, generation)
            judged = problem.evaluate(children.genomes)
        except KeyboardInterrupt:
            archive.stop(rows, "interrupt")
            break
        offspring = Population(*children, judged.objectives)

        parents = select_survivors(
            parents.joined(offspring), size, search.epsilon, problem.near_rows
        )
        archive.add(children.genomes, judged, rows, generation, counts)
    return archive


def draw_first(problem: Problem, first: Candidates, generation: int) -> Candidates:
    """Return the first candidates; in place of those that are not feasible, random ones."""
    if generation == 0:
        return first
    return random_candidates(problem, problem.box, first.genomes.shape[1], generation)


def start_archive(
    problem: Problem, search: NSGA2, first: Candidates, curves: Curves | None
) -> tuple[Archive, Ints]:
    """Return an archive that knows the ICE curves, and the last generation each row can afford."""
    r, n_first, _ = first.genomes.shape
    n_points = 0 if curves is None else curves.genomes.shape[1]
    n_new = np.zeros(r, dtype=np.int64) if curves is None else curves.is_new.sum(axis=1)
    last = search.last_generation(1 + n_new + n_first)
    archive = Archive(problem, n_points + n_first + int(last.max()) * search.population)
    if curves is not None:  # the model was asked about them, so they count as candidates
        judged = problem.judge(curves.genomes, curves.predictions)
        archive.add(curves.genomes, judged, np.arange(r), generation=0, counts=curves.is_new)
    return archive, last
