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
the file of the function only: a change in what is compiled into it from other modules goes
unnoticed, and one elsewhere in the file compiles it again. Here files are named after what they
hold, and a kernel is compiled anew just where the code or the constants that it is made of differ.

Compiling takes seconds. So each kernel is given the same types always, is optimized once, and all
kernels of a default search are compiled together, once on a machine (`explainer/warm_up.py`); a
mark beside the cache says that it is complete.

All this, and `compiling`, stands on private parts of Numba: `tests/unit/test_kernels_numba.py`
names them, and the version of Numba has a ceiling in pyproject.toml.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

from counterpoint import compiling
from counterpoint.compiling import InnerCompiler, KernelCompiler, prefetch

OURS = "counterpoint."
PYTHON_AND_LEVEL = f"py{sys.version_info[0]}{sys.version_info[1]}" + "O" * sys.flags.optimize
PATIENCE = 60.0  # seconds to wait for another process that compiles the same
PAUSE = 10.0  # seconds without compiling after which the user is told again
_log = logging.getLogger("counterpoint")


@cache
def code_stamp(function: Any) -> str:
    """Return a text that differs if anything differs that a function is compiled from.

    That is its code, the constants in it, and the same of every function of ours that it calls.
    """
    found, waiting = dict[Any, str](), [function]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each], called = _described(each)
            waiting += called
    return _digest(*sorted(found.values()), *_compiler_texts())


@cache
def _compiler_texts() -> tuple[str, ...]:
    """Return what says how functions are compiled."""
    return repr(_OPTIONS), Path(compiling.__file__).read_text(encoding="utf-8")


@cache
def _described(function: Any) -> tuple[str, list[Any]]:
    """Return a text of a function's own code and constants, and the functions of ours it calls."""
    codes = [function.__code__]
    for code in codes:  # which grows by functions and comprehensions inside of it
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    texts, called = [full_name(function), repr(function.__defaults__)], list[Any]()
    for code in codes:
        constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
        if constants[:1] == [function.__doc__]:
            constants = constants[1:]
        texts += [code.co_code.hex(), repr((constants, code.co_names, code.co_varnames))]
    names = {name for code in codes for name in code.co_names}
    closed = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    known = {name: cell.cell_contents for name, cell in closed}
    for name, value in sorted({**_named(names, function.__globals__), **known}.items()):
        made = _function_of(value)
        called += [] if made is None else [made]
        texts.append(f"{name} {_text_of(value)}" if made is None else name)
    return "\n".join(texts), called


def _named(names: set[str], known: dict[str, Any]) -> dict[str, Any]:
    """Return what names stand for, those of our own modules with what is taken from them."""
    found = {name: known[name] for name in names & {*known}}
    for name, module in list(found.items()):
        if isinstance(module, ModuleType) and module.__name__.startswith(OURS):
            found |= {f"{name}.{k}": v for k, v in _named(names, vars(module)).items()}
    return found


def _function_of(value: Any) -> Any:
    """Return the Python function behind what kernels call, if it is compiled with them."""
    dispatcher = value.dispatcher if isinstance(value, Inner) else value
    return getattr(dispatcher, "py_func", getattr(dispatcher, "_defn", None))


def _text_of(value: Any) -> str:
    """Return a text of what a function refers to, and that is no function of ours.

    Raises
    ------
    TypeError
        If a change of the value would not be noticed.
    """
    if isinstance(value, ModuleType | type | FunctionType | BuiltinFunctionType | np.ufunc):
        return f"{value.__name__} {getattr(value, '_fields', '')}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()}"
    if isinstance(value, int | float | str | np.generic | tuple | NoneType):
        return repr(value)
    raise TypeError(f"kernels cannot be made of {value!r}: its changes would go unnoticed.")


def _digest(*texts: str) -> str:
    return blake2b("\n".join(texts).encode(), digest_size=12).hexdigest()


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

    def _load_index(self) -> Any:
        """Return the index; none if it names a class that sources of today do not have."""
        try:
            return super()._load_index()
        except (AttributeError, ImportError, EOFError):
            return {}

    def _drop_all_but(self, names: set[str]) -> None:
        """Delete what older sources left; who still looks for it compiles anew."""
        base = self._index_name.removesuffix("nbi")
        for file in Path(self._cache_path).glob("*.nbc"):
            if file.name.startswith(base) and file.name not in names:
                with contextlib.suppress(OSError):
                    file.unlink()


