from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoint as cp
from counterpoint.models.additive import AdditiveModel
from counterpoint.search.explore.small_steps import across_thresholds, step_costs, step_values

SPREAD = np.outer(np.arange(298), np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])) % 1.0
DATA = pd.DataFrame(np.vstack([np.zeros(6), np.ones(6), SPREAD.round(4)]), columns=list("abcdef"))
LABELS = (DATA.sum(axis=1) + np.sin(np.arange(300)) / 4 > 3).astype(int)


def test_steps_lead_just_across_the_thresholds_of_a_forest() -> None:
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(DATA, LABELS)
    problem = cp.Explainer(model, DATA).explain(DATA[:1], 1).problem
    additive = problem.predictor.additive
    assert isinstance(additive, AdditiveModel)
    assert additive.forest is not None
    thresholds = {
        (tree.tree_.feature[i], tree.tree_.threshold[i])
        for tree in model.estimators_
        for i in np.flatnonzero(tree.tree_.children_left >= 0)
    }

    for j in range(6):
        below, above = across_thresholds(additive.forest, j, problem.space)
        own = np.array(sorted(threshold for feature, threshold in thresholds if feature == j))
        for threshold in own:
            singles = below.astype(np.float32), above.astype(np.float32)  # as the forest compares
            k = int(np.searchsorted(singles[1], threshold, side="right"))
            assert singles[0][k] <= threshold < singles[1][k]
            assert above[k] - below[k] == pytest.approx(1e-4)


def test_steps_of_other_models_are_observed_values() -> None:
    problem = (
        cp.Explainer(lambda rows: rows.to_numpy().sum(axis=1), DATA)
        .explain(DATA[:1], (1.0, None))
        .problem
    )

    steps = step_values(problem.observed, None)

    for j, name in enumerate(DATA):
        expected = np.unique(DATA[name])
        np.testing.assert_array_equal(steps.below[j, : steps.n_values[j]], expected)
        np.testing.assert_array_equal(steps.above, steps.below)


@pytest.mark.parametrize(
    ("power", "function"),
    [
        (1.0, lambda rows, row: (abs(rows - row.to_numpy()) * [1, 2, 3, 4, 5, 6]).sum(axis=1)),
        (2.0, lambda rows, row: np.sqrt(((rows - row.to_numpy()) ** 2).sum(axis=1))),
        (0.0, lambda rows, row: abs(rows - row.to_numpy()).max(axis=1)),
    ],
)
def test_a_distance_of_the_callers_is_known_where_its_powers_add_up(
    power: float, function: Any
) -> None:
    distance = cp.Distance("own", function)
    explainer = cp.Explainer(lambda rows: rows.to_numpy().sum(axis=1), DATA, distance=distance)
    problem = explainer.explain(DATA[5:6], (4.0, None), cp.Search(evaluations=100)).problem

    costs = step_costs(problem)

    assert costs.power.tolist() == [power]
    if power:
        other = DATA.iloc[9].to_numpy()
        expected = function(DATA[9:10], DATA.iloc[5]).iloc[0] ** power
        steps = np.abs(other - DATA.iloc[5].to_numpy()) * costs.weight[0]
        assert (steps**power).sum() == pytest.approx(expected, rel=1e-6)


def test_the_nearest_by_euclid_is_found_in_many_small_steps() -> None:
    distance = cp.Distance(
        "euclid", lambda rows, row: np.linalg.norm(rows - row.to_numpy(), axis=1)
    )
    explainer = cp.Explainer(
        lambda rows: rows.to_numpy().sum(axis=1), DATA, distance=distance, precision="full"
    )

    found = explainer.explain(DATA[:1], (1.2, None))

    assert found.to_frame()["euclid"].min() == pytest.approx(1.2 / np.sqrt(6), rel=0.02)
