"""Baselines with the same result: random search, and the nearest observed rows (What-If)."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.neighbours.gower import gower_to_all
from counterpoint.neighbours.index import nearest_first, rough_distances, single_slack
from counterpoint.problem.problem import Problem
from counterpoint.search.archive import Archive
from counterpoint.search.feasibility import feasible
from counterpoint.search.nsga2.initialization import random_candidates
from counterpoint.search.settings import RandomSearch, WhatIf
from counterpoint.search.watch import Watch


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


def nearest_wanted(problem: Problem, n: int) -> tuple[Ints, Ints]:
    """Return the n nearest distinct observed rows (r, n) each row may become, and their number.

    They reach the row's target and obey its limits; where there are fewer, index 0 pads.
    """
    wanted = np.zeros((len(problem.rows), n), dtype=np.int64)
    n_wanted = np.zeros(len(problem.rows), dtype=np.int64)
    for a in range(len(problem.rows)):
        nearest = nearest_wanted_of(problem, a, n)
        wanted[a, : len(nearest)], n_wanted[a] = nearest, len(nearest)
    return wanted, n_wanted


def nearest_wanted_of(problem: Problem, a: int, n: int) -> Ints:
    """Return the n nearest distinct observed rows row a may become: of those at hand if they do."""
    near_rows, indexed = problem.near_rows, problem.observed.indexed
    at = near_rows.at[a]
    nearest = _nearest_among(
        problem, a, n, near_rows.order[at, : near_rows.n_near], near_rows.horizon[at]
    )
    if nearest is not None:
        return nearest
    reaching = np.flatnonzero(is_reaching(problem, a, indexed.which))
    distances = rough_distances(problem.rows[[a]], indexed, near_rows.weight[[at]], near_rows.cap)[
        0
    ]
    distances, n_near = distances[reaching], near_rows.n_near
    while nearest is None:
        near = nearest_first(distances, min(n_near, len(reaching)))
        is_all = len(near) == len(reaching)
        horizon = np.inf if is_all else distances[near[-1]] - single_slack(problem.rows.shape[1])
        nearest = _nearest_among(problem, a, n, reaching[near], horizon)
        n_near *= 4
    return nearest


def _nearest_among(problem: Problem, a: int, n: int, places: Ints, horizon: float) -> Ints | None:
    """Return the n nearest distinct observed rows row a may become, if they are among `places`.

    These are indexed rows; all others are at least as far as `horizon`.
    """
    near_rows, indexed = problem.near_rows, problem.observed.indexed
    wanted = np.sort(places[is_wanted(problem, a, indexed.which[places])])
    weight, row = near_rows.weight[near_rows.at[a]], problem.rows[a]
    distances = gower_to_all(row, indexed.genomes[wanted], weight, near_rows.cap)
    order = np.argsort(distances, kind="stable")
    nearest = first_distinct(indexed.genomes, wanted[order[distances[order] <= horizon]], n)
    return indexed.which[nearest] if len(nearest) == n or horizon == np.inf else None


def first_distinct(genomes: Floats, order: Ints, n: int) -> Ints:
    """Return the first n of `order` whose genomes differ: rows that repeat answer once."""
    chosen: dict[bytes, int] = {}
    for i in order.tolist():
        chosen.setdefault(genomes[i].tobytes(), i)
        if len(chosen) == n:
            break
    return np.array(list(chosen.values()), dtype=np.int64)


def observed_predictions(problem: Problem, a: int, which: Ints | slice) -> Floats:
    """Return what the model says of some of the observed rows, in terms of row a's target."""
    return problem.targets[a].prediction(problem.observed.outputs[which])


def is_reaching(problem: Problem, a: int, which: Ints | slice) -> Bools:
    """Return which of these observed rows reach row a's target; `predict` must agree.

    Those with missing values do not, for a counterfactual has all.
    """
    target, predictions = problem.targets[a], observed_predictions(problem, a, which)
    reaches: Bools = (predictions >= target.low) & (predictions <= target.high)
    if problem.observed.has_missing:
        reaches &= problem.observed.is_complete[which]
    if target.is_decision:
        reaches &= target.accepts_label(problem.predictor.observed_labels[which])
    return reaches


def is_wanted(problem: Problem, a: int, which: Ints | slice) -> Bools:
    """Return which of these observed rows reach row a's target and obey its limits and rules."""
    wanted = is_reaching(problem, a, which)
    reaching = np.flatnonzero(wanted)  # often few: only these are compared with the limits
    wanted[reaching] = is_allowed(problem, a, problem.observed.genomes[which][reaching])
    return wanted


def is_allowed(problem: Problem, a: int, genomes: Floats) -> Bools:
    """Return which genomes (n, d) row a's limits and rules allow."""
    box, row, limits = problem.box, problem.rows[a], problem.limits
    obeys: Bools = (genomes[:, limits.is_fixed] == row[limits.is_fixed]).all(axis=1)
    is_inside = (genomes >= box.lower[a]) & (genomes <= box.upper[a])
    if problem.row_rules is not None or problem.observed.has_missing:
        # Rules can leave the row's own value beside the box, and no box holds a missing one.
        is_inside |= (genomes == row) & ~box.is_forced[a]
    obeys &= is_inside.all(axis=1)
    obeys &= (genomes != row).sum(axis=1) <= limits.max_changed
    if problem.row_rules is not None:
        within, alone = np.flatnonzero(obeys), problem.alone(np.array([a]))
        obeys[within] = alone.obeys(genomes[None, within])[0]
    return obeys
