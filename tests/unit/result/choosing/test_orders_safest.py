"""The safest counterfactual is the same wherever it is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import counterpoint as cp

LEVELS = np.concatenate([np.arange(0, 21), np.arange(60, 101)]) / 100.0
DATA = pd.DataFrame({"a": LEVELS, "b": np.arange(len(LEVELS)) % 7 / 10.0})


def peak_and_plateau(rows: pd.DataFrame) -> Any:
    """Score highest on a narrow peak, where margins are large and most neighbours fall down."""
    a = rows["a"].to_numpy()
    return np.where((a > 0.295) & (a < 0.325), 1.0, np.where(a >= 0.5, 0.7, 0.1))


def test_the_safest_has_the_safest_neighbours_and_not_the_largest_margin() -> None:
    found = cp.Explainer(peak_and_plateau, DATA).explain(DATA[10:11], (0.6, None), seed=1)

    named = found.representatives()

    safety = found.safety()[found.reaches]
    assert safety["neighbours"][named["safest"]] == safety["neighbours"].max() == 1.0
    assert safety["margin"].max() > safety["margin"][named["safest"]] + 0.2
    assert np.array_equal(found.select(1, by="safest").genomes[0], found.genomes[named["safest"]])
