"""A frame of rows in, a frame of counterfactuals out: of every kind of table, and by Dask."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpoint as cp

FEW = cp.Search(evaluations=60)
TARGET = (0.5, 1.0)
N = 24
DATA = pd.DataFrame(
    {
        "age": np.arange(N) % 13 * 4 + 18,
        "job": np.array(["clerk", "cook", "nurse"])[np.arange(N) % 3],
        "debt": np.arange(N) * 7 % 10 / 2,
        "since": pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(N) % 9, unit="D"),
    }
)
ROWS = DATA.assign(loan=[f"L{i}" for i in range(N)], note=1 + 2j)[::-1]


def score(rows: pd.DataFrame) -> Any:
    """Return a score that is higher for the old and for clerks."""
    return rows["age"] / 100 + (rows["job"] == "clerk") * 0.1 - rows["debt"] / 50


EXPLAINER = cp.Explainer(score, DATA)
BALLAST = bytes(range(256)) * 4000  # what a model's file may weigh


class Heavy:
    """A model of a megabyte that notes in which process it came to life."""

    def __init__(self, folder: str) -> None:
        self.folder, self.ballast = folder, BALLAST

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Score rows."""
        return score(rows)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        with (Path(self.folder) / f"{os.getpid()}").open("a") as file:
            file.write("unpickled\n")


def expected(**settings: Any) -> pd.DataFrame:
    """Return what is found for pandas."""
    frame = cp.explain_frame(EXPLAINER, ROWS, TARGET, FEW, id="loan", **settings)
    assert isinstance(frame, pd.DataFrame)
    return frame


def test_all_rows_are_there_in_their_order() -> None:
    frame = expected(progress=False)

    assert frame["loan"].drop_duplicates().tolist() == ROWS["loan"].tolist()
    assert frame["row"].drop_duplicates().tolist() == list(range(N))[::-1]
    assert {"found", "already_met"} <= set(frame["status"])


def test_workers_change_nothing() -> None:
    pd.testing.assert_frame_equal(expected(workers=2), expected(workers=1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 1),
        ("fixed", ["age"]),
        ("ranges", {"age": (None, 60)}),
        ("max_changed", 1),
        ("constraints", ["debt decreases"]),
        ("costs", {"age": 3.0}),
        ("keep", 2),
        ("prefix", "cf_"),
    ],
)
def test_every_setting_changes_something(name: str, value: object) -> None:
    plain = expected(progress=False)

    other = expected(progress=False, **{name: value})

    assert not other.equals(plain)


def test_one_of_polars_gives_one_of_polars() -> None:
    rows = pl.from_pandas(ROWS.drop(columns="note")).with_columns(
        loan=pl.col("loan").cast(pl.Categorical)
    )

    frame = cp.explain_frame(EXPLAINER, rows, TARGET, FEW, id="loan")

    table = EXPLAINER.output_schema("loan", object).table(expected())
    plain = pl.from_arrow(table)
    assert isinstance(plain, pl.DataFrame)
    assert frame.schema["loan"] == pl.Categorical
    same = frame.with_columns(loan=pl.col("loan").cast(pl.String), row=plain["row"])
    assert same.equals(plain)
    assert same.schema == plain.schema


def test_a_table_of_arrow_gives_one() -> None:
    rows = pa.Table.from_pandas(ROWS.drop(columns="note"), preserve_index=False)
    rows = rows.append_column("extra", pa.array([None] * N))  # of a type we could not read

    table = cp.explain_frame(EXPLAINER, rows, TARGET, FEW, id="loan")

    plain = EXPLAINER.output_schema("loan", object).table(expected())
    assert table.schema.field("loan").type == rows.schema.field("loan").type
    assert table.drop(["loan", "row"]).equals(plain.drop(["loan", "row"]))
    assert table["loan"].to_pylist() == plain["loan"].to_pylist()


def test_dicts_and_arrays_are_rows_as_well() -> None:
    numbers = cp.Explainer(lambda rows: rows[:, 0] / 100, DATA[["age", "debt"]].to_numpy())

    of_array = cp.explain_frame(numbers, DATA[["age", "debt"]].to_numpy()[:3], TARGET, FEW)
    of_texts = cp.explain_frame(
        numbers, DATA[["age", "debt"]].set_axis(["0", "1"], axis=1)[:3], TARGET, FEW
    )
    of_dicts = cp.explain_frame(EXPLAINER, DATA[:2].to_dict("records"), TARGET, FEW)

    pd.testing.assert_frame_equal(of_array, of_texts)  # as files name columns
    assert list(of_array.columns[4:6]) == ["0", "1"]
    assert of_dicts["row"].drop_duplicates().tolist() == [0, 1]


