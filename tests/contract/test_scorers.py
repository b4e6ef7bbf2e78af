"""What `check_scorer` holds adapters to: ours keep it, and each fault is noticed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from counterpoint.models.adapters.scorer import adapt
from counterpoint.testing import check_scorer

DATA = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "debt": [0.5, 1.5, 2.0, 9.0]})


class Plain:
    """A scorer made of a function."""

    def __init__(self, score: Callable[[pd.DataFrame], Any], classes: Sequence[Any] | None) -> None:
        self.classes_, self.is_shared, self._score = classes, True, score

    def score(self, rows: pd.DataFrame) -> Any:
        """Return what the function does."""
        return self._score(rows)


def share(rows: pd.DataFrame) -> Any:
    """Return the age as a share."""
    return rows["age"].to_numpy(float) / 100


def test_a_good_one_passes() -> None:
    check_scorer(Plain(share, ("bad", "good")), DATA)
    check_scorer(Plain(lambda rows: share(rows)[:, None] * 1000, None), DATA)


def test_our_adapter_of_an_xgboost_booster_passes() -> None:
    xgboost = pytest.importorskip("xgboost")
    classes = np.array([0, 0, 1, 1])
    matrix = xgboost.DMatrix(DATA, classes)
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, matrix, 3)

    check_scorer(adapt(booster), DATA)


def test_our_adapter_of_an_onnx_file_passes() -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    model = LogisticRegression().fit(DATA.to_numpy(np.float32), [0, 1, 0, 1])
    file = skl2onnx.to_onnx(
        model, DATA.to_numpy(np.float32)[:1], options={"zipmap": False}
    ).SerializeToString()

    check_scorer(adapt(file), DATA.astype(np.float32))


def write(rows: pd.DataFrame) -> Any:
    """Write to the rows."""
    rows.loc[:, "age"] = 7.0
    return np.zeros(len(rows))


class Drifting:
    """Answers with the number of the call."""

    n_calls = 0

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return another share each time."""
        self.n_calls += 1
        return np.full(len(rows), 1 / self.n_calls)


FAULTS: list[tuple[str, Callable[[pd.DataFrame], Any]]] = [
    ("returned shape \\(3,\\) for 4 rows", lambda _: np.zeros(3)),
    ("NaN or infinity", lambda rows: share(rows) * np.nan),
    ("which is no probability", lambda rows: share(rows) * 10),
    ("3 columns for 2 classes", lambda rows: np.zeros((len(rows), 3))),
    ("do not add up to 1", lambda rows: np.full((len(rows), 2), 0.4)),
    ("writes to the table", write),
    ("when asked again", Drifting()),
    ("in another order", lambda rows: np.linspace(0, 1, len(rows))),
    ("a row that is alone", lambda rows: share(rows) / len(rows)),
]


@pytest.mark.parametrize(("message", "score"), FAULTS, ids=[message for message, _ in FAULTS])
def test_a_fault_is_noticed(message: str, score: Callable[[pd.DataFrame], Any]) -> None:
    with pytest.raises(AssertionError, match=message):
        check_scorer(Plain(score, ("bad", "good")), DATA)


def test_one_that_several_threads_confuse_is_noticed() -> None:
    owner = threading.get_ident()

    def score(rows: pd.DataFrame) -> Any:
        """Answer otherwise on other threads."""
        time.sleep(0.001)
        return share(rows) * (1.0 if threading.get_ident() == owner else 0.5)

    with pytest.raises(AssertionError, match="several threads; say is_shared = False"):
        check_scorer(Plain(score, None), DATA)


def test_what_is_no_scorer_is_named() -> None:
    with pytest.raises(AssertionError, match="classes_, is_shared and score"):
        check_scorer(share, DATA)  # type: ignore[arg-type]
