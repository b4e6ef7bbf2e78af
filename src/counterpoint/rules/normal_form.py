"""Rules as the search needs them, without negations, and what their operators and comparisons mean.

    value      Constant  Gene (the candidate's)  RowValue (the row's)  Calculation
    condition  Relation  Among  Differs  OnSteps, joined by All and Some
    rule       Formula  Count  Group

Levels are their codes, words are columns, and every phrase of the language is one of these few
nodes. Negations have been moved inwards to the relations, where they turn ``<`` into ``>=``. A
relation that divides by zero does not hold and its contrary does not either, so that nothing holds
by such an accident inside of `not` and `implies`.

Two numbers are the same if they differ by round-off only: ``0.1 + 0.2 = 0.3`` holds, and so does
``<=``, while ``<`` does not. What round-off can be is estimated beside every value as its `size`:
the sum of the magnitudes it was made of. Two values are the same if they differ by less than
`ROUND_OFF` of their sizes. Values of a float32 column are rounded more coarsely, and count for as
much more. `program` compiles the functions of numbers for its kernels; intervals and linear
functions are made of the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.rules import tree
from counterpoint.rules.tree import Comparator, Operator
from counterpoint.table.schema import Schema

ROUND_OFF = 1e-12
OFF_STEP = 1e-6  # how far from a step, as a share of it, still is on it
SINGLE = 2.0**-23 / ROUND_OFF

ADD, SUBTRACT, MULTIPLY, DIVIDE = range(4)
OPERATORS: dict[Operator, int] = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE}

# A comparator is the set of orders that satisfy it, one bit each.
LESS, SAME, MORE = 1, 2, 4
COMPARATORS: dict[Comparator, int] = {
    "<": LESS,
    "=": SAME,
    "<=": LESS | SAME,
    ">": MORE,
    "!=": LESS | MORE,
    ">=": SAME | MORE,
}
CONTRARY: dict[Comparator, Comparator] = {
    sign: next(other for other, rest in COMPARATORS.items() if orders + rest == LESS | SAME | MORE)
    for sign, orders in COMPARATORS.items()
}
INCOMPARABLE = 2.0  # the order of two values of which one is not a number


def rounding_of(schema: Schema) -> Floats:
    """Return how much more coarsely each feature is rounded than float64, shape (d,).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"a": [1.0, 2.0], "b": np.array([1, 2], dtype=np.float32)})
    >>> rounding_of(Schema.infer(data)).round()
    array([1.00000e+00, 1.19209e+05])
    """
    return np.array([SINGLE if feature.is_single else 1.0 for feature in schema.features])


# Numbers. These functions are compiled for kernels, too, and therefore do not call each other.


def combine(
    operator: int, left: float, right: float, left_size: float, right_size: float
) -> tuple[float, float]:
    """Return value and size of an operation on two numbers; a division by zero gives NaN."""
    if operator == ADD:
        return left + right, left_size + right_size
    if operator == SUBTRACT:
        return left - right, left_size + right_size
    if operator == MULTIPLY:
        return left * right, left_size * right_size
    divisor = abs(right)
    if divisor <= ROUND_OFF * right_size:
        return math.nan, math.nan
    return left / right, left_size / divisor * (right_size / divisor)


def order_of(left: float, right: float, size: float) -> float:
    """Return -1, 0 or 1 as the left value is smaller, the same or larger, or `INCOMPARABLE`."""
    difference, slack = left - right, ROUND_OFF * size
    if not (math.isfinite(difference) and math.isfinite(slack)):
        return INCOMPARABLE
    if abs(difference) <= slack:
        return 0.0
    return 1.0 if difference > 0.0 else -1.0


def satisfies(order: float, orders: int) -> bool:
    """Whether an order is one of those that satisfy a comparator; `INCOMPARABLE` never is."""
    return (orders >> int(order + 1.0)) & 1 == 1


def is_on_step(value: float, origin: float, step: float, size: float) -> bool:
    """Whether a value of some size is a whole number of steps from an origin."""
    n_steps = (value - origin) / step
    return bool(abs(n_steps - np.rint(n_steps)) <= OFF_STEP + ROUND_OFF * size / step)


# Intervals


class Interval(NamedTuple):
    """Where a value lies, and the size that bounds its round-off."""

    low: float
    high: float
    size: float


def combine_intervals(operator: Operator, left: Interval, right: Interval) -> Interval:
    """Return where the result of an operator lies; its size is NaN if it divides by zero.

    An operator is monotone in each of its operands, so that its extremes are at their ends; but a
    quotient may be anywhere if its divisor may be zero.

    Examples
    --------
    >>> combine_intervals("-", Interval(1.0, 2.0, 2.0), Interval(-1.0, 5.0, 5.0))
    Interval(low=-4.0, high=3.0, size=7.0)
    """
    size, zero = left.size + right.size, ROUND_OFF * right.size
    if not math.isfinite(size):
        return Interval(-math.inf, math.inf, size)
    if operator == "/" and right.low <= zero and right.high >= -zero:
        return Interval(-math.inf, math.inf, math.nan if right.low == right.high else math.inf)
    code = OPERATORS[operator]
    ends = [combine(code, a, b, left.size, right.size) for a in left[:2] for b in right[:2]]
    values, sizes = zip(*ends, strict=True)
    return Interval(min(values), max(values), max(sizes))


def compare_intervals(comparator: Comparator, left: Interval, right: Interval) -> bool | None:
    """Return whether a comparison holds for all values (True), for none (False), or None.

    What is within twice the round-off is left open, for that of the bounds themselves.

    Examples
    --------
    >>> low, high = Interval(1.0, 2.0, 2.0), Interval(2.0, 3.0, 3.0)
    >>> compare_intervals("<=", low, high), compare_intervals("<", low, high)
    (True, None)
    """
    slack = 2.0 * ROUND_OFF * (left.size + right.size)
    if math.isnan(slack):  # divides by zero
        return False
    if math.isinf(slack):
        return None
    least, most = left.low - right.high, left.high - right.low
    is_near = least <= slack and most >= -slack
    possible = LESS * (least < 0.0) + SAME * is_near + MORE * (most > 0.0)
    if not possible & COMPARATORS[comparator]:
        return False
    return None if possible & ~COMPARATORS[comparator] else True


T = TypeVar("T")


@dataclass(frozen=True)
class Constant:
    """A number, or the code of a level."""

    value: float


@dataclass(frozen=True)
class Gene:
    """The candidate's value of feature j."""

    j: int


