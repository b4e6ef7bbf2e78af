"""Who leaves a race, against SciPy's tests and against what ranks must do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats
from benchmarks.racing import friedman
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoint.arrays import Floats


def tables(least: int = 3) -> st.SearchStrategy[Floats]:
    """Costs of some configurations on some tasks, with many ties."""
    shape = st.tuples(st.integers(2, 12), st.integers(least, 7))
    return arrays(np.float64, shape, elements=st.integers(0, 6).map(float))


@given(costs=tables())
def test_the_statistic_is_scipys(costs: Floats) -> None:
    assume(any(len(set(row)) > 1 for row in costs))
    expected = scipy.stats.friedmanchisquare(*costs.T)

    statistic, p = friedman.friedman(costs)

    assert statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert p == pytest.approx(expected.pvalue, abs=1e-9)


@given(costs=arrays(np.float64, (14, 2), elements=st.integers(0, 9).map(float)))
def test_two_are_compared_as_scipy_does(costs: Floats) -> None:
    assume((costs[:, 0] != costs[:, 1]).any())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on few pairs, which is what is compared here
        expected = scipy.stats.wilcoxon(
            costs[:, 0], costs[:, 1], correction=True, method="asymptotic", keepdims=True
        )

    p = friedman.wilcoxon(costs[:, 0], costs[:, 1])

    assert p == pytest.approx(min(1.0, expected.pvalue.item()), abs=1e-9)


def test_ties_everywhere_prove_nothing() -> None:
    costs = np.ones((9, 4))

    assert friedman.friedman(costs) == (0.0, 1.0)
    assert friedman.wilcoxon(costs[:, 0], costs[:, 1]) == 1.0
    assert friedman.survivors(costs).all()


def test_conovers_difference_on_a_case_worked_by_hand() -> None:
    """Ranks 123, 123, 132: sums 3, 7, 8, squares 42, so 2 (3 * 42 - 122) / 4 = 2 is the square."""
    costs = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])

    difference = friedman.critical_difference(costs, 0.95)

    assert difference == pytest.approx(scipy.stats.t.ppf(0.975, 4) * np.sqrt(2.0))


@given(costs=tables(least=2), shift=st.integers(-3, 3))
def test_the_best_stays_and_only_ranks_count(costs: Floats, shift: int) -> None:
    stays = friedman.survivors(costs)
    per_task = np.arange(len(costs))[:, None]  # each task has a scale and a shift of its own

    again = friedman.survivors(np.exp(costs / 3.0) * (1.0 + per_task) + shift * per_task)

    assert stays[friedman.rank_sums(costs).argmin()]
    if costs.shape[1] > 2:  # signed ranks compare differences between tasks
        np.testing.assert_array_equal(stays, again)


@given(costs=tables(), data=st.data())
def test_the_order_of_configurations_does_not_matter(costs: Floats, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(costs.shape[1])))

    stays = friedman.survivors(costs[:, order])

    np.testing.assert_array_equal(stays, friedman.survivors(costs)[order])


def test_who_always_fails_leaves() -> None:
    costs = np.column_stack([np.arange(10.0), np.full(10, np.inf)])

    assert friedman.survivors(costs).tolist() == [True, False]
    three = np.column_stack([costs, np.arange(10.0) + 0.5])
    assert friedman.survivors(three).tolist() == [True, False, False]


def test_a_stricter_confidence_lets_more_go_on() -> None:
    rows = np.array([[1, 2, 3], [1, 2, 3], [2, 1, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3.0]])

    assert friedman.survivors(rows, 0.8).sum() < friedman.survivors(rows, 0.9999).sum()
