"""What `valid()` returns is valid as it stands: the caller's model agrees, every limit holds.

Tables, models and limits are many, the rows returned are checked one by one, and none may fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from tests.strategies import generator

import counterpoint as cp
from counterpoint.result.ways import taken, way_rows_of

N_WANTED = 10_000  # of each of two tables
SEARCH = cp.Search(evaluations=800)
DECIMALS = {"amount": 2, "debt": 1, "share": 3}  # of the float columns; "rate" has as many as fit
NUMBERS = ["age", "amount", "debt", "share", "rate"]
LEVELS = ["job", "city", "grade", "owns"]
LIMITS: list[dict[str, Any]] = [
    {},
    {"fixed": ["age", "job"]},
    {"max_changed": 2},
    {"ranges": {"amount": (500.0, 6000.0), "age": (20, 60), "share": (0.1, 0.9)}},
    {"fixed": ["city"], "ranges": {"debt": (None, 5.5), "rate": (0.2, 0.8)}, "max_changed": 5},
]


class Tally(NamedTuple):
    """How many returned rows were checked, and what was wrong with which."""

    n_rows: int
    wrong: list[str]


def table(seed: int, n: int = 300) -> pd.DataFrame:
    """Return a table of every kind of column."""
    rng = generator(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(np.int32),
            "amount": rng.gamma(3.0, 900.0, n).round(2),
            "debt": rng.normal(4.0, 2.0, n).round(1),
            "share": rng.random(n).round(3).astype(np.float32),
            "rate": rng.random(n),
            "job": rng.choice(["clerk", "nurse", "smith", "none"], n),
            "city": pd.Categorical(rng.choice(["Bonn", "Oslo", "Rome"], n)),
            "grade": pd.Categorical(rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"], True),
            "owns": rng.random(n) < 0.4,
        }
    )


@cache
def tables() -> list[pd.DataFrame]:
    return [table(seed) for seed in range(2)]


def score(data: pd.DataFrame) -> pd.Series[float]:
    noise = generator(9).normal(0.0, 0.3, len(data))
    merits = 2.0 * data["owns"] + (data["job"] == "nurse") + (data["city"] == "Oslo")
    return data["amount"] / 900 - data["debt"] / 2 + 2 * data["share"] + merits + noise


def fitted(estimator: Any, data: pd.DataFrame, wanted: Any) -> Any:
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), LEVELS))
    return make_pipeline(encode, estimator).fit(data, wanted)


def classifiers() -> dict[str, Any]:
    return {
        "forest": RandomForestClassifier(20, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=30, random_state=0),
        "logistic": LogisticRegression(),
        "calibrated SVC": CalibratedClassifierCV(SVC(), cv=3, ensemble=False),
        "three classes": RandomForestClassifier(20, random_state=0),
        "three classes, linear": LogisticRegression(),
    }


def regressors() -> dict[str, Any]:
    return {
        "forest regressor": RandomForestRegressor(15, random_state=0),
        "boosted regressor": GradientBoostingRegressor(n_estimators=30, random_state=0),
    }


def tasks(data: pd.DataFrame) -> Iterator[tuple[str, Any, Any]]:
    """Yield a name, a model fitted to a table, and a target."""
    value = score(data)
    for name, estimator in classifiers().items():
        cuts = [1 / 3, 2 / 3] if name.startswith("three") else [1 / 2]
        classes = np.array(["bad", "fair", "good"])[
            np.searchsorted(value.quantile(cuts), value) + (len(cuts) == 1)
        ]
        yield name, fitted(estimator, data, classes), "good"
    for name, estimator in regressors().items():
        low, high = value.quantile([0.6, 0.7])
        yield name, fitted(estimator, data, value), (low, high)


def reaches(model: Any, frame: pd.DataFrame, target: Any) -> Any:
    """Return what the caller sees: their model's answer to the rows they were given."""
    answers = model.predict(frame)
    if isinstance(target, str):
        return answers == target
    return (answers >= target[0]) & (answers <= target[1])


def has_decimals(column: pd.Series[Any], decimals: int) -> Any:
    """Whether each number is written with so many decimals, in the column's own precision."""
    values = column.to_numpy()
    return values == values.astype(np.float64).round(decimals).astype(values.dtype)


def returned(found: cp.Counterfactuals, columns: list[Any]) -> pd.DataFrame:
    """Return every valid row of one result, and all that is kept of its ways, shown or not."""
    kept = way_rows_of(found)
    of_ways = taken(found, kept, np.arange(len(kept.way)))
    frame: pd.DataFrame = pd.concat([found.to_frame(), of_ways.to_frame(near_misses=True)])[columns]
    return frame


