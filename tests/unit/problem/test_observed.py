"""What an explainer computes of its data once."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.strategies import generator

import counterpoint as cp
from counterpoint.problem.observed import MOST_ASKED, spaced_columns

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


def test_the_conditional_sampler_needs_complete_data() -> None:
    data = COMPLETE.assign(pay=[1.0, np.nan, 3.0, 4.0])
    observed = cp.Explainer(lambda rows: rows["age"] / 100, data).observed

    with pytest.raises(cp.InvalidInput, match="with missing values; use mutation='gaussian'"):
        _ = observed.conditional


# How far inside a target a counterfactual should be


def margin_of(function: Any, n: int = 200, end: float = 0.5) -> float:
    """Return the margin for scores of at least 0.5, learnt from n even steps between 0 and 1."""
    data = pd.DataFrame({"x": np.linspace(0.0, 1.0, n)})
    explainer = cp.Explainer(lambda rows: function(rows["x"].to_numpy()), data)
    return explainer.observed.margin_of(
        explainer.explain(data[:1], (end, None), cp.WhatIf()).target
    )


@pytest.mark.parametrize("slope", [0.1, 0.5, 1.0])
def test_a_margin_is_as_far_as_predictions_move_between_rows_like_each_other(slope: float) -> None:
    """Of even steps the five rows most like each are one to three steps away."""
    margin = margin_of(lambda x: 0.5 + slope * (x - 0.5))

    assert margin == pytest.approx(3 * slope / 199)


def test_where_predictions_jump_the_margin_is_what_most_rows_beyond_the_edge_have() -> None:
    jump = margin_of(lambda x: np.where(x < 0.5, 0.1, np.where(x < 0.75, 0.7, 0.9)))

    assert jump == pytest.approx(0.2)  # half of them have 0.2, the others 0.4


def test_too_few_rows_tell_no_margin() -> None:
    assert margin_of(lambda x: x, n=12) == 0.0
    assert margin_of(lambda x: x, end=0.97) == 0.0


# What should not be searched


def customers(n: int = 200) -> pd.DataFrame:
    """Return a table with ids in its first column."""
    rng = generator(0)
    return pd.DataFrame(
        {
            "customer": 100_001 + rng.permutation(n),
            "income": rng.permutation(np.arange(n) * 37) + 900,
            "debt": rng.integers(0, 40, n),
        }
    )


def chance(rows: pd.DataFrame) -> Any:
    return 1.0 / (1.0 + np.exp(rows["debt"] / 10.0 - rows["income"] / 2000.0))


def explainer_and_remarks(*given: Any, **settings: Any) -> tuple[cp.Explainer, list[str]]:
    """Return an explainer, and what is said of its data."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = cp.Explainer(*given, **settings)
    assert all(each.filename == __file__ for each in caught)
    return made, [str(each.message) for each in caught]


FAST = cp.Search(evaluations=400)


def test_ids_are_kept_and_said_to_be() -> None:
    data = customers()

    explainer, said = explainer_and_remarks(chance, data)
    found = explainer.explain(data[data["debt"] > 30][:1], (0.5, None), FAST)

    assert explainer.kept == ("customer",)
    assert said == [
        "the whole numbers of 'customer' (100,001 to 100,200) differ from row to row and hardly "
        "change what the model says, as ids do, so that counterfactuals keep them; name it in "
        "vary, or declare features={'customer': Integer()}, to search it."
    ]
    assert not found.changed[:, 0].any()
    assert found.facts.limits.limits.fixed == ("customer",)
    again = pickle.loads(pickle.dumps(explainer))  # noqa: S301 - of our own making
    assert again.kept == ("customer",)


@pytest.mark.parametrize(
    "trained", [LogisticRegression(max_iter=5000), HistGradientBoostingClassifier()]
)
def test_numbers_that_count_the_rows_are_ids_even_if_a_model_learnt_a_little_of_them(
    trained: Any,
) -> None:
    data = customers(600)
    trained.set_params(random_state=0).fit(data, chance(data) > 0.5)

    assert explainer_and_remarks(trained, data)[0].kept == ("customer",)


@pytest.mark.parametrize(
    ("settings", "asked", "is_free"),
    [
        ({}, {"vary": ["customer"]}, True),
        ({}, {"ranges": {"customer": (100_001, 100_050)}}, True),
        ({}, {"fixed": ["income", "debt"]}, True),  # else nothing could change
        ({}, {"fixed": ["income"]}, False),
        ({}, {"fixed": ["customer"]}, False),
        ({"features": {"customer": cp.Integer()}}, {}, True),
    ],
)
def test_ids_are_searched_if_somebody_says_so(
    settings: dict[str, Any], asked: dict[str, Any], is_free: bool
) -> None:
    explainer, said = explainer_and_remarks(chance, customers(), **settings)

    checked = cp.Limits(**asked).check(explainer.schema, explainer.kept)

    assert checked.is_fixed[0] != is_free
    assert (said == []) == ("features" in settings)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.drop(columns="customer"),  # the income is of use
        lambda data: data[:49],  # few rows differ anyway
        lambda data: data.assign(customer=data["customer"] // 2),
        lambda data: data.assign(customer=data["customer"] + 0.5),
    ],
)
def test_other_numbers_are_no_ids(change: Any) -> None:
    explainer, said = explainer_and_remarks(chance, change(customers()))

    assert explainer.kept == ()
    assert said == []


def test_the_trial_of_ids_asks_once_about_few_rows() -> None:
    asked: list[int] = []

    def model(rows: pd.DataFrame) -> Any:
        asked.append(len(rows))
        return chance(rows)

    explainer_and_remarks(model, customers(5000).drop(columns="customer").assign(income=7, debt=3))
    without = len(asked)
    asked.clear()
    explainer_and_remarks(model, customers(5000))

    assert len(asked) == without + 1
    assert sum(asked[1:]) - 5000 <= 4 * MOST_ASKED


def test_an_outcome_among_the_features_is_told() -> None:
    data = customers().assign(customer=7.5)
    data["good"] = (chance(data) > 0.5).astype(int)
    data["word"] = np.where(data["good"] == 1, "yes", "no")
    numbers = data[["income", "debt", "good"]]
    model = RandomForestClassifier(10, random_state=0).fit(numbers, data["good"])
    trained = LinearRegression().fit(numbers[["income", "debt"]], numbers["debt"])

    for said, name in [
        (explainer_and_remarks(model, numbers)[1], "good"),
        (explainer_and_remarks(trained, numbers[["income", "debt"]])[1], "debt"),
        (
            explainer_and_remarks(
                lambda rows: (rows["word"] == "yes") * 1.0, data[["word"]], classes=["no", "yes"]
            )[1],
            "word",
        ),
    ]:
        assert any(
            each == f"data column {name!r} equals what the model says of all 200 observed rows; if "
            "it is the outcome itself, leave it out of the data and of the model. "
            f"fixed=[{name!r}] holds it; declaring it in features= says that it is meant."
            for each in said
        )
    features = {"good": cp.Integer(), "debt": cp.Integer()}
    assert explainer_and_remarks(model, numbers, features=features)[1] == []


def test_what_is_made_of_the_data_is_made_once_for_each_request() -> None:
    observed = cp.Explainer(lambda rows: rows["age"] / 100, COMPLETE).observed

    columns = observed.once(spaced_columns, 3)

    assert [column.tolist() for column in columns] == [[20.0, 30.0, 50.0], [1.0, 2.0, 4.0]]
    assert observed.once(spaced_columns, 3) is columns
    assert [len(column) for column in observed.once(spaced_columns, 9)] == [4, 4]