def test_rows_of_no_number_are_counted() -> None:
    named = cp.explain_frame(EXPLAINER, DATA[:3].set_axis(["x", "y", "z"]), TARGET, FEW)

    assert named["row"].drop_duplicates().tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["pandas", "dask"])
def test_the_id_may_be_the_index(kind: str) -> None:
    rows: Any = ROWS.set_index("loan").sort_index()
    if kind == "dask":
        rows = pytest.importorskip("dask.dataframe").from_pandas(rows, npartitions=2)

    named = cp.explain_frame(EXPLAINER, rows, TARGET, FEW, id="loan")

    frame = named if kind == "pandas" else named.compute(scheduler="synchronous")
    of_column = expected().set_index("loan").sort_index(kind="stable").reset_index()
    found = frame.reset_index(drop=True)
    pd.testing.assert_frame_equal(
        found.drop(columns="row"), of_column.drop(columns="row"), check_dtype=kind == "pandas"
    )


def test_no_rows_give_no_lines() -> None:
    frame = cp.explain_frame(EXPLAINER, ROWS[:0], TARGET, FEW, id="loan")

    assert len(frame) == 0
    schema = EXPLAINER.output_schema("loan", ROWS["loan"].dtype)
    pd.testing.assert_frame_equal(frame, schema.meta())


def test_a_text_is_no_list_of_rules() -> None:
    with pytest.raises(
        cp.InvalidInput, match=r"constraints must be a list of rules, got 'age increases'"
    ):
        cp.explain_frame(EXPLAINER, ROWS, TARGET, constraints="age increases")


# ---------------------------------------------------------------------------------------- Dask


def lazy_rows(n: int = 6) -> Any:
    """Return the rows as a Dask DataFrame."""
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(ROWS.drop(columns="note"), npartitions=n, sort=False)


def test_a_dask_frame_gives_a_lazy_one_of_the_same_lines() -> None:
    lazy = cp.explain_frame(EXPLAINER, lazy_rows(), TARGET, FEW, id="loan")

    done = lazy.compute(scheduler="threads")

    assert lazy.npartitions == 6
    assert lazy.dtypes.map(repr).tolist() == done.dtypes.map(repr).tolist()
    done["loan"] = done["loan"].astype(ROWS["loan"].dtype)  # Dask has its own texts
    pd.testing.assert_frame_equal(done.reset_index(drop=True), expected())


def test_a_plain_function_is_asked_by_one_thread_at_a_time() -> None:
    inside: list[int] = []
    most: list[int] = []

    def counted(rows: pd.DataFrame) -> Any:
        inside.append(1)
        time.sleep(0.0005)
        most.append(len(inside))
        inside.pop()
        return score(rows)

    lazy = cp.explain_frame(lambda: cp.Explainer(counted, DATA), lazy_rows(), TARGET, FEW)

    lazy.compute(scheduler="threads", num_workers=3)

    assert max(most) == 1


def test_what_is_wrong_is_told_before_anything_is_computed() -> None:
    rows = lazy_rows()

    with pytest.raises(cp.InvalidInput, match="target 'good' does not fit this model"):
        cp.explain_frame(EXPLAINER, rows, "good")
    with pytest.raises(cp.InvalidInput, match="rows lack the columns 'age'"):
        cp.explain_frame(EXPLAINER, rows.drop(columns="age"), TARGET)
    with pytest.raises(cp.InvalidInput, match=r"id='lone' is not a column .* did you mean 'loan'"):
        cp.explain_frame(EXPLAINER, rows, TARGET, id="lone")
    with pytest.raises(cp.InvalidInput, match="workers=2 is not for Dask DataFrames"):
        cp.explain_frame(EXPLAINER, rows, TARGET, workers=2)
    with pytest.raises(cp.InvalidInput, match="progress=True is not for Dask DataFrames"):
        cp.explain_frame(EXPLAINER, rows, TARGET, progress=True)


def test_the_explainer_is_once_in_the_graph(tmp_path: Path) -> None:
    explainer = cp.Explainer(Heavy(str(tmp_path)), DATA)
    few, many = (cp.explain_frame(explainer, lazy_rows(n), TARGET, FEW, id="loan") for n in (2, 12))

    sizes = [len(pickle.dumps(dict(lazy.__dask_graph__()))) for lazy in (few, many)]

    assert len(BALLAST) < sizes[0] < 1.5 * len(BALLAST)
    assert sizes[1] < 1.5 * len(BALLAST)
    carried = [key for key in many.__dask_graph__() if "counterpoint-" in str(key)]
    assert len(carried) == 1
