"""Cells: the finitely many values of each gene that can matter to an additive model, and to rules.

Between two neighbouring thresholds all trees say the same, so that of all values of the grid there
only the one nearest to the row can be part of a nearest counterfactual. Levels, the row's own value
and a missing one are cells of their own. Conditions on one feature leave it some of its values. How
many of some features change, and that some change together, are rows of the program. Of features
that other rules and functions look at, every value counts by itself: comparisons of sums are rows,
too, and what is refused all the same is forbidden.

What of each tree the allowed options of a row can still reach is told by its leaves. The options of
a gene are bits of a whole number, ascending by distance, so that the lowest bit of what is left is
the nearest.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.models.trees import Forest, goes_left_at
from counterpoint.neighbours.index import gower_weights
from counterpoint.problem.problem import Problem
from counterpoint.rules.normal_form import (
    All,
    Constant,
    Count,
    Formula,
    Gene,
    Group,
    NormalRule,
    NormalValue,
    Relation,
    RowValue,
    calculate,
    genes_of,
)
from counterpoint.rules.program import compile_rules, judge

CONSTANT = -1  # the place of what no gene weighs
ROUNDING = 1e-6  # numbers that differ by this share of the largest may be equal to a rule


class SharedRule(NamedTuple):
    """A rule on several features, and which they are."""

    genes: frozenset[int]
    rule: NormalRule


class WeightedSum(NamedTuple):
    """A sum of genes that should lie between two ends, a little beyond which rounding may lead."""

    weights: dict[int, float]  # the weight of each gene
    # the ends, which may be infinite
    low: float
    high: float


class Ruled:
    """The rules of one row, taken apart.

    `alone` are the conditions on one feature alone, `shared` the others that are written. Rules
    look at every value of the features in `whole`; of those in `apart` it counts whether they
    change.
    """

    def __init__(self, problem: Problem) -> None:
        self._row, row_rules = problem.rows[0], problem.row_rules
        self.alone: dict[int, list[NormalRule]] = {}
        self.shared: list[SharedRule] = []
        rules = () if row_rules is None else row_rules.rules.normal_rules
        self._rounding = np.ones(0) if row_rules is None else row_rules.rules.rounding
        for rule in _taken_apart(list(rules)):
            genes = frozenset(genes_of(rule))
            if len(genes) == 1 and isinstance(rule, Formula):
                self.alone.setdefault(min(genes), []).append(rule)
            elif genes:
                self.shared.append(SharedRule(genes, rule))
        self.has_functions = row_rules is not None and bool(row_rules.rules.functions)
        formulas = [each.genes for each in self.shared if isinstance(each.rule, Formula)]
        groups = [each.genes for each in self.shared if isinstance(each.rule, Group)]
        every = range(len(self._row)) if self.has_functions else ()
        self.whole = frozenset(every).union(*formulas)
        self.apart = frozenset[int]().union(*groups)

    def allow(self, j: int, values: Floats) -> Bools:
        """Return which values of feature j the conditions on it alone allow."""
        if j not in self.alone:
            return np.ones(len(values), dtype=np.bool_)
        genomes = np.repeat(self._row[None], len(values), axis=0)
        genomes[:, j] = values
        program = compile_rules(self.alone[j], self._rounding)
        return np.asarray(judge(program, genomes, self._row).all(axis=1))

    @cached_property
    def sums(self) -> list[WeightedSum]:
        """The comparisons of sums among the shared rules."""
        found = [_weighted_sum(each.rule, self._row) for each in self.shared]
        return [each for each in found if each is not None]

    def broken(self, genome: Floats) -> list[frozenset[int]]:
        """Return the features of each shared rule that a refused genome breaks.

        All features if it breaks none, so that another rule or a limit refuses it.
        """
        program = compile_rules([each.rule for each in self.shared], self._rounding)
        holds = judge(program, genome[None], self._row)[0]
        broken = [each.genes for each, held in zip(self.shared, holds, strict=True) if not held]
        return broken or [frozenset(range(len(genome)))]

    @property
    def counts(self) -> list[Count]:
        """How many of which features may change."""
        return [each.rule for each in self.shared if isinstance(each.rule, Count)]

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The features that change together."""
        return [each.rule.features for each in self.shared if isinstance(each.rule, Group)]


def _taken_apart(rules: list[NormalRule]) -> list[NormalRule]:
    """Return rules with each part of a conjunction as a rule of its own."""
    apart: list[NormalRule] = []
    waiting = rules[::-1]
    while waiting:
        rule = waiting.pop()
        if isinstance(rule, Formula) and isinstance(rule.condition, All):
            waiting.extend(Formula(part) for part in reversed(rule.condition.parts))
        else:
            apart.append(rule)
    return apart


