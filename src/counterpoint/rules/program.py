"""Rules as flat arrays, and the kernels that run them on one genome: they have the last word.

Every rule is a run of operations in postfix order: the operands of operation p end at ``p - 1``
and, if there are two, at ``left[p]``. The value of operation p is kept at place p of the scratch,
so that nothing is pushed or popped and every part of a rule keeps its value for `repair` to look
at. What each operation means is written in `normal_form`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Whole
from counterpoint.kernels import inner, kernel
from counterpoint.rules import normal_form as normal
from counterpoint.rules.normal_form import COMPARATORS, DIVIDE, INCOMPARABLE, LESS, OPERATORS
from counterpoint.rules.tree import Comparator

# Operations: first those on two values (see `OPERATORS`), then values, then tests (the leaves of a
# condition), then what joins conditions. A comparison is `COMPARE` plus the orders that satisfy it.
NUMBER, GENE, OWN = range(DIVIDE + 1, DIVIDE + 4)
COMPARE = OWN
EQUAL, UNEQUAL = COMPARE + COMPARATORS["="], COMPARE + COMPARATORS["!="]
FIRST_TEST, LAST_COMPARISON = COMPARE + LESS, COMPARE + COMPARATORS[">="]
CHANGED, UNCHANGED, ON_STEPS, OFF_STEPS, AND, OR = range(LAST_COMPARISON + 1, LAST_COMPARISON + 7)

FORMULA, COUNT, GROUP = range(3)
KINDS = {normal.Formula: FORMULA, normal.Count: COUNT, normal.Group: GROUP}


# Records: one argument of a kernel instead of six, which it compiles faster.
OPERATION = np.dtype(
    [
        ("operation", np.int64),  # what to do
        ("feature", np.int64),  # the feature it reads, if any
        ("left", np.int64),  # where its left operand ends; the right one ends just before it
        ("begin", np.int64),  # where its first operand begins
        ("number", np.float64),  # the constant or the step it takes, if any
        ("rounding", np.float64),  # how much more the feature is rounded than float64
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
    """k rules of m operations in all, which read l features."""

    operations: Records  # (m,): the operations of all rules; see `OPERATION`
    rules: Records  # (k,): what belongs to each rule; see `RULE`
    reads: Ints  # (l,): the features the rules read of the candidate, rule by rule


def compile_rules(rules: Sequence[normal.NormalRule], rounding: Floats) -> Program:
    """Return the program of some rules over d features, given their `rounding` (d,).

    Examples
    --------
    >>> below = normal.Relation("<=", normal.Gene(0), normal.Constant(5.0))
    >>> program = compile_rules([normal.Formula(below)], rounding=np.ones(1))
    >>> program.operations["operation"].tolist() == [GENE, NUMBER, COMPARE + COMPARATORS["<="]]
    True
    """
    writer = _Writer(rounding)
    begins, reads = [0], [sorted(set(normal.genes_of(rule))) for rule in rules]
    for rule in rules:
        if isinstance(rule, normal.Formula):
            writer.condition(rule.condition)
        begins.append(len(writer.lines))
    ends = np.cumsum([0, *map(len, reads)])
    records = [
        (KINDS[type(rule)], begins[i], begins[i + 1], ends[i], ends[i + 1], getattr(rule, "n", 0))
        for i, rule in enumerate(rules)
    ]
    return Program(
        np.array(writer.lines, OPERATION),
        np.array(records, RULE),
        np.array([j for features in reads for j in features], dtype=np.int64),
    )


class _Writer:
    """The operations of a program so far, as `OPERATION` has them."""

    def __init__(self, rounding: Floats) -> None:
        self.rounding = rounding
        self.lines: list[tuple[int, int, int, int, float, float]] = []

    def leaf(self, operation: int, j: int = 0, number: float = 0.0) -> None:
        """Write an operation without operands."""
        self.lines.append((operation, j, 0, len(self.lines), number, self.rounding[j]))

    def node(self, operation: int, begin: int, left: int) -> None:
        """Write an operation on the operand that ends at `left` and the one written last."""
        self.lines.append((operation, 0, left, begin, 0.0, 1.0))

    def value(self, value: normal.NormalValue) -> None:
        """Write a value."""
        match value:
            case normal.Constant(number):
                self.leaf(NUMBER, number=number)
            case normal.Gene(j):
                self.leaf(GENE, j)
            case normal.RowValue(j):
                self.leaf(OWN, j)
            case normal.Calculation(first, rest):
                begin = len(self.lines)
                self.value(first)
                for operator, operand in rest:
                    left = len(self.lines) - 1
                    self.value(operand)
                    self.node(OPERATORS[operator], begin, left)

    def condition(self, condition: normal.NormalCondition) -> None:
        """Write a condition."""
        begin = len(self.lines)
        match condition:
            case normal.Relation(comparator, first, second):
                self.value(first)
                left = len(self.lines) - 1
                self.value(second)
                self.node(COMPARE + COMPARATORS[comparator], begin, left)
            case normal.Among(j, values, is_in):
                sign: Comparator = "=" if is_in else "!="
                parts = tuple(
                    normal.Relation(sign, normal.Gene(j), normal.Constant(value))
                    for value in values
                )
                self.condition(normal.Some(parts) if is_in else normal.All(parts))
            case normal.Differs(j, is_changed):
                self.leaf(CHANGED if is_changed else UNCHANGED, j)
            case normal.OnSteps(j, step, origin, is_on):
                self.value(origin)
                operation = ON_STEPS if is_on else OFF_STEPS
                self.lines.append((operation, j, 0, begin, step, self.rounding[j]))
            case normal.All(goals) | normal.Some(goals):
                self.condition(goals[0])
                for part in goals[1:]:
                    left = len(self.lines) - 1
                    self.condition(part)
                    self.node(AND if isinstance(condition, normal.All) else OR, begin, left)


# What is known of operation p while a genome is looked at, at place p of the scratch.
SCRATCH = np.dtype(
    [
        ("value", np.float64),  # what it comes to; a condition 1 or 0
        ("size", np.float64),  # how large the numbers were it was made of; a comparison its order
        ("cost", np.float64),  # how many features more are changed if a condition is made to hold
        ("new_value", np.float64),  # to what to set which feature to make a test hold
        ("feature", np.int64),
        ("is_wanted", np.bool_),  # whether a condition is to be made to hold
    ],
    align=True,
)


def make_scratch(program: Program) -> Records:
    """Return scratch for a program, shape (m,)."""
    return np.zeros(len(program.operations), SCRATCH)


combine, order_of = inner(normal.combine), inner(normal.order_of)
satisfies, is_on_step = inner(normal.satisfies), inner(normal.is_on_step)


@inner
def reads_missing(
    operations: Records, begin: Whole, end: Whole, genome: Floats, row: Floats
) -> bool:
    """Whether operations from `begin` up to `end` read a value that is missing.

    Then the comparison they are of is not broken, and its contrary is not either: a rule says
    nothing of what is not known. Conditions reach a program without negations, so that it is enough
    to let every such comparison hold.
    """
    for p in range(begin, end):
        it = operations[p]
        if it.operation == GENE and genome[it.feature] == MISSING:
            return True
        if it.operation == OWN and row[it.feature] == MISSING:
            return True
    return False


@inner
def run(
    operations: Records, begin: Whole, end: Whole, genome: Floats, row: Floats, scratch: Records
) -> bool:
    """Run operations from `begin` up to `end`; return whether the last one, a condition, holds."""
    for p in range(begin, end):
        it, here, left, right = (
            operations[p],
            scratch[p],
            scratch[operations[p].left],
            scratch[max(p - 1, 0)],
        )
        operation, j = it.operation, it.feature
        if operation <= DIVIDE:
            here.value, here.size = combine(
                operation, left.value, right.value, left.size, right.size
            )
        elif operation == NUMBER:
            here.value = it.number
            here.size = abs(it.number)
        elif operation <= OWN:
            here.value = genome[j] if operation == GENE else row[j]
            if here.value == MISSING:
                here.value = np.nan  # no calculation with it can be compared
            here.size = abs(here.value) * it.rounding
        elif operation <= LAST_COMPARISON:
            here.size = order_of(left.value, right.value, left.size + right.size)
            is_met = satisfies(here.size, operation - COMPARE)
            if here.size == INCOMPARABLE:
                is_met = reads_missing(operations, it.begin, p, genome, row)
            here.value = 1.0 if is_met else 0.0
        elif operation <= UNCHANGED:
            here.value = 1.0 if (genome[j] != row[j]) == (operation == CHANGED) else 0.0
        elif operation < AND:
            is_on = is_on_step(genome[j], right.value, it.number, abs(genome[j]) * it.rounding)
            is_met = is_on == (operation == ON_STEPS)
            if genome[j] == MISSING or np.isnan(right.value):
                is_met = True
            here.value = 1.0 if is_met else 0.0
        elif operation == AND:
            here.value = min(left.value, right.value)
        else:
            here.value = max(left.value, right.value)
    return bool(scratch[end - 1].value == 1.0)


@inner
def count_changed(program: Program, rule: Whole, genome: Floats, row: Floats) -> int:
    """Return how many of the features a rule reads are changed."""
    n_changed = 0
    for i in range(program.rules[rule].first_read, program.rules[rule].last_read):
        j = program.reads[i]
        n_changed += genome[j] != row[j]
    return n_changed


@inner
def rule_holds(
    program: Program, rule: Whole, genome: Floats, row: Floats, scratch: Records
) -> bool:
    """Whether one rule holds."""
    it = program.rules[rule]
    if it.kind == FORMULA:
        return run(program.operations, it.begin, it.end, genome, row, scratch)
    n_changed = count_changed(program, rule, genome, row)
    if it.kind == COUNT:
        return bool(n_changed <= it.most)
    return bool(n_changed == 0 or n_changed == it.last_read - it.first_read)


@inner
def next_broken(
    start: Whole, program: Program, genome: Floats, row: Floats, scratch: Records
) -> int:
    """Return the first rule from `start` on, and round again, that does not hold, or -1."""
    n_rules = len(program.rules)
    for i in range(n_rules):
        rule = int((start + i) % n_rules)
        if not rule_holds(program, rule, genome, row, scratch):
            return rule
    return -1


def judge(program: Program, genomes: Floats, row: Floats) -> Bools:
    """Return for genomes (n, d) of a row (d,) which of the k rules hold, shape (n, k).

    Examples
    --------
    >>> below = normal.Relation("<=", normal.Gene(0), normal.Constant(5.0))
    >>> program = compile_rules([normal.Formula(below)], rounding=np.ones(1))
    >>> judge(program, np.array([[4.0], [6.0]]), np.array([4.0]))
    array([[ True],
           [False]])
    """
    answers = np.ones((len(genomes), len(program.rules)), dtype=np.bool_)
    genomes, row = (np.require(each, np.float64, ["C", "W"]) for each in (genomes, row))
    _judge(program, genomes, row, make_scratch(program), answers)
    return answers


@kernel
def _judge(
    program: Program, genomes: Floats, row: Floats, scratch: Records, answers: Bools
) -> None:
    """Write for each of the genomes (n, d) which of the k rules hold."""
    for i in range(len(genomes)):
        for rule in range(len(program.rules)):
            answers[i, rule] = rule_holds(program, rule, genomes[i], row, scratch)
