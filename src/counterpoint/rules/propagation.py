"""What rules leave of the domains: each takes away what it excludes, until nothing changes.

A value is taken away only if no genome with it satisfies the rules. So what is found impossible is
impossible; what is not found so may still be. Likewise a condition is said to hold always or never
only where that is certain, round-off included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING
from counterpoint.errors import joined, listed
from counterpoint.rules import normal_form as normal
from counterpoint.rules.domains import Domains, Impossible, Start
from counterpoint.rules.normal_form import (
    COMPARATORS,
    LESS,
    MORE,
    OPERATORS,
    ROUND_OFF,
    SAME,
    Interval,
    combine,
    combine_intervals,
    compare_intervals,
    is_on_step,
)
from counterpoint.rules.tree import Operator
from counterpoint.table.schema import Schema

MOST_ROUNDS = 10  # on the reals, two rules can push each other for ever
MOST_PAIRED = 30  # up to so many rules every pair is tried for a contradiction

Point = tuple[int, float]  # a feature and the value it is supposed to have
Objection = Callable[[Iterable[int]], str | None]  # why rules, by place, cannot hold together


# Whether a condition can hold


def verdict(
    condition: normal.NormalCondition, domains: Domains, at: Point | None = None
) -> bool | None:
    """Return whether a condition holds for all genomes left (True), for none (False), or None.

    `at` supposes a value of one feature.
    """
    match condition:
        case normal.All(parts):
            answers = [verdict(part, domains, at) for part in parts]
            return False if False in answers else (None if None in answers else True)
        case normal.Some(parts):
            answers = [verdict(part, domains, at) for part in parts]
            return True if True in answers else (None if None in answers else False)
        case normal.Differs(j, is_changed):
            return verdict_differs(j, is_changed, domains, at)
        case normal.OnSteps(j, step, origin, is_on):
            low, high, size = interval(normal.Gene(j), domains, at)
            if low < high:
                return None
            return is_on_step(low, interval(origin, domains).low, step, size) == is_on
        case normal.Among():
            return verdict_among(condition, domains, at)
        case normal.Relation(comparator, left, right):
            sides = interval(left, domains, at), interval(right, domains, at)
            return compare_intervals(comparator, *sides)


def verdict_among(among: normal.Among, domains: Domains, at: Point | None) -> bool | None:
    """Return whether a feature must, cannot or may be one of some values."""
    low, high, size = interval(normal.Gene(among.j), domains, at)
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


def interval(value: normal.NormalValue, domains: Domains, at: Point | None = None) -> Interval:
    """Return where a value lies; its size is NaN if it always divides by zero."""

    def known(part: normal.Constant | normal.Gene | normal.RowValue) -> Interval:
        if isinstance(part, normal.Constant):
            return Interval(part.value, part.value, abs(part.value))
        if isinstance(part, normal.RowValue):
            low = high = float(domains.row[part.j])
        elif at is not None and at[0] == part.j:
            low = high = at[1]
        else:
            low, high = domains.hull(part.j)
        return Interval(low, high, max(abs(low), abs(high)) * float(domains.rounding[part.j]))

    return normal.calculate(value, known, combine_intervals)


# Taking away what rules exclude


def propagate(rules: Sequence[normal.NormalRule], domains: Domains) -> None:
    """Shrink the domains to what the rules leave.

    Raises Impossible if they leave nothing.
    """
    for _ in range(MOST_ROUNDS):
        before = domains.version
        for rule in rules:
            enforce_rule(rule, domains)
        if domains.version == before:
            return


def enforce_rule(rule: normal.NormalRule, domains: Domains) -> None:
    """Take away what one rule excludes."""
    match rule:
        case normal.Formula(condition):
            enforce(condition, domains)
        case normal.Count(n, features):
            enforce_count(n, features, domains)
        case normal.Group(features):
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


def enforce(condition: normal.NormalCondition, domains: Domains) -> None:
    """Take away what cannot be if a condition holds."""
    genes = set(normal.genes_of(condition))
    if len(genes) == 1 and domains.is_level(j := genes.pop()) and domains.row[j] != MISSING:
        keep_levels(condition, j, domains)
        return
    match condition:
        case normal.All(parts):
            for part in parts:
                enforce(part, domains)
        case normal.Some(parts):
            enforce_some(parts, domains)
        case normal.Differs(j, is_changed):
            (domains.drop_row if is_changed else domains.keep_row)(j)
        case normal.OnSteps(j, step, origin, True):
            domains.keep_steps(j, step, interval(origin, domains).low)
        case normal.Among(j, values, True):
            enforce_among(j, values, domains)
        case normal.Relation():
            enforce_relation(condition, domains)
        case normal.OnSteps() | normal.Among():
            pass


def enforce_among(j: int, values: tuple[float, ...], domains: Domains) -> None:
    """Keep number j between the smallest and the largest of the values it can have."""
    low, high = domains.hull(j)
    slack = 2.0 * ROUND_OFF * domains.rounding[j] * max(abs(low), abs(high))
    near = [value for value in values if low - slack <= value <= high + slack]
    if not near:
        raise Impossible(domains.nothing_left(j))
    domains.limit(j, min(near), slack, is_upper=False)
    domains.limit(j, max(near), slack, is_upper=True)


def never(condition: normal.NormalCondition, domains: Domains) -> Impossible:
    """Return the finding that a condition cannot hold; of a single feature, what is missing."""
    genes = set(normal.genes_of(condition))
    return Impossible(domains.nothing_left(genes.pop()) if len(genes) == 1 else "")


def keep_levels(condition: normal.NormalCondition, j: int, domains: Domains) -> None:
    """Keep the levels for which a condition on this feature alone may hold."""
    codes = range(len(domains.allowed[j]))
    if isinstance(condition, normal.Among):
        domains.keep_codes(j, np.isin(codes, condition.values) == condition.is_in)
        return
    may_hold = [verdict(condition, domains, (j, float(code))) is not False for code in codes]
    domains.keep_codes(j, np.array(may_hold))


def enforce_some(parts: tuple[normal.NormalCondition, ...], domains: Domains) -> None:
    """Enforce the only alternative left, or what alternatives on one feature have in common."""
    left = [part for part in parts if verdict(part, domains) is not False]
    if not left:
        raise never(normal.Some(parts), domains)
    genes = {j for part in left for j in normal.genes_of(part)}
    if len(left) == 1:
        enforce(left[0], domains)
    elif len(genes) == 1:
        j = genes.pop()
        if not domains.is_level(j):
            enforce_union(left, j, domains)
        elif domains.row[j] != MISSING:  # else they are about changes, which leave all levels
            keep_levels(normal.Some(tuple(left)), j, domains)


def enforce_union(parts: list[normal.NormalCondition], j: int, domains: Domains) -> None:
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


def enforce_relation(relation: normal.Relation, domains: Domains) -> None:
    """Bound each feature of a linear comparison by what the others leave it."""
    if verdict(relation, domains) is False:
        raise never(relation, domains)
    found = linear(normal.Calculation(relation.left, (("-", relation.right),)), domains)
    if found is None:
        return
    for j, slope in found.slopes.items():
        if slope != 0.0 and domains.has_order(j):
            enforce_slope(j, found, relation, domains)


def enforce_slope(j: int, found: Linear, relation: normal.Relation, domains: Domains) -> None:
    """Keep what ``slope * x + constant + the others`` compared with 0 leaves to feature j."""
    slope = found.slopes[j]
    hulls = [(s, domains.hull(i)) for i, s in found.slopes.items() if i != j]
    least = found.constant + sum(min(s * low, s * high) for s, (low, high) in hulls)
    most = found.constant + sum(max(s * low, s * high) for s, (low, high) in hulls)
    size = interval(relation.left, domains).size + interval(relation.right, domains).size
    slack = 2.0 * ROUND_OFF * size / abs(slope)
    orders = COMPARATORS[relation.comparator]
    ends = [] if orders & MORE else [(least, True)]
    ends += [] if orders & LESS else [(most, False)]
    for end, is_below_zero in ends:
        value, is_upper = -end / slope, (slope > 0.0) == is_below_zero
        if not (math.isfinite(value) and math.isfinite(slack)):
            continue
        if hulls:  # an exact end cannot be had, and is not needed
            value = value + slack if is_upper else value - slack
            domains.limit(j, value, is_upper=is_upper)
        else:
            domains.limit(j, value, slack, is_upper=is_upper, is_strict=not orders & SAME)


def linear(value: normal.NormalValue, domains: Domains) -> Linear | None:
    """Return a value as a linear function of the features; None if it is not one."""

    def known(part: normal.Constant | normal.Gene | normal.RowValue) -> Linear | None:
        if isinstance(part, normal.Gene):
            return Linear(0.0, {part.j: 1.0})
        own = part.value if isinstance(part, normal.Constant) else float(domains.row[part.j])
        return Linear(own, {})

    return normal.calculate(value, known, combine_linear)


# Contradictions


def contradictions(
    texts: Sequence[str], rules: Sequence[normal.NormalRule], schema: Schema, start: Start
) -> list[str]:
    """Return a message for each smallest set of rules found that leaves nothing of a start.

    The rules are given as canonical texts and in normal form. No rule is in two of the sets. That
    none is found does not prove that there is none.
    """

    def objection(places: Iterable[int]) -> str | None:
        """Return why rules cannot hold together, perhaps in no words; None if they might."""
        try:
            propagate([rules[i] for i in places], Domains(schema, start))
        except Impossible as impossible:
            return str(impossible)
        return None

    left, found = list(range(len(rules))), []
    while objection(left) is not None:
        few = smallest(left, objection)
        found.append(message([f'"{texts[i]}"' for i in few], objection(few)))
        left = [i for i in left if i not in few]
    return found


def smallest(places: list[int], objection: Objection) -> list[int]:
    """Return a set of rules that cannot hold together, each of which is needed for that."""
    for size in range(1, 3 if len(places) <= MOST_PAIRED else 2):
        for few in combinations(places, size):
            if objection(few) is not None:
                return list(few)
    needed = places
    for i in places:
        without = [k for k in needed if k != i]
        if objection(without) is not None:
            needed = without
    return needed


def message(quoted: list[str], reason: str | None) -> str:
    """Name rules that contradict each other, and what they leave nothing of."""
    verb = "can never hold" if len(quoted) == 1 else "cannot hold together"
    return f"{joined(quoted)} {verb}: {reason}." if reason else f"{joined(quoted)} {verb}."


class Linear(NamedTuple):
    """A constant, and a slope for each feature."""

    constant: float
    slopes: dict[int, float]


def combine_linear(operator: Operator, left: Linear | None, right: Linear | None) -> Linear | None:
    """Return the result of an operator as a linear function; None if it, or an operand, is none.

    Examples
    --------
    >>> combine_linear("*", Linear(2.0, {}), Linear(1.0, {0: 3.0}))
    Linear(constant=2.0, slopes={0: 6.0})
    """
    if left is None or right is None:
        return None
    if operator in ("+", "-"):
        slopes = {
            j: _calculate(operator, left.slopes.get(j, 0.0), right.slopes.get(j, 0.0))
            for j in dict.fromkeys((*left.slopes, *right.slopes))
        }
        return Linear(_calculate(operator, left.constant, right.constant), slopes)
    if operator == "*" and not left.slopes:
        left, right = right, left
    factor = _calculate(operator, 1.0, right.constant)
    if right.slopes or math.isnan(factor):
        return None
    return Linear(left.constant * factor, {j: s * factor for j, s in left.slopes.items()})


def _calculate(operator: Operator, left: float, right: float) -> float:
    """Return the result of an operator on two exact numbers."""
    return combine(OPERATORS[operator], left, right, abs(left), abs(right))[0]
