"""What a rule means, in NumPy and from the tree itself: what the compiled program is held to.

Truth has three values, because a comparison that divides by zero is neither true nor false. They
are ordered false < unknown < true, so that "and" is the minimum, "or" the maximum and "not" the
sign. A rule holds where it is true. `b = 0 or a / b > 2` therefore holds where b is 0, and neither
`a / b > 2` nor `not a / b > 2` does.

What a comparison of a missing value would say is what the rule needs: true where truth helps it,
false below a "not". `favour` is which of them.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.rules import tree
from counterpoint.rules.normal_form import OFF_STEP, ROUND_OFF, member_value
from counterpoint.rules.rules import Rules

FALSE, UNKNOWN, TRUE = -1, 0, 1
Truths = NDArray[np.int8]


class Genomes(NamedTuple):
    """What a rule is evaluated on: genomes (n, d), the row's genome (d,), their rounding (d,)."""

    genomes: Floats
    row: Floats
    rounding: Floats
    favour: int = 1

    @property
    def contrary(self) -> Genomes:
        """The same below a "not"."""
        return self._replace(favour=-self.favour)


class Rough(NamedTuple):
    """Values (n,), the sizes of what they were made of, and whether some of that is missing."""

    value: Floats
    size: Floats
    is_missing: Bools


def verdicts(rules: Rules, genomes: Floats, row: Floats) -> Bools:
    """Return for genomes (n, d) which of the k written rules hold, shape (n, k)."""
    answers = np.ones((len(genomes), len(rules.written)), dtype=np.bool_)
    for i, rule in enumerate(rules.written):
        assert rule.statement is not None
        answers[:, i] = holds(rule.statement, genomes, row, rules.rounding)
    return answers


def holds(statement: tree.Statement, genomes: Floats, row: Floats, rounding: Floats) -> Bools:
    """Return for which of the genomes (n, d) of a row (d,) a checked rule holds."""
    given = Genomes(genomes, row, rounding)
    match statement:
        case tree.Fixed(features):
            return np.asarray(~changed(features, given).any(axis=1))
        case tree.AtMost(n, features):
            counted = changed(features, given) if features else genomes != row
            return np.asarray(counted.sum(axis=1) <= n)
        case tree.Together(features):
            differs = changed(features, given)
            return np.asarray(differs.all(axis=1) | ~differs.any(axis=1))
        case _:
            with np.errstate(all="ignore"):  # what overflows or divides by zero is unknown
                is_true = truth(statement, given) == TRUE
            return np.ascontiguousarray(np.broadcast_to(is_true, len(genomes)))


def changed(features: tuple[tree.Word, ...], given: Genomes) -> Bools:
    """Return which of the features differ from the row's, shape (n, number of features)."""
    places = [word.place for word in features]
    return np.asarray(given.genomes[:, places] != given.row[places])


def truth(node: tree.Condition, given: Genomes) -> Truths:
    """Return the truth of a condition for each genome."""
    match node:
        case tree.Implies(premise, conclusion):
            return np.maximum(-truth(premise, given.contrary), truth(conclusion, given))
        case tree.And(parts):
            return lowest([truth(part, given) for part in parts])
        case tree.Or(parts):
            return reduce(np.maximum, [truth(part, given) for part in parts])
        case tree.Not(operand):
            return -truth(operand, given.contrary)
        case tree.Compare(left, comparator, right):
            return compare(comparator, rough(left, given), rough(right, given), given.favour)
        case tree.Changed(feature):
            return as_truths(changed((feature,), given)[:, 0])
        case tree.InSteps(feature, step, origin):
            return in_steps(feature, step, origin, given)
        case _:
            return in_phrase(node, given)


