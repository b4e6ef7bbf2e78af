"""Calling what only kernels can call: a wrapper that Python can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba

from counterpoint.kernels import kernel


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loop of a test compiled, or as Python where kernels run so."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return kernel(function)
    compile_it: Any = numba.njit
    return cast(Callable[..., Any], compile_it(function))


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for Python that calls an inner kernel with the same arguments."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return kernel(function)

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return compiled(call)
