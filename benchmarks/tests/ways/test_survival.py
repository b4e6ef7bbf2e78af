"""Survival and distance on a table and models simple enough to be judged by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case
from benchmarks.ways.survival import Refits, by_name, curve, judged, mean_point

DATA = pd.DataFrame({"a": [0.0, 2.0, 6.0, 10.0], "b": [0.0, 1.0, 2.0, 4.0]})


class Above:
    """Says 1 where a is above a limit."""

    classes_ = np.array([0, 1])

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the classes of rows."""
        return (rows["a"].to_numpy() > self.limit).astype(int)


def rows_of(*values: float) -> pd.DataFrame:
    """Return rows with these values of a."""
    return pd.DataFrame({"a": list(values), "b": 0.0})


CASE = Case(Background(Above(3.0), DATA), DATA.iloc[[0]], 1)
REFITS = Refits([Above(limit) for limit in (1.0, 3.0, 5.0, 7.0)], 1)


def test_rows_have_their_distance_and_their_share_of_refits() -> None:
    first, second = judged(REFITS, [(CASE, rows_of(4.0, 10.0)), (CASE, rows_of(6.0))])

    assert first == pytest.approx(np.array([[0.2, 0.5], [0.5, 1.0]]))
    assert second == pytest.approx(np.array([[0.3, 0.75]]))


def test_rows_that_repeat_or_miss_the_target_or_change_nothing_do_not_count() -> None:
    asked = [rows_of(0.0, 2.0), rows_of(4.0, 4.0, 2.0), rows_of()]

    parts = judged(REFITS, [(CASE, rows) for rows in asked])

    assert [len(part) for part in parts] == [0, 1, 0]


def test_distances_are_shares_of_that_of_what_if() -> None:
    ours, what_if = np.array([[0.1, 0.5], [0.3, 1.0]]), np.array([[0.2, 1.0]])

    points = by_name([{"set": 0, "whatif": 0}, {"set": 0, "whatif": 0}], [ours, what_if] * 2)

    assert points["set"] == [pytest.approx(np.array([[0.5, 0.5], [1.5, 1.0]]))] * 2
    assert points["whatif"] == [pytest.approx(np.array([[1.0, 1.0]]))] * 2


def test_every_explained_row_counts_alike_in_the_mean_and_every_counterfactual_in_the_curve() -> (
    None
):
    many = np.array([[0.1, 0.0], [0.2, 0.5], [0.3, 0.5], [0.4, 1.0], [0.5, 1.0], [0.6, 1.0]])
    parts = [many, np.array([[1.0, 1.0], [2.0, 1.0]]), np.empty((0, 2))]

    assert mean_point(parts) == pytest.approx([(0.35 + 1.5) / 2, (4 / 6 + 1.0) / 2])
    assert curve(parts) == [
        pytest.approx(point) for point in ([0.15, 0.25], [0.35, 0.75], [0.55, 1.0], [1.5, 1.0])
    ]
    assert np.isnan(mean_point([np.empty((0, 2))])).all()
