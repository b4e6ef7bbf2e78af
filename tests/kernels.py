"""Calling what only kernels can call: a wrapper that Python can, kept on disk like kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterpoint.kernels import full_name, kernel


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for Python that calls an inner kernel with the same arguments."""

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    inner = getattr(function, "dispatcher", None)
    name = full_name(function if inner is None else inner.py_func).replace(".", "_")
    call.__name__ = call.__qualname__ = f"call_{name}"  # by which its machine code is found again
    return kernel(call)
