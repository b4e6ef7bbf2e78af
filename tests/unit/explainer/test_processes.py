"""Groups searched in other processes: the same results, errors and endings as in this one."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoint as cp
from counterpoint.arrays import Ints
from counterpoint.explainer import group, processes
from counterpoint.explainer.processes import (
    Helper,
    Helpers,
    Searchers,
    put_together,
    taken_apart,
)
from counterpoint.explainer.task import Task, Work
from counterpoint.progress import Channel, Watch

DATA = pd.DataFrame(
    {"age": np.arange(90) % 47 + 18, "debt": np.arange(90) % 13 / 4.0, "own": np.arange(90) % 2}
)
SMALL = cp.Search(evaluations=120)
PATIENCE = 60.0  # seconds for a process to get ready


def fitted() -> Any:
    return LogisticRegression(max_iter=1000).fit(DATA, DATA["age"] > 30 + 5 * DATA["debt"])


class Stateful:
    """Has one work buffer, which a second caller overwrites."""

    classes_ = np.array([0, 1])

    def __init__(self) -> None:
        self.buffer = np.zeros((8192, 2))

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return P(1), after a while in which another may come."""
        n, score = len(rows), rows["age"].to_numpy() - 30.0 - 5.0 * rows["debt"].to_numpy()
        self.buffer[:n, 1] = 1.0 / (1.0 + np.exp(-score / 8.0))
        time.sleep(0.001)
        self.buffer[:n, 0] = 1.0 - self.buffer[:n, 1]
        return self.buffer[:n].copy()

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the likelier class."""
        return self.predict_proba(rows).argmax(axis=1)


class Refusing(Stateful):
    """Refuses to be asked in another process than the one that made it, once a file is there."""

    def __init__(self, flag: Path) -> None:
        super().__init__()
        self.process, self.flag = os.getpid(), flag

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return P(1), in this process."""
        if os.getpid() != self.process and self.flag.exists():
            raise ValueError("not in this process")
        return super().predict_proba(rows)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have processes started after the first group; the rows that are searched there."""
    rows, there = list[int](), Helper.search

    def noted(self: Helper, group: Ints, watch: Any) -> Any:
        rows.extend(group.tolist())
        return there(self, group, watch)

    monkeypatch.setattr(processes, "BEGINS_AFTER", 0.0)
    monkeypatch.setattr(processes, "IS_WORTH", 0.0)
    monkeypatch.setattr(group, "ENOUGH", 99.0)
    monkeypatch.setattr(group, "MOST_TOGETHER", 3)
    monkeypatch.setattr(Helper, "search", noted)
    return rows


@pytest.fixture
def asked_there(eager: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let this process wait after some groups, until another one is ready."""
    search, n_begun = Work.search, list[int]()
    start, is_ready = Helpers._start_one, threading.Event()

    def wait(self: Work, group: Ints, watch: Any) -> Any:
        n_begun.append(1)
        if len(n_begun) > 2:
            is_ready.wait(PATIENCE)
        return search(self, group, watch)

    def started(self: Helpers, packed: bytes) -> None:
        start(self, packed)
        is_ready.set()

    monkeypatch.setattr(Work, "search", wait)
    monkeypatch.setattr(Helpers, "_start_one", started)
    return eager


def test_processes_find_the_same_as_one_thread_bit_for_bit(asked_there: list[int]) -> None:
    explainer = cp.Explainer(fitted(), DATA)

    shared = explainer.explain_many(DATA, "opposite", SMALL, workers=2)
    alone = explainer.explain_many(DATA, "opposite", SMALL, workers=1)

    assert asked_there
    assert shared == alone
    last = asked_there[-1]
    assert shared[last].continue_search(40) == alone[last].continue_search(40)
    assert shared[last].encoding is explainer.encoding


def test_a_model_that_bears_one_thread_is_asked_by_processes(asked_there: list[int]) -> None:
    explainer = cp.Explainer(Stateful(), DATA)

    with pytest.warns(cp.ModelWarning, match="helped by other processes if that takes long"):
        shared = explainer.explain_many(DATA, 1, SMALL, workers=2)

    assert asked_there
    assert shared == explainer.explain_many(DATA, 1, SMALL, workers=1)


