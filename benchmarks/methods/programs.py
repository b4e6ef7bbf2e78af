"""Mixed-integer programs, written row by row and solved by HiGHS through SciPy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from benchmarks.peers.subjects import Floats

OPTIMAL, INFEASIBLE = 0, 2
Terms = dict[int, float]  # variable -> coefficient


@dataclass
class Program:
    """Minimise a linear cost of variables, some of them whole, under linear constraints.

    HiGHS may simplify a program first (`presolve`), which saves time. That of SciPy 1.17 lost the
    optimum of 1 of 144 programs tried, with whole and other variables; none whose all were whole.
    """

    presolve: bool = False

    costs: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    is_whole: list[bool] = field(default_factory=list)
    rows: list[tuple[Terms, float, float]] = field(default_factory=list)

    def add(
        self, low: float = 0.0, high: float = 1.0, *, cost: float = 0.0, is_whole: bool = True
    ) -> int:
        """Add a variable, by default a choice of 0 or 1, and return its number."""
        self.costs.append(cost)
        self.lows.append(low)
        self.highs.append(high)
        self.is_whole.append(is_whole)
        return len(self.costs) - 1

    def require(self, terms: Terms, low: float = -np.inf, high: float = np.inf) -> None:
        """Require ``low <= sum of coefficient * variable <= high``."""
        self.rows.append((dict(terms), low, high))

    def solve(self, costs: Floats | None = None) -> Floats | None:
        """Return the variables' best values, or None if nothing satisfies the constraints."""
        answer = milp(
            np.asarray(self.costs) if costs is None else costs,
            integrality=np.asarray(self.is_whole, dtype=int),
            bounds=Bounds(np.asarray(self.lows), np.asarray(self.highs)),
            constraints=[self._constraints()] if self.rows else [],
            options={"mip_rel_gap": 0.0, "presolve": self.presolve},
        )
        if answer.status == INFEASIBLE:
            return None
        if answer.status != OPTIMAL:
            raise RuntimeError(f"the solver gave up: {answer.message}")
        return np.asarray(answer.x, dtype=np.float64)

    def _constraints(self) -> LinearConstraint:
        """Return the rows as one sparse constraint."""
        places = [(i, j, value) for i, row in enumerate(self.rows) for j, value in row[0].items()]
        i, j, values = (np.array(part) for part in zip(*places, strict=True))
        shape = (len(self.rows), len(self.costs))
        matrix = csr_array((values, (i, j)), shape=shape)
        _, lows, highs = zip(*self.rows, strict=True)
        return LinearConstraint(matrix, np.array(lows), np.array(highs))
