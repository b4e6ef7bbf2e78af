"""Ctrl-C and SIGTERM ask long work to stop in good order; a second Ctrl-C stops it now.

Searches in a process and batch jobs share this handling. A signal that raised would come anywhere:
between a file and its line in the journal, or in a model's own code, and work of many seconds that
is about to end would be lost. So a signal only sets a flag, which the work looks at.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Stoppable(Protocol):
    """Long work that can be asked to stop, such as a `Watch` or the flag of a job."""

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to stop."""

    def stop(self) -> None:
        """Ask it to stop."""


class StopFlag:
    """Whether a batch job is asked to stop."""

    def __init__(self) -> None:
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether somebody asked."""
        return self._is_stopped

    def stop(self) -> None:
        """Ask the job to stop."""
        self._is_stopped = True


@contextmanager
def stopped_by_signals(
    work: Stoppable, signals: tuple[signal.Signals, ...] = (signal.SIGINT,)
) -> Iterator[None]:
    """Let signals stop some work, where Python's own handling of them is in force.

    Somebody else's handler is left alone, and so is every thread but the main one, which alone may
    set handlers. A second Ctrl-C raises KeyboardInterrupt as usual.
    """

    def handle(number: int, frame: Any) -> None:
        if work.is_stopped and number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        work.stop()

    defaults: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    is_main = threading.current_thread() is threading.main_thread()
    ours = [n for n in signals if is_main and signal.getsignal(n) is defaults[n]]
    for number in ours:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, defaults[number])


def tell_interrupted(n_done: int, n_rows: int) -> None:
    """Say how many rows were explained before the interrupt."""
    logging.getLogger("counterpoint").warning(
        "interrupted: the first %d of %d rows are explained, the last of them as far as the "
        "search had come.",
        n_done,
        n_rows,
    )
