"""pymoo: NSGA-II wired by hand, as one would without a package for counterfactuals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.optimize import minimize

from benchmarks.peers.scoring import Ruler
from benchmarks.peers.subjects import Explain, Floats, Subject

POPULATION = 20
GENERATIONS = 175


class Counterfactual(Problem):  # type: ignore[misc]
    """The four objectives over genomes inside the range of the data and the row."""

    def __init__(self, ruler: Ruler) -> None:
        super().__init__(n_var=len(ruler.row), n_obj=4, xl=ruler.low, xu=ruler.high)
        self.ruler = ruler

    def _evaluate(self, genomes: Floats, out: dict[str, Any], *_: Any, **__: Any) -> None:
        """Judge a generation with one model call."""
        out["F"] = self.ruler.objectives(genomes)


class ResetToRow(Repair):  # type: ignore[misc]
    """Put features back to the row's value by chance, and whole numbers and levels on their grid.

    Without it a real-coded search changes every feature of every candidate. How often is a trade:
    more resets tend to find sparser candidates, and repeat more of them, which pymoo draws anew.
    """

    def __init__(self, p_reset: float) -> None:
        super().__init__()
        self.p_reset = p_reset

    def _do(
        self, problem: Counterfactual, genomes: Floats, random_state: Any = None, **_: Any
    ) -> Floats:
        """Return the repaired genomes (n, d)."""
        whole = problem.ruler.subject.codec.is_whole
        reset = random_state.random(genomes.shape) < self.p_reset
        return np.where(reset, problem.ruler.row, np.where(whole, np.rint(genomes), genomes))


def wire(subject: Subject, setting: str) -> Explain:
    """Return a function that explains one row; the setting is the probability of a reset."""

    def explain(row: pd.DataFrame, _target: int) -> pd.DataFrame:
        """Return the last generation's non-dominated candidates."""
        algorithm = NSGA2(pop_size=POPULATION, repair=ResetToRow(float(setting)))
        problem = Counterfactual(Ruler(subject, row))
        result = minimize(problem, algorithm, ("n_gen", GENERATIONS), seed=1)
        return subject.codec.decode(np.atleast_2d(result.X))

    return explain
