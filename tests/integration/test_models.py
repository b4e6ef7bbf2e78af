"""Real models of every kind, and what is returned scored again by the caller's own hands."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.strategies import generator

import counterpoint as cp

SEARCH = cp.Search(method="nsga2", generations=12)
NUMBERS, LEVELS = ["age", "amount", "rate"], ["job", "owns"]


def table() -> pd.DataFrame:
    rng, n = generator(0), 250
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "amount": rng.gamma(3.0, 900.0, n).round(2),
            "rate": rng.normal(3.0, 1.0, n).round(1),
            "job": rng.choice(["clerk", "nurse", "smith"], n),
            "owns": rng.random(n) < 0.4,
        }
    )


DATA = table()
SCORE = (
    DATA["amount"] / 900 + DATA["owns"] + (DATA["job"] == "nurse") - DATA["rate"] / 2
).to_numpy()
IS_GOOD = np.median(SCORE) < SCORE


def fitted(model: Any, labels: Any) -> Any:
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), LEVELS))
    return make_pipeline(encode, model).fit(DATA, labels)


def n_decimals(values: Any) -> int:
    texts = [np.format_float_positional(value, trim="-") for value in values]
    return max(len(text.partition(".")[2]) for text in texts)


THREE = np.array(["low", "mid", "high"])[np.digitize(SCORE, np.quantile(SCORE, [0.33, 0.66]))]


@pytest.fixture(scope="module")
def three() -> Any:
    return fitted(RandomForestClassifier(20, random_state=0), THREE)


@pytest.mark.parametrize("label", ["low", "mid", "high"])
def test_one_of_several_classes_is_reached(three: Any, label: str) -> None:
    rows = DATA[three.predict(DATA) != label].iloc[:4]

    together = cp.Explainer(three, DATA).explain_many(rows, label, SEARCH)

    column = three.classes_.tolist().index(label)
    for found in together:
        valid = found.valid().to_frame()
        assert found.status == "found"
        assert (three.predict(valid[DATA.columns]) == label).all()
        scores = three.predict_proba(valid[DATA.columns])[:, column]
        np.testing.assert_array_equal(scores, valid["prediction"])
        assert (valid["class"] == label).all()


def test_the_opposite_of_one_of_several_classes_is_any_other(three: Any) -> None:
    rows = DATA.iloc[:6]
    now = three.predict(rows)

    together = cp.Explainer(three, DATA).explain_many(rows, "opposite", SEARCH)

    for label, found in zip(now, together, strict=True):
        valid = found.valid().to_frame()
        assert str(found.target) == f"any class but {str(label)!r}"
        assert found.status == "found"
        assert (three.predict(valid[DATA.columns]) != label).all()


def test_a_probability_of_one_of_several_classes_can_be_given_bounds(three: Any) -> None:
    row = DATA[three.predict(DATA) == "low"].iloc[[0]]

    found = cp.Explainer(three, DATA).explain(row, ("mid", (0.3, 0.6)), SEARCH)

    valid = found.valid().to_frame()
    assert len(valid) > 0
    scores = three.predict_proba(valid[DATA.columns])[:, three.classes_.tolist().index("mid")]
    assert ((scores >= 0.3) & (scores <= 0.6)).all()


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (np.where(IS_GOOD, "good", "bad"), "good"),
        (np.where(IS_GOOD, "good", "bad").astype(object), "bad"),
        (np.where(IS_GOOD, 1, 0), 1),
        (np.where(IS_GOOD, 1, 0), np.int64(0)),
        (np.where(IS_GOOD, -1, 7), -1),
        (IS_GOOD, True),
        (IS_GOOD, False),
        (IS_GOOD, np.True_),
        (np.where(IS_GOOD, 2.0, 1.0), 2.0),
    ],
    ids=str,
)
def test_labels_may_be_texts_numbers_or_truth_values(labels: Any, wanted: Any) -> None:
    model = fitted(LogisticRegression(), labels)
    row = DATA[model.predict(DATA) != wanted].iloc[[0]]

    found = cp.Explainer(model, DATA).explain(row, wanted, SEARCH)

    valid = found.valid().to_frame()[DATA.columns]
    assert len(valid) > 0
    assert (model.predict(valid) == wanted).all()
    assert found.target.label == wanted


@pytest.fixture(scope="module")
def boosted() -> Any:
    return fitted(GradientBoostingRegressor(n_estimators=30, random_state=0), 100.0 * SCORE)


@pytest.mark.parametrize(
    ("target", "low", "high"),
    [
        ((250.0, 320.0), 250.0, 320.0),
        ((250, None), 250.0, np.inf),
        ((None, -20.0), -np.inf, -20.0),
        ([400, 500], 400.0, 500.0),
    ],
)
def test_a_regression_reaches_an_interval(
    boosted: Any, target: Any, low: float, high: float
) -> None:
    predictions = boosted.predict(DATA)
    row = DATA[(predictions < low) | (predictions > high)].iloc[[0]]

    found = cp.Explainer(boosted, DATA).explain(row, target, SEARCH)

    frame = found.to_frame(near_misses=True)
    scores = boosted.predict(frame[DATA.columns])
    np.testing.assert_array_equal(scores, frame["prediction"])
    expected = np.maximum(0.0, np.maximum(low - scores, scores - high))
    np.testing.assert_array_equal(frame["gap"], expected)
    valid = found.valid().to_frame()["prediction"]
    assert len(valid) > 0
    assert ((valid >= low) & (valid <= high)).all()
    ends = [end for end in (low, high) if np.isfinite(end)]
    now = boosted.predict(row)[0]
    nearest = min(abs(now - end) for end in ends)
    assert found.reference.tolist() == [pytest.approx(nearest), 1.0, 5.0, 1.0]


def test_a_regression_comes_close_to_a_number(boosted: Any) -> None:
    row = DATA.iloc[[0]]

    found = cp.Explainer(boosted, DATA).explain(row, 300.0, SEARCH)

    frame = found.to_frame(near_misses=True)
    np.testing.assert_array_equal(frame["gap"], np.abs(frame["prediction"] - 300.0))
    assert frame["gap"].min() < 5.0 < abs(boosted.predict(row)[0] - 300.0)


def test_a_number_that_is_predicted_somewhere_is_reached() -> None:
    data = pd.DataFrame({"a": np.arange(30), "b": np.arange(30)[::-1] % 7})
    model = LinearRegression().fit(data, data["a"])
    at_twelve = float(model.predict(pd.DataFrame({"a": [12], "b": [3]}))[0])
    explainer = cp.Explainer(lambda rows: rows["a"].to_numpy().astype(float), data)

    found = explainer.explain({"a": 3, "b": 3}, 12, SEARCH)

    assert at_twelve == pytest.approx(12.0)
    assert set(found.valid().to_frame()["a"]) == {12}


@pytest.mark.parametrize("seed", [0, 1])
def test_observed_precision_returns_values_with_the_decimals_of_the_data(seed: int) -> None:
    model = fitted(RandomForestClassifier(20, random_state=0), IS_GOOD)
    rows = DATA[~model.predict(DATA)].iloc[:6]

    together = cp.Explainer(model, DATA).explain_many(rows, True, SEARCH, seed)

    for found in together:
        frame = found.to_frame(near_misses=True)
        assert n_decimals(frame["amount"]) <= 2
        assert n_decimals(frame["rate"]) <= 1
        assert frame["age"].dtype == DATA["age"].dtype
        for name in NUMBERS:
            assert frame[name].between(DATA[name].min(), DATA[name].max()).all()


def test_what_is_returned_reaches_the_target_after_a_journey_through_a_file() -> None:
    """Written with its decimals and read again, every valid row is scored as it was."""
    model = fitted(RandomForestClassifier(20, random_state=0), IS_GOOD)
    rows = DATA[~model.predict(DATA)].iloc[:6]

    together = cp.Explainer(model, DATA).explain_many(rows, True, SEARCH)

    for found in together:
        valid = found.valid().to_frame()
        text = valid[DATA.columns].to_csv(index=False, float_format="%.2f")
        read = pd.read_csv(io.StringIO(text))
        assert len(valid) > 0
        assert model.predict(read).all()
        np.testing.assert_array_equal(model.predict_proba(read)[:, 1], valid["prediction"])


def test_a_row_off_the_datas_decimals_keeps_its_own_where_unchanged() -> None:
    model = fitted(RandomForestClassifier(20, random_state=0), IS_GOOD)
    row = DATA[~model.predict(DATA)].iloc[[0]].assign(amount=1234.56789, rate=2.987)

    found = cp.Explainer(model, DATA).explain(row, True, SEARCH)

    frame = found.to_frame(near_misses=True)
    own = frame["amount"] == 1234.56789
    assert own.any()
    assert n_decimals(frame.loc[~own, "amount"]) <= 2
    np.testing.assert_array_equal(
        model.predict_proba(frame[DATA.columns])[:, 1], frame["prediction"]
    )


def test_full_precision_searches_the_reals() -> None:
    model = fitted(LogisticRegression(), IS_GOOD)
    row = DATA[~model.predict(DATA)].iloc[[0]]

    found = cp.Explainer(model, DATA, precision="full").explain(row, True, SEARCH)

    frame = found.to_frame(near_misses=True)
    assert n_decimals(frame["amount"]) > 4
    np.testing.assert_array_equal(
        frame["prediction"][found.reaches] > 0.5, model.predict(frame[DATA.columns])[found.reaches]
    )


def test_a_model_without_probabilities_is_searched_by_its_labels() -> None:
    model = fitted(LinearSVC(), np.where(IS_GOOD, "good", "bad"))
    row = DATA[model.predict(DATA) == "bad"].iloc[[0]]

    found = cp.Explainer(model, DATA).explain(row, "good", SEARCH)

    assert (model.predict(found.valid().to_frame()[DATA.columns]) == "good").all()
    assert len(found.valid()) > 0
    assert set(found.to_frame(near_misses=True)["gap"].round(3)) <= {0.0, 0.5}
    assert "the model gives labels only, so a gap is either 0 or 0.5." in found.notes


def test_a_model_fitted_on_an_array_is_asked_with_arrays() -> None:
    data = DATA[["amount", "rate"]]
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data.to_numpy(), IS_GOOD)
    row = data[~model.predict(data.to_numpy())].iloc[0]

    found = cp.Explainer(model, data).explain(row, True, SEARCH)

    assert model.predict(found.valid().to_frame()[data.columns].to_numpy()).all()
    assert len(found.valid()) > 0


def test_a_bound_predict_proba_is_as_good_as_its_model() -> None:
    model = fitted(LogisticRegression(), np.where(IS_GOOD, "good", "bad"))
    row = DATA[model.predict(DATA) == "bad"].iloc[[0]]

    by_method = cp.Explainer(model.predict_proba, DATA).explain(row, "good", SEARCH)

    by_model = cp.Explainer(model, DATA).explain(row, "good", SEARCH)
    np.testing.assert_array_equal(by_method.genomes, by_model.genomes)


def test_the_data_the_row_and_the_model_are_left_as_they_were() -> None:
    data, row = DATA.copy(), DATA.iloc[[0]].copy()
    model = fitted(LogisticRegression(), IS_GOOD)

    cp.Explainer(model, data).explain(row, "opposite", SEARCH)

    pd.testing.assert_frame_equal(data, DATA)
    pd.testing.assert_frame_equal(row, DATA.iloc[[0]])
