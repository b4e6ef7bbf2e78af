"""What operators, comparisons and steps mean in a rule, round-off included: written here, once.

Two numbers are the same if they differ by round-off only: ``0.1 + 0.2 = 0.3`` holds, and so does
``<=``, while ``<`` does not. What round-off can be is estimated beside every value as its `size`:
the sum of the magnitudes it was made of. Two values are the same if they differ by less than
`ROUND_OFF` of their sizes. Values of a float32 column are rounded more coarsely, and count for as
much more.

`program` compiles the functions of numbers for its kernels. Intervals, which `propagation` needs,
are made of the same functions at their ends, and linear functions of the same at their slopes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Floats
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


# Linear functions


class Linear(NamedTuple):
    """A constant, and a slope for each feature."""

    constant: float
    slopes: dict[int, float]


def combine_linear(operator: Operator, left: Linear | None, right: Linear | None) -> Linear | None:
    """Return the result of an operator as a linear function; None if it, or an operand, is none.

    Examples
    --------
    >>> combine_linear("*", Linear(2.0, {}), Linear(1.0, {0: 3.0}))
    Linear(constant=2.0, slopes={0: 6.0})
    """
    if left is None or right is None:
        return None
    if operator in ("+", "-"):
        slopes = {
            j: _calculate(operator, left.slopes.get(j, 0.0), right.slopes.get(j, 0.0))
            for j in dict.fromkeys((*left.slopes, *right.slopes))
        }
        return Linear(_calculate(operator, left.constant, right.constant), slopes)
    if operator == "*" and not left.slopes:
        left, right = right, left
    factor = _calculate(operator, 1.0, right.constant)
    if right.slopes or math.isnan(factor):
        return None
    return Linear(left.constant * factor, {j: s * factor for j, s in left.slopes.items()})


def _calculate(operator: Operator, left: float, right: float) -> float:
    """Return the result of an operator on two exact numbers."""
    return combine(OPERATORS[operator], left, right, abs(left), abs(right))[0]