@pytest.mark.usefixtures("asked_there")
def test_what_a_model_raises_in_another_process_is_raised_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explainer, there = cp.Explainer(Refusing(tmp_path / "flag"), DATA), Helper.search

    def flagged(self: Helper, group: Ints, watch: Any) -> Any:
        (tmp_path / "flag").touch()
        return there(self, group, watch)

    monkeypatch.setattr(Helper, "search", flagged)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.ModelWarning)
        with pytest.raises(cp.PredictorError, match="not in this process"):
            explainer.explain_many(DATA, 1, SMALL, workers=2)


def test_what_cannot_be_pickled_is_searched_here_and_a_note_says_so(
    eager: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    model = Stateful()
    model.lock = threading.Lock()  # type: ignore[attr-defined]
    explainer = cp.Explainer(model, DATA)

    with caplog.at_level(logging.INFO, "counterpoint"), warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.ModelWarning)
        found = explainer.explain_many(DATA[:20], 1, SMALL, workers=2)

    assert not eager
    assert len(found) == 20
    assert "no other process helps: the model of type Stateful cannot be sent" in caplog.text


def test_ctrl_c_ends_the_searches_of_all_processes(asked_there: list[int]) -> None:
    explainer = cp.Explainer(fitted(), DATA)
    whole = cp.Search(evaluations=20_000, patience=None)

    def interrupt() -> None:
        while not asked_there:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    found = explainer.explain_many(DATA, "opposite", whole, workers=2)

    assert 0 < len(found) < len(DATA)
    assert "interrupt" in {each.trace.stopped for each in found}


