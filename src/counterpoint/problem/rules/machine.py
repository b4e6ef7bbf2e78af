"""Kernels that run a program of rules on one genome; none of them makes an array.

The value of operation p is kept at place p of the scratch, so that nothing is pushed or popped and
every part of a rule keeps its value for `repair` to look at.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Bools, Floats, Whole
from counterpoint.kernels import inner, kernel
from counterpoint.problem.rules.program import (
    ADD,
    AND,
    CHANGED,
    COUNT,
    EQUAL,
    FIRST_TEST,
    FORMULA,
    GENE,
    LESS,
    LESS_EQUAL,
    MORE,
    MORE_EQUAL,
    MULTIPLY,
    NUMBER,
    ON_STEP,
    OWN,
    SUBTRACT,
    UNCHANGED,
    UNEQUAL,
    Program,
    Records,
)
from counterpoint.problem.rules.rounding import OFF_STEP, ROUND_OFF

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
    >>> from counterpoint.problem.rules.core import Constant, Formula, Gene, Relation
    >>> from counterpoint.problem.rules.program import compile_rules
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
