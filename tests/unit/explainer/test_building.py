"""What an Explainer is built of: each step runs once, and a pickle holds the parts."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.explainer import building, explainer
from counterpoint.problem import own_objectives
from counterpoint.table import schema
from counterpoint.table.frames import read_data
from counterpoint.table.schema import Encoding

DATA = pd.DataFrame({"age": [20, 30, 40, 60], "job": ["a", "b", "a", "b"]})


def score(rows: pd.DataFrame) -> Any:
    return rows["age"] / 100


def older(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
    return rows["age"] - row["age"].iloc[0]


def counting(calls: list[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that also notes each of its calls."""

    def noted(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return function(*args, **kwargs)

    return noted


def test_data_are_read_and_encoded_and_objectives_checked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    read = counting(calls, "read", read_data)
    check = counting(calls, "check", own_objectives.check_objectives)
    for module in (building, schema):
        monkeypatch.setattr(module, "read_data", read)
    for module in (explainer, own_objectives):
        monkeypatch.setattr(module, "check_objectives", check)
    monkeypatch.setattr(Encoding, "__init__", counting(calls, "encoding", Encoding.__init__))

    cp.Explainer(score, DATA, objectives=[cp.Objective("years", older)])

    assert sorted(calls) == ["check", "encoding", "read"]


def test_a_pickle_holds_the_parts_and_is_built_again_without_inference() -> None:
    apart = pd.DataFrame(np.tile(np.eye(2), (15, 1)), columns=["job_a", "job_b"]).assign(
        age=range(30)
    )
    with pytest.warns(cp.DataWarning, match="one-hot"):
        made = cp.Explainer(score, apart)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(made))  # noqa: S301

    assert again.schema == made.schema
    assert again.encoding == made.encoding
    np.testing.assert_array_equal(again.observed.outputs, made.observed.outputs)
    assert not again.observed.genomes.flags.writeable


def test_what_cannot_be_pickled_is_named() -> None:
    unpicklable: Any = threading.Lock()
    given = building.Given(score, (), None, unpicklable, None)

    with pytest.raises(cp.InvalidInput, match="an objective, distance or plausibility cannot be"):
        given.packed()
