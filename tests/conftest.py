"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# A machine under load is slow, not wrong: time is measured by benchmarks.
settings.register_profile("counterpoint", deadline=None)
settings.load_profile("counterpoint")


def pytest_configure() -> None:
    """Let Ctrl-C be heard: shells start what runs in the background with it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