def test_if_a_process_is_ended_its_rows_are_searched_by_others(
    asked_there: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    explainer, there = cp.Explainer(fitted(), DATA), Helper.search

    def ended(self: Helper, group: Ints, watch: Any) -> Any:
        self._process.kill()
        return there(self, group, watch)

    monkeypatch.setattr(Helper, "search", ended)
    with caplog.at_level(logging.INFO, "counterpoint"):
        shared = explainer.explain_many(DATA, "opposite", SMALL, workers=2)

    assert asked_there
    assert shared == explainer.explain_many(DATA, "opposite", SMALL, workers=1)
    assert "a process that helped has ended; others search its rows." in caplog.text


def test_short_calls_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[int]()
    monkeypatch.setattr(processes, "Helper", lambda: started.append(1))

    cp.Explainer(fitted(), DATA).explain_many(DATA, "opposite", SMALL, workers=2)

    assert not started


def test_copies_that_do_not_fit_into_the_memory_are_not_made(
    eager: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(processes, "GIB", 1.0)  # so that every byte counts as one
    explainer = cp.Explainer(fitted(), DATA)

    with caplog.at_level(logging.INFO, "counterpoint"):
        explainer.explain_many(DATA[:20], "opposite", SMALL, workers=2)

    assert not eager
    assert "no other process helps: copies of the data would take" in caplog.text


def test_a_meter_sees_that_threads_leave_cores_idle_or_hand_the_lock_over_too_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = iter([[0.0, 0.0, 0.0], [1.0, 1.9, 100.0], [1.0, 1.9, 20_000.0], [1.0, 1.2, 100.0]])
    monkeypatch.setattr(group.Meter, "_now", lambda *_: np.array(next(told)))
    meter = group.Meter()

    assert [meter.shows_waiting(2) for _ in range(3)] == [False, True, True]


def test_while_a_process_gets_ready_one_thread_searches(
    eager: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    explainer, n_at_once, now = cp.Explainer(fitted(), DATA), list[int](), list[int]()
    search, begin = Work.search, processes.Helpers.start
    started = threading.Event()

    def noted(self: Work, group: Ints, watch: Any) -> Any:
        was_started = started.is_set()
        now.append(1)
        time.sleep(0.01)
        if was_started:
            n_at_once.append(len(now))
        found = search(self, group, watch)
        now.pop()
        return found

    def start(self: Helpers) -> None:
        begin(self)
        threading.Timer(0.1, started.set).start()

    monkeypatch.setattr(Work, "search", noted)
    monkeypatch.setattr(Helpers, "start", start)
    monkeypatch.setattr(Helpers, "_start_all", lambda _: None)  # so that none is ever ready
    explainer.explain_many(DATA, "opposite", SMALL, workers=2)

    assert not eager
    assert set(n_at_once) == {1}


def arrays_of(value: Any) -> list[Any]:
    """Return all arrays of a result, field by field."""
    if isinstance(value, np.ndarray):
        return [value]
    names = getattr(value, "__dataclass_fields__", {})
    parts = [getattr(value, name) for name in names if name not in ("live", "encoding", "limits")]
    return [array for part in parts for array in arrays_of(part)]


def test_results_that_are_put_together_again_have_the_same_arrays() -> None:
    explainer = cp.Explainer(fitted(), DATA)
    rows = DATA[:6].assign(age=[20, 25, 30, 60, 61, 62])
    task = Task.of(rows, "rows", True, SMALL, 0, explainer.unlimited, explainer)
    work, some = Work(explainer, task), np.arange(1, 6)
    found = work.search(some, Watch())

    again = put_together(taken_apart(found, work, some), work, some)

    assert {each.status for each in found} == {"found", "already_met"}
    assert again == found
    for one, other in zip(again, found, strict=True):
        assert [a.tobytes() for a in arrays_of(one)] == [a.tobytes() for a in arrays_of(other)]
        assert [a.dtype for a in arrays_of(one)] == [a.dtype for a in arrays_of(other)]
        assert [a.flags.writeable for a in arrays_of(one)] == [
            a.flags.writeable for a in arrays_of(other)
        ]


class NoProcess:
    """Stands for a process: the other end of its channel is in this one."""

    def __init__(self, command: list[str], **_: Any) -> None:
        self.channel = Channel.of(os.dup(int(command[-1])))

    def terminate(self) -> None:
        """End it."""
        self.channel.close()

    def wait(self, seconds: float | None = None) -> None:
        """Say that it has ended."""


def waited_for(happened: Callable[[], bool]) -> bool:
    """Return whether something happens soon."""
    until = time.monotonic() + 10.0
    while not happened() and time.monotonic() < until:
        time.sleep(0.005)
    return happened()


def test_a_process_is_handed_its_next_portion_before_it_has_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("subprocess.Popen", NoProcess)
    helper: Any = Helper()
    there = helper._process.channel

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(helper.search, "first", Watch())
        asked = [there.receive()]
        second = pool.submit(helper.search, "second", Watch())
        asked.append(there.receive())
        there.send(("found", "its first answer"))
        there.send(("found", "its second answer"))

        assert asked == ["first", "second"]
        assert first.result() == "its first answer"
        assert second.result() == "its second answer"
    helper.close()


def test_all_who_wait_for_a_process_that_ends_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", NoProcess)
    helper: Any = Helper()

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(helper.search, each, Watch()) for each in "ab"]
        assert waited_for(lambda: helper._n_asked == 2)
        helper.close()

        assert all(isinstance(each.exception(), EOFError | OSError) for each in waiting)


class Gate:
    """Stands for a process that searches nothing until it is opened, and for this one."""

    def __init__(self) -> None:
        self.begun, self.opened = list[int](), threading.Event()

    def search(self, group: Ints, watch: Any) -> Any:  # noqa: ARG002 - as `Helper.search`
        """Note the first row, and wait."""
        self.begun.append(int(group[0]))
        self.opened.wait(PATIENCE)
        return []


@pytest.mark.parametrize(("n_rows", "most_there"), [(20, 2), (4, 1)])
def test_a_process_has_its_next_group_beforehand_if_there_are_others_for_all(
    n_rows: int, most_there: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "put_together", lambda *_: [])
    here, there = Gate(), Gate()
    observed = SimpleNamespace(genomes=np.zeros((2, 2)))
    work: Any = SimpleNamespace(
        built=SimpleNamespace(observed=observed),
        task=SimpleNamespace(frame=range(n_rows)),
        search=here.search,
    )
    searchers = Searchers(work, 2, 2, 1.0, Watch())
    searchers._is_decided = True
    searchers._welcome(there)  # type: ignore[arg-type]

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(searchers, np.arange(i, i + 1)) for i in range(4)]
        assert waited_for(lambda: len(there.begun) + len(here.begun) == 1 + most_there)
        time.sleep(0.05)
        begun = [here.begun[:], there.begun[:]]
        for each in (here, there):
            each.opened.set()
        for done in waiting:
            done.result()

    assert begun == [[0], [1, 2][:most_there]]
    assert sorted(here.begun + there.begun) == [0, 1, 2, 3]
