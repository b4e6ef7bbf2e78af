"""counterpoint itself, called as a user would."""

from __future__ import annotations

import pandas as pd

import counterpoint as cp
from benchmarks.peers.subjects import Explain, Subject

SEARCHES: dict[str, cp.Search | cp.WhatIf] = {
    "default": cp.Search(evaluations=3520),
    "brief": cp.Search(evaluations=500),
    "mocmod": cp.Search.paper("mocmod"),
    "whatif": cp.WhatIf(n=10),
}


def wire(subject: Subject, setting: str) -> Explain:
    """Return a function that explains one row by the named search."""
    explainer = cp.Explainer(subject.model, subject.data)

    def explain(row: pd.DataFrame, target: int) -> pd.DataFrame:
        """Return the whole Pareto set as a frame."""
        found = explainer.explain(row, target, search=SEARCHES[setting])
        frame: pd.DataFrame = found.to_frame(near_misses=True)
        return frame

    return explain
