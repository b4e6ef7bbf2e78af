"""Variables that are copies of others are found in the intermediate code of Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba.core import ir, ssa
from numba.core.compiler import Flags, run_frontend

from counterpoint.compiling import (
    KernelFlags,
    _list_vars,
    _run_ssa_quickly,
    plainly_defined,
)
from counterpoint.kernels import kernel, part


def every_other(values: Any) -> float:
    """Return the sum of every other value: `before` is that of the round before."""
    total = 0.0
    for i in range(len(values)):
        value = values[i]
        if i % 2 == 0:
            before = value
        else:
            total += before
    return total


def swapped(values: Any) -> float:
    """Return the first value minus the last, by variables that are assigned twice."""
    first, last = values[0], values[len(values) - 1]
    kept = first
    first = last
    last = kept
    return float(last - first)


@part
def _difference(one: float, other: float) -> float:
    other = other * 2.0
    return one - other


def inlined(values: Any) -> float:
    """Return what a part makes of two values, one of which it assigns anew."""
    a, b = values[0], values[1]
    return float(_difference(a, b) + b)


@pytest.mark.parametrize(
    ("function", "expected"), [(every_other, 4.0), (swapped, -3.0), (inlined, -1.0)]
)
def test_kernels_compute_what_python_does(
    function: Callable[[Any], float], expected: float
) -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])

    assert kernel(function)(values) == expected


def test_what_may_be_of_an_earlier_round_is_no_copy() -> None:
    frontend: Any = run_frontend
    known = plainly_defined(frontend(every_other).blocks)

    assert "before" not in known
    assert "value" in known


@pytest.mark.parametrize("function", [every_other, swapped, inlined])
def test_variables_get_the_names_that_numba_gives_them(function: Callable[[Any], float]) -> None:
    frontend: Any = run_frontend
    their_way: Any = ssa._run_ssa
    theirs = their_way(frontend(function).blocks)
    ours = _run_ssa_quickly(frontend(function).blocks)

    assert ours.keys() == theirs.keys()
    for label, block in ours.items():
        assert [str(each) for each in block.body] == [str(each) for each in theirs[label].body]


@pytest.mark.parametrize("function", [every_other, swapped, inlined])
def test_the_variables_of_an_instruction_are_those_that_numba_lists(
    function: Callable[[Any], float],
) -> None:
    frontend: Any = run_frontend
    for block in frontend(function).blocks.values():
        for each in block.body:
            theirs = [var.name for var in each.list_vars()]
            assert [var.name for var in _list_vars(each, vars(each))] == theirs


def test_numba_is_left_as_it_was_after_compiling() -> None:
    before = ssa._run_ssa, ir.Inst._rec_list_vars

    kernel(swapped)(np.arange(3.0))

    assert (ssa._run_ssa, ir.Inst._rec_list_vars) == before


def test_flags_are_equal_if_what_is_not_set_is_the_default() -> None:
    ours: Any = KernelFlags
    theirs: Any = Flags
    plain, said, other = theirs(), theirs(), theirs()
    said.no_compile = False
    other.no_compile = True

    assert ours(plain) == ours(said)
    assert ours(plain) != ours(other)
    assert ours(plain) != "flags"
