from __future__ import annotations

import inspect
import time
from contextlib import suppress
from functools import partial
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import ThreadpoolController, threadpool_info

import counterpoint as cp
from counterpoint.models.inspection import is_known
from counterpoint.models.predictor import one_thread


def blas_threads() -> list[int]:
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_libraries_stay_on_one_thread_until_the_last_user_is_done() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    threads, before = ThreadpoolController(), blas_threads()

    with one_thread(threads):
        with one_thread(threads):
            pass
        within = blas_threads()

    assert set(within) == {1}
    assert blas_threads() == before


def n_jobs_of(model: Any, rows: Any, monkeypatch: Any) -> int:
    """Return how many jobs joblib really starts for a call of the model."""
    seen: list[int] = []
    original = joblib.Parallel.__call__

    def watch(self: Any, iterable: Any) -> Any:
        answers = original(self, iterable)
        seen.append(joblib.parallel.effective_n_jobs(self.n_jobs))
        return answers

    monkeypatch.setattr(joblib.Parallel, "__call__", watch)
    model.predict_proba(rows)
    return seen[-1]


def test_a_forest_of_several_jobs_starts_none(monkeypatch: Any) -> None:
    rows = np.arange(40.0).reshape(20, 2)
    forest = RandomForestClassifier(4, n_jobs=2, random_state=0).fit(rows, [0, 1] * 10)

    with one_thread(ThreadpoolController()):
        n_jobs = n_jobs_of(forest, rows, monkeypatch)

    assert n_jobs == 1


class Buffered:
    """A wrapper with one work buffer, which a second caller overwrites."""

    classes_ = np.array([0, 1])

    def __init__(self) -> None:
        self.buffer = np.zeros((8192, 2))

    def predict_proba(self, rows: Any) -> Any:
        """Return P(1), after a while in which another may come."""
        n = len(rows)
        self.buffer[:n, 1] = rows["a"].to_numpy() / 100
        time.sleep(0.001)
        self.buffer[:n, 0] = 1.0 - self.buffer[:n, 1]
        return self.buffer[:n].copy()

    def predict(self, rows: Any) -> Any:
        """Return the likelier class."""
        return self.predict_proba(rows).argmax(axis=1)


NUMBERS = pd.DataFrame({"a": np.arange(100.0), "b": np.arange(100.0) % 7})
FEW = cp.Search(evaluations=150)


def test_a_model_nobody_knows_is_asked_by_one_thread() -> None:
    explainer = cp.Explainer(Buffered(), NUMBERS)

    found = explainer.explain_many(NUMBERS[:30], 1, FEW)

    assert not explainer.predictor.is_shared
    for each in found:
        assert (Buffered().predict(each.to_rows()) == 1).all()


@pytest.mark.parametrize("is_said", [True, False])
def test_a_trial_in_two_threads_refuses_what_does_not_bear_them(is_said: bool) -> None:
    model = Buffered()
    if is_said:
        model.is_shared = True  # type: ignore[attr-defined]
    explainer = cp.Explainer(model, NUMBERS)
    alone = [explainer.explain(NUMBERS[i : i + 1], 1, FEW) for i in range(4)]

    with pytest.warns(cp.ModelWarning, match=r"workers=3 does not mean threads: the model answers"):
        together = explainer.explain_many(NUMBERS[:4], 1, FEW, workers=3)

    assert together == alone


def test_what_says_that_it_is_shared_is_asked_by_its_own_methods() -> None:
    class Shared(Buffered):
        is_shared = True

        def score(self, rows: Any, labels: Any) -> float:  # the accuracy, as estimators have it
            return float(np.mean(self.predict(rows) == labels))

    predictor = cp.Explainer(Shared(), NUMBERS).predictor

    assert predictor.is_shared
    assert predictor.method == "predict_proba"


def known_models() -> list[Any]:
    labels = NUMBERS["a"] > 50
    encode = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["b"]))
    return [
        make_pipeline(encode, LogisticRegression()).fit(NUMBERS, labels),
        GradientBoostingClassifier(n_estimators=3).fit(NUMBERS, labels),
        HistGradientBoostingClassifier(max_iter=3).fit(NUMBERS, labels),
        HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype").fit(
            NUMBERS.astype({"b": "category"}), labels
        ),
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}).fit(NUMBERS, labels),
        make_pipeline(FunctionTransformer(np.log1p), SVC()).fit(NUMBERS, labels),
    ]


@pytest.mark.parametrize("i", range(6))
def test_estimators_are_known(i: int) -> None:
    with suppress(ValueError):  # of older versions of NumPy, whose functions have none
        inspect.signature(np.log1p)  # which the function then keeps

    assert is_known(known_models()[i])


class OwnForest(RandomForestClassifier):  # type: ignore[misc]
    """A forest that may do anything."""


@pytest.mark.parametrize(
    "part",
    [
        FunctionTransformer(lambda rows: rows),
        FunctionTransformer(partial(np.asarray, like=Buffered())),
        FunctionTransformer(np.vectorize(lambda cell: cell)),
        FunctionTransformer(np.frompyfunc(lambda cell: cell, 1, 1)),
        OwnForest(2).fit(NUMBERS, NUMBERS["a"] > 50),
        CalibratedClassifierCV(OwnForest(2), cv=2).fit(NUMBERS, NUMBERS["a"] > 50),
        KNeighborsClassifier(metric=lambda a, b: abs(a - b).sum()),
        type("CyHalfBinomialLoss", (), {"__module__": "_loss"})(),  # called as scikit-learn's are
    ],
)
def test_a_type_or_function_of_the_callers_inside_is_not_known(part: Any) -> None:
    assert not is_known(make_pipeline(StandardScaler(), part))