def _weighted_sum(rule: NormalRule, row: Floats) -> WeightedSum | None:
    """Return a rule as a sum of genes with two ends; None if it is none, or says "not equal"."""
    if not isinstance(rule, Formula) or not isinstance(rule.condition, Relation):
        return None
    relation = rule.condition
    known = partial(_term, row=row)
    sides = [calculate(side, known, _combined) for side in (relation.left, relation.right)]
    difference = _combined("-", *sides)
    if difference is None or relation.comparator == "!=":
        return None
    end = -difference.pop(CONSTANT, 0.0)
    room = ROUNDING * max(1.0, abs(end), *(abs(w * row[j]) for j, w in difference.items()))
    low, high = end - room, end + room
    if relation.comparator in ("<", "<="):
        low = -np.inf
    elif relation.comparator in (">", ">="):
        high = np.inf
    return WeightedSum(difference, low, high)


def _term(value: NormalValue, row: Floats) -> dict[int, float] | None:
    """Return a gene, or a number that is known, as a weighted sum."""
    match value:
        case Gene(j):
            return {j: 1.0}
        case RowValue(j):
            return None if row[j] == MISSING else {CONSTANT: float(row[j])}
        case Constant(number):
            return {CONSTANT: number}
        case _:
            return None


def _combined(
    operator: str, left: dict[int, float] | None, right: dict[int, float] | None
) -> dict[int, float] | None:
    """Return two weighted sums joined by an operator; None if that is no weighted sum."""
    if left is None or right is None:
        return None
    if operator in ("+", "-"):
        sign = 1.0 if operator == "+" else -1.0
        places = {**left, **right}
        return {j: left.get(j, 0.0) + sign * right.get(j, 0.0) for j in places}
    if operator == "*" and set(left) <= {CONSTANT}:
        left, right = right, left
    factor = right.get(CONSTANT, 0.0)
    if not set(right) <= {CONSTANT} or (operator == "/" and not factor):
        return None
    factor = factor if operator == "*" else 1.0 / factor
    return {j: weight * factor for j, weight in left.items()}


MOST_VALUES = 4096  # of a number, that are told apart where a rule looks at it


class Options(NamedTuple):
    """The values that one gene of one row may take, by what they add to the distance."""

    values: Floats  # (n,): the genes; the row's own comes first if it is allowed
    shares: Floats  # (n,): what each adds to the distance, ascending
    is_own: Bools  # (n,): whether it is the row's own value

    def take(self, which: Any) -> Options:
        """Return some of the options."""
        return Options(*(known[which] for known in self))


class Grid(NamedTuple):
    """The values of one number between two bounds."""

    # the bounds, on the grid
    lower: float
    upper: float
    pitch: float  # the distance between values; 0 for the reals
    per_unit: float  # grid points per unit; 0 for the reals
    is_single: bool  # whether values must survive the cast to single precision

    @property
    def n_values(self) -> float:
        """How many values there are; infinite for the reals."""
        if self.pitch == 0.0:
            return np.inf
        return float(np.rint((self.upper - self.lower) / self.pitch)) + 1.0

    def at(self, steps: Floats) -> Floats:
        """Return the values so many steps above the lower bound, as they will be emitted."""
        values = self.lower + steps * self.pitch
        if self.per_unit > 0.0:
            values = np.rint(values * self.per_unit) / self.per_unit + 0.0
        values = np.clip(values, self.lower, self.upper)
        return values.astype(np.float32).astype(np.float64) if self.is_single else values

    def at_most(self, ends: Floats) -> Floats:
        """Return the largest value that does not exceed each of `ends`; NaN where there is none."""
        return self._beside(ends, is_above=False)

    def above(self, ends: Floats) -> Floats:
        """Return the least value that exceeds each of `ends`; NaN where there is none."""
        return self._beside(ends, is_above=True)

    def _beside(self, ends: Floats, *, is_above: bool) -> Floats:
        """Return the value next to each of `ends`."""
        if self.pitch == 0.0:
            return self._beside_reals(ends, is_above=is_above)
        found = np.full(len(ends), np.nan)
        last = self.n_values - 1.0
        near = np.clip(
            np.floor((np.clip(ends, self.lower, self.upper) - self.lower) / self.pitch), 0.0, last
        )
        for shift in (2.0, 1.0, 0.0, -1.0) if is_above else (-1.0, 0.0, 1.0, 2.0):
            steps = near + shift  # the last that fits is the nearest
            values = self.at(np.clip(steps, 0.0, last))
            fits = (values > ends) if is_above else (values <= ends)
            found = np.where(fits & (steps >= 0.0) & (steps <= last), values, found)
        return found

    def _beside_reals(self, ends: Floats, *, is_above: bool) -> Floats:
        """Return the number next to each of `ends`, in the precision of the column."""
        values: Any = np.clip(ends, self.lower, self.upper)
        values = values.astype(np.float32) if self.is_single else values
        beside = np.nextafter(values, values.dtype.type(np.inf if is_above else -np.inf))
        values = np.where((values > ends) if is_above else (values <= ends), values, beside)
        found = values.astype(np.float64) + 0.0
        fits = (found > ends) if is_above else (found <= ends)
        return np.where(fits & (found >= self.lower) & (found <= self.upper), found, np.nan)


