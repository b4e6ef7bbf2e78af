from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from counterpoint.rules.normal_form import (
    COMPARATORS,
    CONTRARY,
    INCOMPARABLE,
    LESS,
    MORE,
    OPERATORS,
    ROUND_OFF,
    SAME,
    Interval,
    combine,
    combine_intervals,
    compare_intervals,
    is_on_step,
    order_of,
    satisfies,
)
from counterpoint.rules.propagation import Linear, combine_linear
from counterpoint.rules.tree import Comparator, Operator

operators = st.sampled_from(list(OPERATORS))
comparators = st.sampled_from(list(COMPARATORS))
numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 0.2, 0.3, -0.3, 1.0])


def interval(ends: list[float]) -> Interval:
    return Interval(min(ends), max(ends), max(map(abs, ends)))


intervals = st.lists(numbers, min_size=1, max_size=2).map(interval)
shares = st.floats(0.0, 1.0)


def point(it: Interval, share: float) -> float:
    return min(max(it.low + share * (it.high - it.low), it.low), it.high)


@given(operators, intervals, intervals, shares, shares)
def test_an_interval_holds_every_value_that_its_operands_can_give(
    operator: Operator, left: Interval, right: Interval, u: float, v: float
) -> None:
    a, b = point(left, u), point(right, v)

    found = combine_intervals(operator, left, right)
    value, size = combine(OPERATORS[operator], a, b, abs(a), abs(b))

    assume(not math.isnan(value))
    slack = ROUND_OFF * found.size
    # Alone where a quotient overflows: inf - inf is no number.
    is_inside = found.low <= value <= found.high
    assert is_inside or found.low - slack <= value <= found.high + slack
    assert size <= found.size * (1.0 + 1e-9) or math.isinf(found.size)


@given(comparators, intervals, intervals, shares, shares)
def test_what_holds_for_intervals_holds_for_their_values(
    comparator: Comparator, left: Interval, right: Interval, u: float, v: float
) -> None:
    a, b = point(left, u), point(right, v)

    answer = compare_intervals(comparator, left, right)

    order = order_of(a, b, abs(a) + abs(b))
    assert answer in (None, satisfies(order, COMPARATORS[comparator]))


@pytest.mark.parametrize("comparator", COMPARATORS)
def test_a_comparator_and_its_contrary_share_the_orders_out(comparator: Comparator) -> None:
    both = COMPARATORS[comparator], COMPARATORS[CONTRARY[comparator]]

    assert [satisfies(INCOMPARABLE, orders) for orders in both] == [False, False]
    for order in (-1.0, 0.0, 1.0):
        assert sum(satisfies(order, orders) for orders in both) == 1


def test_orders_are_told_apart() -> None:
    assert [satisfies(order, LESS) for order in (-1.0, 0.0, 1.0)] == [True, False, False]
    assert [satisfies(order, SAME) for order in (-1.0, 0.0, 1.0)] == [False, True, False]
    assert [satisfies(order, MORE) for order in (-1.0, 0.0, 1.0)] == [False, False, True]


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        (0.1 + 0.2, 0.3, 0.0),
        (0.3 + 1e-9, 0.3, 1.0),
        (-1.0, 1.0, -1.0),
        (math.nan, 1.0, INCOMPARABLE),
        (math.inf, 1.0, INCOMPARABLE),
    ],
)
def test_round_off_is_no_difference(left: float, right: float, order: float) -> None:
    assert order_of(left, right, abs(left) + abs(right)) == order


def test_what_is_zero_but_for_round_off_divides_nothing() -> None:
    zero, size = 0.1 + 0.2 - 0.3, 0.6

    assert all(map(math.isnan, combine(OPERATORS["/"], 1.0, zero, 1.0, size)))


def test_a_quotient_may_be_anywhere_if_its_divisor_may_be_zero() -> None:
    always, perhaps = Interval(0.0, 0.0, 0.0), Interval(-1.0, 1.0, 1.0)
    one = Interval(1.0, 1.0, 1.0)

    assert math.isnan(combine_intervals("/", one, always).size)
    assert combine_intervals("/", one, perhaps) == (-math.inf, math.inf, math.inf)
    assert compare_intervals(">", combine_intervals("/", one, always), one) is False
    assert compare_intervals(">", combine_intervals("/", one, perhaps), one) is None


lines = st.builds(
    Linear, st.integers(-5, 5).map(float), st.dictionaries(st.integers(0, 2), st.just(2.0))
)


def value_at(line: Linear, features: tuple[float, ...]) -> float:
    return line.constant + sum(slope * features[j] for j, slope in line.slopes.items())


@given(operators, lines, lines)
def test_a_linear_function_has_the_values_of_its_operands(
    operator: Operator, left: Linear, right: Linear
) -> None:
    found = combine_linear(operator, left, right)

    if found is None:
        assert operator in ("*", "/")
        assert right.slopes or right.constant == 0.0
        return
    for features in itertools.product([-1.0, 0.5, 3.0], repeat=3):
        a, b = value_at(left, features), value_at(right, features)
        expected = combine(OPERATORS[operator], a, b, abs(a), abs(b))[0]
        assert value_at(found, features) == pytest.approx(expected)


def test_what_is_not_linear_stays_so() -> None:
    x = Linear(0.0, {0: 1.0})

    assert combine_linear("*", x, x) is None
    assert combine_linear("/", Linear(1.0, {}), x) is None
    assert combine_linear("+", None, x) is None


@pytest.mark.parametrize(
    ("value", "is_on"), [(1.5, True), (1.5 + 1e-9, True), (1.51, False), (-0.5, True)]
)
def test_steps_are_counted_from_the_origin(value: float, is_on: bool) -> None:
    assert is_on_step(value, 0.5, 1.0, abs(value)) is is_on


def test_float32_is_rounded_more_coarsely() -> None:
    third = float(np.float32(1 / 3))

    assert order_of(third, 1 / 3, 2 / 3) == 1.0
    assert order_of(third, 1 / 3, third * 2.0**-23 / ROUND_OFF) == 0.0
