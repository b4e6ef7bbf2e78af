"""One of several outputs is a model of its own, by index or by name."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression

import counterpoint as cp
from counterpoint.models.adapters.scorer import OneProbableOutput

ROWS = np.array([[0.0], [1.0], [2.0], [3.0]])


def test_an_output_by_index_and_by_name_is_its_column() -> None:
    model = LinearRegression().fit(ROWS, np.column_stack([ROWS, 5.0 - 2.0 * ROWS]))

    by_index, by_name = cp.one_output(model, 1), cp.one_output(model, "debt", ["pay", "debt"])

    expected = model.predict(ROWS)[:, 1]
    np.testing.assert_array_equal(by_index.predict(ROWS), expected)
    np.testing.assert_array_equal(by_name.predict(ROWS), expected)


def test_an_output_of_classes_keeps_its_own_classes_and_probabilities() -> None:
    labels = np.array([["a", "x"], ["b", "y"], ["a", "z"], ["b", "z"]])
    model = RandomForestClassifier(5, random_state=0).fit(ROWS, labels)

    second = cp.one_output(model, 1)

    assert isinstance(second, OneProbableOutput)
    assert list(second.classes_) == ["x", "y", "z"]
    np.testing.assert_array_equal(second.predict_proba(ROWS), model.predict_proba(ROWS)[1])


def test_an_output_there_is_not_is_refused() -> None:
    model = RandomForestRegressor(2, random_state=0).fit(ROWS, np.column_stack([ROWS, ROWS]))

    with pytest.raises(cp.InvalidInput, match="one of the model's 2 outputs, got 2"):
        cp.one_output(model, 2)
    with pytest.raises(cp.InvalidInput, match="names the output 'deb', which is not known; did"):
        cp.one_output(model, "deb", ["pay", "debt"])
