"""Baselines with the same result: random search, and the nearest observed rows (What-If)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.errors import InvalidInput
from counterpoint.evolution.archive import Archive
from counterpoint.evolution.initialization import random_candidates
from counterpoint.evolution.search import Search
from counterpoint.problem.problem import Problem
from counterpoint.table.distance import gower_to_all


def search_randomly(problem: Problem, search: Search) -> Archive:
    """Draw candidates at random, half of their features kept: the paper's random search."""
    deadline = search.deadline()
    size, rows = search.population, np.arange(len(problem.rows))
    last = search.last_generation(np.full(len(rows), 1 + size))
    archive = Archive(problem, (1 + int(last.max())) * size)
    for generation in range(int(last.max()) + 1):
        candidates = random_candidates(problem, problem.box, size, generation)
        judged = problem.evaluate(candidates.genomes)
        archive.add(candidates.genomes, judged, rows, generation)
        is_late = time.monotonic() >= deadline
        going = archive.still_going(rows, generation, last, search.patience, is_late)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem = rows[going], problem.take(going)
    return archive


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """Instead of searching, take the nearest observed rows that have the wanted prediction.

    The paper's baseline, after the What-If Tool (Wexler et al. 2019). It asks the model about the
    explained row only: the observed rows were scored when the explainer was made.

    Parameters
    ----------
    n : int, default=1
        How many observed rows: the nearest of those within the limits, repeated ones once.

    Examples
    --------
    >>> WhatIf(n=10)
    WhatIf(n=10)
    """

    n: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise InvalidInput(f"WhatIf.n must be a whole number of at least 1, got {self.n!r}.")


def take_nearest(problem: Problem, settings: WhatIf) -> Archive:
    """Return the nearest observed rows that reach each row's target within its limits."""
    archive = Archive(problem, settings.n)
    wanted, n_wanted = nearest_wanted(problem, settings.n)
    for a in range(len(problem.rows)):
        known = wanted[a, : n_wanted[a]]
        if len(known):
            genomes = problem.observed.genomes[known][None]
            judged = problem.take(np.array([a])).judge(
                genomes, observed_predictions(problem, a)[known][None]
            )
            archive.add(genomes, judged, np.array([a]), generation=0, is_known=True)
            archive.keep_all(a)
        archive.stopped[a] = "budget"
    return archive


def nearest_wanted(problem: Problem, n: int) -> tuple[Ints, Ints]:
    """Return the n nearest distinct observed rows (r, n) each row may become, and their number.

    They reach the row's target and obey its limits; where there are fewer, index 0 pads.
    """
    observed, around = problem.observed.genomes, problem.around
    wanted = np.zeros((len(problem.rows), n), dtype=np.int64)
    n_wanted = np.zeros(len(problem.rows), dtype=np.int64)
    for a, row in enumerate(problem.rows):
        within = np.flatnonzero(observed_within_limits(problem, a))
        distances = gower_to_all(row, observed[within], around.weight[a], around.cap)
        order = within[np.argsort(distances, kind="stable")]
        nearest = first_distinct(observed, order, n)
        wanted[a, : len(nearest)], n_wanted[a] = nearest, len(nearest)
    return wanted, n_wanted


def first_distinct(genomes: Floats, order: Ints, n: int) -> Ints:
    """Return the first n of `order` whose genomes differ: rows that repeat answer once."""
    chosen: dict[bytes, int] = {}
    for i in order.tolist():
        chosen.setdefault(genomes[i].tobytes(), i)
        if len(chosen) == n:
            break
    return np.array(list(chosen.values()), dtype=np.int64)


def observed_predictions(problem: Problem, a: int) -> Floats:
    """Return what the model says of every observed row, in terms of row a's target."""
    return problem.targets[a].prediction(problem.observed.outputs)


def observed_reaching(problem: Problem, a: int) -> Bools:
    """Return which observed rows reach row a's target; a class only if `predict` says so."""
    target, predictions = problem.targets[a], observed_predictions(problem, a)
    reaches: Bools = (predictions >= target.low) & (predictions <= target.high)
    if target.is_decision:
        reaches &= target.accepts_label(problem.predictor.observed_labels)
    return reaches


def observed_within_limits(problem: Problem, a: int) -> Bools:
    """Return which observed rows reach row a's target and obey its limits."""
    box, genomes = problem.box, problem.observed.genomes
    is_fixed = problem.limits.is_fixed
    obeys = (genomes[:, is_fixed] == problem.rows[a, is_fixed]).all(axis=1)
    obeys &= ((genomes >= box.lower[a]) & (genomes <= box.upper[a])).all(axis=1)
    obeys &= (genomes != problem.rows[a]).sum(axis=1) <= problem.limits.max_changed
    within: Bools = observed_reaching(problem, a) & obeys
    return within
