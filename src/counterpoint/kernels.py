"""How hot loops are compiled: cached on disk, and without holding Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` with Numba on its first call; later processes load it from the cache."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))