def violations(
    results: list[cp.Counterfactuals],
    model: Any,
    data: pd.DataFrame,
    target: Any,
    limits: dict[str, Any],
) -> Tally:
    """Check every valid row of some results, ways included, in the caller's own terms."""
    frames = [returned(found, list(data.columns)) for found in results]
    frame = pd.concat(frames)
    if len(frame) == 0:
        return Tally(0, [])
    own = pd.concat([each.row.iloc[[0] * len(f)] for each, f in zip(results, frames, strict=True)])
    unlike = pd.DataFrame({c: frame[c].to_numpy() != own[c].to_numpy() for c in data.columns})
    has_other_dtypes = [(each.dtypes != data.dtypes).any() for each in frames]
    broken: dict[str, Any] = {
        "misses the target": ~reaches(model, frame, target),
        "has other dtypes": has_other_dtypes,
        "changes nothing": ~unlike.any(axis=1),
        "changes too much": unlike.sum(axis=1) > limits.get("max_changed", len(data.columns)),
    }
    for name in limits.get("fixed", ()):
        broken[f"changes the fixed {name}"] = unlike[name]
    for name in NUMBERS:
        low, high = limits.get("ranges", {}).get(name, (None, None))
        dtype = data[name].dtype.type
        least, most = (data[name].min() if low is None else low), data[name].max()
        most = most if high is None else high
        broken[f"{name} is out of range"] = ~frame[name].between(dtype(least), dtype(most))
    for name, decimals in DECIMALS.items():
        broken[f"{name} is too fine"] = ~has_decimals(frame[name], decimals)
    for name in LEVELS:
        broken[f"{name} is unknown"] = ~frame[name].isin(data[name].unique())
    return Tally(len(frame), [words for words, is_so in broken.items() if np.any(is_so)])


@pytest.mark.parametrize("number", [0, 1])
def test_every_valid_row_is_valid_as_it_is_returned(number: int) -> None:
    """Over twenty thousand rows, of every kind of model and limit, without one exception."""
    data, n_rows, wrong = tables()[number], 0, list[str]()
    for i, (name, model, target) in enumerate(tasks(data), 8 * number):
        explainer = cp.Explainer(model, data)
        rows = data[~reaches(model, data, target)][:6]
        for seed, limits in enumerate(LIMITS):
            results = explainer.explain_many(rows, target, SEARCH, seed + i, **limits)
            tally = violations(results, model, data, target, limits)

            n_rows += tally.n_rows
            wrong += [f"{name}, {limits}: {words}" for words in tally.wrong]

    assert wrong == []
    assert n_rows >= N_WANTED


@pytest.mark.parametrize("probability", [(0.7, 1.0), (0.45, 0.55)])
def test_a_probability_asked_for_is_the_one_the_caller_gets(
    probability: tuple[float, float],
) -> None:
    data = tables()[0]
    labels = np.where(score(data).gt(score(data).median()), "good", "bad")
    model = fitted(GradientBoostingClassifier(n_estimators=30, random_state=0), data, labels)

    results = cp.Explainer(model, data).explain_many(data[:20], ("good", probability), SEARCH)

    frame = pd.concat([found.valid().to_frame()[list(data.columns)] for found in results])
    again = model.predict_proba(frame.astype(data.dtypes))[:, 1]
    assert len(frame) > 200
    assert ((again >= probability[0]) & (again <= probability[1])).all()


SEARCHES = [
    cp.WhatIf(n=4),
    cp.Search(evaluations=200),
    cp.Search(method="nsga2", generations=3),
    cp.Search(method="nsga2", generations=3, mutation="gaussian"),
    cp.Search(method="random", generations=3),
]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("decimals", [0, 1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_changes_lies_on_the_declared_decimals(search: Any, decimals: int, dtype: Any) -> None:
    data = pd.DataFrame(generator(3).normal(0.0, 3.0, (80, 3)).round(6).astype(dtype))
    features = {name: cp.Real(decimals=decimals) for name in data.columns}
    explainer = cp.Explainer(lambda rows: rows[0] - rows[1], data, features=features)
    low = data[data[0] - data[1] < 2.0][:4]

    results = explainer.explain_many(low, (2.0, None), search)

    for row, found in zip(low.to_numpy(), results, strict=True):
        values = found.to_rows().to_numpy()
        is_changed = values != row
        assert is_changed.any()
        assert has_decimals(pd.Series(values[is_changed]), decimals).all()
        assert (values[:, 0] - values[:, 1] >= 2.0).all()
        assert (values >= data.min().to_numpy()).all()
        assert (values <= data.max().to_numpy()).all()
