"""What is computed of an explainer's data once."""

from __future__ import annotations

import numpy as np
import pandas as pd

import counterpoint as cp

COMPLETE = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "pay": [1.0, 2.0, 3.0, 4.0]})


def test_rows_that_miss_values_do_not_count_for_nearness_if_others_are_complete() -> None:
    data = COMPLETE.assign(pay=[1.0, np.nan, 3.0, 4.0])
    observed = cp.Explainer(lambda rows: rows["age"] / 100, data).observed

    assert observed.has_missing
    assert observed.is_complete.tolist() == [True, False, True, True]
    assert len(observed.incomplete) == 1
    np.testing.assert_array_equal(observed.whole, observed.genomes[[0, 2, 3]])


def test_scores_between_zero_and_one_are_taken_for_probabilities() -> None:
    assert cp.Explainer(lambda rows: rows["age"] / 100, COMPLETE).observed.are_probabilities
    assert not cp.Explainer(lambda rows: rows["age"], COMPLETE).observed.are_probabilities
