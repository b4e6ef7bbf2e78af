"""Small problems for the compared methods: estimators fitted to a mixed table, and their cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from benchmarks.methods import Background, Case
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def mixed(seed: int, n: int = 150) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return rows of three whole numbers and a category, and a score that depends on all."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - made-up data, not a search
    rows = pd.DataFrame(
        {
            "a": rng.integers(0, 5, n),
            "b": rng.integers(0, 7, n),
            "c": pd.Categorical(rng.choice(list("xyz"), n), categories=list("xyz")),
            "d": rng.integers(0, 4, n),
        }
    )
    noise = pd.Series(rng.normal(0.0, 0.7, n))
    levels = 2.0 * (rows["c"] == "y") - (rows["c"] == "z")
    return rows, rows["a"] - 0.7 * rows["b"] + levels + rows["d"] + noise


def fitted(estimator: Any, seed: int, n_classes: int = 2) -> Background:
    """Return an estimator behind one-hot encoding and scaling, fitted to the mixed rows."""
    rows, score = mixed(seed)
    parts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    classes = pd.Series(np.digitize(score, parts), index=rows.index)
    encode = make_column_transformer((OneHotEncoder(), ["c"]), (StandardScaler(), ["a", "b", "d"]))
    return Background(make_pipeline(encode, estimator).fit(rows, classes), rows, classes)


def other_class(background: Background, i: int, seed: int = 0) -> Case:
    """Return the case of an observed row whose target is the class after the predicted one."""
    row = background.train.iloc[[i]]
    predicted = int(background.model.predict(row)[0])
    return Case(background, row, (predicted + 1) % len(background.model.classes_), seed)
