from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import counterpoint as cp
from counterpoint import kernels
from counterpoint.explainer import explainer, warm_up  # noqa: F401 - which uses all kernels
from counterpoint.explainer.warm_up import (
    CompilationReport,
    compile_all,
    help_to_compile,
    helped,
    names_of_default_kernels,
)


def compilation_of(name: str) -> SimpleNamespace:
    """Return the event that says a function of ours is compiled."""
    function = SimpleNamespace(__module__="counterpoint.some", __name__=name)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


def test_a_log_gets_one_line_at_the_first_kernel_and_one_at_the_end(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up, "is_watched", lambda: False)
    report = CompilationReport({"a", "b", "c"})

    with caplog.at_level(logging.WARNING):
        report.hear("a")
        report.hear("b")
        report.end()

    assert caplog.messages == [
        "compiling the kernels of counterpoint, once on this machine: about 15 seconds.",
        "compiled 2 of 3 kernels in 0 seconds.",
    ]


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


def test_ctrl_c_is_raised_after_the_function_that_is_compiled_and_leaves_no_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[str]()

    def use_all(_: object) -> None:
        for name in ("a", "b", "c"):
            begun.append(name)
            if name == "b":
                signal.raise_signal(signal.SIGINT)  # which the search of it must not take
            kernels._compiling.on_start(compilation_of(name))
            kernels._compiling.on_end(compilation_of(name))

    monkeypatch.setattr(warm_up, "use_all", use_all)

    with pytest.raises(KeyboardInterrupt):
        compile_all(object, tmp_path / "mark")

    assert begun == ["a", "b"]
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupted_warm_up_is_taken_up_by_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[int]()

    def compile_all(*_: object) -> None:
        tried.append(1)
        if len(tried) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(warm_up, "_is_done", [])
    monkeypatch.setattr(warm_up, "completeness_mark", lambda _: tmp_path / "mark")
    monkeypatch.setattr(warm_up, "compile_all", compile_all)

    with pytest.raises(KeyboardInterrupt):
        warm_up.warm_up(object)
    warm_up.warm_up(object)
    warm_up.warm_up(object)

    assert tried == [1, 1]


def test_what_default_searches_use_is_awaited_and_the_papers_own_kernels_are_not() -> None:
    names = names_of_default_kernels()

    assert "counterpoint.search.archive._enter" in names
    assert not [name for name in names if ".nsga2." in name]


def test_the_helping_process_uses_the_kernels_that_a_search_comes_to_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warm_up, "_is_done", [])
    names = ("finish.finish_wave", "plan.plan_wave", "plan.try_planned")
    last = [kernels._kernels[f"counterpoint.search.explore.{name}"] for name in names]

    help_to_compile(cp.Explainer)

    assert all(each.signatures for each in last)


@pytest.mark.parametrize("program", ["", "/opt/app", sys.executable + "-gone"])
def test_without_an_interpreter_or_a_second_core_nobody_helps(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one looks like Python, but is not there."""
    monkeypatch.setattr(sys, "executable", program)
    monkeypatch.setattr(warm_up, "n_cores", lambda: 2)
    begun = list[int]()

    with helped():
        begun.append(1)

    assert begun == [1]


COUNT = """
import json
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer import warm_up
from counterpoint import kernels
warm_up.use_all(Explainer)
names = warm_up.names_of_default_kernels()
print(json.dumps({name: len(kernels._kernels[name].signatures) for name in names}))
"""


def test_each_kernel_of_default_searches_is_compiled_for_one_list_of_types() -> None:
    """A second one would be a second kernel to compile: arguments have one type and layout each."""
    paths = os.pathsep.join(map(str, sys.path))
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", COUNT],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    counts = json.loads(done.stdout.splitlines()[-1])

    assert {name: n for name, n in counts.items() if n != 1} == {}
    assert len(counts) <= 30  # each costs the first search on a machine up to seconds