@dataclass(frozen=True)
class RowValue:
    """The row's value of feature j."""

    j: int


@dataclass(frozen=True)
class Calculation:
    """Values joined by + - * or / from left to right."""

    first: NormalValue
    rest: tuple[tuple[Operator, NormalValue], ...]


@dataclass(frozen=True)
class Relation:
    """Two values compared."""

    comparator: Comparator
    left: NormalValue
    right: NormalValue


@dataclass(frozen=True)
class Differs:
    """Whether feature j is changed; or, with `is_changed` False, whether it is not."""

    j: int
    is_changed: bool


@dataclass(frozen=True)
class Among:
    """Whether feature j is one of some values; or, with `is_in` False, none of them."""

    j: int
    values: tuple[float, ...]
    is_in: bool


@dataclass(frozen=True)
class OnSteps:
    """Whether feature j is a whole number of steps from the origin; or, with `is_on` False, not."""

    j: int
    step: float
    origin: RowValue | Constant
    is_on: bool


@dataclass(frozen=True)
class All:
    """Conditions that all hold."""

    parts: tuple[NormalCondition, ...]


@dataclass(frozen=True)
class Some:
    """Conditions of which at least one holds."""

    parts: tuple[NormalCondition, ...]


@dataclass(frozen=True)
class Formula:
    """A rule that is a condition."""

    condition: NormalCondition


@dataclass(frozen=True)
class Count:
    """At most n of the features are changed."""

    n: int
    features: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """All of the features are changed or none."""

    features: tuple[int, ...]


NormalValue: TypeAlias = Constant | Gene | RowValue | Calculation
NormalCondition: TypeAlias = Relation | Among | Differs | OnSteps | All | Some
NormalRule: TypeAlias = Formula | Count | Group


def normalize(statement: tree.Statement, d: int) -> NormalRule:
    """Return a checked rule over d features in terms of columns and codes.

    Examples
    --------
    >>> from counterpoint.rules.tree import Fixed, Word
    >>> normalize(Fixed((Word("age", place=3),)), d=5)
    Formula(condition=All(parts=(Differs(j=3, is_changed=False),)))
    """
    match statement:
        case tree.Fixed(features):
            return Formula(All(tuple(Differs(word.place, False) for word in features)))
        case tree.AtMost(n, features):
            return Count(n, tuple(word.place for word in features) or tuple(range(d)))
        case tree.Together(features):
            return Group(tuple(word.place for word in features))
        case _:
            return Formula(normal_condition(statement, True))


