"""Features: what a column is, with its kind, levels, range, unit and protection.

Kinds are inferred from the data, or declared where what the data show is not what is meant:
``features={"age": Integer(18, 90), "grade": Ordered(["low", "mid", "high"])}``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from counterpoint.arrays import LARGEST, MISSING
from counterpoint.checks import as_float, check_list, is_number
from counterpoint.errors import InvalidInput, told_by
from counterpoint.table.values import (
    DIGITS,
    EXACT,
    LARGEST_WHOLE,
    MOST_DIGITS,
    PLAIN,
    Signs,
    day_of,
    range_of_days,
    write_day,
    write_level,
    write_number,
)

Precision = Literal["observed", "full"]

LARGEST_SINGLE = 2.0**24  # beyond it float32 skips integers
MOST_DECIMALS = 12
RESULT_COLUMNS = ("valid", "class", "prediction", "gap", "distance", "changes", "implausibility")
SHOWN_LEVELS = 8
PADDED = 4  # columns of so many decimals write them all; of more, as many as matter
YEARS = (1500.0, 2200.0)  # a column of whole numbers within is taken for years: no thousands sign


class Kind(StrEnum):
    """How a feature's values relate: decides its distance, crossover and mutation."""

    REAL = "real"
    INTEGER = "integer"
    DATE = "date"
    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    BINARY = "binary"


@dataclass(frozen=True)
class Feature:
    """What can change by itself: one column of the data, or a one-hot group of columns."""

    name: Hashable  # the column's label, or the group's name
    kind: Kind  # real, integer, date, categorical, ordered or binary
    # numpy or pandas dtype: the column's own dtype, in which counterfactuals are returned; of a
    # group that of its first
    dtype: Any
    # the values of a feature that is not a number, in code order; empty for numbers
    levels: tuple[Any, ...]
    # smallest and largest value of the data or as declared, in days for dates; or code
    low: float
    high: float
    # decimal places a real feature is searched on; None searches the reals
    decimals: int | None = None
    # The columns of a one-hot group, one per level; a last level without a column stands for all of
    # them being 0. Empty for a feature that is a column itself.
    columns: tuple[Feature, ...] = ()
    # {"", "None", "nan", "NA"}: what stands for a missing value in the data, if there are any:
    # Python's None, NaN (NaT of dates) or pandas' NA
    missing: str = ""
    unit: str = ""  # what the numbers are counted in, for readers; empty if nobody said
    # whether it is never to be proposed to people as something to change
    is_protected: bool = False

    @property
    def has_missing(self) -> bool:
        """Whether the data miss some of its values."""
        return self.missing != ""

    @cached_property
    def is_numeric(self) -> bool:
        """Whether the values are numbers, or days, rather than levels."""
        return self.kind in (Kind.REAL, Kind.INTEGER, Kind.DATE)

    @property
    def is_constant(self) -> bool:
        """Whether the data show a single value, which leaves nothing to change."""
        return self.low == self.high if self.is_numeric else len(self.levels) == 1

    @property
    def is_plain(self) -> bool:
        """Whether its values are its genes, cast to a dtype of NumPy; what misses is NaN there."""
        if not self.is_numeric or self.kind is Kind.DATE or not isinstance(self.dtype, np.dtype):
            return False
        return self.dtype.kind == "f" or not self.has_missing

    @cached_property
    def is_single(self) -> bool:
        """Whether the column holds numbers of float32, plain or nullable."""
        return self.is_numeric and bool(plain_dtype(self.dtype) == np.float32)

    @cached_property
    def dtype_range(self) -> tuple[float, float]:
        """The smallest and largest number the column's dtype holds and a search computes with."""
        if self.kind is Kind.DATE:
            return range_of_days(self.dtype)
        dtype = plain_dtype(self.dtype)
        if self.kind is Kind.INTEGER and dtype.kind == "f":
            largest = LARGEST_SINGLE if self.is_single else LARGEST_WHOLE
            return -largest, largest
        if self.kind is Kind.INTEGER:
            whole = np.iinfo(dtype)
            return max(float(whole.min), -LARGEST_WHOLE), min(float(whole.max), LARGEST_WHOLE)
        largest = float(np.finfo(np.float32).max) if self.is_single else LARGEST
        return -largest, largest

    def why_refused(self, gene: float) -> str:
        """Return why a number outside `dtype_range` is refused, and what to do: for messages."""
        low, high = self.dtype_range
        is_whole, end = self.kind is Kind.INTEGER, abs(low if gene < low else high)
        most, why = LARGEST, "is too large to compute with; use another unit, or"
        if is_whole:
            most, why = LARGEST_WHOLE, "is beyond 2**53, where floats skip whole numbers;"
        if self.kind is Kind.DATE or end < most:
            why = f"the data's dtype {self.dtype} cannot hold; give the data a wider dtype, or"
        return f"which {why} stay within {self.shown(low)} to {self.shown(high)}."

    def shown(self, gene: float) -> str:
        """Return a value as text: a number, a date or a level."""
        return write_value(self, gene)

    @property
    def values_text(self) -> str:
        """What the feature can be, as text."""
        if not self.is_numeric:
            mark = " < " if self.kind is Kind.ORDERED else ", "
            more = len(self.levels) - SHOWN_LEVELS
            texts = [write_level(level) for level in self.levels[:SHOWN_LEVELS]]
            text = mark.join([*texts, f"{more} more"] if more > 0 else texts)
        elif self.is_constant:
            text = self.shown(self.low)
        else:
            text = f"{self.shown(self.low)} to {self.shown(self.high)}"
        text += f" {self.unit}" if self.unit else ""
        text += f", {self.decimals} decimals" if self.decimals else ""
        text += " or missing" if self.has_missing else ""
        text += f" (one-hot in {len(self.columns)} columns)" if self.columns else ""
        text += " (protected)" if self.is_protected else ""
        return f"{text} (constant)" if self.is_constant else text

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} {self.values_text}"


