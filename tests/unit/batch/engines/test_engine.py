"""Threads whose chunks other processes take: the same bytes, and what becomes of lost ones."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.batch.engines import engine
from counterpoint.batch.engines.engine import Chunk, Done, Lost, Recipe, Threads, work
from counterpoint.batch.rows import Order
from counterpoint.explainer import group
from counterpoint.explainer.processes import Helper

DATA = pd.DataFrame({"age": np.arange(60) % 47 + 18, "debt": np.arange(60) % 13 / 4.0})
HIGH = DATA.assign(debt=99.0)
ORDER = Order((0.6, 1.0), cp.Search(evaluations=120))
PATIENCE = 60.0  # seconds for a process to get ready


class Hanging:
    """Does not come back from another process than its own if it is asked about high debt."""

    def __init__(self) -> None:
        self.process = os.getpid()

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return the score of each row."""
        if os.getpid() != self.process and (rows["debt"] > 90.0).any():
            time.sleep(PATIENCE)
        return np.clip(rows["age"] / 80.0 - rows["debt"] / 500.0, 0.0, 1.0)


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Threads]:
    """Threads that begin and wait until another process is ready."""
    monkeypatch.setattr(engine, "BEGINS_AFTER", 0.0)
    monkeypatch.setattr(group, "ENOUGH", 99.0)
    is_ready, welcome = threading.Event(), Threads._welcome

    def noted(self: Threads, helper: Helper) -> None:
        welcome(self, helper)
        is_ready.set()

    monkeypatch.setattr(Threads, "_welcome", noted)
    threads = Threads(Recipe.of(cp.Explainer(Hanging(), DATA)), ORDER, 2)
    try:
        for i in range(6):
            threads.submit(Chunk(i, i + 1), DATA.iloc[i : i + 1])
        told(threads, 6)
        assert is_ready.wait(PATIENCE)
        yield threads
    finally:
        threads.close()


def told(threads: Threads, n: int) -> list[Done | Lost]:
    """Return the next n reports."""
    reports, until = list[Done | Lost](), time.monotonic() + PATIENCE
    while len(reports) < n and time.monotonic() < until:
        reports += threads.wait(1.0)
    return reports


def test_another_process_makes_the_same_bytes(
    helped: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, there = list[int](), Helper.search

    def noted(self: Helper, rows: pd.DataFrame, watch: Any) -> Any:
        asked.extend(rows.index)
        return there(self, rows, watch)

    monkeypatch.setattr(Helper, "search", noted)
    for start in range(6, 14, 2):
        helped.submit(Chunk(start, start + 2), DATA.iloc[start : start + 2])

    found = told(helped, 4)

    assert asked
    for done in found:
        assert isinstance(done, Done)
        assert done.payload == work(helped._recipe, ORDER, DATA.iloc[slice(*done.chunk)])


def test_a_chunk_whose_process_ends_is_lost_and_the_next_is_worked_on_here(helped: Threads) -> None:
    helped._idle[0]._process.kill()
    helped.submit(Chunk(20, 21), DATA.iloc[20:21])
    (lost,) = told(helped, 1)
    helped.submit(Chunk(20, 21), DATA.iloc[20:21])
    (done,) = told(helped, 1)

    assert lost == Lost(Chunk(20, 21), "the process that worked on it has ended")
    assert isinstance(done, Done)


def test_a_process_that_takes_too_long_is_ended_and_no_thread_is_left_behind(
    helped: Threads,
) -> None:
    (helper,) = helped._idle
    helped.submit(Chunk(30, 31), HIGH.iloc[30:31])
    while not helped.running():
        time.sleep(0.01)

    helped.give_up(Chunk(30, 31))

    assert helper._process.poll() is not None
    assert helped.n_abandoned == 0
    helped.submit(Chunk(30, 31), HIGH.iloc[30:31])
    (done,) = told(helped, 1)
    assert isinstance(done, Done)
