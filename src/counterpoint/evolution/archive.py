"""Archive: everything ever evaluated, and which of it nothing else dominates."""

from __future__ import annotations

from typing import Self

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.evolution.dominance import are_equal, compare
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
        Generations since the hypervolume last grew; the initial population is none.
    asked : ndarray of shape (r,)
        Rows the model was asked besides the candidates: the explained row, less candidates that
        only repeat it.
    stopped : list of str
        Why each row's search ended.
    """

    def __init__(self, problem: Problem, capacity: int) -> None:
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
        self.asked: Ints = np.ones(r, dtype=np.int64)
        self.stopped = [""] * r

    def add(
        self,
        genomes: Floats,
        judged: Evaluation,
        rows: Ints,
        generation: int,
        counts: Bools | None = None,
    ) -> Self:
        """Add candidates (r', n, d) of the given rows and update their non-dominated members.

        Where `counts` (r', n) is False a candidate only fills its place and becomes no member.
        """
        n = genomes.shape[1]
        start = int(self.size[rows[0]])  # rows in one wave have the same age
        self.generation[rows, start : start + n] = generation
        self.size[rows] += n
        grew = _enter(
            (self.genomes, self.predictions, self.objectives),
            (genomes, judged.predictions, judged.objectives),
            np.ones(genomes.shape[:2], dtype=np.bool_) if counts is None else counts,
            (self.members, self.n_members, self.entered),
            self.reference,
            rows,
            start,
        )
        self.stale[rows] = np.where(grew | (generation == 0), 0, self.stale[rows] + 1)
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
    candidates: tuple[Floats, Floats, Floats],
    wave: tuple[Floats, Floats, Floats],
    counts: Bools,
    membership: tuple[Ints, Ints, Bools],
    reference: Floats,
    rows: Ints,
    start: int,
) -> Bools:
    """Write a wave of candidates into the archive and let them enter the non-dominated members.

    A candidate that repeats a member does not enter; different ones with equal objectives do.

    Returns for each row whether the hypervolume grew. It does exactly when a candidate enters that
    is strictly better than the reference in every objective and equals no member: no hypervolume
    needs to be computed to know it.
    """
    genomes, predictions, objectives = candidates
    members, n_members, entered = membership
    n = wave[0].shape[1]
    grew = np.zeros(len(rows), dtype=np.bool_)
    for w, a in enumerate(rows):
        for i in range(n):
            new = start + i
            genomes[a, new] = wave[0][w, i]
            predictions[a, new] = wave[1][w, i]
            objectives[a, new] = wave[2][w, i]
            if not counts[w, i]:
                continue
            n_now = admit(objectives[a], members[a], n_members[a], new)
            if n_now == 0:
                continue
            is_tie, is_repeat = find_equal(objectives[a], genomes[a], members[a, : n_now - 1], new)
            if not is_repeat:
                n_members[a] = n_now
                entered[a, new] = True
                grew[w] |= not is_tie and is_inside(objectives[a, new], reference[a])
    return grew


@kernel
def admit(objectives: Floats, members: Ints, n_members: int, new: int) -> int:
    """Put candidate `new` last among the members if none dominates it, and drop those it dominates.

    Returns the new number of members, or 0 if the candidate was refused. A member that dominates
    it moves up, because it is likely to dominate the next one too; such a candidate dominates no
    member, so nothing else was moved before.
    """
    point = objectives[new]
    n_kept = 0
    for k in range(n_members):
        verdict = compare(point, objectives[members[k]])
        if verdict < 0:
            members[k], members[k // 2] = members[k // 2], members[k]
            return 0
        if verdict == 0:
            members[n_kept] = members[k]
            n_kept += 1
    members[n_kept] = new
    return n_kept + 1


@kernel
def find_equal(objectives: Floats, genomes: Floats, members: Ints, new: int) -> tuple[bool, bool]:
    """Return whether a member has the candidate's objectives, and whether one has its genome."""
    is_tie = False
    for k in members:
        if are_equal(objectives[k], objectives[new]):
            is_tie = True
            if are_equal(genomes[k], genomes[new]):
                return True, True
    return is_tie, False


@kernel
def is_inside(point: Floats, reference: Floats) -> bool:
    """Whether a point is strictly better than the reference in every objective."""
    is_better = True
    for m in range(len(point)):
        is_better &= point[m] < reference[m]
    return is_better
