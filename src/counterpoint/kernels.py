"""How hot loops are compiled: kernels, which Python calls, and what they are made of.

========  ====================================================================================
`kernel`  Python calls it. Compiled on its first call, then kept on disk; holds no lock.
`inner`   Kernels call it. It is part of the machine code of each, and keeps none of its own.
`part`    A section of one kernel, set apart for the reader; Numba writes it into its caller.
========  ====================================================================================

None of them makes an array: they write into those they are given, or return numbers. So Numba need
not count references, which costs more than the work itself where a small function takes several
arrays, and most of the time spent compiling.

Numba's own cache has two faults that matter here. It numbers the files of a function: two processes
that compile it for different types at the same time may take the same number, and from then on one
type is handed the machine code of the other, which reads memory that is not there. And it looks at
the file of the function only, so that a change in what is compiled into it from other modules goes
unnoticed. Here files are named after what they hold, and all modules of kernels count.
"""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

PACKAGE = Path(__file__).parent
# The modules that kernels and the constants in them may come from.
SOURCES = (
    *("*.py", "table/*.py", "neighbours/*.py", "density/*.py", "models/*.py", "rules/*.py"),
    *("problem/*.py", "search/**/*.py", "result/choosing/*.py"),
)


@cache
def source_stamp(package: Path = PACKAGE) -> str:
    """Return a text that differs if a module differs that kernels may be made of."""
    files = sorted({file for pattern in SOURCES for file in package.glob(pattern)})
    stats = [(file, file.stat()) for file in files]
    known = [f"{file.relative_to(package)} {s.st_mtime_ns} {s.st_size}" for file, s in stats]
    return blake2b("\n".join(known).encode(), digest_size=16).hexdigest()


class KernelFiles(IndexDataCacheFile):
    """The files of one function: an index of types, and machine code named after its type.

    What another process loses of the index by writing it at the same time is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep machine code for a key; at no time does the index point to anything else."""
        name = self.name_of(key)
        self._save_data(name, data)
        known = {**self._load_index(), key: name}
        self._save_index(known)
        self._drop_all_but({*known.values()})

    def name_of(self, key: Any) -> str:
        """Return the name of the file for a key: another one if the sources differ."""
        text = f"{self._source_stamp} {self._version} {key!r}"
        digest = blake2b(text.encode(), digest_size=12).hexdigest()
        return self._index_name.removesuffix("nbi") + f"{digest}.nbc"

    def _drop_all_but(self, names: set[str]) -> None:
        """Delete what older sources left; who still looks for it compiles anew."""
        base = self._index_name.removesuffix("nbi")
        for file in Path(self._cache_path).glob("*.nbc"):
            if file.name.startswith(base) and file.name not in names:
                with contextlib.suppress(OSError):
                    file.unlink()


class KernelCache(FunctionCache):
    """Numba's cache of one function, with files of our own."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = KernelFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=source_stamp(),
        )


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
