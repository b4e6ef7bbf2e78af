"""Rules as flat arrays a kernel can run.

Every rule is a run of operations in postfix order: the operands of operation p end at ``p - 1``
and, if there are two, at ``left[p]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import Floats, Ints
from counterpoint.problem.rules.core import (
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
from counterpoint.problem.rules.syntax import Comparator

# Operations: values first, then tests (the leaves of a condition), then what joins conditions.
NUMBER, GENE, OWN, ADD, SUBTRACT, MULTIPLY, DIVIDE = range(7)
EQUAL, UNEQUAL, LESS, LESS_EQUAL, MORE, MORE_EQUAL = range(7, 13)
CHANGED, UNCHANGED, ON_STEP, OFF_GRID = range(13, 17)
AND, OR = 17, 18
FIRST_TEST = EQUAL

FORMULA, COUNT, GROUP = range(3)

_ARITHMETIC = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE}
_COMPARATORS = {
    "=": EQUAL,
    "!=": UNEQUAL,
    "<": LESS,
    "<=": LESS_EQUAL,
    ">": MORE,
    ">=": MORE_EQUAL,
}


# Records: one argument of a kernel instead of six, which it compiles faster.
OPERATION = np.dtype(
    [
        ("operation", np.int64),  # what to do
        ("feature", np.int64),  # the feature it reads, if any
        ("left", np.int64),  # where its left operand ends; the right one ends just before it
        ("begin", np.int64),  # where its first operand begins
        ("number", np.float64),  # the constant or the step it takes, if any
        ("blur", np.float64),  # how much more the feature is rounded than float64
    ]
)
RULE = np.dtype(
    [
        ("kind", np.int64),  # formula, count or group
        ("begin", np.int64),  # where its operations begin and end; only formulas have any
        ("end", np.int64),
        ("first_read", np.int64),  # where the features it reads begin and end
        ("last_read", np.int64),
        ("most", np.int64),  # how many changes a count allows
    ]
)
Records: TypeAlias = NDArray[np.void]


class Program(NamedTuple):
    """k rules of m operations in all, which read l features.

    Attributes
    ----------
    operations : ndarray of records, of shape (m,)
        The operations of all rules; see `OPERATION`.
    rules : ndarray of records, of shape (k,)
        What belongs to each rule; see `RULE`.
    reads : ndarray of shape (l,)
        The features the rules read of the candidate, rule by rule.
    """

    operations: Records
    rules: Records
    reads: Ints


def compile_rules(rules: Sequence[Core], blur: Floats) -> Program:
    """Return the program of some rules over d features, whose `blur` (d,) says how many there are.

    Examples
    --------
    >>> rule = Formula(Relation("<=", Gene(0), Constant(5.0)))
    >>> program = compile_rules([rule], blur=np.ones(1))
    >>> program.operations["operation"].tolist() == [GENE, NUMBER, LESS_EQUAL]
    True
    """
    writer = _Writer(blur)
    begins, reads = [0], [sorted(set(genes_of(rule))) for rule in rules]
    for rule in rules:
        if isinstance(rule, Formula):
            writer.condition(rule.goal)
        begins.append(len(writer.lines))
    ends = np.cumsum([0, *map(len, reads)])
    records = [
        (_kind(rule), begins[i], begins[i + 1], ends[i], ends[i + 1], getattr(rule, "n", 0))
        for i, rule in enumerate(rules)
    ]
    return Program(
        np.array(writer.lines, OPERATION),
        np.array(records, RULE),
        np.array([j for features in reads for j in features], dtype=np.int64),
    )


def _kind(rule: Core) -> int:
    """Return the code of a rule's kind."""
    return {Formula: FORMULA, Count: COUNT, Group: GROUP}[type(rule)]


class _Writer:
    """The operations of a program so far, as `OPERATION` has them."""

    def __init__(self, blur: Floats) -> None:
        self.blur = blur
        self.lines: list[tuple[int, int, int, int, float, float]] = []

    def leaf(self, operation: int, j: int = 0, number: float = 0.0) -> None:
        """Write an operation without operands."""
        self.lines.append((operation, j, 0, len(self.lines), number, self.blur[j]))

    def node(self, operation: int, begin: int, left: int) -> None:
        """Write an operation on the operand that ends at `left` and the one written last."""
        self.lines.append((operation, 0, left, begin, 0.0, 1.0))

    def value(self, value: Value) -> None:
        """Write a value."""
        match value:
            case Constant(number):
                self.leaf(NUMBER, number=number)
            case Gene(j):
                self.leaf(GENE, j)
            case Own(j):
                self.leaf(OWN, j)
            case Result(first, rest):
                begin = len(self.lines)
                self.value(first)
                for operator, operand in rest:
                    left = len(self.lines) - 1
                    self.value(operand)
                    self.node(_ARITHMETIC[operator], begin, left)

    def condition(self, goal: Goal) -> None:
        """Write a condition."""
        begin = len(self.lines)
        match goal:
            case Relation(comparator, first, second):
                self.value(first)
                left = len(self.lines) - 1
                self.value(second)
                self.node(_COMPARATORS[comparator], begin, left)
            case Among(j, values, is_in):
                sign: Comparator = "=" if is_in else "!="
                parts = tuple(Relation(sign, Gene(j), Constant(value)) for value in values)
                self.condition(Some(parts) if is_in else All(parts))
            case Differs(j, is_changed):
                self.leaf(CHANGED if is_changed else UNCHANGED, j)
            case Steps(j, step, origin, is_on):
                self.value(origin)
                operation = ON_STEP if is_on else OFF_GRID
                self.lines.append((operation, j, 0, begin, step, self.blur[j]))
            case All(goals) | Some(goals):
                self.condition(goals[0])
                for part in goals[1:]:
                    left = len(self.lines) - 1
                    self.condition(part)
                    self.node(AND if isinstance(goal, All) else OR, begin, left)