class KernelCache(FunctionCache):
    """Numba's cache of one function, with files of our own, and a lock while it is compiled.

    So of several processes one compiles a kernel, and the others wait for it.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._base = f"{full_name(function)}.{PYTHON_AND_LEVEL}"
        self._lock = contextlib.ExitStack()  # empty unless this process compiles the function

    @property
    def _cache_file(self) -> KernelFiles:
        """The files; what the function is made of is known when it is called, not before."""
        return KernelFiles(self._cache_path, self._base, code_stamp(self._py_func))

    @_cache_file.setter
    def _cache_file(self, _: object) -> None:
        """Leave out Numba's own files, which its constructor sets."""

    @property
    def lock_file(self) -> Path:
        """The file that is locked while the function is compiled."""
        return Path(self._cache_path) / f"{self._base}.lock"

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Return Numba's key and the names of the fields of records, which it leaves out."""
        return *super()._index_key(sig, codegen), tuple(map(_fields_of, sig))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return machine code from the disk; None if this process has to compile it.

        Numba would first make its compiler ready, which takes longer than all of our kernels do.
        """
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
            if found is None:
                self._lock.close()  # it may be held still, if compiling was interrupted
                self._lock.enter_context(locked(self.lock_file, PATIENCE))
                found = self._load_overload(sig, target_context)
            if found is not None:
                self._lock.close()
                if _compiling.hear is not None:
                    _compiling.hear(full_name(self._py_func))
            return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code, and let other processes have it."""
        super().save_overload(sig, data)
        self.let_go()

    def let_go(self) -> None:
        """Give back the lock, if this process holds it."""
        self._lock.close()


def _fields_of(kind: Any) -> Any:
    """Return the names of the fields of a record or tuple's type, and of those in it."""
    return (*getattr(kind, "fields", ()),), tuple(map(_fields_of, getattr(kind, "types", ())))


F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_njit: Any = numba.njit  # some of the options are not in its stubs
# Numba's NUMBA_DISABLE_JIT: kernels run as the Python they are, for debuggers and for coverage.
_RUNS_PYTHON = bool(cast(Any, numba).config.DISABLE_JIT)


class _Compiling(event.Listener):
    """Tells the user that kernels are compiled, and keeps the garbage collector out of it.

    Compiling makes millions of objects that live until it is done: looking through them again and
    again for garbage takes a tenth of the time.
    """

    def __init__(self) -> None:
        self.last = -math.inf  # when something was compiled last
        self.hear: Callable[[str], None] | None = None  # told of each function compiled; it tells
        self.depth = 0  # a kernel is compiled with what it calls
        self.collects = False

    def on_start(self, event: Any) -> None:
        """Tell, if the function is ours; one that comes from the cache is not compiled."""
        if self.hear is None and _name_of(event):
            if time.monotonic() - self.last > PAUSE:
                _log.warning(
                    "compiling kernels of counterpoint, once on this machine: some seconds."
                )
            self.last = time.monotonic()
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Let the collector go on, if it was; who hears of it may raise."""
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()
        cache = getattr(event.data.get("dispatcher"), "_cache", None)
        if isinstance(cache, KernelCache) and sys.exc_info()[0] is not None:
            cache.let_go()  # it could not be compiled: nothing will be saved
        if name := _name_of(event):
            self.last = time.monotonic()
            if self.hear is not None:
                self.hear(name)


def _name_of(event: Any) -> str:
    """Return the full name of the function an event is about, if it is ours."""
    function: Any = getattr(event.data.get("dispatcher"), "py_func", None)
    return full_name(function) if getattr(function, "__module__", "").startswith(OURS) else ""


def full_name(function: Any) -> str:
    """Return the module and the name of a function."""
    return f"{function.__module__}.{function.__name__}"


_compiling = _Compiling()
_register: Any = event.register
_register("numba:compile", _compiling)
_kernels: dict[str, Any] = {}


@contextlib.contextmanager
def heard_compiling(hear: Callable[[str], None]) -> Iterator[None]:
    """Have `hear` called with the name of each kernel, or inner function, compiled meanwhile."""
    _compiling.hear = hear
    try:
        yield
    finally:
        _compiling.hear = None


def kernel_names() -> tuple[str, ...]:
    """Return the full names of our kernels in the modules imported so far."""
    return tuple(name for name in _kernels if name.startswith(OURS))


def completeness_mark(names: Iterable[str]) -> Path | None:
    """Return the file that exists if the cache holds the kernels of these names.

    Its name differs where kernels cannot be shared: between sources, versions and processors. There
    is none if nothing is compiled or nowhere is room for a cache.
    """
    kernels = [_kernels[name] for name in sorted(names)]
    cache = getattr(kernels[0], "_cache", None) if kernels else None
    if not isinstance(cache, KernelCache):
        return None
    stamps = [code_stamp(each.py_func) for each in kernels]
    magic = cast(Any, kernels[0]).targetctx.codegen().magic_tuple()
    name = _digest(*stamps, repr((numba.__version__, sys.version_info[:3], magic)))
    return Path(cache._cache_path) / f"counterpoint-{PYTHON_AND_LEVEL}-{name}.complete"


def mark_as_complete(mark: Path) -> None:
    """Write a mark, unless the folder cannot be written to, and drop those of older sources."""
    with contextlib.suppress(OSError):
        for old in mark.parent.glob(f"{mark.name.rpartition('-')[0]}-*.complete"):
            old.unlink()
        mark.touch()


@contextlib.contextmanager
def sole_compiler(mark: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a mark, so that of several processes one compiles and the others wait."""
    told = "waiting for a process that compiles the kernels of counterpoint."
    with locked(mark.with_suffix(".lock"), patience, told):
        yield


