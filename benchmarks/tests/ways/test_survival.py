"""Survival and distance on a table and models simple enough to be judged by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case
from benchmarks.ways.survival import Judge, Refits, curve, mean_point

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


@pytest.fixture
def judge() -> Judge:
    refits = Refits([Above(limit) for limit in (1.0, 3.0, 5.0, 7.0)], 1)
    case = Case(Background(Above(3.0), DATA), DATA.iloc[[0]], 1)
    return Judge(case, refits, DATA.iloc[[2]])  # What-If's row is at a distance of (0.6 + 0.5) / 2


def test_rows_have_their_share_of_refits_and_of_the_distance_of_what_if(judge: Judge) -> None:
    judged = judge.judged(rows_of(4.0, 10.0))

    assert judged == pytest.approx(np.array([[0.4 / 1.1, 0.5], [1.0 / 1.1, 1.0]]))


def test_rows_that_repeat_or_miss_the_target_or_change_nothing_do_not_count(judge: Judge) -> None:
    assert len(judge.judged(rows_of(0.0, 2.0))) == 0
    assert len(judge.judged(rows_of(4.0, 4.0, 2.0))) == 1
    assert judge.judged(rows_of()).shape == (0, 2)


def test_every_explained_row_counts_alike_in_the_mean_and_every_counterfactual_in_the_curve() -> (
    None
):
    many = np.array([[0.1, 0.0], [0.2, 0.5], [0.3, 0.5], [0.4, 1.0], [0.5, 1.0], [0.6, 1.0]])
    judged = [many, np.array([[1.0, 1.0], [2.0, 1.0]]), np.empty((0, 2))]

    assert mean_point(judged) == pytest.approx([(0.35 + 1.5) / 2, (4 / 6 + 1.0) / 2])
    assert curve(judged) == [
        pytest.approx(point) for point in ([0.15, 0.25], [0.35, 0.75], [0.55, 1.0], [1.5, 1.0])
    ]
    assert np.isnan(mean_point([np.empty((0, 2))])).all()
