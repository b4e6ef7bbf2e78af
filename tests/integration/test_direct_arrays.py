"""Quick ways to ask: the answers are the model's, bit for bit, and the model is left alone."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.strategies import generator
from threadpoolctl import threadpool_limits

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.models.predictor import Predictor
from counterpoint.table.schema import Encoding, Schema

N = 70
DTYPES = ["int64", "int16", "uint8", "float64", "float32", "bool", "Int64", "Float64"]


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


def table(dtypes: list[str]) -> pd.DataFrame:
    """Return a table of numbers and truth values with one column of each dtype."""
    rng = generator(0)
    columns = {}
    for j, dtype in enumerate(dtypes):
        drawn = rng.integers(0, 2 if dtype == "bool" else 40, N)
        values: Any = pd.Series(drawn / 8 if "loat" in dtype else drawn)
        columns[f"x{j}"] = values.astype(dtype)
    return pd.DataFrame(columns)


def labels_of(data: pd.DataFrame) -> Any:
    rng = generator(1)
    score = data.to_numpy(dtype=np.float64) @ rng.normal(size=data.shape[1])
    return np.where(np.argsort(np.argsort(score + rng.normal(size=N))) < N // 2, "good", "bad")


def predictor_of(model: Any, data: pd.DataFrame) -> Predictor:
    encoding = Encoding(Schema.infer(data))
    return Predictor(model, encoding, encoding.encode(data))


def mixtures(predictor: Predictor, seed: int, n: int) -> Floats:
    """Return n rows that mix the observed columns."""
    rng = generator(seed)
    return np.column_stack([rng.choice(column, n) for column in predictor.observed.T])


def asks_without_frames(predictor: Predictor) -> bool:
    """Whether scores are asked for without building a frame."""
    frames: list[int] = []
    decode = predictor.encoding.decode

    def watch(genomes: Floats) -> pd.DataFrame:
        frames.append(len(genomes))
        return decode(genomes)

    predictor.encoding.decode = watch  # type: ignore[method-assign]
    predictor.outputs(predictor.observed[:24])
    predictor.encoding.decode = decode  # type: ignore[method-assign]
    return not frames


CLASSIFIERS = {
    "forest": RandomForestClassifier(10, random_state=0),
    "forest on two threads": RandomForestClassifier(10, random_state=0, n_jobs=2),
    "boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "gradients": GradientBoostingClassifier(n_estimators=5),
    "logistic": LogisticRegression(max_iter=1000),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "network": make_pipeline(
        StandardScaler(), MLPClassifier((8,), solver="lbfgs", max_iter=5000, random_state=0)
    ),
    "neighbours": KNeighborsClassifier(3, algorithm="brute"),
    "bayes": GaussianNB(),
    "calibrated": CalibratedClassifierCV(LinearSVC(random_state=0), cv=2, ensemble=False),
    "threshold": FixedThresholdClassifier(LogisticRegression(max_iter=1000), threshold=0.3),
    "search": GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [3]}, cv=2),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@given(
    dtypes=st.lists(st.sampled_from(DTYPES), min_size=1, max_size=5),
    seed=st.integers(0, 99),
    n=st.integers(1, 60),
)
@settings(max_examples=6, deadline=None)
def test_an_estimator_is_asked_without_frames_and_answers_as_with_them(
    name: str, dtypes: list[str], seed: int, n: int
) -> None:
    data = table(dtypes)
    model = CLASSIFIERS[name].fit(data, labels_of(data))
    before = pickle.dumps(model)
    predictor = predictor_of(model, data)
    genomes = mixtures(predictor, seed, n)

    with predictor.one_thread():
        outputs, labels = predictor.outputs(genomes), predictor.labels(genomes)

        frame = predictor.encoding.decode(genomes.copy())
        np.testing.assert_array_equal(outputs, model.predict_proba(frame))
        np.testing.assert_array_equal(model.classes_[labels], model.predict(frame))
    assert asks_without_frames(predictor)
    assert pickle.dumps(model) == before
    assert list(model.feature_names_in_) == list(data.columns)


MIXED = table(["int64", "float32", "float64", "bool"]).assign(
    job=generator(2).choice(["clerk", "nurse", "smith"], N),
    city=pd.Categorical(generator(3).choice(["Bonn", "Oslo"], N)),
)
NUMBERS, LEVELS = ["x0", "x1", "x2"], ["job", "city", "x3"]


def by_columns(*steps: Any, encode: Any = None) -> Any:
    columns = make_column_transformer(
        (StandardScaler(), NUMBERS), (encode or OneHotEncoder(), LEVELS)
    )
    return make_pipeline(columns, *steps)


PIPELINES = {
    "logistic": by_columns(LogisticRegression()),
    "dense": by_columns(LogisticRegression(), encode=OneHotEncoder(sparse_output=False)),
    "codes": by_columns(RandomForestClassifier(10, random_state=0), encode=OrdinalEncoder()),
    "twice": by_columns(StandardScaler(with_mean=False), LogisticRegression()),
    "frames inside": by_columns(
        StandardScaler(), LogisticRegression(), encode=OneHotEncoder(sparse_output=False)
    ).set_output(transform="pandas"),
    "search": GridSearchCV(by_columns(LogisticRegression()), {}, cv=2),
    "boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0),
}


@cache
def asked_pipeline(name: str) -> tuple[Any, bytes, Predictor]:
    """Return a fitted pipeline, what it was before anybody asked it, and who asks it."""
    data = MIXED.astype({"job": "category"}) if name == "boosting" else MIXED
    model = PIPELINES[name].fit(data, labels_of(data[[*NUMBERS, "x3"]]))
    before = pickle.dumps(model)
    return model, before, predictor_of(model, data)


@pytest.mark.parametrize("name", PIPELINES)
@given(seed=st.integers(0, 99), n=st.integers(1, 60))
@settings(max_examples=6, deadline=None)
def test_a_pipeline_of_columns_is_asked_without_frames_and_answers_as_with_them(
    name: str, seed: int, n: int
) -> None:
    model, before, predictor = asked_pipeline(name)
    genomes = mixtures(predictor, seed, n)

    with predictor.one_thread():
        outputs = predictor.outputs(genomes)

        frame = predictor.encoding.decode(genomes.copy())
        np.testing.assert_array_equal(outputs, model.predict_proba(frame))
    assert asks_without_frames(predictor)
    assert pickle.dumps(model) == before


def booster(name: str) -> Any:
    if name == "xgboost":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=8, n_jobs=1)
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
@given(dtypes=st.lists(st.sampled_from(DTYPES[:6]), min_size=2, max_size=4))
@settings(max_examples=6, deadline=None)
def test_a_booster_is_asked_without_frames_and_answers_as_with_them(
    name: str, dtypes: list[str]
) -> None:
    data = table(dtypes)
    model = booster(name).fit(data, labels_of(data) == "good")
    predictor = predictor_of(model, data)
    genomes = mixtures(predictor, 0, 24)

    outputs = predictor.outputs(genomes)

    frame = predictor.encoding.decode(genomes.copy())
    np.testing.assert_array_equal(outputs, model.predict_proba(frame))
    assert asks_without_frames(predictor)


class Grumbler(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Warn when asked with anything but a frame; the names cannot be taken from it."""

    feature_names_in_ = ("x0", "x1")

    def fit(self, rows: pd.DataFrame, labels: Any) -> Grumbler:
        """Remember the classes."""
        self.classes_, self.n_features_in_ = np.unique(labels), rows.shape[1]
        return self

    def predict_proba(self, rows: Any) -> Any:
        """Return P(good) by the first column."""
        if not isinstance(rows, pd.DataFrame):
            warnings.warn("names are missing", UserWarning, stacklevel=1)
        good = np.asarray(rows, dtype=np.float64)[:, 0] / 40.0
        return np.column_stack([1.0 - good, good])

    def predict(self, rows: Any) -> Any:
        """Return the likelier class."""
        return self.classes_.take(np.argmax(self.predict_proba(rows), axis=1))


