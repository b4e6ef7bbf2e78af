"""An Explainer that went through a pickle explains the same, bit for bit, and warns of nothing."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from tests.frameworks import framework

import counterpoint as cp
from counterpoint.batch.engines.engine import Files, Recipe
from counterpoint.batch.rows import Order, explain_rows

N = 40
FEW = cp.Search(evaluations=80)
PLAIN = pd.DataFrame(
    {
        "age": np.arange(N) % 23 + 18,
        "income": (np.arange(N) * 37 % 90).astype(float) / 4,
        "job": pd.Categorical(np.array(["clerk", "cook", "nurse"])[np.arange(N) % 3]),
        "owns": np.arange(N) % 2 == 0,
    }
)


def score(rows: Any) -> Any:
    """Return a score from the first two columns, of whatever kind of table."""
    if isinstance(rows, np.ndarray):
        return rows[:, 0] / 60 + rows[:, 1] / 60
    age, income = (np.asarray(rows[name], dtype=float) for name in ("age", "income"))
    return np.nan_to_num(age, nan=30.0) / 60 + np.nan_to_num(income, nan=5.0) / 60


def hours(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
    """Return how much the age is off: an objective of the caller's."""
    return (rows["age"] - row["age"].iloc[0]).abs()


def dated() -> pd.DataFrame:
    """Return rows with days, of pandas and of Python."""
    days = [date(2020, 1, 1 + i % 28) for i in range(N)]
    return PLAIN.assign(since=pd.to_datetime(days), until=pd.Series(days, dtype=object))


def gappy() -> pd.DataFrame:
    """Return rows with missing values of every mark."""
    income = PLAIN["income"].where(np.arange(N) % 5 > 0)
    job = PLAIN["job"].astype(object).where(np.arange(N) % 7 > 0, None)
    age = PLAIN["age"].astype("Int64").where(np.arange(N) % 6 > 0)
    return PLAIN.assign(income=income, job=job, age=age)


def coded() -> pd.DataFrame:
    """Return rows with a one-hot group nobody declared."""
    return PLAIN.drop(columns="job").join(pd.get_dummies(PLAIN["job"], prefix="job", dtype=int))


def numbers() -> Any:
    """Return rows as an array."""
    return PLAIN[["age", "income"]].to_numpy(dtype=np.float32)


def labelled() -> tuple[Any, Any]:
    """Return a classifier and what it was fitted on."""
    x = PLAIN[["age", "income"]]
    return LogisticRegression().fit(x, np.where(score(x) > 0.6, "good", "bad")), x


CASES: dict[str, tuple[Any, Any, dict[str, Any], object]] = {
    "pandas": (score, PLAIN, {}, (0.9, 1.5)),
    "polars": (score, pl.from_pandas(PLAIN), {}, (0.9, 1.5)),
    "arrow": (score, pa.Table.from_pandas(PLAIN), {}, (0.9, 1.5)),
    "array": (score, numbers(), {}, (0.9, 1.5)),
    "dates": (score, dated(), {}, (0.9, 1.5)),
    "missing": (score, gappy(), {"allow_missing": ["job"]}, (0.9, 1.5)),
    "found group": (score, coded(), {}, (0.9, 1.5)),
    "declared group": (
        score,
        coded(),
        {"groups": {"job": ["job_clerk", "job_cook", "job_nurse"]}},
        (0.9, 1.5),
    ),
    "kinds": (
        score,
        PLAIN,
        {"features": {"age": cp.Integer(10, 90), "job": cp.Ordered(["cook", "clerk", "nurse"])}},
        (0.9, 1.5),
    ),
    "remarks": (score, PLAIN, {"units": {"age": "years"}, "protected": ["owns"]}, (0.9, 1.5)),
    "nearest": (score, PLAIN, {"k": 3, "weights": [3, 2, 1], "precision": "full"}, (0.9, 1.5)),
    "objectives": (score, PLAIN, {"objectives": [cp.Objective("hours", hours)]}, (0.9, 1.5)),
    "distance": (score, PLAIN, {"distance": cp.Distance("hours", hours)}, (0.9, 1.5)),
    "scale": (score, PLAIN, {"distance": cp.Gower("mad")}, (0.9, 1.5)),
    "forest": (score, PLAIN, {"plausibility": cp.ForestPlausibility(trees=5)}, (0.9, 1.5)),
    "classifier": (*labelled(), {}, "good"),
    "accelerated": (*labelled(), {"accelerate": "onnx"}, "good"),
}


