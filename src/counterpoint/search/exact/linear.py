"""Linear: the mixed-integer program of one row of a linear model.

A number that changes steps away from the row's value, up or down, by whole steps of its grid or, on
the reals, by any amount; levels, missing values and values that rules look at are chosen one by
one. What the solver finds on the edge of the target is moved inside by a little if need be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Floats
from counterpoint.models.additive import AdditiveModel
from counterpoint.search.exact.cells import (
    Grid,
    Ruled,
    WeightedSum,
    grid_of,
    options_of,
    share_measure,
)
from counterpoint.search.exact.program import (
    SCALE,
    Goal,
    MatrixRows,
    TimeLimit,
    solve_rows,
    widened,
)
from counterpoint.search.exact.proof import Claim
from counterpoint.search.exact.solve import Clock, Found, Question

# How far inside its goal a score should be, as a share of it, if the model refuses it on the edge.
INSETS = (0.0, 1e-12, 1e-9, 1e-6)


class Move(NamedTuple):
    """One way a gene may change: to a value, and from there on by steps."""

    value: float  # the first value
    step: float  # how far a step goes, negative for downwards; 0 if there are none
    most: float  # how many steps there are; they need not be whole on the reals
    is_whole: bool  # whether only whole steps may be made
    # what the first value and each step add to the distance
    share: float
    step_share: float


class LinearSolver:
    """Answers questions on one row of a linear model.

    One of the `goals` is what its raw scores should be.
    """

    def __init__(self, found: Found, model: AdditiveModel, goals: list[Goal], clock: Clock) -> None:
        self.found, self.model, self.goals, self.clock = found, model, goals, clock
        self.row, self.ruled = found.problem.rows[0], Ruled(found.problem)
        none = [np.empty(0)] * len(self.row)
        self.options, self.is_open = options_of(found.problem, none, self.ruled, is_whole=True)
        self._measure = share_measure(found.problem)
        places = range(len(self.row))
        keeps_rules = np.array([self.ruled.allow(j, self.row[[j]])[0] for j in places])
        self.is_forced = found.problem.box.is_forced[0] | ~keeps_rules
        self.moves = [self._moves(j) for j in places]

    def answer(self, question: Question) -> Claim:
        """Return the least distance of what is asked for, as far as it is known."""
        bound = min(self._bound(question, goal) for goal in self.goals)
        return Claim.of(self.found.least(question), bound)

    def _moves(self, j: int) -> list[Move]:
        """Return how gene j may change."""
        problem, options, own = self.found.problem, self.options[j], float(self.row[j])
        is_number = problem.space.n_levels[j] == 0 and bool(problem.box.may_change[0, j])
        if is_number and not self.is_told_apart(j):
            grid = grid_of(problem, j)
            moves = [self._steps(j, grid, own, is_up) for is_up in (True, False)]
            others = [MISSING] if problem.space.may_miss[j] and own != MISSING else []
            values = np.array(others)
            return [move for move in moves if move is not None] + self._to(j, values)
        return self._to(j, options.values[~options.is_own])

    def is_told_apart(self, j: int) -> bool:
        """Whether every value of a gene is a move of its own: rules look at it, and can."""
        is_level = bool(self.found.problem.space.n_levels[j] > 0)
        is_ruled = j in self.ruled.whole or j in self.ruled.alone
        return is_level or (is_ruled and j not in self.is_open)

    def _to(self, j: int, values: Floats) -> list[Move]:
        """Return the moves to single values."""
        shares = self._measure(j, values)
        return [
            Move(value, 0.0, 0.0, True, share, 0.0)
            for value, share in zip(values.tolist(), shares.tolist(), strict=True)
        ]

    def _steps(self, j: int, grid: Grid, own: float, is_up: bool) -> Move | None:
        """Return the steps of a number on one side of the row's value; None if there are none."""
        end = np.array([own if is_up else np.nextafter(own, -np.inf)])
        first = float((grid.above(end) if is_up else grid.at_most(end))[0])
        if np.isnan(first):
            return None
        sign, far = (1.0, grid.upper) if is_up else (-1.0, grid.lower)
        span, (share, last) = abs(far - first), self._measure(j, np.array([first, far]))
        if span == 0.0:
            return Move(first, 0.0, 0.0, True, share, 0.0)
        n = float(np.rint(span / grid.pitch)) if grid.pitch > 0.0 else 1.0
        return Move(first, sign * span / n, n, grid.pitch > 0.0, share, (last - share) / n)

    def _bound(self, question: Question, goal: Goal) -> float:
        """Return a distance below which nothing meets a goal, and take the nearest that does."""
        if self.clock.left <= 0.0:
            return 0.0
        least, program = self.found.least(question), LinearProgram(self, question)
        raw = self.model.raw(self.row[None])[0]
        size = np.abs(goal.weights @ raw) + program.spread(goal)
        bound = 0.0
        while True:
            values, bound = program.solve(widened(goal, size), raw, least, self.clock)
            if values is None or bound >= least:
                return min(bound, least)
            genome = program.genome(values)
            verdict = self.found.offer(genome)
            if verdict == "taken":
                return min(bound, least)
            if verdict == "model":
                self._go_inside(program, goal, raw, size)
                return min(bound, least)
            if not self._forbid(program, genome):
                return min(bound, least)

    def _go_inside(self, program: LinearProgram, goal: Goal, raw: Floats, size: Floats) -> None:
        """Look for a counterfactual a little inside a goal, because one on its edge was refused."""
        for inset in INSETS:
            shift = inset * np.maximum(1.0, size)
            inside = Goal(goal.weights, goal.low + shift, goal.high - shift)
            values, _ = program.solve(inside, raw, np.inf, self.clock)
            if values is not None and self.found.offer(program.genome(values)) == "taken":
                return

    def _forbid(self, program: LinearProgram, genome: Floats) -> bool:
        """Forbid what rules refuse; return whether the program can express that."""
        broken = self.ruled.broken(genome)
        is_told = all(self.is_told_apart(j) for genes in broken for j in genes if program.at[j])
        for genes in broken if is_told else ():
            program.forbid(genome, genes)
        return is_told


