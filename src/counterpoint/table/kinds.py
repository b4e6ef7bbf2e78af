"""Kinds as the caller declares them, where what the data show is not what is meant.

``features={"age": Integer(18, 90), "grade": Ordered(["low", "mid", "high"])}``
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np

from counterpoint.checks import check_list, is_number
from counterpoint.errors import InvalidInput
from counterpoint.table.dates import day_of
from counterpoint.table.schema import MOST_DECIMALS


@dataclass(frozen=True)
class Real:
    """A number on a scale.

    Parameters
    ----------
    low, high : number, optional
        The range it is searched in and measured by; None is the end seen in the data.
    decimals : int, optional
        The decimal places it is searched on; None leaves that to `precision`.

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
        if end is not None and not (is_number(end) and np.isfinite(float(end))):
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
        raise InvalidInput(f"{name} has a level that cannot be one ({error}).") from error
    if n_different < max(1, len(found)):
        raise InvalidInput(
            f"{name} must have at least one level and none twice, got {list(found)!r}."
        )
    return found
