"""What can be tuned: whole numbers, reals and choices, each with its range."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, isfinite
from typing import Any

Value = int | float | str
Configuration = Mapping[str, Value]

DIGITS = 4  # decimals of a real: more than a race can tell apart, few enough to read


@dataclass(frozen=True)
class Whole:
    """A whole number from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"Whole needs low < high, got {self.low} and {self.high}.")

    @property
    def span(self) -> tuple[float, float]:
        """The interval that is drawn from; every number has an equal share of it."""
        return float(self.low), float(self.high + 1)

    def at(self, place: float) -> int:
        """Return the number whose share of the span holds a place."""
        return min(max(floor(place), self.low), self.high)

    def centre(self, value: Value) -> float:
        """Return the middle of a number's share of the span."""
        return float(value) + 0.5


@dataclass(frozen=True)
class Real:
    """A number from `low` to `high`, both included, to four decimals."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (self.low < self.high and isfinite(self.low) and isfinite(self.high)):
            raise ValueError(f"Real needs finite low < high, got {self.low} and {self.high}.")

    @property
    def span(self) -> tuple[float, float]:
        """The interval that is drawn from."""
        return float(self.low), float(self.high)

    def at(self, place: float) -> float:
        """Return the value at a place of the span."""
        return float(min(max(round(place, DIGITS), self.low), self.high))

    def centre(self, value: Value) -> float:
        """Return the place of a value."""
        return float(value)


@dataclass(frozen=True)
class Choice:
    """One of several words, without an order."""

    options: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.options) < 2 or len(set(self.options)) < len(self.options):
            raise ValueError(f"Choice needs two different options or more, got {self.options!r}.")


Number = Whole | Real
Parameter = Whole | Real | Choice
Space = Mapping[str, Parameter]


def check_space(space: Space) -> None:
    """Refuse a space without parameters."""
    if not space:
        raise ValueError("space has no parameters; give one at least, as {'rate': Real(0.0, 1.0)}.")


def check_configuration(space: Space, configuration: Configuration) -> None:
    """Refuse a configuration that is not of the space, and say where.

    Examples
    --------
    >>> check_configuration({"rate": Real(0.0, 1.0)}, {"rate": 0.25})
    """
    if set(configuration) != set(space):
        raise ValueError(
            f"a configuration must give {sorted(space)}, got {sorted(configuration)}; "
            "name each parameter once."
        )
    for name, parameter in space.items():
        if not _holds(parameter, configuration[name]):
            raise ValueError(f"{name} must be of {parameter}, got {configuration[name]!r}.")


def _holds(parameter: Parameter, value: Value) -> bool:
    """Return whether a value is one of a parameter's."""
    if isinstance(parameter, Choice):
        return value in parameter.options
    if isinstance(value, str) or (isinstance(parameter, Whole) and not isinstance(value, int)):
        return False
    return parameter.low <= value <= parameter.high


def is_similar(space: Space, one: Configuration, other: Configuration, within: float) -> bool:
    """Return whether two configurations differ in no choice and in no number by much.

    Parameters
    ----------
    space : dict of name to parameter
        Where they lie.
    one, other : dict of name to value
        The two.
    within : float
        As a share of a number's range, the difference that is none.

    Examples
    --------
    >>> rate = {"rate": Real(0.0, 10.0)}
    >>> is_similar(rate, {"rate": 1.0}, {"rate": 1.5}, within=0.1)
    True
    >>> is_similar(rate, {"rate": 1.0}, {"rate": 2.5}, within=0.1)
    False
    """
    for name, parameter in space.items():
        a, b = one[name], other[name]
        if isinstance(parameter, Choice):
            if a != b:
                return False
        elif abs(float(a) - float(b)) > within * (parameter.high - parameter.low):
            return False
    return True


def text_of(configuration: Configuration) -> str:
    """Return a configuration as text: the same for the same values, whatever their order."""
    return json.dumps(dict(configuration), sort_keys=True)


def as_plain(space: Space) -> dict[str, Any]:
    """Return a space as JSON can hold it, in order."""
    return {
        name: list(parameter.options)
        if isinstance(parameter, Choice)
        else [type(parameter).__name__, parameter.low, parameter.high]
        for name, parameter in space.items()
    }
