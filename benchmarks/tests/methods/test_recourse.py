"""Recourse: the cheapest actions, against every action there is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case, NotApplicable
from benchmarks.methods.inputs import linear_score
from benchmarks.methods.recourse import Percentiles, Recourse, feasible_actions, total_cost
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from tests.cases import fitted, other_class
from tests.logistic import square


def linear_case(weights: tuple[float, float], boundary: float) -> Case:
    """Return the middle of the square before a line that it must cross."""
    rows = square()
    model = LogisticRegression()
    model.fit(rows, (rows["x"] > 0.5).astype(int))
    model.coef_ = np.array([weights])
    model.intercept_ = np.array([-boundary - 0.5 * sum(weights)])
    return Case(Background(model, rows), pd.DataFrame({"x": [0.5], "y": [0.5]}), 1)


def test_one_feature_moves_to_the_first_step_beyond_the_boundary() -> None:
    case = linear_case((1.0, 0.0), 0.113)

    found = Recourse().explain(case)

    assert len(found) == 1  # y does not count for the model, so x alone can change
    np.testing.assert_allclose(found.to_numpy(), [[0.62, 0.5]], atol=1e-9)


def test_a_shift_costs_the_log_of_the_share_that_is_still_above() -> None:
    shares = Percentiles(np.array([0.0, 1.0, 2.0]), np.array([0.2, 0.6, 0.8]))

    up, down = shares.cost(0.0, np.array([1.0])), shares.cost(2.0, np.array([0.5]))

    assert up[0] == pytest.approx(np.log(0.8 / 0.4))
    assert down[0] == pytest.approx(np.log(0.6 / 0.2))


@settings(max_examples=15, deadline=None)
@given(
    x=st.floats(-2.0, 2.0).filter(lambda w: abs(w) > 0.2),
    y=st.floats(-2.0, 2.0).filter(lambda w: abs(w) > 0.2),
    boundary=st.floats(0.05, 1.2),
)
def test_the_first_item_is_the_cheapest_of_all_actions(x: float, y: float, boundary: float) -> None:
    case = linear_case((x, y), boundary)
    score = linear_score(case)
    values = [np.append(feasible_actions(case, score, j).genes, 0.5) for j in (0, 1)]
    all_ = np.array([[a, b] for a in values[0] for b in values[1]])
    valid = all_[case.reaches(all_)]

    found = case.codec.encode(Recourse().explain(case))

    if len(valid) == 0:
        assert len(found) == 0
        return
    costs = total_cost(case, found)
    assert costs[0] == pytest.approx(total_cost(case, valid).min(), abs=1e-9)
    # Each set of features appears once, at its own least cost, and the cheapest come first.
    sets = [tuple(changed) for changed in np.abs(found - 0.5) > 1e-9]
    assert len(set(sets)) == len(sets)
    assert (np.diff(costs) >= -1e-9).all()
    for changed, cost in zip(sets, costs, strict=True):
        alike = valid[((np.abs(valid - 0.5) > 1e-9) == changed).all(axis=1)]
        assert cost == pytest.approx(total_cost(case, alike).min(), abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), i=st.integers(0, 149))
def test_items_reach_the_target_with_one_level_per_feature(seed: int, i: int) -> None:
    background = fitted(LogisticRegression(), seed)
    case = other_class(background, i)

    found = Recourse(n_items=4).explain(case)

    genomes = case.codec.encode(found)
    assert case.reaches(genomes).all()
    assert (genomes >= 0).all()  # -1 would be a level nobody observed
    assert len(found) > 0
    assert (genomes == np.rint(genomes)).all()  # integers move in whole steps


def test_a_row_on_the_right_side_is_refused() -> None:
    with pytest.raises(NotApplicable, match="the row reaches the target already"):
        Recourse().explain(linear_case((1.0, 0.0), -0.1))


def test_a_boundary_out_of_reach_is_said() -> None:
    found = Recourse().explain(linear_case((1.0, 0.0), 5.0))

    assert len(found) == 0
    assert found.attrs["reason"] == "no action turns the classifier"
