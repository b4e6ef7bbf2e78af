"""Whether a condition can hold for what is left of the domains, by interval arithmetic.

Every answer is safe: "never" and "always" are said only where they are certain, round-off
included.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from counterpoint.problem.rules.core import (
    All,
    Among,
    Constant,
    Differs,
    Gene,
    Goal,
    Own,
    Relation,
    Result,
    Some,
    Steps,
    Value,
)
from counterpoint.problem.rules.domains import Domains
from counterpoint.problem.rules.rounding import OFF_STEP, ROUND_OFF
from counterpoint.problem.rules.syntax import Operator

Point = tuple[int, float]  # a feature and the value it is supposed to have


class Interval(NamedTuple):
    """Where a value lies, and the size that bounds its round-off."""

    low: float
    high: float
    size: float


ANYWHERE = Interval(-math.inf, math.inf, math.inf)


def verdict(goal: Goal, domains: Domains, at: Point | None = None) -> bool | None:
    """Return whether a condition holds for all genomes left (True), for none (False), or None.

    `at` supposes a value of one feature.
    """
    match goal:
        case All(parts):
            answers = [verdict(part, domains, at) for part in parts]
            return False if False in answers else (None if None in answers else True)
        case Some(parts):
            answers = [verdict(part, domains, at) for part in parts]
            return True if True in answers else (None if None in answers else False)
        case Differs(j, is_changed):
            return verdict_differs(j, is_changed, domains, at)
        case Steps(j, step, origin, is_on):
            low, high, size = interval(Gene(j), domains, at)
            if low < high:
                return None
            n_steps = (low - interval(origin, domains).low) / step
            is_near = abs(n_steps - round(n_steps)) <= OFF_STEP + ROUND_OFF * size / step
            return is_near == is_on
        case Among():
            return verdict_among(goal, domains, at)
        case Relation():
            return verdict_relation(goal, domains, at)


def verdict_among(among: Among, domains: Domains, at: Point | None) -> bool | None:
    """Return whether a feature must, cannot or may be one of some values."""
    low, high, size = interval(Gene(among.j), domains, at)
    slack = 2.0 * ROUND_OFF * size  # values as large as these are the same within it
    near = [value for value in among.values if low - slack <= value <= high + slack]
    if not near:
        return not among.is_in
    return among.is_in if low == high and low in near else None


def verdict_differs(j: int, is_changed: bool, domains: Domains, at: Point | None) -> bool | None:
    """Return whether a feature must, cannot or may be changed."""
    if at is not None and at[0] == j:
        return bool(at[1] != domains.row[j]) == is_changed
    if domains.must_change(j):
        return is_changed
    return not is_changed if domains.cannot_change(j) else None


def verdict_relation(relation: Relation, domains: Domains, at: Point | None) -> bool | None:
    """Return whether a comparison must, cannot or may hold."""
    left, right = interval(relation.left, domains, at), interval(relation.right, domains, at)
    slack = 2.0 * ROUND_OFF * (left.size + right.size)
    if math.isnan(slack):  # divides by zero
        return False
    if math.isinf(slack):
        return None
    least, most = left.low - right.high, left.high - right.low
    match relation.comparator:
        case "=":
            return _between(least, most, slack)
        case "!=":
            same = _between(least, most, slack)
            return None if same is None else not same
        case "<=":
            return True if most <= 0.0 else (False if least > slack else None)
        case ">=":
            return True if least >= 0.0 else (False if most < -slack else None)
        case "<":
            return True if most < -slack else (False if least >= 0.0 else None)
        case ">":
            return True if least > slack else (False if most <= 0.0 else None)


def _between(least: float, most: float, slack: float) -> bool | None:
    """Return whether a difference is 0."""
    if least == most == 0.0:
        return True
    return False if least > slack or most < -slack else None


def interval(value: Value, domains: Domains, at: Point | None = None) -> Interval:
    """Return where a value lies; its size is NaN if it always divides by zero."""
    match value:
        case Constant(number):
            return Interval(number, number, abs(number))
        case Own(j):
            row = float(domains.row[j])
            return Interval(row, row, abs(row) * domains.blur[j])
        case Gene(j):
            is_here = at is not None and at[0] == j
            low, high = (at[1], at[1]) if at is not None and is_here else domains.hull(j)
            return Interval(low, high, max(abs(low), abs(high)) * domains.blur[j])
        case Result(first, rest):
            found = interval(first, domains, at)
            for operator, operand in rest:
                found = combine(operator, found, interval(operand, domains, at))
            return found


def combine(operator: Operator, left: Interval, right: Interval) -> Interval:
    """Return where the result of an operator lies."""
    size = left.size + right.size
    if not math.isfinite(size):
        return Interval(-math.inf, math.inf, size)
    match operator:
        case "+":
            return Interval(left.low + right.low, left.high + right.high, size)
        case "-":
            return Interval(left.low - right.high, left.high - right.low, size)
        case "*":
            ends = [a * b for a in left[:2] for b in right[:2]]
            return Interval(min(ends), max(ends), left.size * right.size)
        case "/":
            return divide(left, right)


def divide(left: Interval, right: Interval) -> Interval:
    """Return where a quotient lies."""
    zero = ROUND_OFF * right.size
    if right.low == right.high and abs(right.low) <= zero:
        return Interval(-math.inf, math.inf, math.nan)
    if right.low <= zero and right.high >= -zero:
        return ANYWHERE
    nearest = min(abs(right.low), abs(right.high))
    ends = [a / b for a in left[:2] for b in right[:2]]
    return Interval(min(ends), max(ends), left.size / nearest * (right.size / nearest))