def grid_of(problem: Problem, j: int) -> Grid:
    """Return the grid of number j of a problem of one row."""
    space, box, per_unit = problem.space, problem.box, float(problem.space.grid[j])
    pitch = 1.0 / per_unit if per_unit > 0.0 else 0.0
    if problem.row_rules is not None:
        pitch = float(problem.row_rules.domains.features[0, j]["pitch"])
    lower, upper = float(box.lower[0, j]), float(box.upper[0, j])
    return Grid(lower, upper, pitch, per_unit, bool(space.is_single[j]))


def options_of(
    problem: Problem, thresholds: list[Floats], ruled: Ruled, *, is_whole: bool = False
) -> tuple[list[Options], frozenset[int]]:
    """Return the options of every gene of a problem of one row; `thresholds` ascend.

    The second are the genes of which rules may allow more values than these, because there are too
    many to tell them apart. With `is_whole` all values are wanted, whatever rules say.
    """
    row, measure, every, is_open = problem.rows[0], share_measure(problem), [], set()
    for j, known in enumerate(thresholds):
        values, is_all = _values(
            problem, j, known, is_whole=is_whole or j in ruled.whole | ruled.alone.keys()
        )
        allowed = ruled.allow(j, values)
        if not is_all and (is_whole or j in ruled.whole or not allowed.all()):
            is_open.add(j)
        elif len(values) > 1:
            values = values[allowed]
        is_own = values == row[j]
        shares = measure(j, values)
        order = np.lexsort((values, ~is_own, shares))
        every.append(Options(values, shares, is_own).take(order))
    return every, frozenset(is_open)


def _values(problem: Problem, j: int, thresholds: Floats, *, is_whole: bool) -> tuple[Floats, bool]:
    """Return the values gene j may take, one of each cell or all; and whether these are all."""
    box, space, own = problem.box, problem.space, float(problem.rows[0, j])
    if not box.may_change[0, j]:
        return box.anchor[0, [j]], True
    known = [] if box.is_forced[0, j] else [own]
    if space.may_miss[j] and own != MISSING:
        known.append(MISSING)
    if space.n_levels[j] > 0:
        codes = np.arange(int(box.lower[0, j]), int(box.upper[0, j]) + 1)
        if problem.row_rules is not None:
            codes = codes[problem.row_rules.domains.allowed[0, j, codes]]
        return np.concatenate([known, codes[codes != own]]), True
    grid = grid_of(problem, j)
    is_whole &= grid.n_values <= MOST_VALUES
    if is_whole:
        values = grid.at(np.arange(grid.n_values))
        return np.concatenate([known, values[values != own]]), True
    return np.concatenate([known, number_cells(grid, own, thresholds)]), False


def number_cells(grid: Grid, own: float, thresholds: Floats) -> Floats:
    """Return of each cell of a number the value nearest to `own`, which is none of them.

    Of the row's own cell, and of those beside it, the values next to it on either side are among
    them, for a way may need a feature to change.
    """
    ends = thresholds[(thresholds >= grid.lower) & (thresholds < grid.upper)]
    ups = np.unique(grid.above(np.concatenate([[own], ends[ends >= own]])))
    downs = np.unique(
        grid.at_most(np.concatenate([[np.nextafter(own, -np.inf)], ends[ends < own]]))
    )
    values = np.concatenate([ups, downs])
    others: Floats = values[~np.isnan(values) & (values != own)]
    return others


