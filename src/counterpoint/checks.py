"""Checks of arguments and of packages that are imported only when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from counterpoint.errors import InvalidInput, MissingDependency, did_you_mean, listed


def require_package(module: str, purpose: str, install: str) -> Any:
    """Import a module, or say what needs it and how to install it.

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


def check_whole(name: str, value: object, least: int, most: int, owner: str) -> None:
    """Refuse an argument of `owner` that is not a whole number in its range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidInput(f"{owner}.{name} must be a whole number, got {value!r}.")
    if not least <= value <= most:
        raise InvalidInput(f"{owner}.{name} must lie between {least} and {most}, got {value}.")


def check_number(label: str, value: object, least: float, most: float) -> None:
    """Refuse a value that is not a number in its range."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not least <= float(value) <= most:  # type: ignore[arg-type]
        limit = "be at least 0" if most == np.inf else f"lie between {least:g} and {most:g}"
        raise InvalidInput(f"{label} must {limit}, got {value!r}.")


def check_choice(label: str, value: object, options: tuple[str, ...]) -> None:
    """Refuse a value that is not one of its options."""
    if value not in options:
        hint = did_you_mean(value, options)
        raise InvalidInput(
            f"{label} must be one of {listed(options)}, got {value!r}"
            + (f"; {hint}" if hint else ".")
        )