def write_value(feature: Feature, gene: float, signs: Signs = PLAIN, digits: int = DIGITS) -> str:
    """Return a feature's value as text, without its unit.

    Real numbers have the decimals of their column. Where these are many or not known, they have as
    many as tell a thousandth of the column's range; more `digits` than usual ask for more.

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
    if abs(gene) >= 10.0**EXACT:
        return write_number(gene, signs, digits)
    if places is None or places > PADDED:
        return _write_real(gene, feature, signs, digits)
    if not _has_places(gene, places, 1e-6):  # float32 is no closer
        few = _has_places(gene, places + 2, 1e-12)  # of a short value all, else those that matter
        return write_number(gene, signs, digits, places + 2 * few)
    return signs.number(f"{gene + 0.0:,.{places}f}")  # + 0.0, because -0.0 would be "-0.00"


def _has_places(gene: float, places: int, tolerance: float) -> bool:
    """Whether a number has no more decimals than so many."""
    rounded = round(gene, places)
    return abs(gene - rounded) <= tolerance * abs(rounded)


def _write_real(gene: float, feature: Feature, signs: Signs, digits: int) -> str:
    """Return a number with the decimals that matter in its column; with more if these show none."""
    width = feature.high - feature.low
    if not (0.0 < width < np.inf):
        return write_number(gene, signs, digits)
    places = max(0, digits - 1 - int(np.floor(np.log10(width))))
    places = min(places, MOST_DIGITS if feature.decimals is None else feature.decimals)
    near = round(gene, places)
    if near == 0.0 and gene != 0.0:
        return write_number(gene, signs, digits)
    return signs.number(f"{near + 0.0:,.{places}f}")


def write_pair(feature: Feature, new: float, old: float, signs: Signs = PLAIN) -> tuple[str, str]:
    """Return two values of a feature, with as many digits as it takes to tell them apart."""
    for digits in range(DIGITS, MOST_DIGITS + 1):
        texts = write_value(feature, new, signs, digits), write_value(feature, old, signs, digits)
        if texts[0] != texts[1]:
            break
    return texts


def plain_dtype(dtype: Any) -> Any:
    """Return the NumPy dtype behind a nullable, Arrow or sparse dtype of numbers."""
    return getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))


@dataclass(frozen=True)
class Real:
    """A number on a scale.

    Parameters
    ----------
    low, high : number, optional
        The range it is searched in and measured by; None is the end seen in the data.
    decimals : int, optional
        The decimal places it is searched on, to which observed rows are rounded, too; None leaves
        that to `precision`.

    Examples
    --------
    >>> Real(0, 1, decimals=2)
    Real(low=0, high=1, decimals=2)
    """

    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    decimals: int | None = None

    def __post_init__(self) -> None:
        check_ends(self)
        if self.decimals is not None and (
            isinstance(self.decimals, bool)
            or not isinstance(self.decimals, int)
            or not 0 <= self.decimals <= MOST_DECIMALS
        ):
            raise InvalidInput(
                f"Real.decimals must be a whole number from 0 to {MOST_DECIMALS} or None, got "
                f"{self.decimals!r}."
            )


@dataclass(frozen=True)
class Integer:
    """A whole number, also of a column of floats.

    Parameters
    ----------
    low, high : int, optional
        The range it is searched in and measured by; None is the end seen in the data.
    """

    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        check_ends(self)
        for end in (self.low, self.high):
            if end is not None and end != int(end):
                raise InvalidInput(f"Integer must have whole ends, got {end!r}.")


@dataclass(frozen=True)
class Date:
    """A date, searched in whole days.

    Parameters
    ----------
    low, high : date, Timestamp or text such as "2024-12-31", optional
        The range it is searched in and measured by; None is the end seen in the data.

    Examples
    --------
    >>> Date("2024-02-30")
    Traceback (most recent call last):
    counterpoint.errors.InvalidInput: Date must hold dates, got '2024-02-30'; write them as in ...
    """

    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        low, high = self.days
        if low is not None and high is not None and low > high:
            raise InvalidInput(f"Date must have low <= high, got {self.low!r} and {self.high!r}.")

    @property
    def days(self) -> tuple[float | None, float | None]:
        """The ends as days since 1970-01-01."""
        ends = [None if end is None else day_of(end, "Date") for end in (self.low, self.high)]
        return ends[0], ends[1]


@dataclass(frozen=True)
class Categorical:
    """One of several levels without an order.

    Parameters
    ----------
    levels : list, optional
        The levels, also those the data do not show; None takes those of the data.

    Examples
    --------
    >>> Categorical(["own", "rent"]).levels
    ('own', 'rent')
    """

    levels: tuple[Any, ...] | None = None

    def __init__(self, levels: Iterable[Any] | None = None) -> None:
        checked = None if levels is None else check_levels(levels, "Categorical")
        object.__setattr__(self, "levels", checked)


@dataclass(frozen=True)
class Ordered:
    """One of several levels, from the lowest to the highest.

    Parameters
    ----------
    levels : list
        The levels in their order, also those the data do not show.
    """

    levels: tuple[Any, ...]

    def __init__(self, levels: Iterable[Any]) -> None:
        object.__setattr__(self, "levels", check_levels(levels, "Ordered"))


Declared: TypeAlias = Real | Integer | Date | Categorical | Ordered
EXAMPLE = 'for example features={"age": Integer(18, 90)}'


def check_ends(declared: Real | Integer) -> None:
    """Refuse ends that are no finite numbers in order."""
    name, ends = type(declared).__name__, (declared.low, declared.high)
    for end in ends:
        if end is not None and not (is_number(end) and np.isfinite(as_float(end))):
            raise InvalidInput(f"{name} must have finite numbers or None as ends, got {end!r}.")
    if None not in ends and ends[0] > ends[1]:  # type: ignore[operator]
        raise InvalidInput(f"{name} must have low <= high, got {ends[0]!r} and {ends[1]!r}.")


def check_levels(levels: Iterable[Any], name: str) -> tuple[Any, ...]:
    """Return levels as a tuple; refuse none, repeated ones and what cannot be one."""
    several = check_list(f"{name}.levels", levels, "levels", f"{name}(['low', 'high'])")
    found = tuple(level.item() if isinstance(level, np.generic) else level for level in several)
    try:
        n_different = len(set(found))
    except TypeError as error:
        raise InvalidInput(f"{name} has a level that cannot be one ({told_by(error)}).") from error
    if n_different < max(1, len(found)):
        raise InvalidInput(
            f"{name} must have at least one level and none twice, got {list(found)!r}."
        )
    return found


def check_range(feature: Feature, interval: Any) -> tuple[float, float]:
    """Return the ends of a number's or a date's range as floats; None means the observed end."""
    if not isinstance(interval, tuple | list) or len(interval) != 2:
        raise InvalidInput(f"ranges[{feature.name!r}] must be (low, high), got {interval!r}.")
    ends = [_as_day(end, feature) if feature.kind is Kind.DATE else end for end in interval]
    low = feature.low if ends[0] is None else ends[0]
    high = feature.high if ends[1] is None else ends[1]
    if not (is_number(low) and is_number(high)):
        raise InvalidInput(f"ranges[{feature.name!r}] must hold numbers or None, got {interval!r}.")
    if not np.isfinite([as_float(low), as_float(high)]).all() or low > high:
        raise InvalidInput(
            f"ranges[{feature.name!r}] must be finite with low <= high, got {interval!r}; None "
            f"stands for the data's own end in {feature.shown(feature.low)} to "
            f"{feature.shown(feature.high)}."
        )
    smallest, largest = feature.dtype_range
    if low < smallest or high > largest:
        reason = feature.why_refused(float(low if low < smallest else high))
        raise InvalidInput(f"ranges[{feature.name!r}] is {interval!r}, {reason}")
    return float(low), float(high)


def _as_day(end: Any, feature: Feature) -> Any:
    """Return an end of a range of dates in days; None stays what it is."""
    where = f"ranges[{feature.name!r}]"
    if is_number(end):
        raise InvalidInput(f"{where} must hold dates, got {end!r}; write them as in '2024-12-31'.")
    return None if end is None else day_of(end, where)


def end_of(feature: Feature, end: float) -> float | int | str:
    """Return an end of a range as a caller would write it."""
    if feature.kind is Kind.DATE and end.is_integer():
        return feature.shown(end)
    return int(end) if end.is_integer() else float(end)
