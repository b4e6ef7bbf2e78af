"""Models: five kinds, tuned by random search with cross-validation, kept on disk.

Preprocessing is part of a model: z-scores for the forest, minimum and maximum for all others,
indicators for levels (logistic regression leaves out the first). Rows of the rarer class are
repeated in fitting, never in the rows a model is judged on. Deviations from the paper, all here:

- The budget is `N_TRIED` settings per model instead of 100 per parameter.
- Logistic regression is solved exactly and tuned by its penalty; the paper trained a network
  without hidden layer and tuned the learning rate.
- Repeated rows are all repeated equally often; the paper drew them.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from benchmarks.study.data import Dataset
from counterpoint.streams import Stage, row_keys, uniforms

KINDS = ("randomforest", "xgboost", "svm", "logreg", "neuralnet")
WITHOUT_LOGREG = ("cmc", "tic-tac-toe", "plasma_retinol", "kr-vs-kp")
N_TRIED = 10
N_FOLDS = 5
CACHE = Path(".study") / "models"
Settings = dict[str, float]


def kinds_of(dataset: str) -> list[str]:
    """Return the kinds of model the paper has for a dataset."""
    return [kind for kind in KINDS if kind != "logreg" or dataset not in WITHOUT_LOGREG]


def candidates(kind: str, n: int) -> list[Settings]:
    """Return n settings drawn from the paper's ranges, the same in each call."""
    key = row_keys(0, np.array([[float(KINDS.index(kind))]]))
    first, second = uniforms(key, Stage.NEIGHBOUR_VALUE, 0, n, 2)[0].T
    if kind in ("randomforest", "xgboost"):
        return [{"trees": float(round(1000**u))} for u in first]
    if kind == "svm":
        return [{"cost": 0.01 + 0.99 * float(u)} for u in first]
    if kind == "logreg":
        return [{"C": float(10 ** (4 * u - 2))} for u in first]
    rates = 0.0005 + (0.1 - 0.0005) * first
    return [
        {"rate": float(rate), "units": float(2 ** (1 + int(6 * u)))}
        for rate, u in zip(rates, second, strict=True)
    ]


def untrained(kind: str, settings: Mapping[str, float], data: pd.DataFrame) -> Any:
    """Return preprocessing and estimator in one pipeline."""
    levels = list(data.select_dtypes("category").columns)
    numbers = [column for column in data.columns if column not in levels]
    encoder = OneHotEncoder(
        categories=[list(data[column].cat.categories) for column in levels],
        drop="first" if kind == "logreg" else None,
        sparse_output=False,
    )
    scaler = StandardScaler() if kind == "randomforest" else MinMaxScaler()
    steps = [(step, columns) for step, columns in ((encoder, levels), (scaler, numbers)) if columns]
    return make_pipeline(make_column_transformer(*steps), estimator(kind, settings))


def estimator(kind: str, settings: Mapping[str, float]) -> Any:
    """Return an untrained estimator, on one thread and with a fixed seed."""
    if kind == "randomforest":
        return RandomForestClassifier(int(settings["trees"]), random_state=0)
    if kind == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=int(settings["trees"]), random_state=0, n_jobs=1)
    if kind == "svm":
        return CalibratedClassifierCV(SVC(C=settings["cost"]), ensemble=False)
    if kind == "logreg":
        return LogisticRegression(C=settings["C"], max_iter=2000)
    if kind == "neuralnet":
        return MLPClassifier(
            (int(settings["units"]),),
            learning_rate_init=settings["rate"],
            batch_size=32,
            early_stopping=True,
            validation_fraction=0.2,
            n_iter_no_change=5,
            max_iter=1000,
            random_state=0,
        )
    raise ValueError(f"kind of model must be one of {list(KINDS)}, got {kind!r}.")


def oversampled(
    data: pd.DataFrame, classes: pd.Series[Any], rate: int
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return rows and classes with each row of the rarer class `rate` times."""
    rarer = classes.value_counts().idxmin()
    places = np.repeat(np.arange(len(data)), np.where(classes == rarer, rate, 1))
    return data.iloc[places], classes.iloc[places]


def fit(kind: str, settings: Mapping[str, float], dataset: Dataset) -> Any:
    """Return a fitted model."""
    data, classes = oversampled(dataset.data, dataset.classes, dataset.rate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on convergence, which cross-validation judges
        return untrained(kind, settings, dataset.data).fit(data, classes)


def accuracy(kind: str, settings: Mapping[str, float], dataset: Dataset, seed: int = 0) -> float:
    """Return the accuracy on rows left out, the mean over folds."""
    scores = [
        _accuracy_on(fit(kind, settings, part), test)
        for part, test in folds(dataset, N_FOLDS, seed)
    ]
    return float(np.mean(scores))


def folds(dataset: Dataset, n: int, seed: int) -> list[tuple[Dataset, Dataset]]:
    """Return n pairs of the rows to fit to and the rows to judge on."""
    splitter = StratifiedKFold(n, shuffle=True, random_state=seed)
    return [
        (_part(dataset, train), _part(dataset, test))
        for train, test in splitter.split(dataset.data, dataset.classes)
    ]


def _part(dataset: Dataset, places: Any) -> Dataset:
    """Return a dataset of some of the rows."""
    data, classes = dataset.data.iloc[places], dataset.classes.iloc[places]
    return Dataset(dataset.name, data, classes, dataset.rows, dataset.rate)


def _accuracy_on(model: Any, test: Dataset) -> float:
    """Return the share of rows whose class a model gets right."""
    return float(np.mean(model.predict(test.data) == test.classes))


def tune(kind: str, dataset: Dataset, n: int = N_TRIED) -> Settings:
    """Return the most accurate of n drawn settings; ties go to the first drawn."""
    tried = candidates(kind, n)
    return max(tried, key=lambda settings: accuracy(kind, settings, dataset))


def nested_accuracy(kind: str, dataset: Dataset, n: int) -> float:
    """Return the accuracy of tuning itself: tuned on each outer fold, judged on what it left."""
    scores = [
        _accuracy_on(fit(kind, tune(kind, part, n), part), test)
        for part, test in folds(dataset, N_FOLDS, seed=1)
    ]
    return float(np.mean(scores))


def tuned(kind: str, dataset: Dataset, n: int = N_TRIED, cache: Path = CACHE) -> Any:
    """Return the tuned and fitted model, from the cache if it was fitted to the same before."""
    file = cache / f"{dataset.name}-{kind}-{fingerprint(dataset, n)}.joblib"
    if file.exists():
        return joblib.load(file)["model"]
    settings = tune(kind, dataset, n)
    model = fit(kind, settings, dataset)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    joblib.dump({"model": model, "settings": settings}, part)
    part.replace(file)
    return model


def fingerprint(dataset: Dataset, n: int) -> str:
    """Return a short name of everything a fitted model depends on but its kind."""
    rows = pd.util.hash_pandas_object(dataset.data).to_numpy().tobytes()
    said = json.dumps([n, dataset.rate, sklearn.__version__, list(dataset.data.columns)])
    classes = dataset.classes.to_numpy().tobytes()
    return hashlib.sha256(rows + classes + said.encode()).hexdigest()[:12]
