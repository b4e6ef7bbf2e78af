"""Whether rules hold for many genomes at once: the tree itself, in NumPy.

Truth has three values, because a comparison that divides by zero is neither true nor false. They
are ordered false < unknown < true, so that "and" is the minimum, "or" the maximum and "not" the
sign. A rule holds where it is true. `b = 0 or a / b > 2` therefore holds where b is 0, and neither
`a / b > 2` nor `not a / b > 2` does.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import Bools, Floats
from counterpoint.rules import tree as syntax
from counterpoint.rules.normal_form import member_value
from counterpoint.rules.program import OFF_STEP, ROUND_OFF

FALSE, UNKNOWN, TRUE = -1, 0, 1
Truths = NDArray[np.int8]


class Ground(NamedTuple):
    """What a rule is evaluated on: genomes (n, d), the row's genome (d,), their `blur` (d,)."""

    genomes: Floats
    row: Floats
    blur: Floats


class Rough(NamedTuple):
    """Values (n,) and the sizes of what they were made of, which bound their round-off."""

    value: Floats
    size: Floats


def holds(statement: syntax.Statement, genomes: Floats, row: Floats, blur: Floats) -> Bools:
    """Return whether a checked rule holds for each of the genomes.

    Parameters
    ----------
    statement : Statement
        A rule, as `check` returns it.
    genomes : ndarray of shape (n, d)
        Candidates.
    row : ndarray of shape (d,)
        The genome of the row they explain.
    blur : ndarray of shape (d,)
        How much more each feature is rounded than float64.

    Returns
    -------
    ndarray of shape (n,)
        True where the rule holds.

    Examples
    --------
    >>> from counterpoint.rules.tree import Compare, Was, Word
    >>> age = Word("age", place=0)
    >>> genomes, row = np.array([[20.0], [30.0]]), np.array([25.0])
    >>> holds(Compare(age, ">=", Was(age)), genomes, row, np.ones(1))
    array([False,  True])
    """
    ground = Ground(genomes, row, blur)
    match statement:
        case syntax.Fixed(features):
            return np.asarray(~changed(features, ground).any(axis=1))
        case syntax.AtMost(n, features):
            counted = changed(features, ground) if features else genomes != row
            return np.asarray(counted.sum(axis=1) <= n)
        case syntax.Together(features):
            differs = changed(features, ground)
            return np.asarray(differs.all(axis=1) | ~differs.any(axis=1))
        case _:
            with np.errstate(all="ignore"):  # what overflows or divides by zero is unknown
                is_true = truth(statement, ground) == TRUE
            return np.ascontiguousarray(np.broadcast_to(is_true, len(genomes)))


def changed(features: tuple[syntax.Word, ...], ground: Ground) -> Bools:
    """Return which of the features differ from the row's, shape (n, number of features)."""
    places = [word.place for word in features]
    return np.asarray(ground.genomes[:, places] != ground.row[places])


def truth(node: syntax.Condition, ground: Ground) -> Truths:
    """Return the truth of a condition for each genome."""
    match node:
        case syntax.Implies(premise, conclusion):
            return np.maximum(-truth(premise, ground), truth(conclusion, ground))
        case syntax.And(parts):
            return lowest([truth(part, ground) for part in parts])
        case syntax.Or(parts):
            return reduce(np.maximum, [truth(part, ground) for part in parts])
        case syntax.Not(operand):
            return -truth(operand, ground)
        case syntax.Compare(left, comparator, right):
            return compare(comparator, rough(left, ground), rough(right, ground))
        case syntax.Changed(feature):
            return as_truths(changed((feature,), ground)[:, 0])
        case syntax.InSteps(feature, step, origin):
            return in_steps(feature, step, origin, ground)
        case _:
            return in_phrase(node, ground)