class Namer(Grumbler):
    """Need the names of the columns."""

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return P(good) by the column named x0."""
        return super().predict_proba(rows[["x0"]])


@pytest.mark.parametrize("model", [Grumbler, Namer])
def test_a_model_that_would_warn_or_fail_is_asked_with_frames(model: Any) -> None:
    data = table(["float64", "float64"])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictor = predictor_of(model().fit(data, labels_of(data)), data)

        assert not asks_without_frames(predictor)


def test_a_bound_predict_of_a_regressor_is_asked_without_frames() -> None:
    data = table(["int64", "float64"])
    model = LinearRegression().fit(data, data["x0"])

    predictor = predictor_of(model.predict, data)

    assert asks_without_frames(predictor)
    np.testing.assert_array_equal(predictor.observed_outputs[:, 0], model.predict(data))


def test_a_model_may_write_to_the_array_it_is_given() -> None:
    data = table(["float64"])
    model = make_pipeline(StandardScaler(copy=False), LogisticRegression())
    predictor = predictor_of(model.fit(data.copy(), labels_of(data)), data)
    genomes = predictor.observed.copy()

    first = predictor.outputs(genomes)

    np.testing.assert_array_equal(genomes, predictor.observed)
    np.testing.assert_array_equal(predictor.outputs(genomes), first)


class Fragile(Grumbler):
    """Take arrays and frames alike, and refuse what the observed rows do not show."""

    def predict_proba(self, rows: Any) -> Any:
        """Fail on a first column below 0."""
        first = np.asarray(rows, dtype=np.float64)[:, 0]
        if (first < 0.0).any():
            raise ValueError(f"{type(rows).__name__} below zero")
        return np.column_stack([1.0 - first / 40.0, first / 40.0])


def test_an_error_is_told_as_the_model_tells_its_user() -> None:
    data = table(["float64", "float64"])
    predictor = predictor_of(Fragile().fit(data, labels_of(data)), data)
    assert asks_without_frames(predictor)

    with pytest.raises(cp.PredictorError, match="ValueError on 8 rows: DataFrame below zero"):
        predictor.outputs(np.full((8, 2), -1.0))


def test_the_same_result_comes_from_a_model_that_only_takes_frames() -> None:
    """Hidden behind a function, a forest is asked with frames; what is found is the same."""
    data = table(["int64", "float64", "bool", "float32"])
    forest = RandomForestClassifier(10, random_state=0).fit(data, labels_of(data))
    hidden = cp.Explainer(lambda rows: forest.predict_proba(rows), data, classes=["bad", "good"])
    row, search = data.iloc[[0]], cp.Search(evaluations=400)
    target = ("good" if forest.predict(row)[0] == "bad" else "bad", (0.6, 1.0))

    found = cp.Explainer(forest, data).explain(row, target, search)

    slow = hidden.explain(row, target, search)
    np.testing.assert_array_equal(found.genomes, slow.genomes)
    np.testing.assert_array_equal(found.objectives, slow.objectives)
