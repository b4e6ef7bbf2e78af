"""The exact optimum, against all rows there are."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case, NotApplicable
from benchmarks.methods.optimum import optimum
from benchmarks.methods.programs import Program
from benchmarks.peers.subjects import Floats
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.cases import fitted, other_class
from tests.logistic import square

ALL = np.array(list(product(range(5), range(7), range(3), range(4))), dtype=np.float64)
ESTIMATORS = {
    "tree": (DecisionTreeClassifier(max_depth=4, random_state=0), 3),
    "forest": (RandomForestClassifier(4, max_depth=4, random_state=0), 3),
    "forest of two classes": (RandomForestClassifier(4, max_depth=4, random_state=0), 2),
    "boosting": (GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0), 2),
    "boosting of three": (GradientBoostingClassifier(n_estimators=4, max_depth=2), 3),
    "linear": (LogisticRegression(), 2),
}


def brute_force(case: Case) -> list[tuple[int, float]]:
    """Return changes and least distance of every number of changes that allows a nearer row."""
    valid: Floats = ALL[case.reaches(ALL)]
    distances, changes = case.gower(valid), (valid != case.genome).sum(axis=1)
    found: list[tuple[int, float]] = []
    for n in range(1, 5):
        if (changes <= n).any():
            least = float(distances[changes <= n].min())
            if not found or least < found[-1][1] - 1e-9:
                found.append((n, least))
    return found


@pytest.mark.parametrize("kind", list(ESTIMATORS))
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 1000), i=st.integers(0, 149))
@example(seed=399, i=63)  # where HiGHS's presolve lost the optimum of the tree
def test_it_equals_what_trying_all_rows_finds(kind: str, seed: int, i: int) -> None:
    estimator, n_classes = ESTIMATORS[kind]
    case = other_class(fitted(estimator, seed, n_classes), i)

    found = optimum(case)

    ours = [(best.changes, best.distance) for best in found]
    expected = brute_force(case)
    assert [n for n, _ in ours] == [n for n, _ in expected]
    np.testing.assert_allclose([d for _, d in ours], [d for _, d in expected], atol=1e-9)
    assert all(case.reaches(best.genome[None])[0] for best in found)


def unit_case(model: Any, weights: tuple[float, float] = (1.0, 0.0)) -> Case:
    """Return the row (0.25, 0.5) of the unit square, searched on the reals."""
    rows = square()
    model.fit(rows, (rows @ np.array(weights) > 0.72).astype(int))
    background = Background(model, rows, precision="full")
    return Case(background, pd.DataFrame({"x": [0.25], "y": [0.5]}), 1)


def test_a_line_is_as_far_as_geometry_says() -> None:
    case = unit_case(LogisticRegression(C=1e4, max_iter=1000))
    model = case.model
    model.coef_, model.intercept_ = np.array([[2.0, 1.0]]), np.array([-2.0])

    found = optimum(case)

    # 2 * 0.25 + 0.5 lacks 1: x alone must move by 0.5, and y, worth half, cannot help.
    assert [best.changes for best in found] == [1]
    assert found[0].distance == pytest.approx(0.25, abs=1e-6)
    np.testing.assert_allclose(found[0].genome, [0.75, 0.5], atol=1e-6)


def test_a_line_may_need_two_changes() -> None:
    case = unit_case(LogisticRegression())
    case.model.coef_, case.model.intercept_ = np.array([[2.0, 1.0]]), np.array([-2.9])

    found = optimum(case)

    # x at its end of 1 brings 2.5 of 2.9, and y the rest.
    assert [best.changes for best in found] == [2]
    np.testing.assert_allclose(found[0].genome, [1.0, 0.9], atol=1e-6)


def test_a_stump_is_left_just_beyond_its_threshold() -> None:
    case = unit_case(DecisionTreeClassifier(max_depth=1))

    found = optimum(case)

    assert [best.changes for best in found] == [1]
    assert found[0].distance == pytest.approx((0.725 - 0.25) / 2, abs=1e-6)


@pytest.mark.filterwarnings("ignore:the model says the same of all")
def test_what_cannot_be_reached_has_no_optimum() -> None:
    case = unit_case(LogisticRegression())
    case.model.intercept_ = np.array([-1e6])

    assert optimum(case) == []


def test_other_models_are_refused() -> None:
    case = other_class(fitted(AdaBoostClassifier(n_estimators=2), 0), 0)

    with pytest.raises(NotApplicable, match="AdaBoostClassifier has no linear score of two"):
        optimum(case)


def test_a_program_without_a_solution_says_so() -> None:
    program = Program()
    choice = program.add(cost=1.0)
    program.require({choice: 1.0}, low=2.0)

    assert program.solve() is None
