"""What is refused before any row is looked at."""

from __future__ import annotations

import pickle
from typing import Any

import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.batch.rows import Order
from counterpoint.problem.limits import Limits

DATA = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9.5, 5.0, 3.0, 1.0]})


def score(rows: pd.DataFrame) -> Any:
    """Return a share of the age."""
    return rows["age"] / 100


EXPLAINER = cp.Explainer(score, DATA)
CLASSES = cp.Explainer(score, DATA, classes=["bad", "good"])


@pytest.mark.parametrize(
    ("order", "text"),
    [
        (Order("good"), "target 'good' does not fit this model, which has one output"),
        (Order((2.0, 1.0)), "target interval (2.0, 1.0) is upside down"),
        (Order((0.4, 1.0), seed=-1), "seed"),
        (
            Order((0.4, 1.0), limits=Limits(fixed=("agee",))),
            "fixed names 'agee', which is not a column",
        ),
        (Order((0.4, 1.0), limits=Limits(constraints=("agee increases",))), "agee"),
        (Order((0.4, 1.0), limits=Limits(costs={"agee": 2.0})), "agee"),
        (Order((0.4, 1.0), search="quick"), "search must be a Search, WhatIf or NICE"),  # type: ignore[arg-type]
        (
            Order((0.4, 1.0), limits=Limits(constraints=["age >= 60"], ranges={"age": (None, 50)})),
            "the constraints exclude each of 4 observed rows that were tried; of the first: ",
        ),
        (
            Order((0.4, 1.0), limits=Limits(constraints=(len,))),
            "must return one truth value per row",
        ),
        (Order((0.4, 1.0), id="age"), "id='age' is a feature of the data"),
        (Order((0.4, 1.0), id="status", prefix=""), "prefix='' makes 'status', which is"),
        (Order((0.4, 1.0), id=3), "id must be the name of a column, a text, got 3."),  # type: ignore[arg-type]
        (Order((0.4, 1.0), prefix=3), "prefix must be a text, such as 'cf_', got 3."),  # type: ignore[arg-type]
    ],
)
def test_what_no_row_could_be_explained_with_is_refused(order: Order, text: str) -> None:
    with pytest.raises(cp.CounterpointError) as caught:
        order.check(EXPLAINER)

    assert text in str(caught.value)


def test_a_class_that_is_none_is_refused() -> None:
    with pytest.raises(cp.InvalidInput, match="target class 'god' is not a class of this model"):
        Order("god").check(CLASSES)


def test_the_opposite_of_no_probability_is_refused() -> None:
    ages = cp.Explainer(lambda rows: rows["age"], DATA)

    with pytest.raises(cp.InvalidInput, match="target 'opposite' needs a classifier"):
        Order("opposite").check(ages)


def test_a_search_by_the_clock_is_refused() -> None:
    with pytest.raises(cp.InvalidInput, match=r"search has seconds=2, .*Search\(evaluations=2000"):
        Order((0.4, 1.0), cp.Search(seconds=2.0))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"keep": 0}, "keep must be a whole number from 1 to"),
        ({"keep": "all"}, "keep must be a whole number .*, got 'all'"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(cp.InvalidInput, match=text):
        Order((0.4, 1.0), **settings)


def test_a_rule_that_some_rows_break_is_no_reason_to_refuse() -> None:
    Order((0.4, 1.0), limits=Limits(constraints=("age >= 35",))).check(EXPLAINER)


def test_where_a_feature_has_the_name_of_one_of_ours_they_get_a_prefix() -> None:
    explainer = cp.Explainer(score, DATA.rename(columns={"debt": "status"}))

    Order((0.4, 1.0)).check(explainer)

    assert "cf_status" in explainer.output_schema().names
    with pytest.raises(cp.InvalidInput, match="prefix='' makes 'status', which is the name of a"):
        Order((0.4, 1.0), prefix="").check(explainer)


def test_an_order_survives_a_pickle() -> None:
    order = Order(
        (0.4, 1.0), cp.Search(evaluations=9), 3, Limits(fixed=["age"]), id="loan", keep=None
    )

    assert pickle.loads(pickle.dumps(order)) == order  # noqa: S301
