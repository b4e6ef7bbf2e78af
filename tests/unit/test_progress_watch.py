"""A watch passes on what it hears, and is stopped once for all who look at it."""

from __future__ import annotations

import threading
import time
from typing import Any

from counterpoint.progress import Watch, deadline_of


def test_what_is_heard_and_seen_is_passed_on() -> None:
    heard: list[tuple[int, int]] = []
    seen: list[Any] = []
    archive: Any = object()
    watch = Watch(lambda n_asked, n_ended: heard.append((n_asked, n_ended)), seen.append)

    watch.hear(24, 0)
    watch.hear(8, 2, archive)

    assert heard == [(24, 0), (8, 2)]
    assert seen == [archive]


def test_a_watch_that_nobody_asked_to_stop_goes_on() -> None:
    watch = Watch()

    assert not watch.is_stopped
    assert not watch.wait(0.0)


def test_stopping_wakes_who_waits_on_another_thread() -> None:
    watch = Watch()
    told: list[bool] = []
    waiting = threading.Thread(target=lambda: told.append(watch.wait(30.0)))
    waiting.start()

    watch.stop()
    waiting.join(30.0)

    assert told == [True]
    assert watch.is_stopped


def test_no_seconds_are_not_the_same_as_no_limit() -> None:
    assert deadline_of(0.0) <= time.monotonic()
    assert deadline_of(None) == float("inf")