def explainer_of(case: str) -> cp.Explainer:
    """Return the explainer of a case."""
    model, data, settings, _ = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.DataWarning)  # of the group that is found
        return cp.Explainer(model, data, **settings)


@pytest.mark.parametrize("case", CASES)
def test_a_pickled_explainer_explains_the_same(case: str) -> None:
    explainer = explainer_of(case)
    rows = explainer.encoding.decode(explainer.observed.genomes[:5].copy())
    order = Order(CASES[case][3], FEW)

    again = pickle.loads(pickle.dumps(explainer))  # noqa: S301 - warnings are errors here

    assert again.schema == explainer.schema
    pd.testing.assert_frame_equal(
        explain_rows(again, rows, order), explain_rows(explainer, rows, order)
    )
    one, other = (each.explain(rows.iloc[[0]], CASES[case][3], FEW) for each in (explainer, again))
    assert type(one.to_frame(near_misses=True)) is type(other.to_frame(near_misses=True))
    assert one.fingerprints == other.fingerprints
    np.testing.assert_array_equal(one.genomes, other.genomes)
    np.testing.assert_array_equal(one.objectives, other.objectives)


def test_it_is_built_of_the_data_as_they_were() -> None:
    data = PLAIN.copy()
    explainer = cp.Explainer(score, data)
    data["age"] = 0

    again = pickle.loads(pickle.dumps(explainer))  # noqa: S301

    np.testing.assert_array_equal(again.observed.genomes, explainer.observed.genomes)


def test_an_accelerator_that_was_not_believed_is_not_asked_again() -> None:
    with pytest.warns(cp.AcceleratorWarning) as warned:
        explainer = cp.Explainer(score, PLAIN, accelerate="onnx")

    pickle.loads(pickle.dumps(explainer))  # noqa: S301 - warnings are errors here

    assert warned[0].filename == __file__


def test_a_model_of_onnx_travels_by_its_contents(tmp_path: Path) -> None:
    converter = framework("skl2onnx")
    model, data = labelled()
    arrays = data.to_numpy(dtype=np.float32)
    proto = converter.to_onnx(LogisticRegression().fit(arrays, model.predict(data)), arrays[:1])
    file = tmp_path / "model.onnx"
    file.write_bytes(proto.SerializeToString())
    explainer = cp.Explainer(cp.load_model(file), data)
    table = data.to_csv(index=False).encode()
    recipe = Recipe(Files("model.onnx", file.read_bytes(), "data.csv", table))
    packed = pickle.dumps(explainer), pickle.dumps(recipe)
    file.unlink()

    again, loaded = pickle.loads(packed[0]), pickle.loads(packed[1])  # noqa: S301

    order = Order("good", FEW)
    expected = explain_rows(explainer, data[:5], order)
    pd.testing.assert_frame_equal(explain_rows(again, data[:5], order), expected)
    pd.testing.assert_frame_equal(explain_rows(loaded.explainer(), data[:5], order), expected)


class Locked:
    """A model that holds what no pickle can."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Score rows."""
        return score(rows)


def test_a_copy_is_no_pickle() -> None:
    explainer = cp.Explainer(Locked(), PLAIN)

    twin = copy.copy(explainer)

    assert twin is not explainer
    assert twin.predictor is explainer.predictor


def test_a_model_that_cannot_be_pickled_says_what_to_do() -> None:
    expected = (
        r"the model of type Locked cannot be sent to another process \(TypeError: cannot pickle "
        r"'_thread.lock' object\); give a function without arguments that makes the Explainer "
        r"there, such as explain_frame\(make_explainer, rows, ...\), "
        r"or use counterpoint batch, which sends files"
    )
    with pytest.raises(cp.InvalidInput, match=expected):
        pickle.dumps(cp.Explainer(Locked(), PLAIN))
