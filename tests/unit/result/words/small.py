"""A table of every kind of column, a model of one of them, and a candidate in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import counterpoint as cp
from counterpoint.result.words import Lang
from counterpoint.result.words.sentences import grammar_of, said

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


def sentence(found: cp.Counterfactuals, position: int, lang: Lang = "en") -> str:
    """Return one candidate in a sentence."""
    return said(found, position, grammar_of(lang))
