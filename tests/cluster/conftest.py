"""Tests of jobs on a real Dask cluster; none of them may take for ever."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from tests.cluster.jobs import end_all
from tests.cluster.world import ORDER, Factory, applicants

from counterpoint.batch.engines.engine import Recipe, work

if os.environ.get("COUNTERPOINT_DASK") == "required":
    importlib.import_module("distributed")  # the gate fails where these tests would be skipped

LIMIT = 300  # seconds: a test takes a tenth of it on a quiet machine


@pytest.fixture(autouse=True)
def no_test_takes_for_ever() -> Iterator[None]:
    def too_long(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"the test took more than {LIMIT} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        end_all()


@pytest.fixture(autouse=True, scope="session")
def kernels_are_compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile before any clock runs: workers find the kernels on the disk."""
    work(Recipe.of(Factory(tmp_path_factory.mktemp("warm"))), ORDER, applicants(2))


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_reaches_what_is_started() -> None:
    """Undo what a shell does to jobs in the background: they, and all they start, ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
