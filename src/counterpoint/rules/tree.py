"""The tree of a rule: frozen nodes that compare by meaning and print their canonical text.

    value      Number  Word  Was  Negative  Chain
    condition  Compare  Changed  InRange  InSet  InSteps  Moves  Not  And  Or  Implies
    statement  a condition, or Fixed  AtMost  Together

Where a node stands in its text, and what the check found out about a word, take no part in
comparisons: two rules are equal if they are written the same in canonical form.

`invalid` and `unknown` build errors that point at the place in a rule's text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Literal, TypeAlias

from counterpoint.errors import InvalidInput, UnknownFeatureError

MOST_SHOWN = 72  # characters of a long rule shown around the fault
INDENT = "      "

Span = tuple[int, int]  # from the first character to the one after the last


def invalid(text: str, span: Span, problem: str) -> InvalidInput:
    """Build the error for a rule that cannot mean anything.

    Examples
    --------
    >>> print(invalid("age >> 21", (5, 6), "expected a value, found '>'."))
    rule "age >> 21": expected a value, found '>'.
          age >> 21
               ^
    """
    return InvalidInput(_message(text, span, problem))


def unknown(text: str, span: Span, problem: str) -> UnknownFeatureError:
    """Build the error for a rule that names a feature the data do not have."""
    return UnknownFeatureError(_message(text, span, problem))


def _message(text: str, span: Span, problem: str) -> str:
    """Return the problem, the rule (or the part around the fault) and a line of carets."""
    shown, start, end = _excerpt(text, span)
    carets = " " * start + "^" * max(1, end - start)
    return f'rule "{shown}": {problem}\n{INDENT}{shown}\n{INDENT}{carets}'


def _excerpt(text: str, span: Span) -> tuple[str, int, int]:
    """Return the text on one line, cut around the span if it is long, and the span in it."""
    line = "".join(" " if character.isspace() else character for character in text)
    start, end = span
    if len(line) <= MOST_SHOWN:
        return line, start, end
    first = max(0, min(start - MOST_SHOWN // 3, len(line) - MOST_SHOWN))
    last = min(len(line), first + MOST_SHOWN)
    head, tail = "…" * (first > 0), "…" * (last < len(line))
    shift = len(head) - first
    return head + line[first:last] + tail, start + shift, min(end, last) + shift


# fmt: off
KEYWORDS = frozenset([
    "fixed", "at", "most", "change", "among", "together", "changed", "was",
    "increases", "decreases", "changes", "by", "in", "steps", "of", "from",
    "not", "and", "or", "implies",
])
# fmt: on
BARE = re.compile(r"[^\W\d]\w*")  # a word that needs no quotes
LARGEST_PLAIN = 1e16  # whole numbers from here on are written with an exponent

Comparator = Literal["=", "!=", "<", "<=", ">", ">="]
Operator = Literal["+", "-", "*", "/"]
Direction = Literal["increases", "decreases", "changes"]


class Role(Enum):
    """What a word stands for."""

    EITHER = '"'  # the value is the quote that asks for the role
    FEATURE = "`"
    LEVEL = "'"


@dataclass(frozen=True)
class RuleNode:
    """A part of a rule, with the place it was read from."""

    span: Span = field(default=(0, 0), compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return write(self)


@dataclass(frozen=True)
class Number(RuleNode):
    """A number; below zero only as an end of a range or a member of a set."""

    value: float


@dataclass(frozen=True)
class Word(RuleNode):
    """The name of a feature or of a level.

    The check sets `role`, `place` (the feature's column or the level's code) and `is_quoted`, which
    is true where the bare word would be read as the other of the two.
    """

    text: str
    role: Role = field(default=Role.EITHER, compare=False, repr=False, kw_only=True)
    place: int = field(default=-1, compare=False, repr=False, kw_only=True)
    is_quoted: bool = field(default=False, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Was(RuleNode):
    """The row's own value of a feature."""

    feature: Word


@dataclass(frozen=True)
class Negative(RuleNode):
    """Minus a value."""

    operand: Expression


@dataclass(frozen=True)
class Chain(RuleNode):
    """Values joined from left to right, all by + and - or all by * and /."""

    first: Expression
    rest: tuple[tuple[Operator, Expression], ...]

    @property
    def is_sum(self) -> bool:
        """Whether the operators are + and -."""
        return self.rest[0][0] in "+-"


@dataclass(frozen=True)
class Compare(RuleNode):
    """Two values compared."""

    left: Expression
    comparator: Comparator
    right: Expression


@dataclass(frozen=True)
class Changed(RuleNode):
    """Whether a feature differs from the row's."""

    feature: Word


@dataclass(frozen=True)
class InRange(RuleNode):
    """A number within a closed range; None for an open end."""

    feature: Word
    low: float | None
    high: float | None


@dataclass(frozen=True)
class InSet(RuleNode):
    """A feature that is, or is not, one of some levels or numbers."""

    feature: Word
    members: tuple[Number | Word, ...]
    is_negated: bool = False


@dataclass(frozen=True)
class InSteps(RuleNode):
    """A number a whole number of steps from an origin; None is the row's value."""

    feature: Word
    step: float
    origin: float | None = None


@dataclass(frozen=True)
class Moves(RuleNode):
    """A feature that only increases or decreases, or changes by at most so much."""

    feature: Word
    direction: Direction
    most: float | None = None


@dataclass(frozen=True)
class Not(RuleNode):
    """The contrary of a condition."""

    operand: Condition


