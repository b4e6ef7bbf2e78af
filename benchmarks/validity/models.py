"""The models of the set-ups, each with what its user would ask it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from benchmarks.validity.tables import Table

Answer = Callable[[Any], Any]  # rows to one answer each


class Model(NamedTuple):
    """What is given to an `Explainer`, and what its user asks: labels or numbers."""

    asked: Any
    answer: Answer
    classes: list[Any] | None = None


def days(rows: pd.DataFrame) -> Any:
    """Return dates as numbers of days."""
    return rows.apply(lambda column: (column - pd.Timestamp("2018-01-01")).dt.days / 1000)


def prepared(estimator: Any) -> Any:
    """Return a pipeline of the estimator behind scaled numbers and one-hot levels."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encode = make_column_transformer(
        (numbers, make_column_selector(dtype_include=["number", "bool"])),
        (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_include=["category", "object"]),
        ),
        (FunctionTransformer(days), make_column_selector(dtype_include="datetime")),
    )
    return make_pipeline(encode, estimator)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=500),
    "forest": lambda: RandomForestClassifier(10, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "support vectors": lambda: SVC(),
    "network": lambda: MLPClassifier((16,), max_iter=300, tol=1e-2, random_state=0),
    "threshold": lambda: FixedThresholdClassifier(LogisticRegression(max_iter=500), threshold=0.3),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: Ridge(),
    "forest regressor": lambda: RandomForestRegressor(10, random_state=0),
    "boosting regressor": lambda: HistGradientBoostingRegressor(max_iter=20, random_state=0),
}


class Single:
    """A network of one hidden layer in single precision, of any table of numbers."""

    def __init__(self, table: Table) -> None:
        cells = table.data.to_numpy(np.float32)
        self.middle, self.scale = cells.mean(axis=0), cells.std(axis=0) + np.float32(1e-3)
        labels, codes = np.unique(table.labels, return_inverse=True)
        fitted = MLPClassifier((24,), max_iter=200, tol=1e-2, random_state=1)
        fitted.fit((cells - self.middle) / self.scale, codes)
        self.classes_ = labels
        self.weights = [np.asarray(each, dtype=np.float32) for each in fitted.coefs_]
        self.offsets = [np.asarray(each, dtype=np.float32) for each in fitted.intercepts_]

    def predict_proba(self, rows: Any) -> Any:
        """Return a probability per class, in single precision."""
        cells = (np.asarray(rows).astype(np.float32) - self.middle) / self.scale
        hidden = np.maximum(cells @ self.weights[0] + self.offsets[0], np.float32(0.0))
        logits = hidden @ self.weights[1] + self.offsets[1]
        if logits.shape[1] == 1:
            logits = np.hstack([np.zeros_like(logits), logits])
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def predict(self, rows: Any) -> Any:
        """Name the likeliest class."""
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]


def function(kind: str, table: Table) -> Model:
    """Return a function of the single precision network; how it is asked depends on the kind."""
    network = Single(table)
    classes = [str(label) for label in network.classes_]
    if kind == "float32 object":
        return Model(network, network.predict)
    if kind == "float32 function":
        return Model(network.predict_proba, network.predict, classes)
    if kind == "labels only":
        return Model(lambda rows: network.predict(rows), network.predict, classes)

    def score(rows: Any) -> Any:
        return network.predict_proba(rows)[:, -1]

    def outputs(rows: Any) -> Any:  # of large numbers, as prices are
        return np.float32(1e6) * (np.float32(1.0) + score(rows))

    return Model(score, score) if kind == "float32 score" else Model(outputs, outputs)


def fit(kind: str, table: Table, form: str) -> Model:
    """Return a fitted model of one kind; arrays and polars' tables have numbers only."""
    if kind not in CLASSIFIERS and kind not in REGRESSORS:
        return function(kind, table)
    is_bare = form in ("numpy", "polars")
    estimator = (CLASSIFIERS | REGRESSORS)[kind]()
    model = make_pipeline(StandardScaler(), estimator) if is_bare else prepared(estimator)
    data: Any = table.data.to_numpy() if form == "numpy" else table.data
    if form == "polars":
        import polars as pl

        data = pl.from_pandas(table.data)
    model.fit(data, table.outcomes if kind in REGRESSORS else table.labels)
    return Model(model, model.predict)
