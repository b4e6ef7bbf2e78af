"""Colours, records and axes of all charts."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.result.figures.axes import INVALID, OUTCOMES, ROW, VALID, Axis
from counterpoint.result.figures.charts.theme import (
    DARK,
    LIGHT,
    in_drawing_order,
    level_axis,
    records,
)
from counterpoint.table.features import Feature, Kind


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_outcomes_have_colours_of_their_own(palette: object) -> None:
    colours = asdict(palette)  # type: ignore[call-overload]

    assert len({colours[name] for name in ("row", "valid", "invalid", "quiet", "paper")}) == 5


@given(st.lists(st.floats(), max_size=5))
def test_records_are_strict_json(values: list[float]) -> None:
    rows = records(pd.DataFrame({"x": values, "prediction": values}))

    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert [row["x"] is None for row in rows] == [not np.isfinite(value) for value in values]


@given(st.lists(st.sampled_from(OUTCOMES)))
def test_the_row_is_drawn_on_top_and_misses_below_all_others(outcomes: list[str]) -> None:
    frame = pd.DataFrame({"outcome": outcomes, "place": range(len(outcomes))})

    drawn = in_drawing_order(frame)

    ranks = [(INVALID, VALID, ROW).index(outcome) for outcome in drawn["outcome"]]
    assert ranks == sorted(ranks)
    assert sorted(drawn["place"]) == list(range(len(outcomes)))


@given(st.lists(st.text(), min_size=1, max_size=5, unique=True))
def test_levels_stand_in_an_expression_as_text_only(levels: list[str]) -> None:
    last = len(levels) - 1
    feature = Feature("x", Kind.CATEGORICAL, np.dtype(object), tuple(levels), 0.0, float(last))
    codes = np.arange(len(levels), dtype=np.float64)
    axis = Axis(0, feature, "x", 0.0, float(last), codes, len(levels), is_row_missing=False)

    shown = level_axis(axis, None).to_dict()

    expression = shown["labelExpr"].removesuffix("[datum.value]")
    assert expression.isascii()
    assert json.loads(expression) == axis.labels
    assert shown["values"] == list(range(len(levels)))
