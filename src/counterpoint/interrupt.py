"""Ctrl-C and SIGTERM ask long work to stop in good order; a second Ctrl-C stops it now."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stop:
    """Whether a job is asked to stop."""

    def __init__(self) -> None:
        self.is_asked = False

    def ask(self) -> None:
        """Have the job stop."""
        self.is_asked = True

    def must_stop(self) -> bool:
        """Whether somebody asked."""
        return self.is_asked


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    """Let the signals ask, where Python's own handling is in force; somebody else's is left alone.

    A signal that raised would come anywhere: between a file and its line in the journal, say. The
    files would bear it, but the work of many seconds that is about to end would be lost.
    """

    def heard(number: int, frame: Any) -> None:
        if stop.is_asked and number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        stop.ask()

    ours: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    if threading.current_thread() is not threading.main_thread():
        ours = {}
    ours = {number: old for number, old in ours.items() if signal.getsignal(number) is old}
    for number in ours:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number, old in ours.items():
            signal.signal(number, old)
