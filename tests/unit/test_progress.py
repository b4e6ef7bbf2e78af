"""The bar: shown where it is seen, silent elsewhere, and never wrong about what is done."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from counterpoint import progress
from counterpoint.progress import JobProgress, Progress


def drawn(monkeypatch: pytest.MonkeyPatch, n_rows: int = 4, budget: int = 100) -> str:
    """Return what a bar without delay writes for half of the work."""
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with Progress(n_rows, budget, shown=True) as bar:
        bar.hear(n_asked=120, n_ended=2)
    return screen.getvalue()


def test_the_bar_shows_rows_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(monkeypatch)

    assert "explaining  50% |" in text  # two rows ended early count in full
    assert "2/4 rows" in text
    assert "evaluations/s" in text
    assert "<" in text


def test_nothing_is_shown_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress(n_rows=2, budget=10) as bar:
        bar.hear(20, 2)

    assert capfd.readouterr() == ("", "")


def test_short_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)

    with Progress(n_rows=2, budget=10, shown=True) as bar:
        bar.hear(20, 2)

    assert screen.getvalue().strip() == ""


def test_no_count_is_lost_among_threads() -> None:
    def hear_often() -> None:
        for _ in range(1000):
            bar.hear(1, 1)

    with Progress(n_rows=4000, budget=1, shown=False) as bar:
        threads = [threading.Thread(target=hear_often) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert (bar.n_asked, bar.n_ended) == (4000, 4000)


def test_lines_now_and_then_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress_of_job = JobProgress(100, 20, every=0.0)

    progress_of_job.say("going on")
    progress_of_job.tell(30, 1)
    progress_of_job.close()

    first, second = capsys.readouterr().err.splitlines()
    assert first == "counterpoint: going on"
    assert second.startswith("counterpoint: 50/100 rows, ")
    assert "1 failed" in second
    assert second.endswith(" left")


def test_a_bar_where_one_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    progress_of_job = JobProgress(100, 0, shown=True)

    progress_of_job.tell(100, 0)
    progress_of_job.close()

    shown = capsys.readouterr().err
    assert "explaining   0% |" in shown
    assert "0/100 rows" in shown


def test_nothing_is_shown_if_nothing_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    progress_of_job = JobProgress(100, 0, shown=False, every=0.0)

    progress_of_job.say("quiet")
    progress_of_job.tell(100, 0)
    progress_of_job.close()

    assert capsys.readouterr().err == ""
