"""Values as text: the one place where a number, a date, a truth value or a level is written.

Errors and notes, printed results, sentences, figures, the report and the explorer all write their
values here, so that a value reads the same wherever a person meets it. Languages differ by their
`Signs` only. Data for machines (frames, JSON, files) hold values, not these texts.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from counterpoint.arrays import MISSING
from counterpoint.checks import is_whole

DIGITS = 4  # significant ones of a number that was computed
EXACT = 15  # of a number that somebody gave: all that float64 keeps of a decimal number
MOST_DIGITS = 17  # tell any two numbers of float64 apart
PADDED = 4  # columns of so many decimals write them all; of more, as many as the value has
LARGEST_WHOLE = 2.0**53  # beyond it float64 skips integers
YEARS = (1500.0, 2200.0)  # a column of whole numbers within is taken for years: no thousands sign


@dataclass(frozen=True)
class Signs:
    """How a language writes values; by default as plain English in ASCII.

    Parameters
    ----------
    thousands, decimal, percent : str
        Between groups of three digits, before decimals, after a percentage.
    quotes : (str, str)
        Around levels that are texts: the opening sign and the closing one.
    truth : (str, str)
        Words for false and true.
    missing : str
        What is written for a value that is not there.
    months : tuple of str
        The months' names; without them dates are written as 2024-12-31.
    date : str
        A date, made of `day`, `month` and `year`.
    """

    thousands: str = ","
    decimal: str = "."
    percent: str = "%"
    quotes: tuple[str, str] = ("", "")
    truth: tuple[str, str] = ("False", "True")
    missing: str = "missing"
    months: tuple[str, ...] = ()
    date: str = ""

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


class Written(Protocol):
    """What must be known of a feature to write its values; `Feature` has it."""

    @property
    def kind(self) -> str:
        """Its kind, by name."""

    @property
    def levels(self) -> tuple[Any, ...]:
        """Its levels by code; none for numbers."""

    @property
    def low(self) -> float:
        """Its smallest value."""

    @property
    def high(self) -> float:
        """Its largest value."""

    @property
    def decimals(self) -> int | None:
        """The decimal places of its values, if they are known."""


def write_value(feature: Written, gene: float, signs: Signs = PLAIN, digits: int = DIGITS) -> str:
    """Return a feature's value as text, without its unit.

    Real numbers have the decimals of their column, or so many digits where these are not known.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.table.schema import Schema
    >>> data = pd.DataFrame({"pay": [1250.5, 80.25], "own": ["no", "yes"]})
    >>> pay, own = Schema.infer(data).features
    >>> write_value(pay, 1250.5), write_value(own, 1.0), write_value(pay, MISSING)
    ('1,250.50', 'yes', 'missing')
    """
    if gene == MISSING or np.isnan(gene):
        return signs.missing
    if feature.levels:
        return write_level(feature.levels[int(gene)], signs)
    if feature.kind == "date":
        return write_day(gene, signs)
    if feature.kind == "integer" and abs(gene) <= LARGEST_WHOLE and gene == round(gene):
        is_year = YEARS[0] <= feature.low and feature.high <= YEARS[1]
        return signs.number(f"{int(gene)}" if is_year else f"{int(gene):,}")
    places = feature.decimals
    if places is None or abs(gene) >= 10.0**EXACT:
        return write_number(gene, signs, digits)
    if not np.isclose(gene, round(gene, places), rtol=1e-6, atol=0.0):  # float32 is no closer
        return write_number(gene, signs, digits, places + 2)
    text = f"{gene + 0.0:,.{places}f}"  # + 0.0, because -0.0 would be "-0.00"
    return signs.number(text if places <= PADDED else _trimmed(text))


def write_pair(feature: Written, new: float, old: float, signs: Signs = PLAIN) -> tuple[str, str]:
    """Return two values of a feature, with as many digits as it takes to tell them apart."""
    for digits in range(DIGITS, MOST_DIGITS + 1):
        texts = write_value(feature, new, signs, digits), write_value(feature, old, signs, digits)
        if texts[0] != texts[1]:
            break
    return texts


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
    return signs.number(_trimmed(text))


def _trimmed(text: str) -> str:
    """Return a number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


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
