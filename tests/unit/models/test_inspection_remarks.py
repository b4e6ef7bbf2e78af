from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.strategies import generator

import counterpoint as cp
from counterpoint.models.inspection import awake, order_of, remark_on, remark_on_repeats

FEW = cp.Search(evaluations=150)


def table() -> pd.DataFrame:
    rng = generator(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, 200).astype(float),
            "income": rng.normal(30_000.0, 8_000.0, 200).round(),
            "debt": rng.normal(5.0, 2.0, 200).round(1),
        }
    )


DATA = table()
LABELS = DATA["income"] / 10_000 - DATA["debt"] / 5 > 2


def test_a_model_trained_on_scaled_data_is_noticed_when_it_is_asked_without() -> None:
    scaled = pd.DataFrame(StandardScaler().fit_transform(DATA), columns=DATA.columns)
    model = LogisticRegression().fit(scaled, LABELS)

    with pytest.warns(cp.ModelWarning, match=r"same of all 200 observed rows.*trained on scaled"):
        cp.Explainer(model, DATA)


def test_few_rows_or_equal_ones_may_well_be_told_the_same() -> None:
    same = np.ones((200, 1))

    assert remark_on(same[:19], DATA.to_numpy()[:19]) == ""
    assert remark_on(same, np.ones((200, 3))) == ""
    assert remark_on(DATA[["debt"]].to_numpy(), DATA.to_numpy()) == ""
    assert remark_on(same, DATA.to_numpy()).startswith("the model says the same of all 200")


def test_a_model_that_answers_differently_twice_is_noticed() -> None:
    rng = generator(1)

    def score(rows: pd.DataFrame) -> Any:
        return rows["debt"] + rng.normal(0.0, 0.1, len(rows))

    with pytest.warns(cp.ModelWarning, match="differently when asked twice .* Fix its mode or its"):
        cp.Explainer(score, DATA)
    assert remark_on_repeats(np.ones((3, 1)), np.ones((3, 1)) + 1e-8) == ""


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RandomForestClassifier(10, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
        Pipeline([("none", None), ("forest", RandomForestClassifier(10, random_state=0))]),
    ],
)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas])
def test_columns_in_another_order_are_put_into_the_models(estimator: Any, kind: Any) -> None:
    model = estimator.fit(DATA, LABELS)
    right = cp.Explainer(model, kind(DATA)).explain(DATA[:1], "opposite", FEW)
    data = kind(DATA[["debt", "age", "income"]])

    with pytest.warns(cp.ModelWarning, match=r"in another order; its order is used, in results"):
        explainer = cp.Explainer(model, data)
    found = explainer.explain(DATA[:1], "opposite", FEW)

    assert explainer.predictor.is_quick
    assert found == right
    rows = found.to_rows()
    assert (
        model.predict(rows if kind is pd.DataFrame else rows.to_pandas()) == found.target.label
    ).all()


def test_a_model_that_picks_columns_by_name_keeps_the_order_of_the_data() -> None:
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["income", "debt"])), LogisticRegression()
    ).fit(DATA, LABELS)

    assert order_of(model, ["debt", "age", "income"]) is None
    assert order_of(model[-1], ["debt", "age"]) is None
    assert order_of(print, ["debt"]) is None


@pytest.mark.parametrize("model", [RandomForestClassifier, cp.Explainer])
def test_a_class_is_no_model(model: Any) -> None:
    name = model.__name__

    with pytest.raises(cp.InvalidInput) as caught:
        cp.Explainer(model, DATA)

    assert str(caught.value) == (
        f"model is the class {name}, not a model; pass a fitted one, such as "
        f"{name}(...).fit(rows, outcomes)."
    )


@pytest.mark.parametrize("idle", ["passthrough", None])
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RandomForestClassifier(10, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
    ],
)
def test_a_pipeline_that_begins_with_nothing_is_asked_as_fast_as_one_without(
    idle: Any, estimator: Any
) -> None:
    bare = make_pipeline(StandardScaler(), estimator).fit(DATA, LABELS)
    model = Pipeline(
        [
            ("idle", idle),
            *bare.steps,
        ]
    ).fit(DATA, LABELS)
    expected = cp.Explainer(bare, DATA).explain(DATA[:1], "opposite", FEW)

    explainer = cp.Explainer(model, DATA)
    found = explainer.explain(DATA[:1], "opposite", FEW)

    assert explainer.predictor.is_quick
    assert explainer.predictor.is_shared
    np.testing.assert_array_equal(found.genomes, expected.genomes)
    assert len(model.steps) == 3  # the caller's own is as it was


def test_a_pipeline_that_begins_with_nothing_and_was_fitted_on_an_array_is_asked_with_arrays() -> (
    None
):
    model = Pipeline([("idle", None), ("tree", LogisticRegression())]).fit(DATA.to_numpy(), LABELS)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cp.Explainer(model, DATA).explain(DATA[:1], "opposite", FEW)

    assert found.status == "found"


def test_levels_behind_idle_steps_are_tabulated() -> None:
    data = DATA.assign(job=generator(2).choice(["a", "b", "c"], 200))
    encode = make_column_transformer(
        (OneHotEncoder(), ["job"]), (StandardScaler(), ["income", "debt"])
    )
    model = Pipeline([("idle", "passthrough"), ("encode", encode), ("end", LogisticRegression())])

    assert cp.Explainer(model.fit(data, LABELS), data).predictor.is_quick
    assert [name for name, _ in awake(model).steps] == ["encode", "end"]
    assert awake(encode) is encode