@contextlib.contextmanager
def locked(path: Path, patience: float, told: str = "") -> Iterator[None]:
    """Hold the lock of a file; if it has to be waited for, the user is `told` so, once.

    Without a lock after so many seconds the process goes on: two may compile the same, to no harm.
    """
    try:
        import fcntl  # there is none on Windows

        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except (ImportError, OSError):
        yield
        return
    with file:
        end, is_told = time.monotonic() + patience, not told
        while time.monotonic() < end:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not is_told:
                    _log.warning(told)
                is_told = True
                time.sleep(0.05)
            except OSError:  # a file system without locks
                break
            else:
                break
        yield


def kernel(function: F) -> F:
    """Compile `function` on its first call from Python; later processes load it from the cache."""
    if _RUNS_PYTHON:
        return cast(F, np.errstate(all="ignore")(lambda *v: function(*map(_with_attributes, v))))
    dispatcher = _njit(pipeline_class=KernelCompiler, **_OPTIONS)(function)
    with contextlib.suppress(RuntimeError):  # no folder can be written to: nothing is kept
        dispatcher._cache = KernelCache(function)  # what cache=True does, with Numba's own
    _kernels[full_name(function)] = dispatcher
    return cast(F, dispatcher)


class _Record(np.record):  # type: ignore[misc] # final in the stubs only
    """A record whose attributes are its fields first: NumPy's own `size` is another thing."""

    def __getattribute__(self, name: str) -> Any:
        fields = np.void.__getattribute__(self, "dtype").fields or {}
        return self[name] if name in fields else super().__getattribute__(name)


def _with_attributes(value: Any) -> Any:
    """Return an argument of a kernel with records whose fields are attributes, as in kernels."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.dtype((_Record, value.dtype)))
    if isinstance(value, np.void) and value.dtype.names:
        return _with_attributes(np.array(value))[()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_with_attributes, value))
    return value


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
        compiled = _njit(pipeline_class=InnerCompiler, no_cpython_wrapper=True, **_OPTIONS)
        self.dispatcher = compiled(function)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this object for: a dispatcher, which for Python has no wrapper."""
        return self.dispatcher._numba_type_


def inner(function: F) -> F:
    """Compile `function` into the kernels that call it; Python cannot."""
    return function if _RUNS_PYTHON else cast(F, Inner(function))


@inner
def assign(target: Any, source: Any) -> None:
    """Copy the numbers of one list into another; a slice assignment would make an array."""
    for j in range(len(target)):
        target[j] = source[j]


@inner
def fetch(array: Any, place: int) -> None:
    """Have memory send a place of a list, without waiting for it; it changes no result."""
    if not _RUNS_PYTHON:
        prefetch(array, place)
