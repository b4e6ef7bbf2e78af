"""Run: which function runs which settings, and the two shortest methods: random search and What-If.

A new method has a line in `RUNS` and a class in `settings`, or beside the function that runs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from counterpoint.problem.problem import Problem
from counterpoint.progress import Watch
from counterpoint.search.archive import Archive
from counterpoint.search.exact.finish import Deadline, Exact, ask_solver, finish
from counterpoint.search.explore.loop import explore
from counterpoint.search.feasibility import feasible, nearest_wanted, observed_predictions
from counterpoint.search.nice import NICE, walk_to_neighbours
from counterpoint.search.nsga2.initialization import random_candidates
from counterpoint.search.nsga2.loop import evolve
from counterpoint.search.settings import NSGA2, Explore, RandomSearch, Search, WhatIf


def search_randomly(problem: Problem, search: RandomSearch, watch: Watch | None = None) -> Archive:
    """Draw candidates at random, half of their features kept: the paper's random search."""
    watch = watch or Watch()
    deadline = search.deadline()
    size, rows = search.population, np.arange(len(problem.rows))
    last = search.last_generation(np.full(len(rows), 1 + size))
    archive = Archive(problem, (1 + int(last.max())) * size)
    for generation in range(int(last.max()) + 1):
        draw = partial(random_candidates, problem, problem.box, size)
        try:
            candidates, counts = feasible(problem, draw, generation)
            judged = problem.evaluate(candidates.genomes)
        except KeyboardInterrupt:
            archive.stop(rows, "interrupt")
            break
        archive.add(candidates.genomes, judged, rows, generation, counts)
        is_late = time.monotonic() >= deadline
        going = archive.still_going(
            rows, generation, last, search.patience, is_late, is_stopped=watch.is_stopped
        )
        watch.hear(len(rows) * size, len(rows) - len(going), archive)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem = rows[going], problem.take(going)
    return archive


def take_nearest(problem: Problem, search: WhatIf, watch: Watch | None = None) -> Archive:
    """Return the nearest observed rows that reach each row's target within its limits."""
    archive = Archive(problem, search.n)
    wanted, n_wanted = nearest_wanted(problem, search.n)
    archive.places = wanted
    for a in range(len(problem.rows)):
        known = wanted[a, : n_wanted[a]]
        if len(known):
            genomes = problem.observed.genomes[known][None]
            judged = problem.take(np.array([a])).judge(
                genomes, observed_predictions(problem, a, known)[None]
            )
            archive.add(genomes, judged, np.array([a]), generation=0, is_known=True)
            archive.keep_all(a)
        archive.stopped[a] = "budget"
    (watch or Watch()).hear(0, len(problem.rows))
    return archive


RUNS: dict[type, Callable[[Problem, Any, Watch | None], Archive]] = {
    Explore: explore,
    NSGA2: evolve,
    RandomSearch: search_randomly,
    WhatIf: take_nearest,
    NICE: walk_to_neighbours,
    Exact: ask_solver,
}


def run(problem: Problem, search: Search | WhatIf, watch: Watch | None = None) -> Archive:
    """Search the counterfactuals of every row of `problem`; return all that was evaluated."""
    watch, start = watch or Watch(), time.monotonic()
    archive = RUNS[type(search)](problem, search, watch)
    if isinstance(search, Explore) and search.prove:
        left = None if search.seconds is None else start + search.seconds - time.monotonic()
        return finish(problem, archive, Deadline(left), watch)
    return archive
