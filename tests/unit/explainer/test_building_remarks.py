"""What should not be searched: ids, and outcomes among the features."""

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
from counterpoint.explainer.building import MOST_ASKED


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
