"""A frame of rows in, a frame of verdicts out: of every kind of table, and by Dask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.strategies import generator

import counterpoint as cp

N = 40
RNG = generator(3)
DATA = pd.DataFrame(
    {"x": RNG.normal(size=N).round(2), "y": RNG.normal(size=N).round(2), "k": RNG.integers(0, 4, N)}
)
ROWS = DATA[:12].assign(loan=[f"L{i}" for i in range(12)])[::-1]
FOREST = RandomForestClassifier(8, max_depth=3, random_state=0).fit(DATA, DATA["x"] > 0)
EXPLAINER = cp.Explainer(FOREST, DATA)
LIMITS = cp.Limits(vary=["x", "k"], ranges={"x": (-3.0, 0.1)})


def raising(rows: pd.DataFrame) -> Any:
    """Return a score, but not of rows whose k is 3."""
    if (rows["k"] == 3).any():
        raise ArithmeticError("no such row")
    return rows["x"]


def expected(**settings: Any) -> pd.DataFrame:
    """Return what is said of pandas."""
    frame = cp.verify_frame(EXPLAINER, ROWS, True, LIMITS, id="loan", **settings)
    assert isinstance(frame, pd.DataFrame)
    return frame


def test_each_row_gets_what_verify_says_of_it_alone() -> None:
    frame = expected()

    assert frame["loan"].tolist() == ROWS["loan"].tolist()
    assert frame["row"].tolist() == ROWS.index.tolist()
    for i in range(len(ROWS)):
        alone = EXPLAINER.verify(DATA.loc[[ROWS.index[i]]], True, LIMITS)
        line = frame.iloc[i]
        assert (line["verdict"],) == alone.verdicts
        assert line["evaluations"] == alone.findings[0].n_asked
        assert line["how"] == alone.findings[0].how
        if line["verdict"] == "witness":
            witness = alone.witnesses().iloc[0]
            assert line[[*DATA]].tolist() == witness[[*DATA]].tolist()
        else:
            assert line[[*DATA]].isna().all()
    assert {"witness", "already met"} <= set(frame["verdict"])


def test_a_witness_is_one_by_the_model() -> None:
    frame = expected()
    witnesses = frame[frame["verdict"] == "witness"]

    assert len(witnesses)
    assert FOREST.predict(witnesses[[*DATA]].astype(DATA.dtypes)).all()


def test_rows_that_have_none_are_proved_to_have_none() -> None:
    frame = cp.verify_frame(EXPLAINER, ROWS, True, vary=["k"])

    assert "proved none" in set(frame["verdict"])
    assert frame.loc[frame["verdict"] == "proved none", [*DATA]].isna().all(axis=None)


def test_workers_change_nothing() -> None:
    pd.testing.assert_frame_equal(expected(workers=2), expected(workers=1))


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_every_kind_of_table_says_the_same(kind: str) -> None:
    rows: Any = pl.from_pandas(ROWS) if kind == "polars" else pa.Table.from_pandas(ROWS)

    found = cp.verify_frame(EXPLAINER, rows, True, LIMITS, id="loan")

    assert type(found) is type(rows)
    frame = found.to_pandas()
    known = expected()
    for name in ("loan", "verdict", "evaluations", "how"):
        assert frame[name].tolist() == known[name].tolist()
    np.testing.assert_array_equal(frame["x"], known["x"])


@pytest.mark.parametrize("partitions", [1, 4])
def test_dask_says_the_same(partitions: int) -> None:
    frames = pytest.importorskip("dask.dataframe", reason="needs counterpoint[dask]")
    rows = frames.from_pandas(ROWS, npartitions=partitions, sort=False)

    lazy = cp.verify_frame(EXPLAINER, rows, True, LIMITS, id="loan")

    found = lazy.compute(scheduler="synchronous").reset_index(drop=True)
    known = expected()  # whose ids are of pandas' own kind of text, which Dask makes Arrow's
    pd.testing.assert_frame_equal(found.astype({"loan": known["loan"].dtype}), known)
    assert (lazy.dtypes[1:] == known.dtypes[1:]).all()


def test_dask_shares_the_rows_itself() -> None:
    frames = pytest.importorskip("dask.dataframe", reason="needs counterpoint[dask]")
    rows = frames.from_pandas(ROWS, npartitions=2, sort=False)

    with pytest.raises(cp.InvalidInput, match="workers=2 is not for Dask DataFrames, whose"):
        cp.verify_frame(EXPLAINER, rows, True, workers=2)


def test_a_row_that_cannot_be_asked_about_touches_no_other() -> None:
    rows = DATA[:10]
    explainer = cp.Explainer(raising, DATA[DATA["k"] != 3])

    frame = cp.verify_frame(explainer, rows, (0.5, 9.0), fixed=["k"])

    is_bad = (rows["k"] == 3).to_numpy()
    assert is_bad.any()
    assert set(frame["verdict"][is_bad]) == {"unknown"}
    assert frame["how"][is_bad].str.contains("no such row|k").all()
    assert not (frame["verdict"][~is_bad] == "unknown").any()


def test_no_rows_are_no_lines() -> None:
    frame = cp.verify_frame(EXPLAINER, ROWS[:0], True, id="loan")

    assert len(frame) == 0
    assert [*frame] == ["loan", "row", "verdict", "evaluations", "how", *DATA]


def test_names_of_the_data_keep_theirs() -> None:
    data = DATA.rename(columns={"x": "verdict"})
    explainer = cp.Explainer(lambda rows: rows["verdict"], data)

    frame = cp.verify_frame(explainer, data[:2], (0.0, 9.0))

    assert [*frame] == ["cf_row", "cf_verdict", "cf_evaluations", "cf_how", "verdict", "y", "k"]


def test_what_no_row_can_be_asked_with_is_refused() -> None:
    with pytest.raises(cp.InvalidInput, match=r"verify\.search must be an Explore"):
        cp.verify_frame(EXPLAINER, ROWS, True, search=cp.WhatIf())  # type: ignore[arg-type]
    with pytest.raises(cp.InvalidInput, match="search has seconds=3, so that the result would"):
        cp.verify_frame(EXPLAINER, ROWS, True, search=cp.Explore(seconds=3))
    with pytest.raises(TypeError, match=r"verify_frame\(\) got an unexpected keyword .*'fixd'"):
        cp.verify_frame(EXPLAINER, ROWS, True, fixd=["x"])  # type: ignore[call-arg]
