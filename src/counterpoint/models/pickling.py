"""Pickling: the caller's objects as bytes, for other processes of the caller's own."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

from counterpoint.errors import CounterpointError, InvalidInput


def pickled(value: object, what: str, instead: str) -> bytes:
    """Return a value as bytes that `pickle.loads` reads, or say what to do instead.

    cloudpickle, where it is installed, takes functions of scripts and notebooks, too.

    Examples
    --------
    >>> import threading
    >>> pickled(threading.Lock(), "the model", "load it in the worker")
    Traceback (most recent call last):
        ...
    counterpoint.errors.InvalidInput: the model cannot be sent to another process (TypeError: \
cannot pickle '_thread.lock' object); load it in the worker.
    """
    try:
        pickler: Any = importlib.import_module("cloudpickle")
    except ImportError:
        pickler = pickle
    try:
        data: bytes = pickler.dumps(value)
    except (CounterpointError, MemoryError):
        raise
    except Exception as error:  # of whatever kind: every library has its own
        told = str(error).strip().partition("\n")[0]
        raise InvalidInput(
            f"{what} cannot be sent to another process ({type(error).__name__}: {told}); {instead}."
        ) from error
    return data
