"""Ruled: what the caller's rules mean to a program.

Conditions on one feature leave it some of its values. How many of some features change, and that
some change together, are rows of the program. Of the features that other rules and functions look
at, every value counts by itself: comparisons of sums are rows, too, and what is refused all the
same is forbidden.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
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
        """Return the features of each shared rule that a genome breaks."""
        if not self.shared:
            return []
        program = compile_rules([each.rule for each in self.shared], self._rounding)
        holds = judge(program, genome[None], self._row)[0]
        return [each.genes for each, held in zip(self.shared, holds, strict=True) if not held]

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
