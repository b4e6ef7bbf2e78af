from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from counterpoint.errors import InvalidInput
from counterpoint.table.features import Kind
from counterpoint.table.frames import as_frame
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.values import day_of, days_of

DAYS = ["1969-12-31", "1970-01-01", "2024-02-29"]
COLUMNS: dict[str, Any] = {
    **{
        unit: pd.Series(DAYS).astype(np.dtype(f"datetime64[{unit}]"))
        for unit in ("s", "ms", "us", "ns")
    },
    "Python": pd.Series([datetime.date.fromisoformat(day) for day in DAYS], dtype=object),
    "date32": pd.Series(
        [datetime.date.fromisoformat(day) for day in DAYS], dtype=pd.ArrowDtype(pa.date32())
    ),
    "timestamp": pd.Series(pd.to_datetime(DAYS), dtype=pd.ArrowDtype(pa.timestamp("us"))),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_dates_are_whole_days_and_come_back_in_their_dtype(name: str) -> None:
    data = pd.DataFrame({"since": COLUMNS[name]})
    encoding = Encoding(Schema.infer(data))

    genomes = encoding.encode(data)

    assert encoding.schema.features[0].kind is Kind.DATE
    np.testing.assert_array_equal(genomes[:, 0], [-1.0, 0.0, 19782.0])
    pd.testing.assert_frame_equal(encoding.decode(genomes), data)


@pytest.mark.parametrize(
    "value",
    [
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29),
        pd.Timestamp("2024-02-29"),
        np.datetime64("2024-02-29"),
    ],
)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_row_may_have_its_date_in_any_type(value: Any, name: str) -> None:
    encoding = Encoding(Schema.infer(pd.DataFrame({"since": COLUMNS[name]})))

    assert encoding.encode(as_frame({"since": value}, "row"))[0, 0] == 19782.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2024-02-29", "row column 'since' must hold dates, got '2024-02-29'; use datetime.date"),
        (19782, "row column 'since' must hold dates, got 19782"),
        (pd.Timestamp("2024-02-29 13:05"), "'since' has times of day, first 2024-02-29T13:05:00"),
        (pd.Timestamp("2024-02-29", tz="UTC"), "'since' has the time zone of dtype datetime64"),
        (None, "row column 'since' has 1 missing values"),
    ],
)
def test_what_is_no_day_is_refused(value: Any, message: str) -> None:
    encoding = Encoding(Schema.infer(pd.DataFrame({"since": COLUMNS["ns"]})))

    with pytest.raises(InvalidInput, match=message):
        encoding.encode(as_frame({"since": value}, "row"), "row")


def test_a_day_beyond_the_dtype_is_refused() -> None:
    encoding = Encoding(Schema.infer(pd.DataFrame({"since": COLUMNS["ns"]})))
    row = as_frame({"since": datetime.date(3000, 1, 1)}, "row")

    with pytest.raises(InvalidInput, match=r"'since' has 3000-01-01, which the data's dtype date"):
        encoding.encode(row, "row")


def test_nanoseconds_are_times_of_day_too() -> None:
    column = pd.Series([np.datetime64("2024-02-29T00:00:00.000000001")], name="at")

    with pytest.raises(InvalidInput, match=r"times of day.*\.dt\.normalize\(\), or give the col"):
        days_of(column, "data")


def test_ends_of_ranges_may_be_text() -> None:
    assert day_of("2024-02-29", "ranges['since']") == 19782.0
    with pytest.raises(
        InvalidInput, match=r"ranges\['since'\] must hold dates, got 'today'; write"
    ):
        day_of("today", "ranges['since']")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            datetime.datetime(2021, 1, 1, 8),
            r"^ranges\['since'\] has times of day, first 2021-01-01T",
        ),
        (pd.NaT, r"^ranges\['since'\] must hold dates, got NaT; use"),
    ],
)
def test_an_end_of_a_range_is_no_column(value: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        day_of(value, "ranges['since']")
