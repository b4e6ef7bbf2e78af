"""One signal asks work to stop, a second Ctrl-C raises, and what others handle is theirs."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from counterpoint.progress import StopFlag, Watch, stopped_by_signals


def test_one_interrupt_asks_to_stop_and_a_second_one_raises() -> None:
    watch = Watch()

    with stopped_by_signals(watch):
        os.kill(os.getpid(), signal.SIGINT)
        stopped_after_one = watch.is_stopped
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    assert stopped_after_one
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_somebody_elses_interrupt_handler_is_left_alone() -> None:
    caught: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    try:
        watch = Watch()
        with stopped_by_signals(watch):
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    assert caught == [signal.SIGINT]
    assert not watch.is_stopped


def test_sigterm_stops_a_job_that_listens_to_it_and_never_raises() -> None:
    flag = StopFlag()

    with stopped_by_signals(flag, (signal.SIGINT, signal.SIGTERM)):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)

    assert flag.is_stopped
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_another_thread_sets_no_handler() -> None:
    seen: list[object] = []

    def look() -> None:
        with stopped_by_signals(StopFlag()):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert seen == [signal.default_int_handler]
