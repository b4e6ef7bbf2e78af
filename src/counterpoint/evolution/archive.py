"""Archive: everything ever evaluated, and which of it nothing else dominates."""

from __future__ import annotations

from typing import Self

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.evolution.dominance import dominates
from counterpoint.kernels import kernel
from counterpoint.problem.problem import Evaluation, Problem


class Archive:
    """The evaluated candidates of r rows, in order, with their non-dominated members.

    Parameters
    ----------
    problem : Problem
        The problems of the rows.
    capacity : int
        Most candidates per row.
    asked : int or ndarray of shape (r,), default=0
        Rows the model was asked besides the explained row and the candidates.

    Attributes
    ----------
    genomes, predictions, objectives : ndarray of shape (r, capacity, …)
        Every candidate; the first `size[a]` entries of row a are in use.
    generation : ndarray of shape (r, capacity)
        The generation each candidate was made in.
    members : ndarray of shape (r, capacity)
        Indices of the non-dominated candidates; the first `n_members[a]` are in use.
    entered : ndarray of shape (r, capacity)
        Whether a candidate was non-dominated when it came: all that hypervolume ever saw.
    stale : ndarray of shape (r,)
        Generations since the hypervolume last grew.
    asked : ndarray of shape (r,)
        Rows the model was asked besides the candidates, the explained row included.
    stopped : list of str
        Why each row's search ended.
    """

    def __init__(self, problem: Problem, capacity: int, asked: Ints | int = 0) -> None:
        r, d = problem.rows.shape
        self.reference = problem.reference
        self.genomes: Floats = np.empty((r, capacity, d))
        self.predictions: Floats = np.empty((r, capacity))
        self.objectives: Floats = np.empty((r, capacity, 4))
        self.generation: Ints = np.zeros((r, capacity), dtype=np.int64)
        self.members: Ints = np.zeros((r, capacity), dtype=np.int64)
        self.n_members: Ints = np.zeros(r, dtype=np.int64)
        self.entered: Bools = np.zeros((r, capacity), dtype=np.bool_)
        self.size: Ints = np.zeros(r, dtype=np.int64)
        self.stale: Ints = np.zeros(r, dtype=np.int64)
        self.asked: Ints = np.full(r, 1, dtype=np.int64) + asked  # the row itself is asked too
        self.stopped = [""] * r

    def add(self, genomes: Floats, judged: Evaluation, rows: Ints, generation: int) -> Self:
        """Add candidates (r', n, d) of the given rows and update their non-dominated members."""
        n = genomes.shape[1]
        start = int(self.size[rows[0]])  # rows in one wave have the same age
        new = slice(start, start + n)
        self.genomes[rows, new] = genomes
        self.predictions[rows, new] = judged.predictions
        self.objectives[rows, new] = judged.objectives
        self.generation[rows, new] = generation
        self.size[rows] += n
        grew = _enter(
            self.objectives, self.members, self.n_members, self.entered, self.reference,
            rows, start, n,
        )
        self.stale[rows] = np.where(grew, 0, self.stale[rows] + 1)
        return self

    def still_going(
        self, rows: Ints, generation: int, last: Ints, patience: int | None, is_late: bool
    ) -> Ints:
        """Return positions in `rows` of those to search on; note why the others stopped."""
        is_stale = self.stale[rows] >= (np.inf if patience is None else patience)
        is_done = (generation >= last[rows]) | is_stale | is_late
        for position in np.flatnonzero(is_done):
            reason = "patience" if is_stale[position] else "seconds" if is_late else "budget"
            self.stopped[rows[position]] = reason
        return np.flatnonzero(~is_done)

    def keep_all(self, row: int) -> None:
        """Make every candidate of one row a member, dominated or not."""
        n = int(self.size[row])
        self.members[row, :n] = np.arange(n)
        self.n_members[row] = n

    @property
    def evaluations(self) -> Ints:
        """Rows the model was asked for each explained row, everything included."""
        return self.asked + self.size


@kernel
def _enter(
    objectives: Floats,
    members: Ints,
    n_members: Ints,
    entered: Bools,
    reference: Floats,
    rows: Ints,
    start: int,
    n: int,
) -> Bools:
    """Let new candidates enter; return for each row whether the hypervolume grew.

    It grows exactly when a candidate enters that is strictly better than the reference in every
    objective and equals no member: no hypervolume needs to be computed to know it.
    """
    grew = np.zeros(len(rows), dtype=np.bool_)
    for w, a in enumerate(rows):
        for new in range(start, start + n):
            point = objectives[a, new]
            is_equal, is_beaten = False, False
            for k in range(n_members[a]):
                member = objectives[a, members[a, k]]
                if dominates(member, point):
                    is_beaten = True
                    break
                is_equal = is_equal or np.all(member == point)
            if is_beaten:
                continue
            n_kept = 0
            for k in range(n_members[a]):  # members the newcomer dominates leave
                if not dominates(point, objectives[a, members[a, k]]):
                    members[a, n_kept] = members[a, k]
                    n_kept += 1
            members[a, n_kept] = new
            n_members[a] = n_kept + 1
            entered[a, new] = True
            if not is_equal and np.all(point < reference[a]):
                grew[w] = True
    return grew
