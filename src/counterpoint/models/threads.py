"""Threads: a model's libraries kept on one, so that its answers do not depend on how many ran."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from threadpoolctl import ThreadpoolController


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