def share_measure(problem: Problem) -> Any:
    """Return the function of a gene's place and values that gives what they add to the distance."""
    row, space, observed = problem.rows[0], problem.space, problem.observed
    weights, cap = gower_weights(problem.rows, space)
    weight = weights[0]
    costs = np.ones(len(row)) if problem.limits.costs is None else problem.limits.costs
    parts = costs / costs.sum()
    typical = observed.typical_change if observed.has_missing else np.zeros(len(row))

    def measure(j: int, values: Floats) -> Floats:
        filled = min(typical[j] * weight[j], 1.0) if typical[j] > 0.0 else 1.0
        is_filled = (values == MISSING) != (row[j] == MISSING)
        apart = np.minimum(np.abs(values - row[j]) * weight[j], cap[j])
        apart = np.where(is_filled, filled, np.where(values == row[j], 0.0, apart))
        return np.asarray(apart * parts[j])

    return measure


class Reached(NamedTuple):
    """What of one tree can still be reached."""

    leaves: list[int]  # the nodes
    # for each leaf the options that lead to it, as bits, of the genes that do not all
    masks: list[dict[int, int]]
    splits: set[tuple[int, int]]  # genes and the options that go left, of the splits that are left


class Reach(NamedTuple):
    """How far from the row a program looks."""

    distance: float  # the largest distance
    changes: int  # the most features that may change


def bits_of(which: Bools) -> int:
    """Return truth values as the bits of a whole number, the first as the lowest."""
    return int.from_bytes(np.packbits(which, bitorder="little").tobytes(), "little")


def lowest(mask: int) -> int:
    """Return the place of the lowest bit."""
    return (mask & -mask).bit_length() - 1


class Walker:
    """Walks the trees of a forest with all options at once."""

    def __init__(self, forest: Forest, options: list[Options]) -> None:
        self.forest, self.options = forest, options
        self._shares = [each.shares.tolist() for each in options]
        self._is_own = [bool(each.is_own[0]) if len(each.is_own) else False for each in options]
        self._left: dict[tuple[int, float, int, bool], int] = {}
        self._roots, self._children = forest.roots.tolist(), forest.children.tolist()
        self._feature = forest.feature.tolist()
        self._threshold = forest.threshold.tolist()
        self._set = forest.category_set.tolist()
        self._missing = forest.missing_left.tolist()

    def left(self, node: int) -> int:
        """Return which options of its gene go left at a node."""
        key = (self._feature[node], self._threshold[node], self._set[node], self._missing[node])
        known = self._left.get(key)
        if known is None:
            values = self.options[key[0]].values[None]
            known = bits_of(goes_left_at(self.forest, np.array([node]), values)[0])
            self._left[key] = known
        return known

    def reach(self, masks: list[int], reach: Reach) -> list[Reached] | None:
        """Return what of each tree the options `masks` can reach; None if nothing of one."""
        shares, is_own = self._shares, self._is_own
        far = sum(shares[j][lowest(mask)] for j, mask in enumerate(masks))
        n_changed = sum(not (is_own[j] and mask & 1) for j, mask in enumerate(masks))
        if far > reach.distance or n_changed > reach.changes:
            return None
        trees = []
        for root in self._roots:
            trees.append(self._walk(root, masks, reach, (far, n_changed)))
            if not trees[-1].leaves:
                return None
        return trees

    def _walk(self, root: int, masks: list[int], reach: Reach, start: tuple[float, int]) -> Reached:
        """Return what of one tree can be reached, all options being so far and so many changes."""
        shares, is_own, reached = self._shares, self._is_own, Reached([], [], set())
        waiting: list[tuple[int, dict[int, int], float, int]] = [(root, {}, *start)]
        while waiting:
            node, known, far, n_changed = waiting.pop()
            left, right = self._children[node]
            if left == node:
                reached.leaves.append(node)
                reached.masks.append(known)
                continue
            j = self._feature[node]
            mask, goes = known.get(j, masks[j]), self.left(node)
            sides = (mask & goes, mask & ~goes)
            if not sides[0] or not sides[1]:
                waiting.append((left if sides[0] else right, known, far, n_changed))
                continue
            here = (mask & -mask).bit_length() - 1
            for side, child in zip(sides, (left, right), strict=True):
                if side >> here & 1:  # the nearest goes this way
                    waiting.append((child, {**known, j: side}, far, n_changed))
                    continue
                farther = far + shares[j][(side & -side).bit_length() - 1] - shares[j][here]
                more = n_changed + (is_own[j] and here == 0)
                if farther <= reach.distance and more <= reach.changes:
                    waiting.append((child, {**known, j: side}, farther, more))
            reached.splits.add((j, goes & masks[j]))
        return reached
