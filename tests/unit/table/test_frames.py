from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from counterpoint.errors import InvalidInput
from counterpoint.table import frames
from counterpoint.table.features import Kind
from counterpoint.table.frames import PANDAS, as_frame, read_data
from counterpoint.table.schema import Encoding, Schema

DAYS = [datetime.date(2020, 2, 28), datetime.date(2021, 3, 1), datetime.date(2020, 2, 28)]
MIDNIGHTS = [datetime.datetime(day.year, day.month, day.day) for day in DAYS]


def encoded(data: Any) -> tuple[Encoding, Any]:
    frame, form = read_data(data)
    encoding = Encoding(Schema.infer(frame), form)
    return encoding, encoding.encode(frame)


POLARS = {
    **{
        str(kind): pl.Series([3, 1, 2], dtype=kind)
        for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
    },
    "UInt64": pl.Series([3, 1, 2], dtype=pl.UInt64),
    "Float32": pl.Series([0.1, 2.5, 3.0], dtype=pl.Float32),
    "Float64": pl.Series([0.1, 2.5, 3.0]),
    "Boolean": pl.Series([True, False, True]),
    "String": pl.Series(["b", "a", "b"]),
    "Categorical": pl.Series(["b", "a", "b"], dtype=pl.Categorical),
    "Enum": pl.Series(["b", "a", "b"], dtype=pl.Enum(["c", "b", "a"])),
    "Date": pl.Series(DAYS),
    **{f"Datetime {u}": pl.Series(MIDNIGHTS, dtype=pl.Datetime(u)) for u in ("ms", "us", "ns")},
}
ARROW_TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.uint64(), pa.float32(), pa.float64()),
]
ARROW = {
    **{str(kind): pa.array([3, 1, 2], type=kind) for kind in ARROW_TYPES},
    "bool": pa.array([True, False, True]),
    **{
        str(kind): pa.array(["b", "a", "b"], type=kind)
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    "dictionary": pa.DictionaryArray.from_arrays(
        pa.array([1, 0, 1], pa.int8()), pa.array(["a", "b", "c"], pa.large_string()), ordered=True
    ),
    "dictionary of numbers": pa.array([10, 20, 10]).dictionary_encode(),
    "date32": pa.array(DAYS, type=pa.date32()),
    "date64": pa.array(DAYS, type=pa.date64()),
    **{
        f"timestamp {u}": pa.array(MIDNIGHTS, type=pa.timestamp(u)) for u in ("s", "ms", "us", "ns")
    },
}


@pytest.mark.parametrize("name", POLARS)
def test_a_column_of_polars_comes_back_as_it_was(name: str) -> None:
    data = pl.DataFrame({"x": POLARS[name], "y": [0.5, 1.0, 1.5]})
    encoding, genomes = encoded(data)

    again = encoding.to_rows(genomes)

    assert again.schema == data.schema
    assert again.to_dict(as_series=False) == data.to_dict(as_series=False)
    assert encoding.to_rows(genomes[:0]).schema == data.schema


@pytest.mark.parametrize("name", ARROW)
def test_a_column_of_pyarrow_comes_back_as_it_was(name: str) -> None:
    data = pa.table({"x": ARROW[name], "y": [0.5, 1.0, 1.5]})
    encoding, genomes = encoded(data)

    again = encoding.to_rows(genomes)

    assert again.schema == data.schema
    assert again.equals(data)
    assert encoding.to_rows(genomes[:0]).schema == data.schema


@pytest.mark.parametrize(
    "data",
    [
        np.array([[1.5, 2.0], [0.5, 3.0]]),
        np.array([[1.5, 2.0], [0.5, 3.0]], dtype=np.float32),
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        np.array([[True, False], [False, True]]),
        np.array([["b", "long"], ["a", "x"]]),
        np.array([[1, "a", 0.5, True], [2, "b", 1.5, False]], dtype=object),
        np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"),
        np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[ns]"),
        np.asfortranarray(np.array([[1.5, 2.0], [0.5, 3.0]])),
    ],
)
def test_an_array_comes_back_in_its_dtype(data: Any) -> None:
    encoding, genomes = encoded(data)

    again = encoding.to_rows(genomes)

    assert again.dtype == data.dtype
    np.testing.assert_array_equal(again, data)
    assert encoding.schema.names == tuple(range(data.shape[1]))


def test_objects_of_an_array_keep_their_types() -> None:
    data = np.array([[1, "a", 0.5, True], [2, "b", 1.5, False]], dtype=object)
    encoding, genomes = encoded(data)

    again = encoding.to_rows(genomes)

    assert [type(cell) for cell in again[0]] == [int, str, float, bool]


def test_a_pandas_frame_is_taken_as_it_is() -> None:
    data = pd.DataFrame({"x": [1, 2]})

    frame, form = read_data(data)

    assert frame is data
    assert form == PANDAS


def test_an_enum_of_polars_has_all_its_levels_and_no_order() -> None:
    encoding, _ = encoded(pl.DataFrame({"x": POLARS["Enum"]}))

    assert encoding.schema.features[0].levels == ("c", "b", "a")
    assert encoding.schema.features[0].kind is Kind.CATEGORICAL


def test_a_dictionary_of_pyarrow_has_all_its_levels_and_its_order() -> None:
    encoding, _ = encoded(pa.table({"x": ARROW["dictionary"]}))

    assert encoding.schema.features[0].levels == ("a", "b", "c")
    assert encoding.schema.features[0].kind is Kind.ORDERED


def test_chunks_with_different_dictionaries_are_one_column() -> None:
    first, second = (pa.array(levels).dictionary_encode() for levels in (["a", "b"], ["c", "a"]))
    data = pa.table({"x": pa.chunked_array([first, second])})
    encoding, genomes = encoded(data)

    assert encoding.to_rows(genomes)["x"].to_pylist() == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pl.LazyFrame({"x": [1]}), r"data is a LazyFrame.*pass data.collect\(\)"),
        (
            np.ones(3),
            r"data must be a DataFrame of pandas or polars.* got an array of shape \(3,\)",
        ),
        (np.ones((2, 2, 2)), r"got an array of shape \(2, 2, 2\)"),
        ({"x": [1]}, r"data must be a DataFrame of pandas or polars, a Table of pyarrow.*got dict"),
        (None, "got NoneType"),
        (pl.Series([1]), "got Series"),
        (pa.table([[1], [2]], names=["x", "x"]), "data has duplicate columns 'x'"),
        (pl.DataFrame({"x": [[1], [2]]}), r"data column 'x' has dtype List\(Int64\), which cannot"),
        (pa.table({"x": [{"a": 1}]}), r"data column 'x' has dtype struct<a: int64>, which cannot"),
    ],
)
def test_what_is_no_table_is_refused(data: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_data(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            pl.DataFrame({"x": [None]}, schema={"x": pl.Int8}),
            "data column 'x' has no values at all",
        ),
        (pl.DataFrame({"x": [None]}, schema={"x": pl.String}), "'x' has no values at all"),
        (pa.table({"x": pa.array([None], pa.float64())}), "data column 'x' has no values at all"),
        (pa.table({"x": [float("nan")]}), "data column 'x' has no values at all"),
        (pl.DataFrame({"x": []}, schema={"x": pl.Int8}), "data is empty: 0 rows, 1 columns"),
        (
            pl.DataFrame({"x": [datetime.datetime(2020, 1, 1, 12)]}),
            "data column 'x' has times of day, first 2020-01-01T12:00:00",
        ),
        (
            pl.DataFrame({"x": MIDNIGHTS}).with_columns(
                pl.col("x").dt.replace_time_zone("Europe/Berlin")
            ),
            "data column 'x' has the time zone of",
        ),
    ],
)
def test_columns_that_cannot_be_searched_are_refused_in_any_table(data: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Schema.infer(data)


def test_an_array_is_a_row_only_where_the_columns_are_known() -> None:
    assert as_frame(np.array([1.0, 2.0]), "row", [0, 1]).shape == (1, 2)
    assert as_frame(np.ones((3, 2)), "rows", [0, 1]).shape == (3, 2)
    with pytest.raises(InvalidInput, match="row must be a DataFrame, a Series, a dict"):
        as_frame(np.array([1.0, 2.0]), "row")


def test_an_array_of_another_width_is_no_row() -> None:
    with pytest.raises(
        InvalidInput, match=r"row is an array of shape \(3,\); expected \(2,\) or \(n, 2\), one"
    ):
        as_frame(np.ones(3), "row", [0, 1])


class Stream:
    """A table that offers itself as a stream of Arrow, as DuckDB's relations and others do."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand over the table."""
        return self.table.__arrow_c_stream__(requested_schema)


def test_a_stream_of_arrow_is_read_as_a_table_of_pyarrow() -> None:
    table = pa.table({"age": [20, 30], "job": ["cook", "nurse"]})

    frame, form = read_data(Stream(table))

    assert form.kind == "pyarrow"
    assert as_frame(Stream(table), "rows").equals(frame)
    assert frame["age"].to_list() == [20, 30]


def table_of_all_dtypes() -> pd.DataFrame:
    """Return columns of every dtype that pandas searches, most of them with a missing value."""
    n = 6
    gap: Any = [0, 1, 0, 1, 0, None]
    return pd.DataFrame(
        {
            "whole": np.arange(n),
            "byte": np.arange(n, dtype=np.uint8),
            "real": [0.5, 1.5, 2.5, np.nan, 4.5, 5.5],
            "single": np.linspace(0.0, 1.0, n, dtype=np.float32),
            "nullable": pd.array(gap, dtype="Int64"),
            "arrow": pd.Series(gap, dtype="double[pyarrow]"),
            "truth": [True, False] * 3,
            "maybe": pd.array(gap, dtype="boolean"),
            "text": pd.Series(list("abcabc"), dtype="str"),
            "string": pd.Series(["a", "b", None] * 2, dtype=pd.StringDtype("python")),
            "object": pd.Series(["x", "y", None, "x", "y", "x"], dtype=object),
            "kind": pd.Categorical(list("bcbcbc"), ["c", "b", "a"]),
            "date": pd.date_range("2024-01-01", periods=n),
            "day": pd.Series([datetime.date(2024, 1, 1 + i) for i in range(n)], dtype=object),
            1: np.arange(n) / 4.0,
        }
    )


@pytest.mark.parametrize("n", [0, 1, 6])
def test_a_frame_made_of_blocks_is_the_one_made_of_columns(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = table_of_all_dtypes()
    if frames.of_blocks is not None:  # what pandas 3 takes for texts where there is no Arrow
        data["python"] = data["text"].astype(pd.StringDtype("python", na_value=np.nan))
    schema = Schema.infer(data)
    genomes = Encoding(schema).encode(data)[:n]
    made = Encoding(schema).decode(genomes)
    monkeypatch.setattr(frames, "of_blocks", None)  # as before pandas 3

    singly = Encoding(schema).decode(genomes)

    pd.testing.assert_frame_equal(made, singly, check_column_type=True)
    pd.testing.assert_frame_equal(made, data[:n].reset_index(drop=True))
