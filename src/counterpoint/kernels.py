"""How hot loops are compiled: kernels, which Python calls, and what they are made of.

========  ====================================================================================
`kernel`  Python calls it. Compiled on its first call, then kept on disk; holds no lock.
`inner`   Kernels call it. It is part of the machine code of each, and keeps none of its own.
`part`    A section of one kernel, set apart for the reader; Numba writes it into its caller.
========  ====================================================================================

None of them makes an array: they write into those they are given, or return numbers. So Numba need
not count references, which costs more than the work itself where a small function takes several
arrays, and most of the time spent compiling.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from counterpoint.kernel_cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_njit: Any = numba.njit  # some of the options are not in its stubs


class _Compiling(event.Listener):
    """Tells the user once that kernels are compiled, and keeps the garbage collector out of it.

    Compiling makes millions of objects that live until it is done: looking through them again and
    again for garbage takes a tenth of the time.
    """

    def __init__(self) -> None:
        self.has_told = False
        self.depth = 0  # a kernel is compiled with what it calls
        self.collects = False

    def on_start(self, event: Any) -> None:
        """Tell, if the function is ours; one that comes from the cache is not compiled."""
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self.has_told and getattr(function, "__module__", "").startswith("counterpoint."):
            self.has_told = True
            logging.getLogger("counterpoint").warning(
                "compiling the kernels of counterpoint, once on this machine: about ten seconds."
            )
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002 - as listeners are called
        """Let the collector go on, if it was."""
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()


_register: Any = event.register
_register("numba:compile", _Compiling())


def kernel(function: F) -> F:
    """Compile `function` on its first call from Python; later processes load it from the cache."""
    dispatcher = _njit(**_OPTIONS)(function)
    dispatcher._cache = KernelCache(function)  # what cache=True does, with Numba's own
    return cast(F, dispatcher)


def part(function: F) -> F:
    """Write `function` into the one kernel that calls it, as if it stood there.

    For large functions called in one place: machine code is made at every level of calls anew.
    """
    return cast(F, _njit(inline="always", **_OPTIONS)(function))


class Inner:
    """A function compiled for kernels only; called from Python it would have to be wrapped.

    Parameters
    ----------
    function : callable
        What to compile.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.dispatcher = _njit(no_cpython_wrapper=True, **_OPTIONS)(function)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this object for: a dispatcher, which for Python has no wrapper."""
        return self.dispatcher._numba_type_


def inner(function: F) -> F:
    """Compile `function` into the kernels that call it; Python cannot."""
    return cast(F, Inner(function))


@inner
def assign(target: Any, source: Any) -> None:
    """Copy the numbers of one list into another; a slice assignment would make an array."""
    for j in range(len(target)):
        target[j] = source[j]
