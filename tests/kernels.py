"""Calling what only kernels can call: a wrapper that Python can, kept on disk like kernels."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from counterpoint.kernels import full_name, kernel

function: Any = None  # in the globals of each wrapper it is what that one calls


def called(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for Python that calls an inner kernel with the same arguments.

    It is no closure: Numba would look for its machine code by what it encloses, which is another
    object in every process.
    """
    dispatcher = getattr(inner, "dispatcher", None)
    whole = full_name(inner if dispatcher is None else dispatcher.py_func)
    name = f"call_{whole.replace('.', '_')}"
    call = FunctionType(_call.__code__, {"__name__": __name__, "function": inner}, name)
    call.__qualname__ = name  # by which machine code is told apart
    return kernel(call)


def _call(*arguments: Any) -> Any:
    return function(*arguments)
