"""Values: the one place where numbers, dates, truth values and levels are written as text.

Errors and notes, printed results, sentences, figures, the report and the explorer all write their
values here, so that a value reads the same wherever a person meets it. Languages differ by their
`Signs` only. Data for machines (frames, JSON, files) hold values, not these texts.

Dates are searched as days since 1970-01-01; the functions that turn them into days and back are
here, too.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.checks import is_whole
from counterpoint.errors import InvalidInput

DIGITS = 4  # significant ones of a number that was computed
EXACT = 15  # of a number that somebody gave: all that float64 keeps of a decimal number
MOST_DIGITS = 17  # tell any two numbers of float64 apart
LARGEST_WHOLE = 2.0**53  # beyond it float64 skips integers
DAY = np.dtype("datetime64[D]")
FIRST_DAY, LAST_DAY = -719162.0, 2932896.0  # the years 1 and 9999, which Python's dates can say
DAYS_IN_NANOSECONDS = 106751.0  # days before and after 1970 that 64 bits of nanoseconds reach


@dataclass(frozen=True)
class Signs:
    """How a language writes values; by default as plain English in ASCII."""

    # between groups of three digits, before decimals, after a percentage
    thousands: str = ","
    decimal: str = "."
    percent: str = "%"
    # around levels that are texts: the opening sign and the closing one
    quotes: tuple[str, str] = ("", "")
    truth: tuple[str, str] = ("False", "True")  # words for false and true
    missing: str = "missing"  # what is written for a value that is not there
    months: tuple[str, ...] = ()  # the months' names; without them dates are written as 2024-12-31
    date: str = ""  # A date, made of `day`, `month` and `year`

    def number(self, text: str) -> str:
        """Return a number as Python writes it, such as -1,234.5, with these signs."""
        swap = {",": self.thousands, ".": self.decimal}
        return "".join(swap.get(sign, sign) for sign in text)

    def whole(self, n: int) -> str:
        """Return a whole number, such as a count."""
        return self.number(f"{n:,}")

    def quoted(self, text: str) -> str:
        """Return a text in quotes."""
        return f"{self.quotes[0]}{text}{self.quotes[1]}"


PLAIN = Signs()


def write_number(value: float, signs: Signs = PLAIN, digits: int = DIGITS, places: int = 0) -> str:
    """Return a number with so many significant digits, or so many decimals where these are more.

    Whole thousands are written in full, and zeros at the end left out.

    Examples
    --------
    >>> [write_number(value) for value in (0.123456, 1234567.8, 2.5, -0.0, 2e20)]
    ['0.1235', '1,234,568', '2.5', '0', '2e+20']
    >>> write_number(1234567.8, digits=EXACT)
    '1,234,567.8'
    """
    value = float(value) + 0.0  # no -0
    if value == 0.0 or not np.isfinite(value):
        return f"{value:g}"
    size = int(np.floor(np.log10(abs(value))))
    if not -4 <= size < EXACT:
        return signs.number(f"{value:.{digits}g}")
    text = f"{value:,.{max(0, digits - 1 - size, places)}f}"
    return signs.number(text.rstrip("0").rstrip(".") if "." in text else text)


def write_numbers(first: float, second: float, signs: Signs = PLAIN) -> tuple[str, str]:
    """Return two numbers, with as many digits as it takes to tell them apart.

    Examples
    --------
    >>> write_numbers(0.41, 0.56), write_numbers(0.50001, 0.50002)
    (('0.41', '0.56'), ('0.50001', '0.50002'))
    """
    for digits in range(DIGITS, MOST_DIGITS + 1):
        texts = write_number(first, signs, digits), write_number(second, signs, digits)
        if texts[0] != texts[1]:
            break
    return texts


def write_share(share: float, signs: Signs = PLAIN) -> str:
    """Return a probability as a percentage.

    Examples
    --------
    >>> write_share(0.8), write_share(0.125)
    ('80%', '12.5%')
    """
    return write_number(100.0 * share, signs, 6) + signs.percent


def write_level(level: Any, signs: Signs = PLAIN) -> str:
    """Return a level or a class: texts in quotes if there are any, truth values as words."""
    if isinstance(level, bool | np.bool_):
        return signs.truth[int(level)]
    if is_whole(level):
        return str(level)
    if isinstance(level, float | np.floating):
        return write_number(float(level), signs, EXACT)
    if isinstance(level, datetime.date) and not isinstance(level, datetime.datetime):
        return write_date(level, signs)
    return signs.quoted(str(level))


def write_day(gene: float, signs: Signs = PLAIN) -> str:
    """Return the date that lies so many days after 1970-01-01."""
    day = np.datetime64(int(gene), "D")
    date = day.item()  # Python knows no date before the year 1 or after 9999
    return write_date(date, signs) if isinstance(date, datetime.date) else str(day)


def write_date(day: datetime.date, signs: Signs = PLAIN) -> str:
    """Return a date: in full if the months have names, else as 2024-12-31.

    Examples
    --------
    >>> write_date(datetime.date(2024, 3, 1))
    '2024-03-01'
    """
    if not signs.months:
        return day.isoformat()
    return signs.date.format(day=day.day, month=signs.months[day.month - 1], year=day.year)


def counted(n: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun, or with its plural where that has more than an s.

    Examples
    --------
    >>> counted(1, "change"), counted(3520, "evaluation"), counted(2, "near miss", "near misses")
    ('1 change', '3,520 evaluations', '2 near misses')
    """
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


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
    return _whole_days(moments, where)


def _whole_days(moments: Any, where: str) -> Floats:
    """Return moments as days, or refuse one with a time of day."""
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
    return float(_whole_days(np.array([moment_of(value, where)]), where)[0])


def range_of_days(dtype: Any) -> tuple[float, float]:
    """Return the first and the last day a dtype can hold."""
    if _is_fine(dtype):
        return -DAYS_IN_NANOSECONDS, DAYS_IN_NANOSECONDS
    return FIRST_DAY, LAST_DAY


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
