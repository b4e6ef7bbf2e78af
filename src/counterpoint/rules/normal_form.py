"""Rules as the search needs them: numbers and columns only, without negations.

    value      Constant  Gene (the candidate's)  RowValue (the row's)  Calculation
    condition  Relation  Among  Differs  OnSteps, joined by All and Some
    rule       Formula  Count  Group

Levels are their codes, words are columns, and every phrase of the language is one of these few
nodes. Negations have been moved inwards to the relations, where they turn ``<`` into ``>=``. A
relation that divides by zero does not hold and its contrary does not either, so that nothing holds
by such an accident inside of `not` and `implies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from counterpoint.rules import tree
from counterpoint.rules.arithmetic import CONTRARY
from counterpoint.rules.tree import Comparator, Operator

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