def in_phrase(node: syntax.InRange | syntax.InSet | syntax.Moves, ground: Ground) -> Truths:
    """Return the truth of a phrase about one feature."""
    gene = rough(node.feature, ground)
    match node:
        case syntax.InRange(_, low, high):
            ends: list[tuple[syntax.Comparator, float | None]] = [(">=", low), ("<=", high)]
            return lowest([compare(c, gene, constant(end)) for c, end in ends if end is not None])
        case syntax.InSet(_, members, is_negated):
            values = [member_value(member) for member in members]
            is_in = reduce(np.maximum, [compare("=", gene, constant(value)) for value in values])
            return -is_in if is_negated else is_in
        case syntax.Moves(_, direction, most):
            own = rough(syntax.Was(node.feature), ground)
            return moves(direction, most, gene, own)


def moves(direction: syntax.Direction, most: float | None, gene: Rough, own: Rough) -> Truths:
    """Return whether a feature goes only in one direction, and by at most so much."""
    found = []
    if direction == "increases":
        found.append(compare(">=", gene, own))
    elif direction == "decreases":
        found.append(compare("<=", gene, own))
    if most is not None:
        found.append(compare("<=", combine("-", gene, own), constant(most)))
        found.append(compare("<=", combine("-", own, gene), constant(most)))
    return lowest(found)


def in_steps(feature: syntax.Word, step: float, origin: float | None, ground: Ground) -> Truths:
    """Return whether a feature is a whole number of steps from the origin."""
    gene = rough(feature, ground)
    start = ground.row[feature.place] if origin is None else origin
    n_steps = (gene.value - start) / step
    slack = OFF_STEP + ROUND_OFF * gene.size / step
    return as_truths(np.abs(n_steps - np.rint(n_steps)) <= slack)


def compare(comparator: syntax.Comparator, left: Rough, right: Rough) -> Truths:
    """Return whether values compare so; unknown where one is not finite."""
    difference = left.value - right.value
    slack = ROUND_OFF * (left.size + right.size)
    is_same = np.abs(difference) <= slack
    is_less, is_more = ~is_same & (difference < 0.0), ~is_same & (difference > 0.0)
    answers = {
        "=": is_same,
        "!=": ~is_same,
        "<": is_less,
        "<=": ~is_more,
        ">": is_more,
        ">=": ~is_less,
    }
    is_known = np.isfinite(difference) & np.isfinite(slack)
    return np.where(is_known, as_truths(answers[comparator]), np.int8(UNKNOWN))


def rough(node: syntax.Expression, ground: Ground) -> Rough:
    """Return a value for each genome."""
    match node:
        case syntax.Number(value):
            return constant(value)
        case syntax.Was(feature):
            j = feature.place
            return scaled(ground.row[[j]], ground.blur[j])
        case syntax.Word():
            if node.role is syntax.Role.LEVEL:
                return constant(float(node.place))
            return scaled(ground.genomes[:, node.place], ground.blur[node.place])
        case syntax.Negative(operand):
            return combine("-", constant(0.0), rough(operand, ground))
        case syntax.Chain(first, rest):
            found = rough(first, ground)
            for operator, operand in rest:
                found = combine(operator, found, rough(operand, ground))
            return found


def scaled(values: Floats, blur: float) -> Rough:
    """Return values as they are in the table."""
    return Rough(values, np.abs(values) * blur)


def constant(value: float) -> Rough:
    """Return a number that is the same for all genomes."""
    return scaled(np.array([value]), 1.0)


def combine(operator: syntax.Operator, left: Rough, right: Rough) -> Rough:
    """Return the result of an operator; what divides by zero is not a number."""
    match operator:
        case "+":
            return Rough(left.value + right.value, left.size + right.size)
        case "-":
            return Rough(left.value - right.value, left.size + right.size)
        case "*":
            return Rough(left.value * right.value, left.size * right.size)
        case "/":
            is_zero = np.abs(right.value) <= ROUND_OFF * right.size
            divisor = np.where(is_zero, np.nan, right.value)
            size = left.size / np.abs(divisor) * (right.size / np.abs(divisor))
            return Rough(left.value / divisor, size)


def lowest(truths: list[Truths]) -> Truths:
    """Return whether all hold."""
    return reduce(np.minimum, truths)


def as_truths(answers: Bools) -> Truths:
    """Return answers that are known as truths."""
    return np.where(answers, np.int8(TRUE), np.int8(FALSE))
