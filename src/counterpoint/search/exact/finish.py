"""Finish: what a search found of each row is completed by a solver, and what is proved is said.

The order is: the nearest, the fewest changes, the least distance for each number of changes, and of
each way. Each answer may help the next, and all share the seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.checks import check_number
from counterpoint.errors import InvalidInput
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP
from counterpoint.problem.problem import Problem
from counterpoint.progress import Watch
from counterpoint.search.archive import Archive
from counterpoint.search.exact.cells import Reach, Ruled, options_of
from counterpoint.search.exact.linear import LinearSolver
from counterpoint.search.exact.program import goals_of
from counterpoint.search.exact.proof import UNKNOWN, Claim, Proof
from counterpoint.search.exact.solve import (
    Clock,
    Found,
    Question,
    Solver,
    combinations_within,
    count_combinations,
)
from counterpoint.search.feasibility import nearest_wanted, observed_predictions
from counterpoint.search.settings import Effort, Search
from counterpoint.search.ways import MOST_FEATURES, MOST_LARGER, MOST_WAYS, keys_of

MOST_ROWS = 20_000  # that are asked one by one where no solver can be asked
CHUNK = 2048  # of them that are asked at a time
TOO_MANY = f"There are more than {MOST_ROWS:,} rows, too many to ask about all of them."
OTHER = {"evaluations": None, "generations": None, "population": 20, "patience": 50}


@dataclass(frozen=True, kw_only=True, repr=False)
class Exact(Search):
    """Instead of searching, ask a solver for the nearest counterfactuals, and for proofs.

    It knows ensembles of trees and linear models. It finds the nearest, the one with the fewest
    changes, the nearest for each number of changes, and that of each way it comes across, in this
    order. Rows of any other model are asked one by one if there are no more than 20,000 of them.
    What it cannot prove in time, `Counterfactuals.proof` says.

    Parameters
    ----------
    seconds : float, default=10.0
        The time for one row.
    method, evaluations, generations, population, patience
        Those of `Search`, which mean nothing here and are refused.

    Examples
    --------
    >>> Exact(seconds=5)
    Exact(seconds=5)
    """

    method: Any = field(default="exact", repr=False)
    seconds: float | None = 10.0

    def __post_init__(self, effort: Effort | None) -> None:
        if self.seconds is not None:
            check_number("Exact.seconds", self.seconds, 0.0, finite=False)
        super().__post_init__(effort)
        for name, default in OTHER.items():
            if getattr(self, name) != default:
                raise InvalidInput(
                    f"Exact.{name} is {getattr(self, name)!r}, but a solver looks at seconds only; "
                    "leave it out: Exact(seconds=10)."
                )

    def __repr__(self) -> str:
        return f"Exact(seconds={self.seconds!r})"

    def _count_most(self) -> int:
        """Return the most candidates of one row; only where rows are asked one by one are more."""
        return 1024

    def with_(self, **changes: Any) -> Search:
        """Return the same settings with some replaced; with a method, those of `Search`."""
        return Search(**changes) if "method" in changes else replace(self, **changes)

    def continued(self, more: int, n_asked: int, stopped: str) -> Search:  # noqa: ARG002
        """Refuse to go on: a solver keeps nothing to go on from."""
        raise InvalidInput(
            "a result of Exact cannot be continued; call explain again with more seconds, for "
            "example search=Exact(seconds=60)."
        )


def ask_solver(problem: Problem, search: Exact, watch: Watch) -> Archive:
    """Return the nearest counterfactuals of every row, from the nearest wanted observed row on."""
    archive = Archive(problem, 1)
    wanted, n_wanted = nearest_wanted(problem, 1)
    for a in range(len(problem.rows)):
        if n_wanted[a]:
            genomes = problem.observed.genomes[wanted[a]][None]
            known = observed_predictions(problem, a, wanted[a])[None]
            judged = problem.take(np.array([a])).judge(genomes, known)
            archive.add(genomes, judged, np.array([a]), generation=0, is_known=True)
            archive.n_learnt = 1
    found = finish(problem, archive, Deadline(search.seconds, is_each=True), watch)
    for a, proof in enumerate(found.proofs):
        is_done = proof is not None and not proof.reason
        found.stopped[a] = "interrupt" if watch.is_stopped else "proved" if is_done else "seconds"
    watch.hear(0, len(problem.rows), found)
    return found


class Deadline(NamedTuple):
    """How long rows may take."""

    seconds: float | None  # the time; None is that of `Exact`, and of each row
    is_each: bool = False  # whether it is the time of each row, or else of all of them together


def finish(problem: Problem, archive: Archive, time_left: Deadline, watch: Watch) -> Archive:
    """Return an archive with what a solver adds to it, and with what is proved of every row."""
    seconds = Exact().seconds if time_left.seconds is None else time_left.seconds
    is_each = time_left.is_each or time_left.seconds is None
    proofs, added, start = list[Proof](), list[Found](), time.monotonic()
    for a in range(len(problem.rows)):
        one = replace(problem.alone(np.array([a])), predictor=problem.predictor.own)
        clock = Clock((time.monotonic() if is_each else start) + float(seconds or 0.0), watch)
        known = known_of(archive, a, one)
        added.append(Found(one, *known, is_rough=len(known[0]) <= 1))
        proofs.append(prove(added[-1], clock))
    n_asked = np.array([each.n_asked for each in added])
    return archive.with_added(problem, [each.new for each in added], n_asked, proofs)


def known_of(archive: Archive, a: int, problem: Problem) -> tuple[Floats, Floats]:
    """Return the counterfactuals of row a, with their objectives."""
    n = int(archive.size[a])
    objectives = archive.objectives[a, :n]
    is_one = archive.is_candidate[a, :n] & (objectives[:, GAP] <= 0.0)
    which = np.flatnonzero(is_one & (objectives[:, CHANGES] > 0))
    if problem.row_rules is not None:  # functions were asked before the model was
        which = which[problem.row_rules.holds(archive.genomes[None, a, which], problem.rows)[0]]
    return archive.genomes[a, which], objectives[which]


def solver_of(found: Found, clock: Clock) -> Solver | LinearSolver | str:
    """Return what answers questions on a row, or why nothing does."""
    problem = found.problem
    model, target = problem.predictor.additive, problem.targets[0]
    if problem.observed.aims.distance is not None:
        return "The distance is a function of the caller's."
    if model is None:
        return "The model is no ensemble of trees and no linear model that is known."
    if problem.asks_labels:
        return "The model's predict does not always name the likeliest class."
    goals = goals_of(target, model, problem.row_outputs.shape[1])
    if goals is None:
        return f"The target, {target}, is no linear condition on the model's scores."
    made = LinearSolver if model.forest is None else Solver
    return made(found, model, goals, clock)


def prove(found: Found, clock: Clock) -> Proof:
    """Return what is proved of the counterfactuals of a row; what is found goes to `found`."""
    solver: Solver | LinearSolver | Enumeration | str = solver_of(found, clock)
    if isinstance(solver, str):
        if (every := all_rows(found.problem)) is None:
            return Proof(reason=f"{solver} {TOO_MANY}")
        solver = Enumeration(found, every, clock)
    prover = Prover(solver)
    try:
        prover.run()
    except KeyboardInterrupt:
        clock.watch.stop()
    return prover.proof()


def all_rows(problem: Problem) -> Floats | None:
    """Return all genomes that limits and rules allow, in order; None if they are too many."""
    ruled = Ruled(problem)
    none = [np.empty(0)] * problem.rows.shape[1]
    options, is_open = options_of(problem, none, ruled, is_whole=True)
    places = [np.arange(len(each.values)) for each in options]
    most = int(problem.box.max_free[0] + problem.box.is_forced.sum())
    if is_open or count_combinations(options, places, most) > MOST_ROWS:
        return None
    every = combinations_within(options, [p >= 0 for p in places], Reach(np.inf, most), MOST_ROWS)
    assert every is not None, "they were counted"
    genomes = every[0][(every[0] != problem.rows[0]).any(axis=1)]
    return np.ascontiguousarray(genomes[problem.obeys(genomes[None])[0]])


class Enumeration:
    """Answers questions on one row by asking the model about all rows there are.

    `every` (n, d) are all rows that limits and rules allow.
    """

    def __init__(self, found: Found, every: Floats, clock: Clock) -> None:
        self.found, self.clock = found, clock
        known = {genome.tobytes() for genome in found.genomes}
        new = np.array([genome.tobytes() not in known for genome in every], dtype=np.bool_)
        self._left = every[new]

    def answer(self, question: Question) -> Claim:
        """Return the least distance of what is asked for, as far as it is known."""
        while len(self._left) and self.clock.left > 0.0:
            self.found.ask(np.ascontiguousarray(self._left[:CHUNK]))
            self._left = self._left[CHUNK:]
        value = self.found.least(question)
        return Claim.of(value, 0.0 if len(self._left) else np.inf)


class Prover:
    """Asks what is to be proved of one row, in order."""

    def __init__(self, solver: Solver | LinearSolver | Enumeration) -> None:
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
            "The time was up before all was proved." if is_open else "",
        )

    def _ask(self, most: int) -> Claim:
        """Return the least distance with at most so many changes."""
        return self.solver.answer(Question(self._every, False, most))

    def _count(self) -> None:
        """Find the fewest changes, and the least distance for each number of them."""
        objectives = self.found.objectives
        if not len(objectives):
            return
        last = int(objectives[np.lexsort(objectives[:, [CHANGES, DISTANCE]].T)[0], CHANGES])
        bound = first = max(1, self._n_forced)
        for n in range(first, last + 1):
            claim = self.nearest if n == last else self._ask(n)
            if claim.status == "none":
                bound = n + 1 if bound == n else bound
            elif np.isfinite(claim.value):
                self.by_changes[n] = claim
            self.fewest = Claim.of(float(self.found.objectives[:, CHANGES].min()), float(bound))

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


def have_no_part(changed: Bools) -> Bools:
    """Return which sets of features (w, d) contain none of the others.

    Examples
    --------
    >>> have_no_part(np.array([[True, False], [True, True]])).tolist()
    [True, False]
    """
    words = bits_of(changed)
    is_part = np.ones((len(words), len(words)), dtype=np.bool_)  # [i, j]: set j is part of set i
    for word in words.T:
        is_part &= (word[None, :] & ~word[:, None]) == 0
    np.fill_diagonal(is_part, val=False)
    return np.asarray(~is_part.any(axis=1))


def bits_of(changed: Bools) -> NDArray[np.uint32]:
    """Return sets of features (w, d) as the bits of numbers (w, n)."""
    packed = np.packbits(changed, axis=1)
    room = np.zeros((len(changed), -(-packed.shape[1] // 4) * 4), dtype=np.uint8)
    room[:, : packed.shape[1]] = packed
    return room.view(np.uint32)


def kept_sets(sizes: Ints, least: Floats, is_minimal: Bools) -> Ints:
    """Return which sets are kept: minimal ones by least distance, then some larger ones."""
    order = np.lexsort((least, sizes))
    minimal = order[is_minimal[order]][:MOST_WAYS]
    larger = order[~is_minimal[order] & (sizes[order] <= MOST_FEATURES)][:MOST_LARGER]
    kept: Ints = np.concatenate([minimal[np.argsort(least[minimal], kind="stable")], larger])
    return kept
