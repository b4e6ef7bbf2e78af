"""The doors of an Explainer: what they refuse, and that they agree."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import counterpoint as cp

DATA = pd.DataFrame({"age": [20, 30, 40, 60], "pay": [1.0, 2.0, 5.0, 9.0]})
SEARCH = cp.Search(evaluations=200)


def score(rows: pd.DataFrame) -> Any:
    return rows["pay"] / 10


def test_a_warning_about_the_data_points_at_the_caller() -> None:
    codes = pd.DataFrame({"code": [f"c{i}" for i in range(60)], "pay": range(60)})

    with pytest.warns(cp.DataWarning, match="60 levels") as caught:
        cp.Explainer(score, codes)

    assert caught[0].filename == __file__


def test_explain_takes_one_row_only() -> None:
    with pytest.raises(cp.InvalidInput, match="row must be one row, got 4; use explain_many"):
        cp.Explainer(score, DATA).explain(DATA, (0.5, 1.0), SEARCH)


def test_the_three_doors_find_the_same() -> None:
    explainer, rows = cp.Explainer(score, DATA), DATA[:2]

    many = explainer.explain_many(rows, (0.5, 1.0), SEARCH, seed=3)
    each = list(explainer.explain_each(rows, (0.5, 1.0), SEARCH, seed=3))
    alone = explainer.explain(rows[1:], (0.5, 1.0), SEARCH, seed=3)

    assert len(alone) > 0
    for found in (many[1], each[1]):
        pd.testing.assert_frame_equal(found.to_frame(), alone.to_frame())


def test_a_row_without_limits_is_asked_what_it_is_with_limits_that_say_nothing() -> None:
    data = pd.DataFrame({"id": range(1000, 1200), "age": [20 + i % 7 for i in range(200)]})
    explainer = cp.Explainer(lambda rows: rows["age"] / 30, data)

    asked = [
        explainer._checked(explainer.explain, None, {}),
        explainer._checked(explainer.explain, cp.Limits(), {}),
        explainer._checked(explainer.explain, cp.Limits(), {"fixed": []}),
    ]

    assert explainer.kept == ("id",)
    assert asked[0] == asked[1] == asked[2]
    assert asked[0].limits.fixed == ("id",)
    assert [each.is_fixed.tolist() for each in asked] == [[True, False]] * 3
