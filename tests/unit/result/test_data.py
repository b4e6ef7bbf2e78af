"""A result is data: it can be pickled, copied and compared, and says the same afterwards."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpoint as cp
from counterpoint.result.data import ResultData

DATA = pd.DataFrame(
    {"age": [20, 30, 40, 50, 60], "debt": [9.5, 5.0, 3.5, 1.0, np.nan], "job": list("abcab")}
)
SMALL = cp.Search(evaluations=60)


def score(rows: Any) -> Any:
    """Return a share that grows with the age, for each kind of table."""
    return np.asarray(rows["age"]) / 60


def results() -> dict[str, cp.Counterfactuals]:
    """Return results of several kinds: of lambdas, other tables, nothing found, nothing asked."""
    full = DATA.dropna()
    own = cp.Explainer(
        lambda rows: rows["age"] / 60,
        full,
        objectives=[cp.Objective("debt more", lambda rows, _: rows["debt"])],
        distance=cp.Distance("years", lambda rows, row: abs(rows["age"] - row["age"].iloc[0])),
        plausibility=cp.ForestPlausibility(trees=3, rounds=1),
    )
    is_poor: list[Any] = [lambda rows: rows["debt"] < 9, "age increases"]
    plain = cp.Explainer(score, DATA)
    polars, arrow = pl.from_pandas(full), pa.Table.from_pandas(full, preserve_index=False)
    return {
        "lambdas": own.explain(full[:1], (0.6, None), SMALL, constraints=is_poor),
        "missing": plain.explain(DATA[:1], (0.6, None), SMALL, costs={"age": 2.0}),
        "polars": cp.Explainer(score, polars).explain(polars[:1], (0.6, None), SMALL),
        "arrow": cp.Explainer(score, arrow).explain(arrow[:1], (0.6, None), SMALL),
        "nothing found": plain.explain(DATA[:1], (0.6, None), SMALL, fixed=["age"]),
        "out of reach": plain.explain(DATA[:1], (2.0, None), SMALL),
        "already met": plain.explain(DATA[4:], (0.6, None), SMALL),
        "neighbours": plain.explain(DATA[:1], (0.6, None), cp.WhatIf()),
    }


RESULTS = results()


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("way", ["pickle", "cloudpickle", "deepcopy", "save"])
def test_a_copy_is_equal_and_says_the_same_without_model_and_data(
    name: str, way: str, tmp_path: Path
) -> None:
    found = RESULTS[name]

    if way == "save":
        found.save(tmp_path / "found.json")
        again = cp.load(tmp_path / "found.json")
    elif way == "deepcopy":
        again = copy.deepcopy(found)
    else:
        pickler = pickle if way == "pickle" else cloudpickle
        again = pickle.loads(pickler.dumps(found))  # noqa: S301 - our own

    assert found.live is not None
    assert again.live is None
    assert again == found
    assert str(again) == str(found)
    assert (again.status, again.message) == (found.status, found.message)
    assert again.hypervolume() == found.hypervolume()
    pd.testing.assert_frame_equal(again.to_pandas(), found.to_pandas())


def test_a_pickle_holds_neither_model_nor_data() -> None:
    rows = pd.DataFrame({"age": np.arange(20_000)})
    found = cp.Explainer(lambda rows: rows["age"] / 20_000, rows).explain(rows[:1], (0.5, None))

    assert len(pickle.dumps(found)) < 200_000 < rows.memory_usage().sum() + 100_000


def test_what_asks_the_model_is_refused_after_unpickling() -> None:
    again = copy.deepcopy(RESULTS["missing"])

    for ask in (again.minimality, lambda: again.continue_search(10), lambda: again.problem):
        with pytest.raises(cp.InvalidInput, match="without its model and data"):
            ask()


def test_the_same_search_gives_equal_results_and_another_seed_or_model_does_not() -> None:
    one = RESULTS["missing"]
    again = cp.Explainer(score, DATA).explain(DATA[:1], (0.6, None), SMALL, costs={"age": 2.0})

    def half(rows: pd.DataFrame) -> Any:
        return score(rows) / 2

    assert one == again
    assert one != cp.Explainer(score, DATA).explain(DATA[:1], (0.6, None), SMALL)
    assert one != cp.Explainer(half, DATA).explain(DATA[:1], (0.6, None), SMALL)
    assert one != one.take([])
    assert one != "a result"


def test_equal_is_what_holds_the_same_down_to_each_array() -> None:
    found = RESULTS["missing"]
    changed = copy.deepcopy(found)

    changed.trace.replies[0] += 1.0

    assert isinstance(found, ResultData)
    assert changed != found
