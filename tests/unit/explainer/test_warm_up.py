from __future__ import annotations

import logging

import pytest

from counterpoint.explainer import warm_up
from counterpoint.explainer.warm_up import CompilationReport, names_of_default_kernels


def test_a_log_gets_one_line_at_the_first_kernel_and_one_at_the_end(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up, "is_watched", lambda: False)
    report = CompilationReport({"a", "b", "c"})

    with caplog.at_level(logging.WARNING):
        report.hear("a")
        report.hear("b")
        report.end()

    assert "1 of 3" in caplog.messages[0]
    assert caplog.messages[1:] == ["compiled, in 0 seconds."]


def test_a_terminal_has_one_line_that_counts_each_kernel_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up, "is_watched", lambda: True)
    report = CompilationReport({"a", "b"})

    for name in ("a", "a", "called by none of them", "b"):
        report.hear(name)
    report.end()

    told = capsys.readouterr().err
    assert [line.rpartition(": ")[2] for line in told.rstrip("\n").split("\r")[1:]] == [
        *("1 of 2", "1 of 2", "1 of 2", "2 of 2")
    ]
    assert told.count("\n") == 1


def test_nothing_is_told_if_all_comes_from_the_cache(capsys: pytest.CaptureFixture[str]) -> None:
    CompilationReport({"a"}).end()

    assert capsys.readouterr().err == ""


def test_what_default_searches_use_is_awaited_and_the_papers_own_kernels_are_not() -> None:
    names = names_of_default_kernels()

    assert "counterpoint.search.archive._enter" in names
    assert not [name for name in names if ".nsga2." in name]