class LinearProgram:
    """The program of a question on a linear model."""

    def __init__(self, solver: LinearSolver, question: Question) -> None:
        self.solver, self.row = solver, solver.row
        self.is_possible = True
        self.places: list[tuple[int, Move]] = []
        groups: list[tuple[list[int], float]] = []
        for j, moves in enumerate(solver.moves):
            is_forced = bool(solver.is_forced[j]) or (question.must and bool(question.changes[j]))
            allowed = moves if question.changes[j] else []
            self.is_possible &= bool(allowed) or not is_forced
            first = len(self.places)
            self.places += [(j, move) for move in allowed]
            groups.append((list(range(first, len(self.places))), float(is_forced)))
        self._build(groups, question.most)

    def _build(self, groups: list[tuple[list[int], float]], most: int) -> None:
        """Add the rows: one move of each gene, steps only after it, and so many changes at most."""
        n, self.rows = len(self.places), MatrixRows()
        for columns, least in groups:
            if columns:
                self.rows.add(columns, [1.0] * len(columns), least, 1.0)
        self.upper = np.concatenate([np.ones(n), [move.most for _, move in self.places]])
        for k, (_, move) in enumerate(self.places):
            if move.most > 0.0:
                self.rows.add([n + k, k], [1.0, -move.most], -np.inf, 0.0)
        self.rows.add(list(range(n)), [1.0] * n, -np.inf, float(most))
        self.at = by_gene = [columns for columns, _ in groups]
        for count in self.solver.ruled.counts:
            some = [k for j in count.features for k in by_gene[j]]
            self.rows.add(some, [1.0] * len(some), -np.inf, float(count.n))
        for features in self.solver.ruled.groups:
            for j in features[1:]:
                one, other = by_gene[features[0]], by_gene[j]
                self.rows.add(one + other, [1.0] * len(one) + [-1.0] * len(other), 0.0, 0.0)
        for total in self.solver.ruled.sums:
            self._bound_sum(total)
        self.is_whole = np.array([True] * n + [move.is_whole for _, move in self.places])
        self.costs = np.array(
            [move.share for _, move in self.places] + [move.step_share for _, move in self.places]
        )
        self.effects = self._effects()

    def _bound_sum(self, total: WeightedSum) -> None:
        """Keep a sum of genes between its ends, unless one of them may be missing."""
        n, columns, entries = len(self.places), list[int](), list[float]()
        for j, weight in total.weights.items():
            own = float(self.row[j])
            if own == MISSING or any(self.places[k][1].value == MISSING for k in self.at[j]):
                return
            for k in self.at[j]:
                move = self.places[k][1]
                columns += [k, n + k]
                entries += [weight * (move.value - own), weight * move.step]
        known = sum(weight * float(self.row[j]) for j, weight in total.weights.items())
        self.rows.add_scaled(columns, entries, total.low - known, total.high - known)

    def _effects(self) -> Floats:
        """Return what each column adds to the raw scores."""
        model, n = self.solver.model, len(self.places)
        genomes = np.repeat(self.row[None], 2 * n, axis=0)
        for k, (j, move) in enumerate(self.places):
            genomes[k, j] = move.value
            genomes[n + k, j] = move.value + move.step * move.most
        raw = model.raw(np.concatenate([self.row[None], genomes])) if n else np.zeros((1, 1))
        first, last = raw[1 : n + 1] - raw[0], raw[n + 1 :] - raw[0]
        steps = np.array([max(move.most, 1.0) for _, move in self.places])
        return np.asarray(np.concatenate([first, (last - first) / steps[:, None]]))

    def spread(self, goal: Goal) -> Floats:
        """Return how far the conditions of a goal can move."""
        if not len(self.effects):
            return np.zeros(len(goal.low))
        return np.asarray((np.abs(self.effects @ goal.weights.T) * self.upper[:, None]).max(axis=0))

    def forbid(self, genome: Floats, genes: frozenset[int]) -> None:
        """Forbid the values that a genome has of some genes, each of which is a move of its own."""
        columns, entries, total = list[int](), list[float](), -1.0
        for j in genes:
            chosen = [k for k in self.at[j] if self.places[k][1].value == genome[j]]
            columns += chosen or self.at[j]
            entries += [1.0] if chosen else [-1.0] * len(self.at[j])
            total += 1.0 if chosen else 0.0
        self.rows.add(columns, entries, -np.inf, total)

    def solve(
        self, goal: Goal, raw: Floats, least: float, clock: Clock
    ) -> tuple[Floats | None, float]:
        """Return the columns of the nearest solution, if one is found, and a bound on all."""
        if not self.is_possible or not self.places:
            return None, np.inf
        rows = self.rows.copied()
        for weights, low, high in zip(*goal, strict=True):
            entries, known = self.effects @ weights, float(raw @ weights)
            size = max(float(np.abs(entries * self.upper).max()), 1e-12)
            ends = (low - known) / size, (high - known) / size
            rows.add(list(range(len(entries))), (entries / size).tolist(), *ends)
        scale = SCALE / least if 0.0 < least < 1.0 else SCALE
        limit = TimeLimit(max(clock.left, 0.0), clock.watch)
        values, bound, _ = solve_rows(rows, self.costs * scale, self.is_whole, self.upper, limit)
        return values, max(bound / scale, 0.0)

    def genome(self, values: Floats) -> Floats:
        """Return the genome that a solution means."""
        genome: Floats = self.row.copy()
        n = len(self.places)
        for k, (j, move) in enumerate(self.places):
            if values[k] > 0.5:
                steps = np.rint(values[n + k]) if move.is_whole else values[n + k]
                genome[j] = self._on_grid(j, move.value + move.step * float(steps))
        return genome

    def _on_grid(self, j: int, value: float) -> float:
        """Return a value as it will be emitted."""
        problem = self.solver.found.problem
        if value == MISSING or problem.space.n_levels[j] > 0:
            return value
        grid = grid_of(problem, j)
        if grid.per_unit > 0.0:
            value = float(np.rint(value * grid.per_unit) / grid.per_unit + 0.0)
        value = min(max(value, grid.lower), grid.upper)
        return float(np.float32(value)) if grid.is_single else value
