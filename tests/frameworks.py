"""Frameworks that may be missing: their tests are skipped, except where all must be there."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def framework(name: str) -> Any:
    """Return a module; without it skip the test, or fail if `COUNTERPOINT_FRAMEWORKS` is "all"."""
    if os.environ.get("COUNTERPOINT_FRAMEWORKS") == "all":
        return importlib.import_module(name)
    return pytest.importorskip(name)
