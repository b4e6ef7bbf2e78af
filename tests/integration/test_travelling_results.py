"""A result is data: it can be copied, pickled, and sent to other processes."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp

I = np.arange(60)  # noqa: E741 - the rows
DATA = pd.DataFrame(
    {
        "age": I * 7 % 31,
        "since": pd.date_range("2020-01-01", periods=60),
        "job": np.array(["clerk", "nurse", "smith"])[I % 3],
        "debt": np.where(I % 9 == 0, np.nan, I % 4),
    }
)


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    tree.fit(DATA[["age"]], np.where(DATA["age"] > 15, "yes", "no"))

    class Model:
        """A local class with a local function, which no pickle could hold."""

        classes_ = tree.classes_

        def predict_proba(self, rows: pd.DataFrame) -> Any:
            """Return what the tree says of the age."""
            return tree.predict_proba(rows[["age"]])

    row = DATA[DATA["age"] < 10].iloc[[0]]
    return cp.Explainer(Model(), DATA).explain(row, "yes", cp.Search(evaluations=300))


def told(found: cp.Counterfactuals) -> tuple[int, str]:
    return len(found), found.to_csv() or ""


@pytest.mark.parametrize("way", [pickle, cloudpickle])
def test_a_result_survives_a_pickle(found: cp.Counterfactuals, way: Any) -> None:
    again = way.loads(way.dumps(found))

    assert again == found
    assert told(again) == told(found)


def test_a_result_can_be_copied(found: cp.Counterfactuals) -> None:
    assert copy.deepcopy(found) == found
    assert copy.copy(found) == found


def test_a_result_travels_to_other_processes(found: cp.Counterfactuals) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        answer = pool.submit(told, found).result(timeout=120)

    assert answer == told(found)
    assert joblib.Parallel(2)(joblib.delayed(told)(found) for _ in range(2)) == [answer] * 2
