"""The kinds of model speed is measured with, on data of the size of the paper's diabetes table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from benchmarks import tables
from counterpoint.datasets import load_credit

MIXED = "logistic regression, mixed columns"
NAMES = (
    MIXED,
    "forest",
    "histogram boosting",
    "XGBoost",
    "LightGBM",
    "support vectors",
    "network",
)
TREES = ("forest", "histogram boosting", "XGBoost", "LightGBM")


def table(name: str) -> tuple[pd.DataFrame, Any]:
    """Return data and classes: the embedded credit data for the mixed pipeline, else diabetes."""
    if name == MIXED:
        return load_credit()
    if "diabetes" in tables.names("benchmark"):
        loaded = tables.load("diabetes")
        return loaded.data.reset_index(drop=True), loaded.classes.factorize(sort=True)[0]
    rng = np.random.default_rng(1)  # noqa: TID251 - a stand-in of the same shape
    data = pd.DataFrame(
        rng.gamma(2.0, 20.0, (758, 8)).round(1), columns=[f"x{j}" for j in range(8)]
    )
    score = data["x0"] + data["x1"] - data["x2"] + rng.normal(0.0, 20.0, len(data))
    return data, (score > score.median()).to_numpy().astype(int)


def fit(name: str, data: pd.DataFrame, classes: Any) -> Any:
    """Return a fitted model of one kind, on the frame as its user would."""
    return _new(name, data).fit(data, classes)


def _new(name: str, data: pd.DataFrame) -> Any:
    """Return an untrained model by name, on one thread where it can be told."""
    if name == "XGBoost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=100, random_state=0)
    if name == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=100, random_state=0, verbose=-1)
    numbers = list(data.select_dtypes("number").columns)
    levels = [column for column in data.columns if column not in numbers]
    mixed = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), levels), (StandardScaler(), numbers)
    )
    return {
        MIXED: make_pipeline(mixed, LogisticRegression(max_iter=1000)),
        "forest": RandomForestClassifier(100, random_state=0),
        "histogram boosting": HistGradientBoostingClassifier(random_state=0),
        "support vectors": make_pipeline(
            StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False)
        ),
        "network": make_pipeline(
            StandardScaler(), MLPClassifier((100,), random_state=0, max_iter=300)
        ),
    }[name]
