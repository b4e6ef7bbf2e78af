"""Calling what only kernels can call: a wrapper that Python can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from counterpoint.kernels import kernel


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for Python that calls an inner kernel with the same arguments."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return kernel(function)

    @numba.njit
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call  # type: ignore[no-any-return]