def in_phrase(node: tree.InRange | tree.InSet | tree.Moves, given: Genomes) -> Truths:
    """Return the truth of a phrase about one feature."""
    gene, favour = rough(node.feature, given), given.favour
    match node:
        case tree.InRange(_, low, high):
            ends: list[tuple[tree.Comparator, float | None]] = [(">=", low), ("<=", high)]
            return lowest(
                [compare(c, gene, constant(end), favour) for c, end in ends if end is not None]
            )
        case tree.InSet(_, members, is_negated):
            values = [member_value(member) for member in members]
            wanted = -favour if is_negated else favour
            is_in = reduce(
                np.maximum, [compare("=", gene, constant(value), wanted) for value in values]
            )
            return -is_in if is_negated else is_in
        case tree.Moves(_, direction, most):
            own = rough(tree.Was(node.feature), given)
            return moves(direction, most, gene, own, favour)


def moves(
    direction: tree.Direction, most: float | None, gene: Rough, own: Rough, favour: int
) -> Truths:
    """Return whether a feature goes only in one direction, and by at most so much."""
    found = []
    if direction == "increases":
        found.append(compare(">=", gene, own, favour))
    elif direction == "decreases":
        found.append(compare("<=", gene, own, favour))
    if most is not None:
        found.append(compare("<=", combine("-", gene, own), constant(most), favour))
        found.append(compare("<=", combine("-", own, gene), constant(most), favour))
    return lowest(found)


def in_steps(feature: tree.Word, step: float, origin: float | None, given: Genomes) -> Truths:
    """Return whether a feature is a whole number of steps from the origin."""
    gene = rough(feature, given)
    start = given.row[feature.place] if origin is None else origin
    n_steps = (gene.value - start) / step
    slack = OFF_STEP + ROUND_OFF * gene.size / step
    answers = as_truths(np.abs(n_steps - np.rint(n_steps)) <= slack)
    is_missing = gene.is_missing | (start == MISSING)
    return np.where(is_missing, np.int8(given.favour), answers)


def compare(comparator: tree.Comparator, left: Rough, right: Rough, favour: int) -> Truths:
    """Return whether values compare so; unknown where one is not finite, `favour` if missing."""
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
    known = np.where(is_known, as_truths(answers[comparator]), np.int8(UNKNOWN))
    return np.where(left.is_missing | right.is_missing, np.int8(favour), known)


def rough(node: tree.Expression, given: Genomes) -> Rough:
    """Return a value for each genome."""
    match node:
        case tree.Number(value):
            return constant(value)
        case tree.Was(feature):
            j = feature.place
            return scaled(given.row[[j]], given.rounding[j])
        case tree.Word():
            if node.role is tree.Role.LEVEL:
                return constant(float(node.place))
            return scaled(given.genomes[:, node.place], given.rounding[node.place])
        case tree.Negative(operand):
            return combine("-", constant(0.0), rough(operand, given))
        case tree.Chain(first, rest):
            found = rough(first, given)
            for operator, operand in rest:
                found = combine(operator, found, rough(operand, given))
            return found


def scaled(values: Floats, rounding: float) -> Rough:
    """Return values as they are in the table."""
    return Rough(values, np.abs(values) * rounding, values == MISSING)


def constant(value: float) -> Rough:
    """Return a number that is the same for all genomes."""
    return scaled(np.array([value]), 1.0)


def combine(operator: tree.Operator, left: Rough, right: Rough) -> Rough:
    """Return the result of an operator; what divides by zero is not a number."""
    is_missing = left.is_missing | right.is_missing
    match operator:
        case "+":
            return Rough(left.value + right.value, left.size + right.size, is_missing)
        case "-":
            return Rough(left.value - right.value, left.size + right.size, is_missing)
        case "*":
            return Rough(left.value * right.value, left.size * right.size, is_missing)
        case "/":
            is_zero = np.abs(right.value) <= ROUND_OFF * right.size
            divisor = np.where(is_zero, np.nan, right.value)
            size = left.size / np.abs(divisor) * (right.size / np.abs(divisor))
            return Rough(left.value / divisor, size, is_missing)


def lowest(truths: list[Truths]) -> Truths:
    """Return whether all hold."""
    return reduce(np.minimum, truths)


def as_truths(answers: Bools) -> Truths:
    """Return answers that are known as truths."""
    return np.where(answers, np.int8(TRUE), np.int8(FALSE))
