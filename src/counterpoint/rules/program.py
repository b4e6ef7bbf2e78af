"""Kernels that run a program of rules on one genome; none of them makes an array.

The value of operation p is kept at place p of the scratch, so that nothing is pushed or popped and
every part of a rule keeps its value for `repair` to look at.

When two numbers of a rule are the same: if they differ by round-off only.

``0.1 + 0.2 = 0.3`` holds, and so does ``<=``, while ``<`` does not. What round-off can be is
estimated beside every value as its `size`: the sum of the magnitudes it was made of. Two values are
the same if they differ by less than `ROUND_OFF` of their sizes. Values of a float32 column are
rounded more coarsely, and count for as much more.

Rules as flat arrays a kernel can run.

Every rule is a run of operations in postfix order: the operands of operation p end at ``p - 1``
and, if there are two, at ``left[p]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import Bools, Floats, Ints, Whole
from counterpoint.kernels import inner, kernel
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
from counterpoint.rules.tree import Comparator
from counterpoint.table.schema import Schema

ROUND_OFF = 1e-12
OFF_STEP = 1e-6  # how far from a step, as a share of it, still is on it
SINGLE = 2.0**-23 / ROUND_OFF


def blur_of(schema: Schema) -> Floats:
    """Return how much more each feature's values are rounded than float64, shape (d,).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"a": [1.0, 2.0], "b": np.array([1, 2], dtype=np.float32)})
    >>> blur_of(Schema.infer(data)).round()
    array([1.00000e+00, 1.19209e+05])
    """
    return np.array([SINGLE if feature.is_single else 1.0 for feature in schema.features])


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


UNKNOWN = 2.0  # how two values compare if one is not a number


# What is known of operation p while a genome is looked at, at place p of the scratch.
SCRATCH = np.dtype(
    [
        ("value", np.float64),  # what it comes to; a condition 1 or 0
        ("size", np.float64),  # how large the numbers were it was made of; a comparison its order
        ("cost", np.float64),  # how many features more are changed if a condition is made to hold
        ("goal", np.float64),  # to what to set which feature to make a test hold
        ("feature", np.int64),
        ("is_wanted", np.bool_),  # whether a condition is to be made to hold
    ],
    align=True,
)


def make_room(program: Program) -> Records:
    """Return scratch for a program, shape (m,)."""
    return np.zeros(len(program.operations), SCRATCH)


@inner
def combine(
    operation: int, left: float, right: float, left_size: float, right_size: float
) -> tuple[float, float]:
    """Return value and size of an operation on two numbers; what divides by zero is not one."""
    if operation == ADD:
        return left + right, left_size + right_size
    if operation == SUBTRACT:
        return left - right, left_size + right_size
    if operation == MULTIPLY:
        return left * right, left_size * right_size
    divisor = abs(right)
    if divisor <= ROUND_OFF * right_size:
        return np.nan, np.nan
    return left / right, left_size / divisor * (right_size / divisor)


@inner
def compare(left: float, right: float, size: float) -> float:
    """Return -1, 0 or 1 as the left side is smaller, the same or larger; 2 if that is unknown."""
    difference, slack = left - right, ROUND_OFF * size
    if not (np.isfinite(difference) and np.isfinite(slack)):
        return UNKNOWN
    if abs(difference) <= slack:
        return 0.0
    return 1.0 if difference > 0.0 else -1.0


@inner
def agrees(operation: int, order: float) -> bool:
    """Whether sides that compare as `order` satisfy a comparison."""
    if order == UNKNOWN:
        return False
    if operation == EQUAL:
        return order == 0.0
    if operation == UNEQUAL:
        return order != 0.0
    if operation == LESS:
        return order < 0.0
    if operation == LESS_EQUAL:
        return order <= 0.0
    if operation == MORE:
        return order > 0.0
    return order >= 0.0


@inner
def is_on_step(value: float, origin: float, step: float, blur: float) -> bool:
    """Whether a value is a whole number of steps from an origin."""
    n_steps = (value - origin) / step
    slack = OFF_STEP + ROUND_OFF * abs(value) * blur / step
    return bool(abs(n_steps - np.rint(n_steps)) <= slack)


@inner
def run(
    operations: Records, begin: Whole, end: Whole, genome: Floats, row: Floats, room: Records
) -> bool:
    """Run operations from `begin` up to `end`; return whether the last one, a condition, holds."""
    for p in range(begin, end):
        it, here, left, right = operations[p], room[p], room[operations[p].left], room[p - 1]
        operation, j = it.operation, it.feature
        if operation == NUMBER:
            here.value = it.number
            here.size = abs(it.number)
        elif operation <= OWN:
            here.value = genome[j] if operation == GENE else row[j]
            here.size = abs(here.value) * it.blur
        elif operation < FIRST_TEST:
            here.value, here.size = combine(
                operation, left.value, right.value, left.size, right.size
            )
        elif operation <= MORE_EQUAL:
            here.size = compare(left.value, right.value, left.size + right.size)
            here.value = 1.0 if agrees(operation, here.size) else 0.0
        elif operation <= UNCHANGED:
            here.value = 1.0 if (genome[j] != row[j]) == (operation == CHANGED) else 0.0
        elif operation < AND:
            is_on = is_on_step(genome[j], right.value, it.number, it.blur)
            here.value = 1.0 if is_on == (operation == ON_STEP) else 0.0
        elif operation == AND:
            here.value = min(left.value, right.value)
        else:
            here.value = max(left.value, right.value)
    return bool(room[end - 1].value == 1.0)


@inner
def count_changed(program: Program, rule: Whole, genome: Floats, row: Floats) -> int:
    """Return how many of the features a rule reads are changed."""
    n_changed = 0
    for i in range(program.rules[rule].first_read, program.rules[rule].last_read):
        j = program.reads[i]
        n_changed += genome[j] != row[j]
    return n_changed


@inner
def rule_holds(program: Program, rule: Whole, genome: Floats, row: Floats, room: Records) -> bool:
    """Whether one rule holds."""
    it = program.rules[rule]
    if it.kind == FORMULA:
        return run(program.operations, it.begin, it.end, genome, row, room)
    n_changed = count_changed(program, rule, genome, row)
    if it.kind == COUNT:
        return bool(n_changed <= it.most)
    return bool(n_changed == 0 or n_changed == it.last_read - it.first_read)


@inner
def next_broken(start: Whole, program: Program, genome: Floats, row: Floats, room: Records) -> int:
    """Return the first rule from `start` on, and round again, that does not hold, or -1."""
    n_rules = len(program.rules)
    for i in range(n_rules):
        rule = int((start + i) % n_rules)
        if not rule_holds(program, rule, genome, row, room):
            return rule
    return -1


def holds_all(program: Program, genomes: Floats, row: Floats) -> Bools:
    """Return for which of the genomes (n, d) of a row (d,) all rules hold.

    Examples
    --------
    >>> from counterpoint.rules.normal_form import Constant, Formula, Gene, Relation
    >>> from counterpoint.rules.program import compile_rules
    >>> rule = Formula(Relation("<=", Gene(0), Constant(5.0)))
    >>> program = compile_rules([rule], blur=np.ones(1))
    >>> holds_all(program, np.array([[4.0], [6.0]]), np.array([4.0]))
    array([ True, False])
    """
    answers = np.empty(len(genomes), dtype=np.bool_)
    _hold_all(program, genomes, row, make_room(program), answers)
    return answers


@kernel
def _hold_all(
    program: Program, genomes: Floats, row: Floats, room: Records, answers: Bools
) -> None:
    """Write for which of the genomes (n, d) all rules hold."""
    for i in range(len(genomes)):
        answers[i] = next_broken(0, program, genomes[i], row, room) < 0
