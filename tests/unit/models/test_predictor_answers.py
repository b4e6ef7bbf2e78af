from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.errors import PredictorError
from counterpoint.models.inspection import codes_of
from counterpoint.models.predictor import as_probabilities, as_scores


@given(st.lists(st.floats(-1e-6, 1.0 + 1e-6), min_size=1, max_size=9))
def test_probabilities_end_between_zero_and_one_and_are_else_untouched(second: list[float]) -> None:
    outputs = np.column_stack([1.0 - np.array(second), second])

    checked = as_probabilities(outputs, ("bad", "good"))

    assert ((checked >= 0.0) & (checked <= 1.0)).all()
    is_inside = (outputs >= 0.0) & (outputs <= 1.0)
    np.testing.assert_array_equal(checked[is_inside], outputs[is_inside])


@pytest.mark.parametrize(
    "outputs", [[[0.5, 0.5], [0.5, 0.4]], [[1.5, -0.5], [0.5, 0.5]], [[0.5, 0.5002], [0.5, 0.5]]]
)
def test_one_row_that_is_no_probability_is_enough(outputs: Any) -> None:
    with pytest.raises(PredictorError, match="which are not probabilities: each must lie between"):
        as_probabilities(np.array(outputs), ("bad", "good"))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([1, 2], [[1.0], [2.0]]),
        (np.array([[0.5], [1]], np.float32), [[0.5], [1.0]]),
        ([True, False], [[1.0], [0.0]]),
    ],
)
def test_scores_are_float64_with_one_column_at_least(raw: Any, expected: Any) -> None:
    scores = as_scores(raw, 2)

    assert scores.dtype == np.float64
    assert scores.tolist() == expected


def test_scores_do_not_share_the_models_memory() -> None:
    raw = np.zeros((3, 2))

    assert not np.shares_memory(as_scores(raw, 3), raw)


def test_labels_become_codes() -> None:
    assert codes_of(np.array(["b", "a", "b"]), 3, ("a", "b")).tolist() == [1, 0, 1]


@pytest.mark.parametrize("labels", [[7, 3, 3, 7], np.array([7, 3, 3, 7]), np.array([[7], [3]] * 2)])
def test_labels_that_are_whole_numbers_become_codes(labels: Any) -> None:
    expected = [1, 0, 0, 1] if np.ndim(labels) == 1 else [1, 0, 1, 0]

    assert codes_of(labels, 4, (3, 7)).tolist() == expected
    with pytest.raises(PredictorError, match="label 7"):
        codes_of(labels, 4, (3, 8))
