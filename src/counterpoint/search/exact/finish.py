"""Finish: what a search found of each row is completed by a solver, and what is proved is said.

The order is: the nearest, the fewest changes, the least distance for each number of changes, and of
each way. Each answer may help the next, and all share the seconds.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP
from counterpoint.problem.problem import Problem
from counterpoint.progress import Watch
from counterpoint.search.archive import Archive
from counterpoint.search.exact.goals import goals_of
from counterpoint.search.exact.proof import UNKNOWN, Claim, Proof
from counterpoint.search.exact.solve import Clock, Found, Question, Solver
from counterpoint.search.ways import have_no_part, kept_sets, keys_of

SECONDS = 10.0  # which a row takes at most, if nobody says


def finish(problem: Problem, archive: Archive, deadline: float | None, watch: Watch) -> Archive:
    """Return an archive with what a solver adds to it, and with what is proved of every row."""
    proofs, added = [], []
    for a in range(len(problem.rows)):
        one = replace(problem.alone(np.array([a])), predictor=problem.predictor.own)
        clock = Clock(time.monotonic() + SECONDS if deadline is None else deadline, watch)
        found = Found(one, *known_of(archive, a, one))
        proofs.append(prove(found, clock))
        added.append(found)
    return archive.with_added(problem, [each.new for each in added], proofs)


def known_of(archive: Archive, a: int, problem: Problem) -> tuple[Floats, Floats]:
    """Return the counterfactuals of row a, with their objectives."""
    n = int(archive.size[a])
    objectives = archive.objectives[a, :n]
    is_one = archive.is_candidate[a, :n] & (objectives[:, GAP] <= 0.0)
    which = np.flatnonzero(is_one & (objectives[:, CHANGES] > 0))
    if problem.row_rules is not None:  # functions were asked before the model was
        which = which[problem.row_rules.holds(archive.genomes[None, a, which], problem.rows)[0]]
    return archive.genomes[a, which], objectives[which]


def solver_of(found: Found, clock: Clock) -> Solver | str:
    """Return what answers questions on a row, or why nothing does."""
    problem = found.problem
    model, target = problem.predictor.additive, problem.targets[0]
    if problem.observed.aims.distance is not None:
        return "the distance is a function, of which no solver knows anything."
    if model is None or model.forest is None:
        return "the model is none whose sums are known, so that no program can be made of it."
    if problem.asks_labels:
        return "the model's predict does not always name the likeliest class."
    goals = goals_of(target, model, problem.row_outputs.shape[1])
    if goals is None:
        return f"the target, {target}, is no linear condition on the model's scores."
    return Solver(found, model, goals, clock)


def prove(found: Found, clock: Clock) -> Proof:
    """Return what is proved of the counterfactuals of a row; what is found goes to `found`."""
    solver = solver_of(found, clock)
    if isinstance(solver, str):
        return Proof(reason=solver)
    prover = Prover(solver)
    try:
        prover.run()
    except KeyboardInterrupt:
        clock.watch.stop()
    return prover.proof()


class Prover:
    """Asks what is to be proved of one row, in order.

    Parameters
    ----------
    solver : Solver
        What answers.
    """

    def __init__(self, solver: Solver) -> None:
        self.solver, self.found = solver, solver.found
        problem = self.found.problem
        self._n_forced = int(problem.box.is_forced.sum())
        self._most = int(problem.box.max_free[0]) + self._n_forced
        self._every = np.ones(problem.rows.shape[1], dtype=np.bool_)
        self.nearest, self.fewest = UNKNOWN, UNKNOWN
        self.by_changes: dict[int, Claim] = {}
        self.ways: dict[tuple[int, ...], Claim] = {}
        self.minimal: set[tuple[int, ...]] = set()
        self._known: tuple[int, list[tuple[int, ...]]] = (-1, [])

    def run(self) -> None:
        """Ask all questions, as far as time goes."""
        self.nearest = self._ask(self._most)
        if self.nearest.status == "none":
            self.fewest = self.nearest
            return
        self._count()
        while (pending := self._pending()) is not None:
            self._ask_way(pending)

    def proof(self) -> Proof:
        """Return what is proved so far."""
        names = self.found.problem.predictor.encoding.schema.names
        named = {places: tuple(names[j] for j in places) for places in self.ways}
        ways = [places for places in self._sets() if places in self.ways]
        claims = [self.nearest, self.fewest, *self.by_changes.values(), *self.ways.values()]
        is_open = any(claim.status in ("within", "unknown") for claim in claims)
        return Proof(
            self.nearest,
            self.fewest,
            self.by_changes,
            {named[places]: self.ways[places] for places in ways},
            frozenset(named[places] for places in ways if places in self.minimal),
            "the time was up before all was proved." if is_open else "",
        )

    def _ask(self, most: int) -> Claim:
        """Return the least distance with at most so many changes."""
        return self.solver.answer(Question(self._every, False, most))

    def _count(self) -> None:
        """Find the fewest changes, and the least distance for each number of them."""
        question = Question(self._every, False, self._most, counts=True)
        known, least = self.found.least(question), max(1, self._n_forced)
        self.fewest = Claim(known, known) if known <= least else self.solver.answer(question)
        objectives = self.found.objectives
        if not len(objectives):
            return
        last = int(objectives[np.lexsort(objectives[:, [CHANGES, DISTANCE]].T)[0], CHANGES])
        for n in range(int(self.fewest.value), last):
            self.by_changes[n] = self._ask(n)
        self.by_changes[last] = self.nearest

    def _sets(self) -> list[tuple[int, ...]]:
        """Return the sets of features that are ways and have no part that is, the nearest first."""
        if self._known[0] == len(self.found.genomes):
            return self._known[1]
        differs = self.found.genomes != self.found.problem.rows[0]
        _, first, group = np.unique(keys_of(differs), return_index=True, return_inverse=True)
        changed, least = differs[first], np.full(len(first), np.inf)
        np.minimum.at(least, group, self.found.objectives[:, DISTANCE])
        is_minimal = have_no_part(changed)
        kept = kept_sets(changed.sum(axis=1), least, is_minimal)
        sets = [tuple(np.flatnonzero(changed[k]).tolist()) for k in kept if is_minimal[k]]
        self._known = (len(self.found.genomes), sets)
        return sets

    def _pending(self) -> tuple[int, ...] | None:
        """Return the next way to ask about; None if there is none, or no time."""
        if self.solver.clock.left <= 0.0:
            return None
        return next((places for places in self._sets() if places not in self.ways), None)

    def _ask_way(self, places: tuple[int, ...]) -> None:
        """Find the least distance of a way, and whether a part of it is one."""
        changes = np.isin(np.arange(len(self._every)), places)
        self.ways[places] = self.solver.answer(Question(changes, True, len(places)))
        n = len(places)
        is_minimal = n == 1 or (self.fewest.status == "optimal" and n <= self.fewest.value)
        if not is_minimal:
            is_minimal = self.solver.answer(Question(changes, False, n - 1)).status == "none"
        if is_minimal:
            self.minimal.add(places)
