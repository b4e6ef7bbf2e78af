"""Threads: a model's libraries kept on one, and which models several threads may ask at once.

How many threads a library runs must not change its answers. A model is shared between threads only
if all it is made of is known to bear that.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

# Packages whose fitted models and their parts write to nothing of theirs when they predict …
ESTIMATORS = {"sklearn", "xgboost", "lightgbm", "counterpoint"}
# … and those of what else such models are made of.
DATA = {"builtins", "numpy", "scipy", "pandas", "ctypes", "math", "operator"}
NAMED = (type, FunctionType, BuiltinFunctionType, np.ufunc)


def is_known(model: Any) -> bool:
    """Whether a model is made of known types and functions only, all the way down.

    A class of the caller's may keep a work buffer, and a function may call anything: of neither
    anybody knows what it does when two threads ask at once, or where no data lie.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> own = type("Own", (), {"__module__": "shop"})()
    >>> is_known(FunctionTransformer(np.log1p)), is_known(own)
    (True, False)
    """
    waiting, seen = [model], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, list | tuple | set | frozenset):
            waiting += thing
        elif isinstance(thing, np.ndarray):
            waiting += thing.ravel().tolist() if thing.dtype == object else ()
        elif isinstance(thing, MethodType):
            waiting += (thing.__func__, thing.__self__)
        elif isinstance(thing, partial):
            waiting += (thing.func, thing.args, thing.keywords)
        elif (package := package_of(thing)) not in ESTIMATORS | DATA:
            return False
        elif not isinstance(thing, NAMED) and (package in ESTIMATORS or callable(thing)):
            waiting += getattr(thing, "__dict__", {}).values()
    return True


def package_of(thing: Any) -> str:
    """Return the package that a class or function is of, or else the type of a value."""
    if isinstance(thing, np.ufunc):  # `np.frompyfunc` makes one of any function
        return "numpy" if getattr(np, thing.__name__, None) is thing else ""
    named = thing if isinstance(thing, NAMED) else type(thing)
    return (named.__module__ or "").partition(".")[0]


def answers_alike(ask: Callable[[int], Any], n: int) -> bool:
    """Whether questions 0 to n - 1 get the same answers from two threads at once as from one."""
    alone = [ask(i) for i in range(n)]
    together = threading.Barrier(2)

    def ask_all(order: range) -> dict[int, Any]:
        together.wait()
        return {i: ask(i) for i in order}

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(ask_all, (range(n), range(n - 1, -1, -1))))
    return all(np.array_equal(alone[i], told[i]) for told in answers for i in range(n))


@contextmanager
def one_thread(threads: ThreadpoolController) -> Iterator[None]:
    """Keep the libraries found by `threads` on one thread, while this thread asks the model.

    How threads split a matrix product changes its last bits, and on small calls starting them
    costs more than they save; rows are shared among `workers` instead. Linear algebra has one
    setting per process, OpenMP and joblib have one per thread.
    """
    _KEEPER.enter(threads)
    try:
        with threads.limit(limits=1, user_api="openmp"), without_joblib():
            yield
    finally:
        _KEEPER.leave()


def without_joblib() -> AbstractContextManager[Any]:
    """Return a context in which joblib starts no threads from this one.

    A forest's threads add up its trees in the order they finish, which changes the last bits.
    """
    joblib = sys.modules.get("joblib")
    return nullcontext() if joblib is None else joblib.parallel_config(backend="sequential")


class Keeper:
    """Keeps linear algebra on one thread from the first who needs it until the last.

    threadpoolctl lets only the thread that has set a limit lift it, and whoever comes first need
    not be the last to leave. So the limit is held by a thread of its own.
    """

    def __init__(self) -> None:
        self._lock, self._n_users = threading.Lock(), 0
        self._holder: threading.Thread | None = None
        self._done = threading.Event()

    def enter(self, threads: ThreadpoolController) -> None:
        """Return once the limit holds."""
        with self._lock:
            self._n_users += 1
            if self._n_users == 1:
                held, self._done = threading.Event(), threading.Event()
                arguments = (threads, held, self._done)
                self._holder = threading.Thread(target=_hold, args=arguments, daemon=True)
                self._holder.start()
                held.wait()

    def leave(self) -> None:
        """Lift the limit if nobody else needs it."""
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0 and self._holder is not None:
                self._done.set()
                self._holder.join()
                self._holder = None


def _hold(threads: ThreadpoolController, held: threading.Event, done: threading.Event) -> None:
    """Hold the limit until told that it is done."""
    with threads.limit(limits=1, user_api="blas"):
        held.set()
        done.wait()


_KEEPER = Keeper()  # one setting per process, so one keeper
