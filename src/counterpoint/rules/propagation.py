"""What rules leave of the domains: each takes away what it excludes, until nothing changes.

A value is taken away only if no genome with it satisfies the rules. So what is found impossible is
impossible; what is not found so may still be.

Whether a condition can hold for what is left of the domains, by interval arithmetic.

Every answer is safe: "never" and "always" are said only where they are certain, round-off
included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING
from counterpoint.errors import listed
from counterpoint.rules.domains import Domains, Impossible
from counterpoint.rules.normal_form import (
    All,
    Among,
    Constant,
    Core,
    Count,
    Differs,
    Formula,
    Gene,
    Goal,
    Group,
    Own,
    Relation,
    Result,
    Some,
    Steps,
    Value,
    genes_of,
)
from counterpoint.rules.program import OFF_STEP, ROUND_OFF
from counterpoint.rules.tree import Operator

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
                found = combine_intervals(operator, found, interval(operand, domains, at))
            return found


def combine_intervals(operator: Operator, left: Interval, right: Interval) -> Interval:
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


MOST_ROUNDS = 10  # on the reals, two rules can push each other for ever


def propagate(rules: Sequence[Core], domains: Domains) -> None:
    """Shrink the domains to what the rules leave.

    Raises
    ------
    Impossible
        If they leave nothing.
    """
    for _ in range(MOST_ROUNDS):
        before = domains.version
        for rule in rules:
            enforce_rule(rule, domains)
        if domains.version == before:
            return


def enforce_rule(rule: Core, domains: Domains) -> None:
    """Take away what one rule excludes."""
    match rule:
        case Formula(goal):
            enforce(goal, domains)
        case Count(n, features):
            enforce_count(n, features, domains)
        case Group(features):
            if any(map(domains.must_change, features)):
                for j in features:
                    domains.drop_row(j)
            elif any(map(domains.cannot_change, features)):
                for j in features:
                    domains.keep_row(j)


def enforce_count(n: int, features: tuple[int, ...], domains: Domains) -> None:
    """If n features must change already, the others must not."""
    forced = [j for j in features if domains.must_change(j)]
    if len(forced) > n:
        names = [domains.features[j].name for j in forced]
        raise Impossible(f"{listed(names)} must change")
    if len(forced) == n:
        for j in features:
            if j not in forced:
                domains.keep_row(j)


def enforce(goal: Goal, domains: Domains) -> None:
    """Take away what cannot be if a condition holds."""
    genes = set(genes_of(goal))
    if len(genes) == 1 and domains.is_level(j := genes.pop()) and domains.row[j] != MISSING:
        keep_levels(goal, j, domains)
        return
    match goal:
        case All(parts):
            for part in parts:
                enforce(part, domains)
        case Some(parts):
            enforce_some(parts, domains)
        case Differs(j, is_changed):
            (domains.drop_row if is_changed else domains.keep_row)(j)
        case Steps(j, step, origin, True):
            domains.put_on(j, step, interval(origin, domains).low)
        case Among(j, values, True):
            enforce_among(j, values, domains)
        case Relation():
            enforce_relation(goal, domains)
        case Steps() | Among():
            pass


def enforce_among(j: int, values: tuple[float, ...], domains: Domains) -> None:
    """Keep number j between the smallest and the largest of the values it can have."""
    low, high = domains.hull(j)
    slack = 2.0 * ROUND_OFF * domains.blur[j] * max(abs(low), abs(high))
    near = [value for value in values if low - slack <= value <= high + slack]
    if not near:
        raise Impossible(domains.nothing_left(j))
    domains.at_least(j, min(near), slack)
    domains.at_most(j, max(near), slack)


def never(goal: Goal, domains: Domains) -> Impossible:
    """Return the finding that a condition cannot hold; of a single feature, what is missing."""
    genes = set(genes_of(goal))
    return Impossible(domains.nothing_left(genes.pop()) if len(genes) == 1 else "")


def keep_levels(goal: Goal, j: int, domains: Domains) -> None:
    """Keep the levels for which a condition on this feature alone may hold."""
    codes = range(len(domains.allowed[j]))
    if isinstance(goal, Among):
        domains.keep_codes(j, np.isin(codes, goal.values) == goal.is_in)
        return
    may_hold = [verdict(goal, domains, (j, float(code))) is not False for code in codes]
    domains.keep_codes(j, np.array(may_hold))


def enforce_some(parts: tuple[Goal, ...], domains: Domains) -> None:
    """Enforce the only alternative left, or what alternatives on one feature have in common."""
    left = [part for part in parts if verdict(part, domains) is not False]
    if not left:
        raise never(Some(parts), domains)
    genes = {j for part in left for j in genes_of(part)}
    if len(left) == 1:
        enforce(left[0], domains)
    elif len(genes) == 1:
        j = genes.pop()
        if not domains.is_level(j):
            enforce_union(left, j, domains)
        elif domains.row[j] != MISSING:  # else they are about changes, which leave all levels
            keep_levels(Some(tuple(left)), j, domains)


def enforce_union(parts: list[Goal], j: int, domains: Domains) -> None:
    """Keep what at least one of several conditions on number j alone leaves."""
    before, lattice = (domains.low[j], domains.high[j], domains.may_keep[j]), domains.lattice[j]
    version, found = domains.version, []
    for part in parts:
        try:
            enforce(part, domains)
            found.append((domains.low[j], domains.high[j], domains.may_keep[j]))
        except Impossible:
            pass
        domains.low[j], domains.high[j], domains.may_keep[j] = before
        domains.lattice[j] = lattice
    domains.version = version
    if not found:
        raise Impossible(domains.nothing_left(j))
    filled = [(low, high) for low, high, _ in found if low <= high]
    low = min((low for low, _ in filled), default=math.inf)
    high = max((high for _, high in filled), default=-math.inf)
    domains.shrink(j, low, high, any(keeps for _, _, keeps in found))


class Linear(NamedTuple):
    """A constant, and a slope for each feature."""

    constant: float
    slopes: dict[int, float]


class Limit(NamedTuple):
    """The largest or smallest value left to a feature.

    Attributes
    ----------
    j : int
        The feature.
    is_upper : bool
        Whether the value is the largest.
    value, slack : float
        The value, and how much farther still is the same.
    is_strict : bool
        Whether the value itself is excluded.
    """

    j: int
    is_upper: bool
    value: float
    slack: float
    is_strict: bool


def enforce_relation(relation: Relation, domains: Domains) -> None:
    """Bound each feature of a linear comparison by what the others leave it."""
    if verdict(relation, domains) is False:
        raise never(relation, domains)
    found = linear(Result(relation.left, (("-", relation.right),)), domains)
    if found is None or relation.comparator == "!=":
        return
    for j, slope in found.slopes.items():
        if slope != 0.0 and domains.has_order(j):
            for limit in limits_of(j, slope, found, relation, domains):
                narrow = domains.at_most if limit.is_upper else domains.at_least
                narrow(j, limit.value, limit.slack, is_strict=limit.is_strict)


def limits_of(
    j: int, slope: float, found: Linear, relation: Relation, domains: Domains
) -> Iterator[Limit]:
    """Yield what ``slope * x + constant + the others`` compared with 0 says about feature j."""
    hulls = [(s, domains.hull(i)) for i, s in found.slopes.items() if i != j]
    least = found.constant + sum(min(s * low, s * high) for s, (low, high) in hulls)
    most = found.constant + sum(max(s * low, s * high) for s, (low, high) in hulls)
    size = interval(relation.left, domains).size + interval(relation.right, domains).size
    slack = 2.0 * ROUND_OFF * size / abs(slope)
    ends = [(least, True)] if relation.comparator in ("=", "<", "<=") else []
    ends += [(most, False)] if relation.comparator in ("=", ">", ">=") else []
    for end, is_below_zero in ends:
        value, is_upper = -end / slope, (slope > 0.0) == is_below_zero
        if not (math.isfinite(value) and math.isfinite(slack)):
            continue
        if hulls:  # an exact end cannot be had, and is not needed
            yield Limit(j, is_upper, value + slack if is_upper else value - slack, 0.0, False)
        else:
            yield Limit(j, is_upper, value, slack, relation.comparator in ("<", ">"))


def linear(value: Value, domains: Domains) -> Linear | None:
    """Return a value as a linear function of the features; None if it is not one."""
    match value:
        case Constant(number):
            return Linear(number, {})
        case Own(j):
            return Linear(float(domains.row[j]), {})
        case Gene(j):
            return Linear(0.0, {j: 1.0})
        case Result(first, rest):
            found = linear(first, domains)
            for operator, operand in rest:
                other = linear(operand, domains)
                if found is None or other is None:
                    return None
                found = combine_linear(operator, found, other)
            return found


def combine_linear(operator: Operator, left: Linear, right: Linear) -> Linear | None:
    """Return the result of an operator, if it is linear."""
    match operator:
        case "+":
            return add(left, right, 1.0)
        case "-":
            return add(left, right, -1.0)
        case "*":
            if left.slopes and right.slopes:
                return None
            return scale(left, right.constant) if left.slopes else scale(right, left.constant)
        case "/":
            if right.slopes or right.constant == 0.0:
                return None
            return scale(left, 1.0 / right.constant)


def add(left: Linear, right: Linear, sign: float) -> Linear:
    """Return ``left + sign * right``."""
    slopes = dict(left.slopes)
    for j, slope in right.slopes.items():
        slopes[j] = slopes.get(j, 0.0) + sign * slope
    return Linear(left.constant + sign * right.constant, slopes)


def scale(value: Linear, factor: float) -> Linear:
    """Return a multiple."""
    return Linear(value.constant * factor, {j: s * factor for j, s in value.slopes.items()})
