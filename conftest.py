"""What holds for all tests: the library's and the benchmarks'."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

# Threads of OpenMP that wait for work sleep: by default they spin, and where several processes
# share the cores, as with pytest -n, a model that is fitted in 0.3 s takes 20. Libraries read it
# when they are loaded. No bit of an answer depends on it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Those of OpenBLAS spin for 2 to the 26th ticks of the clock unless told otherwise: ten small
# logistic regressions take 0.4 s of the processor so, and 0.04 where they sleep after 2 to the 4th.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import pytest
from _pytest.doctest import DoctestModule
from benchmarks import published
from hypothesis import settings

# A machine under load is slow, not wrong: time is measured by benchmarks.
settings.register_profile("counterpoint", deadline=None)
# The gate asks the same of every change, so that what fails in it fails again; new cases are drawn
# by every other run, and by the fuzz of the gate itself.
settings.register_profile("repeatable", deadline=None, derandomize=True)
# Of coverage it is asked what runs at all, with kernels as Python, which is a hundred times slower.
settings.register_profile("brief", deadline=None, derandomize=True, max_examples=10)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "counterpoint"))

collect_ignore = [
    "tests/packages/client.py"
]  # a program of a user, which would be run when it is imported


def pytest_configure() -> None:
    """Let Ctrl-C be heard: shells start what runs in the background with it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Look for examples in the package only: tests have none, and their helpers load much."""
    found = yield
    has_none = "tests" in file_path.relative_to(Path(__file__).parent).parts
    return [each for each in found if not (has_none and isinstance(each, DoctestModule))]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the garbage collector from what is imported: it looks through it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs the published runs where they are not at hand; fail if they are required."""
    if item.get_closest_marker("published") is None or published.is_at_hand():
        return
    if os.environ.get("COUNTERPOINT_PUBLISHED") == "required":
        published.folder()  # which says what is missing
    pytest.skip(f"{published.VARIABLE} does not name the folder of the paper's published runs")
