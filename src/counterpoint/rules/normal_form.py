"""Rules as the search needs them: numbers and columns only, without negations.

    value      Constant  Gene (the candidate's)  Own (the row's)  Result (of arithmetic)
    condition  Relation  Among  Differs  Steps, joined by All and Some
    rule       Formula  Count  Group

Levels are their codes, words are columns, and every phrase of the language is one of these few
nodes. Negations have been moved inwards to the relations, where they turn ``<`` into ``>=``. A
relation that divides by zero does not hold and its contrary does not either, so that nothing holds
by such an accident inside of `not` and `implies`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from counterpoint.rules import tree as syntax
from counterpoint.rules.tree import Comparator, Operator

NEGATED: dict[Comparator, Comparator] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}


@dataclass(frozen=True)
class Constant:
    """A number, or the code of a level."""

    value: float


@dataclass(frozen=True)
class Gene:
    """The candidate's value of feature j."""

    j: int


@dataclass(frozen=True)
class Own:
    """The row's value of feature j."""

    j: int


@dataclass(frozen=True)
class Result:
    """Values joined by + - * or / from left to right."""

    first: Value
    rest: tuple[tuple[Operator, Value], ...]


@dataclass(frozen=True)
class Relation:
    """Two values compared."""

    comparator: Comparator
    left: Value
    right: Value


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
class Steps:
    """Whether feature j is a whole number of steps from the origin; or, with `is_on` False, not."""

    j: int
    step: float
    origin: Own | Constant
    is_on: bool


@dataclass(frozen=True)
class All:
    """Conditions that all hold."""

    parts: tuple[Goal, ...]


@dataclass(frozen=True)
class Some:
    """Conditions of which at least one holds."""

    parts: tuple[Goal, ...]


@dataclass(frozen=True)
class Formula:
    """A rule that is a condition."""

    goal: Goal


@dataclass(frozen=True)
class Count:
    """At most n of the features are changed."""

    n: int
    features: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """All of the features are changed or none."""

    features: tuple[int, ...]


Value: TypeAlias = Constant | Gene | Own | Result
Goal: TypeAlias = Relation | Among | Differs | Steps | All | Some
Core: TypeAlias = Formula | Count | Group


def reduce(statement: syntax.Statement, d: int) -> Core:
    """Return a checked rule over d features in terms of columns and codes.

    Examples
    --------
    >>> from counterpoint.rules.tree import Fixed, Word
    >>> reduce(Fixed((Word("age", place=3),)), d=5)
    Formula(goal=All(parts=(Differs(j=3, is_changed=False),)))
    """
    match statement:
        case syntax.Fixed(features):
            return Formula(All(tuple(Differs(word.place, False) for word in features)))
        case syntax.AtMost(n, features):
            return Count(n, tuple(word.place for word in features) or tuple(range(d)))
        case syntax.Together(features):
            return Group(tuple(word.place for word in features))
        case _:
            return Formula(goal_of(statement, True))


def goal_of(node: syntax.Condition, is_wanted: bool) -> Goal:
    """Return what makes a condition hold, or what makes its contrary hold."""
    match node:
        case syntax.Not(operand):
            return goal_of(operand, not is_wanted)
        case syntax.And(operands):
            return joined([goal_of(each, is_wanted) for each in operands], is_wanted)
        case syntax.Or(operands):
            return joined([goal_of(each, is_wanted) for each in operands], not is_wanted)
        case syntax.Implies(premise, conclusion):
            both = [goal_of(premise, not is_wanted), goal_of(conclusion, is_wanted)]
            return joined(both, not is_wanted)
        case syntax.Compare(left, comparator, right):
            return relation(comparator, value_of(left), value_of(right), is_wanted)
        case syntax.Changed(feature):
            return Differs(feature.place, is_wanted)
        case syntax.InSet(feature, members, is_negated):
            codes = tuple(map(member_value, members))
            return Among(feature.place, codes, is_wanted != is_negated)
        case syntax.InSteps(feature, step, origin):
            start = Own(feature.place) if origin is None else Constant(origin)
            return Steps(feature.place, step, start, is_wanted)
        case _:
            parts = [relation(*each, is_wanted) for each in phrase(node)]
            return joined(parts, is_wanted)


def phrase(node: syntax.InRange | syntax.Moves) -> list[tuple[Comparator, Value, Value]]:
    """Return a phrase about one feature as comparisons that must all hold."""
    gene, own = Gene(node.feature.place), Own(node.feature.place)
    if isinstance(node, syntax.InRange):
        ends: list[tuple[Comparator, float | None]] = [(">=", node.low), ("<=", node.high)]
        return [(sign, gene, Constant(end)) for sign, end in ends if end is not None]
    relations: list[tuple[Comparator, Value, Value]] = []
    if node.direction != "changes":
        relations.append((">=" if node.direction == "increases" else "<=", gene, own))
    if node.most is not None and node.direction != "decreases":
        relations.append(("<=", Result(gene, (("-", own),)), Constant(node.most)))
    if node.most is not None and node.direction != "increases":
        relations.append(("<=", Result(own, (("-", gene),)), Constant(node.most)))
    return relations


def member_value(member: syntax.Number | syntax.Word) -> float:
    """Return a member of a set as a gene: the number, or the level's code."""
    return member.value if isinstance(member, syntax.Number) else float(member.place)


def relation(comparator: Comparator, left: Value, right: Value, is_wanted: bool) -> Relation:
    """Return a comparison, or its contrary."""
    return Relation(comparator if is_wanted else NEGATED[comparator], left, right)


def joined(parts: Sequence[Goal], is_all: bool) -> Goal:
    """Return conditions joined by "and" or by "or"."""
    if len(parts) == 1:
        return parts[0]
    return All(tuple(parts)) if is_all else Some(tuple(parts))


def value_of(node: syntax.Expression) -> Value:
    """Return a value in terms of columns and codes."""
    match node:
        case syntax.Number(value):
            return Constant(value)
        case syntax.Was(feature):
            return Own(feature.place)
        case syntax.Word():
            is_level = node.role is syntax.Role.LEVEL
            return Constant(float(node.place)) if is_level else Gene(node.place)
        case syntax.Negative(operand):
            return Result(Constant(0.0), (("-", value_of(operand)),))
        case syntax.Chain(first, rest):
            others = tuple((operator, value_of(operand)) for operator, operand in rest)
            return Result(value_of(first), others)


def genes_of(core: Core | Goal | Value) -> Iterator[int]:
    """Yield the features a rule reads of the candidate, with repeats, in order."""
    waiting: list[Core | Goal | Value] = [core]
    while waiting:
        node = waiting.pop()
        match node:
            case Gene(j) | Differs(j, _) | Among(j, _, _) | Steps(j, _, _, _):
                yield j
            case Count(_, features) | Group(features):
                yield from features
            case Formula(goal):
                waiting.append(goal)
            case All(parts) | Some(parts):
                waiting.extend(reversed(parts))
            case Relation(_, left, right):
                waiting.extend((right, left))
            case Result(first, rest):
                waiting.extend([value for _, value in reversed(rest)] + [first])
            case Constant() | Own():
                pass
