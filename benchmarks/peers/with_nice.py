"""NICE: one counterfactual between the row and its nearest unlike neighbour."""

from __future__ import annotations

import pandas as pd
from nice import NICE

from benchmarks.peers.subjects import Explain, Subject


def wire(subject: Subject, setting: str) -> Explain:
    """Return a function that explains one row with the reward "sparsity" or "proximity"."""
    codec = subject.codec
    nice = NICE(
        predict_fn=subject.probabilities,
        X_train=codec.encode(subject.data),
        cat_feat=list(codec.levels),
        y_train=subject.classes.to_numpy(),
        optimization=setting,
    )

    def explain(row: pd.DataFrame, target: int) -> pd.DataFrame:
        """Return its one counterfactual."""
        return codec.decode(nice.explain(codec.encode(row), target_class=[target]))

    return explain
