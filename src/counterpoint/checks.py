"""Checks of arguments, written once: numbers, choices, lists, and packages that may be missing.

Each check returns the value in the type the package works with, or raises an error that names the
argument, says what would be right and shows what was given.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from counterpoint.errors import InvalidInput, MissingDependency, did_you_mean, listed, told_by


def is_whole(value: object) -> bool:
    """Whether a value is a whole number of Python's or NumPy's; truth values are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a value is a real number of any type; truth values are not."""
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """Return a number as a float: infinite if it is a whole number that none can hold.

    Examples
    --------
    >>> as_float(3), as_float(-(10**400))
    (3.0, -inf)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def check_whole(
    argument: str,
    value: Any,
    low: int,
    high: int | None = None,
    *,
    said: str = "",
    hint: str = "",
) -> int:
    """Return a whole number from `low` to `high`, both included.

    `argument` is what the value was given as, such as "Search.evaluations"; `said` are words for
    what is right, where numbers alone would not be clear; `hint` is what to write instead.

    Examples
    --------
    >>> check_whole("workers", 4, 1)
    4
    >>> check_whole("Search.population", 1, 2, 1000)
    Traceback (most recent call last):
        ...
    counterpoint.errors.InvalidInput: Search.population must be a whole number from 2 to 1,000, ...
    """
    if is_whole(value) and low <= value and (high is None or value <= high):
        return int(value)
    right = said or (f"of at least {low:,}" if high is None else f"from {low:,} to {high:,}")
    raise InvalidInput(f"{argument} must be a whole number {right}, got {value!r}{_end(hint)}")


def check_number(
    argument: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    above: bool = False,
    unit: str = "",
    finite: bool = True,
) -> float:
    """Return a number from `low` to `high`; with `above`, `low` itself is not right.

    An infinite number is right only where `finite` is false; `unit` says what is counted.

    Examples
    --------
    >>> check_number("Search.p_cross", 0.5, 0, 1)
    0.5
    >>> check_number("row_timeout", 0, 0, above=True, unit="seconds")
    Traceback (most recent call last):
        ...
    counterpoint.errors.InvalidInput: row_timeout must be a number of seconds above 0, got 0.
    """
    number = as_float(value) if is_number(value) else math.nan
    is_right = low <= number <= high and not (above and number == low)
    if is_right and not (finite and math.isinf(number)):
        return number
    right = f"lie between {low:g} and {high:g}"
    if high == math.inf:
        kind = f"a number of {unit}" if unit else "a number"
        right = f"be {kind} {'above' if above else 'of at least'} {low:g}"
    raise InvalidInput(f"{argument} must {right}, got {value!r}.")


def check_choice(argument: str, value: Any, options: Sequence[Any]) -> Any:
    """Return a value that is one of some options.

    Examples
    --------
    >>> check_choice("engine", "dask", ("threads", "dask"))
    'dask'
    >>> check_choice("engine", "dusk", ("threads", "dask"))
    Traceback (most recent call last):
        ...
    counterpoint.errors.InvalidInput: engine must be 'threads' or 'dask', got 'dusk'; did you ...
    """
    if any(value is option or (isinstance(value, str) and value == option) for option in options):
        return value
    several = f"one of {listed(options)}" if len(options) > 2 else " or ".join(map(repr, options))
    hint = _end(did_you_mean(value, options))
    raise InvalidInput(f"{argument} must be {several}, got {value!r}{hint}")


def check_list(argument: str, values: Any, of: str, example: str = "") -> list[Any]:
    """Return several values as a list; a single text is not several, and of a dict half is lost.

    Examples
    --------
    >>> check_list("fixed", ("sex", "age"), "column names")
    ['sex', 'age']
    >>> check_list("fixed", "sex", "column names", "fixed=['sex']")
    Traceback (most recent call last):
        ...
    counterpoint.errors.InvalidInput: fixed must be a list of column names, got 'sex'; for ...
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        hint = f"for example {example}." if example else ""
        raise InvalidInput(f"{argument} must be a list of {of}, got {values!r}{_end(hint)}")
    return list(values)


def check_positions(argument: str, index: Any, n: int) -> Any:
    """Return which of n things are meant as an array or slice that NumPy takes.

    Examples
    --------
    >>> check_positions("take", 2, 5), check_positions("take", [True, False], 2)
    (array([2]), array([ True, False]))
    >>> check_positions("take", [7], 5)
    Traceback (most recent call last):
        ...
    IndexError: take: there is no position 7 among 5; they are 0 to 4.
    """
    if isinstance(index, slice):
        return index
    chosen = np.asarray([index] if is_whole(index) else index)
    chosen = chosen if chosen.size else np.empty(0, np.int64)
    is_mask = chosen.dtype.kind == "b"
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub" or (is_mask and len(chosen) != n):
        raise InvalidInput(
            f"{argument} must be a position, a list of positions, a slice or {n} truth values, "
            f"got {index!r}."
        )
    strange = chosen[(chosen < -n) | (chosen >= n)]
    if len(strange) and not is_mask:
        known = f"they are 0 to {n - 1}" if n else "there are none"
        raise IndexError(f"{argument}: there is no position {strange[0]} among {n}; {known}.")
    return chosen


def _end(hint: str) -> str:
    """Return the end of a message: what to write instead, or a full stop."""
    return f"; {hint}" if hint else "."


def require_package(module: str, purpose: str, install: str) -> Any:
    """Import a module, or say what needs it and how to install it.

    `purpose` is what needs it, the beginning of the message; `install` what pip is asked to
    install. Raises MissingDependency if it cannot be imported.

    Examples
    --------
    >>> require_package("math", "counting", "math").factorial(3)
    6
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependency(
            f"{purpose} needs {package}, which is not installed; run: pip install {install}."
        ) from error
    except Exception as error:  # altair reads its own docstrings, which -OO takes away
        advice = (
            "run python without -OO" if sys.flags.optimize > 1 else f"run: pip install {install}"
        )
        raise MissingDependency(
            f"{purpose} needs {module.partition('.')[0]}, which cannot be imported "
            f"({type(error).__name__}: {told_by(error)}); {advice}."
        ) from error


def is_loaded(value: Any, module: str, name: str) -> bool:
    """Whether a value is of a class of a package, which is not imported for that.

    Examples
    --------
    >>> is_loaded(3.5, "builtins", "float")
    True
    >>> is_loaded(3.5, "a_framework_nobody_loaded", "Model")
    False
    """
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)
