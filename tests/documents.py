"""Saved results, changed before they are loaded again."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import counterpoint as cp
from counterpoint.result.file.saving import signed


def load_changed(document: Any, path: Path, change: Callable[[Any], Any]) -> cp.Counterfactuals:
    """Load a document after a change, with a checksum that fits."""
    changed = copy.deepcopy(document)
    change(changed)
    path.write_text(json.dumps(signed(changed)))
    return cp.load(path)
