"""Our default, the paper's five variants and What-If, called as a user would."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import counterpoint as cp
from benchmarks.methods.case import Case

BUDGET = 3520  # model evaluations of one of the paper's runs


@dataclass(frozen=True)
class Counterpoint:
    """One of our searches; returns its whole Pareto set, also what misses the target."""

    name: str
    search: cp.Search | cp.WhatIf

    def explain(self, case: Case) -> pd.DataFrame:
        """Return the set's rows in the data's dtypes."""
        found = case.background.explainer.explain(
            case.row, case.target, search=self.search, seed=case.seed, progress=False
        )
        rows: pd.DataFrame = found.to_frame(near_misses=True)[list(case.train.columns)]
        return rows


DEFAULT = Counterpoint("counterpoint", cp.Search(evaluations=BUDGET))
WHAT_IF = Counterpoint("whatif", cp.WhatIf())
RANDOM, MOC, MOCICE, MOCCOND, MOCMOD = VARIANTS = (
    Counterpoint("random", cp.Search.paper("random")),
    Counterpoint("moc", cp.Search.paper("moc")),
    Counterpoint("mocice", cp.Search.paper("mocice")),
    Counterpoint("moccond", cp.Search.paper("moccond")),
    Counterpoint("mocmod", cp.Search.paper("mocmod")),
)
