from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from counterpoint import kernels, streams  # noqa: F401 - which has a kernel
from counterpoint.arrays import Floats
from counterpoint.kernels import _Compiling, heard_compiling, kernel, kernel_names, locked


@pytest.fixture(params=[True, False])
def collects(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Set the garbage collector to work or not, and back afterwards."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_the_collector_rests_while_kernels_are_compiled_and_then_does_as_before(
    collects: bool,
) -> None:
    compiling, event = _Compiling(), SimpleNamespace(data={})

    compiling.on_start(event)
    compiling.on_start(event)  # what the kernel calls
    compiling.on_end(event)
    assert not gc.isenabled()

    compiling.on_end(event)
    assert gc.isenabled() is collects


def test_a_kernel_that_cannot_be_compiled_leaves_the_collector_as_it_was(collects: bool) -> None:
    @kernel
    def wrong(values: Floats) -> None:
        values.no_such_method()  # type: ignore[attr-defined]

    with pytest.raises(Exception, match="no_such_method"):
        wrong(np.zeros(1))

    assert gc.isenabled() is collects


def test_a_kernel_that_cannot_be_compiled_makes_nobody_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @kernel
    def wrong(values: Floats) -> None:
        values.no_such_method()  # type: ignore[attr-defined]

    with pytest.raises(Exception, match="no_such_method"):
        wrong(np.zeros(1))
    cache: Any = wrong._cache  # type: ignore[attr-defined]

    with locked(cache.lock_file, 0.2, "somebody has it"):
        assert "somebody has it" not in caplog.text


def compilation_of(name: str) -> SimpleNamespace:
    """Return the event that says a function of ours is compiled."""
    function = SimpleNamespace(__module__="counterpoint.some", __name__=name)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


def test_the_user_is_told_of_each_run_of_compilations_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling, event = _Compiling(), compilation_of("one")

    for pause in (10.0, 10.0, -1.0):  # no pause is shorter than the last
        monkeypatch.setattr(kernels, "PAUSE", pause)
        compiling.on_start(event)
        compiling.on_end(event)

    told = "compiling kernels of counterpoint, once on this machine: some seconds."
    assert caplog.messages == [told, told]


def test_whoever_listens_hears_the_name_of_each_kernel_and_of_what_it_calls() -> None:
    compiling, heard = _Compiling(), list[str]()
    compiling.hear = heard.append
    outer, within = compilation_of("outer"), compilation_of("within")

    compiling.on_start(outer)
    compiling.on_start(within)
    compiling.on_end(within)
    compiling.on_end(outer)

    assert heard == ["counterpoint.some.within", "counterpoint.some.outer"]


def test_nobody_listens_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), heard_compiling(lambda _: None):
        raise ZeroDivisionError

    assert kernels._compiling.hear is None


def test_kernels_are_known_by_their_full_names() -> None:
    assert "counterpoint.streams._draw" in kernel_names()