@dataclass(frozen=True)
class And(RuleNode):
    """Two or more conditions that all hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Or(RuleNode):
    """Two or more conditions of which at least one holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Implies(RuleNode):
    """A conclusion that holds wherever the premise does."""

    premise: Condition
    conclusion: Condition


@dataclass(frozen=True)
class Fixed(RuleNode):
    """Features that keep the row's values."""

    features: tuple[Word, ...]


@dataclass(frozen=True)
class AtMost(RuleNode):
    """At most n changes, among some features or (empty) among all."""

    n: int
    features: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Together(RuleNode):
    """Features that all change or all stay."""

    features: tuple[Word, ...]


Expression: TypeAlias = Number | Word | Was | Negative | Chain
Condition: TypeAlias = (
    Compare | Changed | InRange | InSet | InSteps | Moves | Not | And | Or | Implies
)
Statement: TypeAlias = Condition | Fixed | AtMost | Together

# How tightly a node holds its parts together: a looser part is put in parentheses.
IMPLIES, OR, AND, NOT, TEST, SUM, PRODUCT, UNARY, ATOM = range(9)
TIGHTNESS: dict[type[RuleNode], int] = {
    Implies: IMPLIES,
    Or: OR,
    And: AND,
    Not: NOT,
    Negative: UNARY,
    **dict.fromkeys((Number, Word, Was, Changed), ATOM),
}


def compared_places(node: Any) -> set[int]:
    """Return the features a rule compares, by their places; to ask if they change is not to."""
    if isinstance(node, tuple):
        return {place for part in node for place in compared_places(part)}
    if isinstance(node, Word):
        return {node.place} if node.role is Role.FEATURE else set()
    if not isinstance(node, RuleNode) or isinstance(node, Changed | Fixed | AtMost | Together):
        return set()
    return compared_places(tuple(getattr(node, each.name) for each in fields(node)))


def tightness(node: RuleNode) -> int:
    """Return how tightly the operator of `node` binds."""
    if isinstance(node, Chain):
        return SUM if node.is_sum else PRODUCT
    return TIGHTNESS.get(type(node), TEST)


def write(node: RuleNode) -> str:
    """Return the canonical text of a node.

    Examples
    --------
    >>> write(Moves(Word("age"), "increases", 5.0))
    'age increases by at most 5'
    >>> print(Not(Compare(Word("my job"), "=", Word("at", role=Role.LEVEL))))
    not "my job" = 'at'
    """
    match node:
        case Implies(premise, conclusion):
            return f"{within(premise, OR)} implies {within(conclusion, IMPLIES)}"
        case Or(parts):
            return " or ".join(within(part, AND) for part in parts)
        case And(parts):
            return " and ".join(within(part, NOT) for part in parts)
        case Not(operand):
            return f"not {within(operand, NOT)}"
        case Number() | Word() | Was() | Negative() | Chain():
            return write_value(node)
        case Fixed(features):
            return f"fixed {write_list(features)}"
        case AtMost(n, features):
            among = f" among {write_list(features)}" if features else ""
            return f"at most {n} change{'' if n == 1 else 's'}{among}"
        case Together(features):
            return f"{write_list(features)} change together"
        case _:
            return write_test(node)


def write_test(node: RuleNode) -> str:
    """Return the text of a condition on its own."""
    match node:
        case Compare(left, comparator, right):
            return f"{within(left, SUM)} {comparator} {within(right, SUM)}"
        case Changed(feature):
            return f"changed({feature})"
        case InRange(feature, low, high):
            return f"{feature} in {write_end(low)}..{write_end(high)}"
        case InSet(feature, members, is_negated):
            return f"{feature} {'not ' * is_negated}in {{{write_list(members)}}}"
        case InSteps(feature, step, origin):
            start = "" if origin is None else f" from {write_number(origin)}"
            return f"{feature} in steps of {write_number(step)}{start}"
        case Moves(feature, direction, most):
            by = "" if most is None else f" by at most {write_number(most)}"
            return f"{feature} {direction}{by}"
        case _:  # pragma: no cover - every node is written above
            raise AssertionError(node)


def write_value(node: Expression) -> str:
    """Return the text of a value."""
    match node:
        case Number(value):
            return write_number(value)
        case Word():
            return write_word(node)
        case Was(feature):
            return f"was({feature})"
        case Negative(operand):
            return f"-{within(operand, UNARY)}"
        case Chain(first, rest):
            part = PRODUCT if node.is_sum else UNARY  # so that grouping survives
            tail = "".join(f" {operator} {within(value, part)}" for operator, value in rest)
            return within(first, part) + tail


def within(node: RuleNode, least: int) -> str:
    """Return the text of a part, in parentheses if it binds more loosely than `least`."""
    text = write(node)
    return text if tightness(node) >= least else f"({text})"


def write_list(nodes: tuple[RuleNode, ...]) -> str:
    """Return nodes separated by commas."""
    return ", ".join(map(write, nodes))


def write_end(end: float | None) -> str:
    """Return an end of a range; nothing if it is open."""
    return "" if end is None else write_number(end)


def write_number(value: float) -> str:
    """Return the shortest text of a number."""
    if value.is_integer() and abs(value) < LARGEST_PLAIN:
        return str(int(value))
    return repr(value)


def write_word(word: Word) -> str:
    """Return a word bare if it can be read so, else in the quotes of its role."""
    if BARE.fullmatch(word.text) and word.text.lower() not in KEYWORDS and not word.is_quoted:
        return word.text
    quote = word.role.value
    return quote + word.text.replace(quote, quote * 2) + quote
