"""Checks of arguments and of packages that are imported only when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from counterpoint.errors import MissingDependency


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
