"""Solve: the nearest counterfactual, the fewest changes and each way, proved as far as time goes.

Every question is answered by programs that lose no counterfactual, or one by one where combinations
are few, which no solver does faster. What a program finds is asked of the model; what the model or
a rule refuses is forbidden, and the program is solved again. So what the solver says is the least
is a bound on all counterfactuals, whatever was refused.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.models.additive import AdditiveModel
from counterpoint.problem.objectives import DISTANCE, GAP
from counterpoint.problem.problem import Evaluation, Problem
from counterpoint.progress import Watch
from counterpoint.search.exact.cells import (
    Options,
    Reach,
    Reached,
    Ruled,
    Walker,
    bits_of,
    options_of,
)
from counterpoint.search.exact.program import SCALE, Goal, RowProgram, Solution, widened
from counterpoint.search.exact.proof import Claim

Verdict = Literal["taken", "rules", "model"]
SHARES = (1 / 64, 1 / 16, 1 / 4)  # of the least distance, which are looked at first if it is rough
SINGLE, DOUBLE = 2.0**-24, 2.0**-53  # what a sum is rounded by, as a share of it
ROUND_OFF = 1e-9  # how far two sums of the same shares may be apart, as a share
MOST_COMBINATIONS = 8192  # combinations that are asked one by one


class Question(NamedTuple):
    """What is asked of the counterfactuals of a row."""

    changes: Bools  # (d,): which features may change
    must: bool  # whether all of them must
    most: int  # how many may


class Found:
    """The counterfactuals of one row that are known, and those that a solver added.

    If what was known `is_rough`, it may be far from the nearest, so that near rows are looked at
    first.
    """

    def __init__(
        self, problem: Problem, genomes: Floats, objectives: Floats, *, is_rough: bool = False
    ) -> None:
        self.problem, self.genomes, self.objectives = problem, genomes, objectives
        self.is_rough = is_rough
        self.n_before, self.predictions, self.n_asked = len(genomes), np.empty(0), 0

    @property
    def new(self) -> tuple[Floats, Evaluation]:
        """What the solver added, with what is known of it, for an archive of one row."""
        judged = Evaluation(self.predictions[None], self.objectives[None, self.n_before :])
        return self.genomes[None, self.n_before :], judged

    def hold(self, question: Question) -> Bools:
        """Return which of the known ones answer a question."""
        differs = self.genomes != self.problem.rows[0]
        is_one: Bools = ~(differs & ~question.changes).any(axis=1)
        is_one &= differs.sum(axis=1) <= question.most
        if question.must:
            is_one &= differs[:, question.changes].all(axis=1)
        return is_one

    def least(self, question: Question) -> float:
        """Return the least distance that is known; infinite if nothing is."""
        return float(self.objectives[self.hold(question), DISTANCE].min(initial=np.inf))

    def offer(self, genome: Floats) -> Verdict:
        """Take a genome if it is a counterfactual; return who refuses it if it is none."""
        one = np.ascontiguousarray(genome[None])
        if not self.problem.obeys(one[None])[0, 0]:
            return "rules"
        return "taken" if self.ask(one).any() else "model"

    def ask(self, genomes: Floats) -> Bools:
        """Ask the model about genomes (n, d) that rules allow; say which are, and take them."""
        judged = self.problem.evaluate(genomes[None])
        is_one: Bools = judged.objectives[0, :, GAP] <= 0.0
        self.n_asked += len(genomes)
        self.genomes = np.concatenate([self.genomes, genomes[is_one]])
        self.objectives = np.concatenate([self.objectives, judged.objectives[0, is_one]])
        self.predictions = np.append(self.predictions, judged.predictions[0, is_one])
        return is_one


class Clock(NamedTuple):
    """When to end."""

    deadline: float  # on the clock of `time.monotonic`
    watch: Watch  # who may ask to stop before

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return 0.0 if self.watch.is_stopped else self.deadline - time.monotonic()


class Solver:
    """Answers questions on one row of an additive model.

    One of the `goals` is what its raw scores should be.
    """

    def __init__(self, found: Found, model: AdditiveModel, goals: list[Goal], clock: Clock) -> None:
        problem = found.problem
        self.found, self.model, self.goals, self.clock = found, model, goals, clock
        assert model.forest is not None
        self.forest, self.row = model.forest, problem.rows[0]
        self.ruled, thresholds = Ruled(problem), thresholds_of(model, len(self.row))
        self.options, self.is_open = options_of(problem, thresholds, self.ruled)
        self.walker = Walker(model.forest, self.options)

    def answer(self, question: Question) -> Claim:
        """Return the least distance of what is asked for, as far as it is known."""
        bound = min(self._bound(question, goal) for goal in self.goals)
        return Claim.of(self.found.least(question), bound)

    def _bound(self, question: Question, goal: Goal) -> float:
        """Return a distance below which nothing meets a goal, and take the nearest that does."""
        if self.clock.left <= 0.0:
            return 0.0
        least = self.found.least(question)
        for share in SHARES if self.found.is_rough else ():
            near = share * min(least, 1.0)
            bound = self._within(question, goal, Reach(near, question.most), near)
            if self.found.least(question) <= near or bound < near:
                return bound
        return self._within(question, goal, Reach(least * (1.0 + ROUND_OFF), question.most), least)

    def _within(self, question: Question, goal: Goal, reach: Reach, least: float) -> float:
        """Return what `_bound` does, if nothing below `least` is beyond reach."""
        which = [self._allowed(question, j, reach.distance) for j in range(len(self.row))]
        several = combinations_within(self.options, which, reach)
        if several is not None:
            return min(least, self._least_of(*several, goal))
        program = self.program(which, reach, goal)
        return least if program is None else self._solved(program, least, reach.distance)

    def _allowed(self, question: Question, j: int, distance: float) -> Bools:
        """Return which options of a gene a question allows within a distance."""
        each = self.options[j]
        if not question.changes[j]:
            return each.is_own
        within = each.shares <= distance
        return within & ~each.is_own if question.must else within

    def _least_of(self, genomes: Floats, distances: Floats, goal: Goal) -> float:
        """Return a distance below which no genome (n, d) is a counterfactual, and take the nearest.

        Where rules may allow other values of the same cells, those of a refused genome count, too.
        """
        if not len(genomes):
            return np.inf
        raw = self.model.raw(genomes) @ goal.weights.T
        goal = widened(goal, np.abs(raw).max(axis=0, initial=0.0))
        is_near = ((raw >= goal.low) & (raw <= goal.high)).all(axis=1)
        which = np.flatnonzero(is_near & (genomes != self.row).any(axis=1))
        obeys = self.found.problem.obeys(np.ascontiguousarray(genomes[None, which]))[0]
        refused = distances[which[~obeys]].min(initial=np.inf) if self.is_open else np.inf
        which = which[obeys]
        for i in which[np.argsort(distances[which], kind="stable")]:
            if self.clock.left <= 0.0 or self.found.offer(genomes[i]) == "taken":
                return float(min(distances[i], refused))
        return float(refused)

    def _solved(self, program: RowProgram, least: float, distance: float) -> float:
        """Return what `_bound` does, by the solver."""
        bound, scale = 0.0, SCALE / distance if 0.0 < distance < 1.0 else SCALE
        while True:
            solution = program.solve(self.clock.left, scale, self.clock.watch)
            bound = min(least, max(bound, solution.bound))
            if solution.places is None or not self._is_refused(program, solution):
                return bound

    def _is_refused(self, program: RowProgram, solution: Solution) -> bool:
        """Offer a solution; return whether it was refused and could be forbidden."""
        genome = self.genome(program, solution)
        verdict = self.found.offer(genome)
        if verdict == "taken" or not solution.is_whole:
            return False
        places = solution.places or {}
        if verdict == "model":
            program.forbid(places)
            return True
        for genes in self.ruled.broken(genome):
            if genes & self.is_open:
                return False
            program.forbid({j: place for j, place in places.items() if j in genes})
        return True

    def genome(self, program: RowProgram, solution: Solution) -> Floats:
        """Return the genome that a solution means."""
        places = {j: mask.bit_length() - 1 for j, mask in enumerate(program.masks)}
        places |= solution.places or {}
        return np.array([each.values[places[j]] for j, each in enumerate(self.options)])

    def program(self, which: list[Bools], reach: Reach, goal: Goal) -> RowProgram | None:
        """Return the program of a question; None if nothing within reach can meet the goal."""
        masks = [bits_of(each) for each in which]
        trees = self.walker.reach(masks, reach)
        if trees is None:
            return None
        base, value = self.model.base, self.forest.value
        goal = Goal(goal.weights, goal.low * self.model.divisor, goal.high * self.model.divisor)
        known, parts = (
            base @ goal.weights.T,
            [value[tree.leaves] @ goal.weights.T for tree in trees],
        )
        sizes = np.array([np.abs(part).max(axis=0) for part in parts])
        # A sum is rounded after each tree, by so much of what it can be at most.
        unit = len(trees) * (SINGLE if self.model.is_single else DOUBLE)
        goal = widened(goal, sizes.max(axis=0), unit * (np.abs(known) + sizes.sum(axis=0)))
        most = known + sum(part.max(axis=0) for part in parts)
        least = known + sum(part.min(axis=0) for part in parts)
        if (most < goal.low).any() or (least > goal.high).any():
            return None
        masks = merged(trees, self.options, masks, self.ruled)
        is_level = self.found.problem.space.is_level
        program = RowProgram(trees, masks, self.options, self.row, is_level, value)
        program.want(goal, base)
        program.limit_changes(reach.changes, range(len(self.row)))
        for count in self.ruled.counts:
            program.limit_changes(count.n, count.features)
        for features in self.ruled.groups:
            program.change_together(features)
        for total in self.ruled.sums:
            if not total.weights.keys() & self.is_open:
                program.bound_sum(total)
        return program


def thresholds_of(model: AdditiveModel, d: int) -> list[Floats]:
    """Return the thresholds of each of d genes, ascending."""
    forest = model.forest
    assert forest is not None
    is_split = forest.children[:, 0] != np.arange(len(forest.feature))
    is_split &= forest.category_set == -1
    feature, threshold = forest.feature[is_split], forest.threshold[is_split]
    order = np.lexsort((threshold, feature))
    ends = np.searchsorted(feature[order], np.arange(d + 1))
    return [np.unique(threshold[order[ends[j] : ends[j + 1]]]) for j in range(d)]


def combinations_within(
    options: list[Options], which: list[Bools], reach: Reach, most: int | None = None
) -> tuple[Floats, Floats] | None:
    """Return all genomes (n, d) of some options within reach, and their distances (n,).

    None if there are more than `most` to look at, or than `MOST_COMBINATIONS` if nobody says.
    """
    places = [np.flatnonzero(each) for each in which]
    if not all(len(each) for each in places):
        return np.empty((0, len(options))), np.empty(0)
    if count_combinations(options, places, reach.changes) > (
        MOST_COMBINATIONS if most is None else most
    ):
        return None
    parts = list(_parts(options, places, reach.changes))
    if not parts:
        return np.empty((0, len(options))), np.empty(0)
    tables = [_product(options, part, reach.distance) for part in parts]
    genomes = np.concatenate([table[0] for table in tables])
    return genomes, np.concatenate([table[1] for table in tables])


def count_combinations(options: list[Options], places: list[Ints], most: int) -> float:
    """Return how many combinations change at most so many features."""
    by_changes = np.ones(1)  # the combinations of the features so far, by their changes
    for each, own in zip(options, places, strict=True):
        n_own = float(each.is_own[own].any())
        by_changes = np.convolve(by_changes, [n_own, len(own) - n_own])
    return float(by_changes[: most + 1].sum()) if most >= 0 else 0.0


def _parts(options: list[Options], places: list[Ints], most: int) -> Iterator[list[Ints]]:
    """Yield the options of each set of features that may change together; no two overlap."""
    is_free = [bool(o.is_own[p].any()) and len(p) > 1 for o, p in zip(options, places, strict=True)]
    n_forced = sum(not o.is_own[p].any() for o, p in zip(options, places, strict=True))
    free = np.flatnonzero(is_free).tolist()
    if n_forced + len(free) <= most:
        yield places
        return
    # Every combination once: of each set of features those that change all of it.
    for size in range(most - n_forced + 1):
        for some in itertools.combinations(free, size):
            yield [
                p[o.is_own[p]]
                if is_free[j] and j not in some
                else p[~o.is_own[p]]
                if is_free[j]
                else p
                for j, (o, p) in enumerate(zip(options, places, strict=True))
            ]


def _product(options: list[Options], places: list[Ints], distance: float) -> tuple[Floats, Floats]:
    """Return all combinations of some options that are no farther than `distance`."""
    chosen, far = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    for each, own in zip(options, places, strict=True):
        if len(own) > 1 or each.shares[own[0]] > 0.0:
            farther = far[:, None] + each.shares[own]
            rows, columns = np.nonzero(farther <= distance)
            far = farther[rows, columns]
        else:
            rows, columns = np.arange(len(far)), np.zeros(len(far), dtype=np.int64)
        chosen = np.column_stack([chosen[rows], own[columns]])
    values = [each.values[chosen[:, j]] for j, each in enumerate(options)]
    return np.column_stack(values), far


def merged(
    trees: list[Reached], options: list[Options], masks: list[int], ruled: Ruled
) -> list[int]:
    """Return which options are left: of those that amount to the same the nearest.

    Splits of trees tell options apart; rules do so with all values of some genes, and with others
    by whether they change.
    """
    splits: dict[int, set[int]] = {}
    for tree in trees:
        for j, goes in tree.splits:
            splits.setdefault(j, set()).add(goes)
    left = []
    for j, mask in enumerate(masks):
        if j in ruled.whole:
            left.append(mask)
            continue
        several = splits.get(j, set()) | (
            {bits_of(options[j].is_own)} if j in ruled.apart else set()
        )
        known, kept = set(), 0
        for i in range(mask.bit_length()):
            if mask >> i & 1:
                sides = tuple(goes >> i & 1 for goes in several)
                if sides not in known:
                    known.add(sides)
                    kept |= 1 << i
        left.append(kept)
    return left
