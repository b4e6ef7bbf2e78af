from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from counterpoint.arrays import Floats
from counterpoint.kernels import _Compiling, kernel


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
