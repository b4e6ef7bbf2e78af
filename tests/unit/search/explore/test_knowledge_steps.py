from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint.models.additive import AdditiveModel
from counterpoint.search.explore.knowledge import (
    across_thresholds,
    once,
    spaced_columns,
    step_values,
)

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


def least_of_leaves(model: DecisionTreeClassifier, row: np.ndarray, wanted: int) -> float:
    """Return the least distance to a leaf of a class: the row is moved into each of them."""
    tree, least = model.tree_, np.inf
    boxes = [(0, row.copy())]
    while boxes:
        node, moved = boxes.pop()
        if tree.children_left[node] < 0:
            if np.argmax(tree.value[node, 0]) == wanted:
                least = min(least, np.abs(moved - row).mean())
            continue
        j, left, right = tree.feature[node], moved.copy(), moved.copy()
        values = (np.floor(tree.threshold[node] * 1e4) + np.arange(-1.0, 3.0)) / 1e4
        is_left = values.astype(np.float32) <= tree.threshold[node]  # as the tree compares
        left[j] = min(moved[j], values[is_left].max())
        right[j] = max(moved[j], values[~is_left].min())
        boxes += [(tree.children_left[node], left), (tree.children_right[node], right)]
    return float(least)


@settings(max_examples=40)  # each is a whole search
@given(seed=st.integers(0, 50), i=st.integers(2, 299))
def test_of_a_single_tree_the_nearest_leaf_is_found(seed: int, i: int) -> None:
    model = DecisionTreeClassifier(max_depth=5, max_features=3, random_state=seed)
    row, wanted = DATA[i : i + 1], 1 - int(model.fit(DATA, LABELS).predict(DATA[i : i + 1])[0])

    found = cp.Explainer(model, DATA).explain(row, wanted).valid()

    least = least_of_leaves(model, DATA.iloc[i].to_numpy(), wanted)
    assert found.to_frame()["distance"].min() == pytest.approx(least, abs=1e-9)


def test_what_is_made_of_the_data_is_made_once_for_each_request() -> None:
    data = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "pay": [1.0, 2.0, 3.0, 4.0]})
    observed = cp.Explainer(lambda rows: rows["age"] / 100, data).observed

    columns = once(observed, spaced_columns, 3)

    assert [column.tolist() for column in columns] == [[20.0, 30.0, 50.0], [1.0, 2.0, 4.0]]
    assert once(observed, spaced_columns, 3) is columns
    assert [len(column) for column in once(observed, spaced_columns, 9)] == [4, 4]
