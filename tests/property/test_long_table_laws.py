"""Laws of the long table: its columns are known, no id is lost, cutting rows changes nothing."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.batch.engines.engine import Recipe, work
from counterpoint.batch.rows import Order, explain_rows

FEW = cp.Search(evaluations=24)
N = 8
POISON = -99
DAYS = pd.to_datetime([f"2024-02-{1 + 3 * i:02d}" for i in range(N)])
COLUMNS: dict[str, Any] = {
    "whole": pd.Series(np.arange(N) * 3, dtype="int16"),
    "real": pd.Series(np.arange(N) / 4),
    "single": pd.Series(np.arange(N) / 10, dtype="float32"),
    "truth": pd.Series([True, False] * 4),
    "category": pd.Series(list("abcabcab"), dtype="category"),
    "codes": pd.Series([1, 2, 3, 1, 2, 3, 1, 2], dtype="category"),
    "text": pd.Series(list("xyxyxyxy"), dtype=object),
    "mixed": pd.Series(["x", 1] * 4, dtype=object),
    "day": pd.Series(DAYS),
    "python day": pd.Series([day.date() for day in DAYS], dtype=object),
    "whole or none": pd.Series([1, 2, None, 4] * 2, dtype="Int64"),
    "real or none": pd.Series([0.5, np.nan] * 4),
    "text or none": pd.Series(["x", None, "y", "z"] * 2, dtype=object),
    "truth or none": pd.Series([True, None, False, False] * 2, dtype="boolean"),
    "day or none": pd.Series(DAYS).where(np.arange(N) != 3),
}
IDS = st.sampled_from(["int64", "uint8", "object", "string", "category", "float64", "M8[us]"])


def score(rows: pd.DataFrame) -> Any:
    """Return a score that asks one column only."""
    if (rows["x"] == POISON).any():
        raise RuntimeError("the model does not like that")
    return rows["x"] / 20


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Draw a table of some of the kinds there are."""
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), max_size=3, unique=True))
    return pd.DataFrame({"x": [0, 3, 6, 9, 12, 15, 18, 20], **{n: COLUMNS[n] for n in names}})


def with_ids(rows: pd.DataFrame, dtype: Any) -> pd.DataFrame:
    """Return rows with a column of ids of some dtype."""
    numbers = np.arange(len(rows))
    cells = [f"n{i}" for i in numbers] if dtype in ("object", "string", "category") else numbers
    return rows.assign(loan=pd.Series(cells, index=rows.index).astype(dtype))


def dtypes(frame: pd.DataFrame) -> dict[Any, str]:
    """Return the dtypes of a frame, as they are written."""
    return {name: repr(dtype) for name, dtype in frame.dtypes.items()}


@settings(max_examples=30)
@given(data=tables(), n=st.integers(0, N), dtype=IDS, spoilt=st.sets(st.integers(0, N - 1)))
def test_the_columns_are_those_of_the_schema(
    data: pd.DataFrame, n: int, dtype: str, spoilt: set[int]
) -> None:
    explainer = cp.Explainer(score, data)
    rows = with_ids(data.iloc[:n], dtype)
    rows["x"] = [POISON if i in spoilt else x for i, x in enumerate(rows["x"])]
    rows["x"] = rows["x"].astype("int64")
    order = Order((0.5, 1.0), FEW, id="loan", keep=3)
    schema = explainer.output_schema("loan", rows["loan"].dtype)

    frame = explain_rows(explainer, rows, order)

    assert dtypes(frame) == dtypes(schema.meta())
    table = pa.ipc.open_stream(io.BytesIO(work(Recipe.of(explainer), order, rows))).read_all()
    assert table.schema.equals(schema.arrow(), check_metadata=True)
    assert frame["loan"].drop_duplicates().tolist() == rows["loan"].tolist()
    failed = frame.loc[frame["status"] == "failed", "loan"].tolist()
    assert failed == [rows["loan"].iloc[i] for i in sorted(spoilt) if i < n]


@settings(max_examples=15)
@given(
    data=tables(), cuts=st.lists(st.integers(0, N), max_size=4), spoilt=st.sets(st.integers(0, 7))
)
def test_rows_may_be_cut_anywhere(data: pd.DataFrame, cuts: list[int], spoilt: set[int]) -> None:
    explainer = cp.Explainer(score, data)
    rows = with_ids(data, "object")
    rows["x"] = [POISON if i in spoilt else x for i, x in enumerate(rows["x"])]
    order = Order((0.5, 1.0), FEW, id="loan", keep=None)
    ends = [0, *sorted(cuts), N]

    parts = [explain_rows(explainer, rows.iloc[a:b], order) for a, b in pairwise(ends)]

    together = pd.concat(parts, ignore_index=True)
    pd.testing.assert_frame_equal(together, explain_rows(explainer, rows, order, workers=2))


@settings(max_examples=15)
@given(data=tables())
def test_values_are_those_of_the_result(data: pd.DataFrame) -> None:
    """As they are written: levels of several types are text, numbers of any width are wide."""
    explainer = cp.Explainer(score, data)
    found = explainer.explain(data.iloc[[0]], (0.5, 1.0), FEW)

    frame = explain_rows(explainer, data.iloc[[0]], Order((0.5, 1.0), FEW, keep=None))

    expected = found.to_frame(near_misses=True)
    for name in expected.columns:
        ours, theirs = frame[name], expected[name]
        assert ours.isna().tolist() == theirs.isna().tolist()
        pairs = zip(ours[ours.notna()].tolist(), theirs[theirs.notna()].tolist(), strict=True)
        for cell, other in pairs:
            is_text = isinstance(cell, str)
            is_day = isinstance(cell, pd.Timestamp)
            assert cell == (str(other) if is_text else pd.Timestamp(other) if is_day else other)
