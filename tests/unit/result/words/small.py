"""A table of every kind of column, and a model of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

DATA = pd.DataFrame(
    {
        "age": [22, 35, 47, 51],
        "amount": [5951.25, 1200.0, 350.5, 80.75],
        "share": np.array([0.1, 0.2, 0.35, 0.5], dtype=np.float32),
        "job": ["clerk", "nurse", "nurse", "smith"],
        "owns": [False, True, True, False],
        "fix": [1, 1, 1, 1],
    }
)
FIRST = DATA[:1]


def by_age(rows: pd.DataFrame) -> Any:
    """Score rows by age alone."""
    return rows["age"] / 100.0
