"""The long table: its columns, their order and types, and the names it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.batch.rows import Order, explain_rows
from counterpoint.result.long_table import OutputSchema, Type, decoded_column, failure_text, type_of
from counterpoint.table.features import Feature
from counterpoint.table.schema import Schema

DATA = pd.DataFrame({"age": [20, 30, 40, 50, 60, 70], "job": ["a", "b", "a", "b", "a", "b"]})
EXPLAINER = cp.Explainer(lambda rows: rows["age"] / 100 + (rows["job"] == "b") * 0.1, DATA)
KEYS = ["row", "counterfactual", "status", "message"]


def levels(*values: Any) -> Feature:
    return Schema.infer(pd.DataFrame({"x": pd.Series(values, dtype="category")})).features[0]


def test_what_was_found_stands_after_the_features_as_in_to_frame() -> None:
    frame = explain_rows(EXPLAINER, DATA[:1], Order((0.5, 1.0)))

    shown = EXPLAINER.explain(DATA[:1], (0.5, 1.0)).to_frame()
    assert list(frame.columns) == [*KEYS, *shown.columns, "changed", "way", "evaluations"]
    assert tuple(frame.columns) == EXPLAINER.output_schema().names


def test_ids_come_first_and_a_prefix_stands_before_our_names_only() -> None:
    schema = EXPLAINER.output_schema("loan", "str", prefix="cf_")

    assert schema.names[:7] == ("loan", *(f"cf_{name}" for name in KEYS), "age", "job")
    assert schema.names[7:9] == ("cf_valid", "cf_prediction")
    assert tuple(schema.meta().columns) == tuple(schema.arrow().names) == schema.names


@pytest.mark.parametrize("keep", [1, 3, 10])
@pytest.mark.parametrize("row", range(len(DATA)))
def test_near_misses_are_kept_only_where_nothing_reaches_the_target(row: int, keep: int) -> None:
    for target in ((0.5, 1.0), (2.0, 3.0)):
        frame = explain_rows(EXPLAINER, DATA[row : row + 1], Order(target, keep=keep))

        found = EXPLAINER.explain(DATA[row : row + 1], target)
        chosen = found.select(keep)
        assert (frame["counterfactual"] > 0).sum() == (len(chosen) or len(chosen.genomes))
        assert frame["valid"].sum() == len(chosen) >= min(keep, len(found))


def test_all_are_kept_if_nothing_is_said_near_misses_too() -> None:
    frame = explain_rows(EXPLAINER, DATA[:1], Order((0.5, 1.0), keep=None))

    found = EXPLAINER.explain(DATA[:1], (0.5, 1.0))
    assert len(found) < len(found.genomes) == len(frame)


@pytest.mark.parametrize(
    ("feature", "kind"),
    [
        (levels(True, False), Type.TRUTH_OR_NONE),
        (levels(1, 2), Type.WHOLE_OR_NONE),
        (levels(1, 2**63), Type.TEXT),
        (levels(0.5, 1.5), Type.REAL),
        (levels("a", 1), Type.TEXT),
    ],
)
def test_levels_of_one_type_are_of_that_type(feature: Feature, kind: Type) -> None:
    assert type_of(feature) is kind


@given(
    codes=st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), max_size=8),
    values=st.sampled_from([("a", "b", "c"), (3, 5, 9), (0.5, 1.5, 2.5)]),
)
def test_levels_come_back_as_they_were_and_what_is_missing_is_missing(
    codes: list[float], values: tuple[Any, ...]
) -> None:
    feature = levels(*values)

    cells = pd.Series(decoded_column(np.array(codes), feature, type_of(feature)))

    assert [None if pd.isna(cell) else cell for cell in cells] == [
        None if np.isnan(code) else values[int(code)] for code in codes
    ]


@pytest.mark.parametrize(
    ("columns", "id", "message"),
    [
        ([1, "1"], None, "the data have several columns written '1', which one table cannot hold;"),
        (["a"], "a", "id='a' is a feature of the data; name a column that is none, or leave id"),
        (["a"], 3, "id must be the name of a column, a text, got 3."),
    ],
)
def test_names_that_two_columns_would_have_are_refused(
    columns: list[Any], id: Any, message: str
) -> None:
    features = tuple(replace(levels("a", "b"), name=name) for name in columns)

    with pytest.raises(cp.InvalidInput) as caught:
        OutputSchema(features, ("gap",), id)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("column", "id"), [("valid", None), ("a", "row"), ("class", None)])
def test_our_own_names_get_a_prefix_where_a_column_has_one_of_them(column: str, id: Any) -> None:
    features = (replace(levels("a", "b"), name=column),)

    schema = OutputSchema(features, ("gap",), id, classes=("no", "yes"))

    assert schema.prefix == "cf_"
    assert {"cf_valid", "cf_class", "cf_row"} < set(schema.names)
    assert schema.own["cf_class"] is Type.TEXT


def test_a_prefix_is_a_text() -> None:
    with pytest.raises(cp.InvalidInput, match=r"prefix must be a text, such as 'cf_', got 3\."):
        EXPLAINER.output_schema(prefix=3)  # type: ignore[arg-type]


def test_a_failure_is_said_the_same_in_every_run() -> None:
    assert failure_text(ValueError("<Thing at 0x7f3a> is odd")) == "ValueError: <Thing> is odd"
    assert failure_text(KeyError()) == "KeyError"
    assert failure_text(cp.InvalidInput("row is odd.")) == "row is odd."
