"""The knapsack is judged by what it finds: the cheapest whole numbers that gain enough."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import counterpoint as cp

ALL = np.array([*product(range(9), repeat=5)], dtype=np.float64)
DATA = pd.DataFrame(np.vstack([np.zeros(5), np.full(5, 8.0), ALL[::97]]), columns=list("abcde"))


@settings(max_examples=40)  # each is a whole search
@given(
    gains=arrays(float, (5, 8), elements=st.floats(0.1, 2.0)),
    share=st.floats(0.15, 0.6),
)
def test_the_cheapest_steps_that_gain_enough_are_found(gains: np.ndarray, share: float) -> None:
    """Every step of each feature gains something of its own, so that no slope tells the best."""
    heights = np.concatenate([np.zeros((5, 1)), gains.cumsum(axis=1)], axis=1)

    def score(rows: pd.DataFrame) -> Any:
        return heights[np.arange(5), rows.to_numpy().astype(int)].sum(axis=1)

    needed = share * heights[:, -1].sum()
    found = cp.Explainer(score, DATA).explain(DATA[:1], (needed, None))

    holds = heights[np.arange(5), ALL.astype(int)].sum(axis=1) >= needed
    least = ALL[holds].sum(axis=1).min() / 8 / 5
    assert found.to_frame().query("valid")["distance"].min() <= least + 1.0 / 8 / 5 + 1e-9