def normal_condition(node: tree.Condition, is_wanted: bool) -> NormalCondition:
    """Return what makes a condition hold, or what makes its contrary hold."""
    match node:
        case tree.Not(operand):
            return normal_condition(operand, not is_wanted)
        case tree.And(operands):
            return joined([normal_condition(each, is_wanted) for each in operands], is_wanted)
        case tree.Or(operands):
            return joined([normal_condition(each, is_wanted) for each in operands], not is_wanted)
        case tree.Implies(premise, conclusion):
            both = [
                normal_condition(premise, not is_wanted),
                normal_condition(conclusion, is_wanted),
            ]
            return joined(both, not is_wanted)
        case tree.Compare(left, comparator, right):
            return relation(comparator, normal_value(left), normal_value(right), is_wanted)
        case tree.Changed(feature):
            return Differs(feature.place, is_wanted)
        case tree.InSet(feature, members, is_negated):
            codes = tuple(map(member_value, members))
            return Among(feature.place, codes, is_wanted != is_negated)
        case tree.InSteps(feature, step, origin):
            start = RowValue(feature.place) if origin is None else Constant(origin)
            return OnSteps(feature.place, step, start, is_wanted)
        case _:
            parts = [relation(*each, is_wanted) for each in phrase(node)]
            return joined(parts, is_wanted)


def phrase(node: tree.InRange | tree.Moves) -> list[tuple[Comparator, NormalValue, NormalValue]]:
    """Return a phrase about one feature as comparisons that must all hold."""
    gene, own = Gene(node.feature.place), RowValue(node.feature.place)
    if isinstance(node, tree.InRange):
        ends: list[tuple[Comparator, float | None]] = [(">=", node.low), ("<=", node.high)]
        return [(sign, gene, Constant(end)) for sign, end in ends if end is not None]
    relations: list[tuple[Comparator, NormalValue, NormalValue]] = []
    if node.direction != "changes":
        relations.append((">=" if node.direction == "increases" else "<=", gene, own))
    if node.most is not None and node.direction != "decreases":
        relations.append(("<=", Calculation(gene, (("-", own),)), Constant(node.most)))
    if node.most is not None and node.direction != "increases":
        relations.append(("<=", Calculation(own, (("-", gene),)), Constant(node.most)))
    return relations


def member_value(member: tree.Number | tree.Word) -> float:
    """Return a member of a set as a gene: the number, or the level's code."""
    return member.value if isinstance(member, tree.Number) else float(member.place)


def relation(
    comparator: Comparator, left: NormalValue, right: NormalValue, is_wanted: bool
) -> Relation:
    """Return a comparison, or its contrary."""
    return Relation(comparator if is_wanted else CONTRARY[comparator], left, right)


def joined(parts: Sequence[NormalCondition], is_all: bool) -> NormalCondition:
    """Return conditions joined by "and" or by "or"."""
    if len(parts) == 1:
        return parts[0]
    return All(tuple(parts)) if is_all else Some(tuple(parts))


def normal_value(node: tree.Expression) -> NormalValue:
    """Return a value in terms of columns and codes."""
    match node:
        case tree.Number(value):
            return Constant(value)
        case tree.Was(feature):
            return RowValue(feature.place)
        case tree.Word():
            is_level = node.role is tree.Role.LEVEL
            return Constant(float(node.place)) if is_level else Gene(node.place)
        case tree.Negative(operand):
            return Calculation(Constant(0.0), (("-", normal_value(operand)),))
        case tree.Chain(first, rest):
            others = tuple((operator, normal_value(operand)) for operator, operand in rest)
            return Calculation(normal_value(first), others)


def calculate(
    value: NormalValue,
    known: Callable[[Constant | Gene | RowValue], T],
    combine: Callable[[Operator, T, T], T],
) -> T:
    """Return what a value comes to in terms of what is known of its parts.

    `known` tells of a constant, a gene or a value of the row, `combine` what an operator makes of
    two.

    Examples
    --------
    >>> value = Calculation(Constant(1.0), (("+", Gene(3)), ("-", RowValue(2))))
    >>> calculate(value, repr, lambda operator, left, right: f"({left} {operator} {right})")
    '((Constant(value=1.0) + Gene(j=3)) - RowValue(j=2))'
    """
    if not isinstance(value, Calculation):
        return known(value)
    found = calculate(value.first, known, combine)
    for operator, operand in value.rest:
        found = combine(operator, found, calculate(operand, known, combine))
    return found


def genes_of(rule: NormalRule | NormalCondition | NormalValue) -> Iterator[int]:
    """Yield the features a rule reads of the candidate, with repeats, in order."""
    waiting: list[NormalRule | NormalCondition | NormalValue] = [rule]
    while waiting:
        node = waiting.pop()
        match node:
            case Gene(j) | Differs(j, _) | Among(j, _, _) | OnSteps(j, _, _, _):
                yield j
            case Count(_, features) | Group(features):
                yield from features
            case Formula(condition):
                waiting.append(condition)
            case All(parts) | Some(parts):
                waiting.extend(reversed(parts))
            case Relation(_, left, right):
                waiting.extend((right, left))
            case Calculation(first, rest):
                waiting.extend([value for _, value in reversed(rest)] + [first])
            case Constant() | RowValue():
                pass
