"""How hot loops are compiled: cached on disk, and without holding Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` with Numba on its first call; later processes load it from the cache."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def inner(function: F) -> F:
    """Compile a kernel that makes no array: it writes into those it is given, or returns numbers.

    Such a kernel only borrows arrays, so Numba need not count references to them. Counting costs
    more than the work itself where a small function takes several arrays, and most of the time
    spent compiling.
    """
    return cast(F, numba.njit(cache=True, nogil=True, _nrt=False)(function))


@inner
def assign(target: Any, source: Any) -> None:
    """Copy the numbers of one list into another; a slice assignment would make an array."""
    for j in range(len(target)):
        target[j] = source[j]
