"""Dates: columns of whole days, which are searched as numbers of days since 1970-01-01."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput

DAY = np.dtype("datetime64[D]")
FIRST, LAST = -719162.0, 2932896.0  # the years 1 and 9999, which Python's dates can say
MOST_IN_NANOSECONDS = 106751.0  # days before and after 1970 that 64 bits of nanoseconds reach


def is_date_dtype(dtype: Any) -> bool:
    """Whether a pandas dtype holds moments, with or without a time of day."""
    return bool(pd.api.types.is_datetime64_any_dtype(dtype))


def holds_dates(values: Any) -> bool:
    """Whether all values of a column of objects are dates of Python, without a time."""
    return len(values) > 0 and all(type(value) is datetime.date for value in values)


def days_of(column: pd.Series[Any], argument: str) -> Floats:
    """Return a column of dates as days; refuse times of day, time zones and what is no date.

    Examples
    --------
    >>> days_of(pd.Series([datetime.date(1970, 1, 3), pd.Timestamp("1971-01-01")]), "row")
    array([  2., 365.])
    """
    where = f"{argument} column {column.name!r}"
    if getattr(column.dtype, "tz", None) is not None or "tz=" in str(column.dtype):
        raise InvalidInput(
            f"{where} has the time zone of dtype {column.dtype}; take it off with "
            ".dt.tz_localize(None)."
        )
    if is_date_dtype(column.dtype):
        moments = column.to_numpy().astype("datetime64[ns]" if _is_fine(column.dtype) else "M8[us]")
    else:
        moments = np.array([moment_of(value, where) for value in column], dtype="datetime64[us]")
    days = moments.astype(DAY)
    if not np.array_equal(days.astype(moments.dtype), moments):
        late = moments[days.astype(moments.dtype) != moments][0]
        raise InvalidInput(
            f"{where} has times of day, first {np.datetime_as_string(late, unit='s')}; dates are "
            "searched in whole days: cut the times off with .dt.normalize(), or give the column "
            "as numbers, such as hours since a start."
        )
    return np.asarray(days.astype(np.int64).astype(np.float64))


def _is_fine(dtype: Any) -> bool:
    """Whether a dtype counts in nanoseconds."""
    return "[ns" in str(dtype)


def moment_of(value: object, where: str) -> np.datetime64:
    """Return a single value as a moment; `where` says in errors what must be a date."""
    is_moment = isinstance(value, datetime.date | np.datetime64) and not pd.isna(value)
    if not is_moment or getattr(value, "tzinfo", None) is not None:
        raise InvalidInput(
            f"{where} must hold dates, got {value!r}; use datetime.date or pd.Timestamp without "
            "a time zone."
        )
    moment = value.to_datetime64() if isinstance(value, pd.Timestamp) else value
    return np.datetime64(moment).astype("datetime64[us]")  # type: ignore[call-overload,no-any-return]


def day_of(value: object, where: str) -> float:
    """Return one end of a range as days; a date may also be written as in "2024-12-31".

    Examples
    --------
    >>> day_of("1970-02-01", "ranges['since']")
    31.0
    """
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError as error:
            raise InvalidInput(
                f"{where} must hold dates, got {value!r}; write them as in '2024-12-31'."
            ) from error
    return float(days_of(pd.Series([value], name="", dtype=object), where)[0])


def range_of(dtype: Any) -> tuple[float, float]:
    """Return the first and the last day a dtype can hold."""
    if _is_fine(dtype):
        return -MOST_IN_NANOSECONDS, MOST_IN_NANOSECONDS
    return FIRST, LAST


def as_days(genes: Floats) -> Any:
    """Return genes as NumPy's dates."""
    return genes.astype(np.int64).astype(DAY)


def date_decoder(dtype: Any) -> Callable[[Floats], Any]:
    """Return the function that turns genes into a column of dates of a pandas dtype."""
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        return lambda genes: as_days(genes).astype(dtype)
    if isinstance(dtype, np.dtype):  # of objects: Python's dates
        return lambda genes: pd.Series(as_days(genes).astype(object), dtype=object)
    return lambda genes: pd.array(as_days(genes).astype(object), dtype=dtype)  # of Arrow
