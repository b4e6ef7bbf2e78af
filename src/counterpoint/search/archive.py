"""Archive: all that a search has evaluated, with its front."""

from __future__ import annotations

import time
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import assign, inner, kernel
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP
from counterpoint.problem.problem import Evaluation, Problem
from counterpoint.search.exact.proof import Proof
from counterpoint.search.front import LANES, admit, clear_place
from counterpoint.table.space import are_equal


class Archive:
    """The evaluated candidates of r rows, in order, with their non-dominated members.

    Each row has room for `capacity` of them, of which the first `size` are in use.
    """

    def __init__(self, problem: Problem, capacity: int) -> None:
        (r, d), m = problem.rows.shape, len(problem.objective_names)
        self.reference = problem.reference
        self.genomes: Floats = np.empty((r, capacity, d))
        self.predictions: Floats = np.empty((r, capacity))
        self.objectives: Floats = np.empty((r, capacity, m))
        # the generation each candidate was made in
        self.generation: Ints = np.zeros((r, capacity), dtype=np.int64)
        # the indices of the non-dominated candidates, of which the first `n_members` are in use
        self.members: Ints = np.zeros((r, capacity), dtype=np.int64)
        self.n_members: Ints = np.zeros(r, dtype=np.int64)
        # (r, n_blocks, m, LANES): their objectives in the same order, laid out for comparison
        self.front: Floats = empty_front(r, capacity, m)
        # whether a candidate was non-dominated when it came: all that hypervolume ever saw
        self.entered: Bools = np.zeros((r, capacity), dtype=np.bool_)
        self.size: Ints = np.zeros(r, dtype=np.int64)
        # generations since the hypervolume last grew; the initial population is none
        self.stale: Ints = np.zeros(r, dtype=np.int64)
        # whether an entry is a candidate, and not the row itself in the place of one
        self.is_candidate: Bools = np.zeros((r, capacity), dtype=np.bool_)
        # whether it is one that the model was asked about, so that it was not known before
        self.is_asked: Bools = np.zeros((r, capacity), dtype=np.bool_)
        self.n_learnt = 0  # how many of the first candidates were known beforehand
        # (r, capacity): where in the data each candidate stands, if all of them are observed rows
        self.places: Ints | None = None
        # rows the model was asked about that are not kept here
        self.n_passed: Ints = np.zeros(r, dtype=np.int64)
        self.stopped: list[Any] = [""] * r  # why each row's search ended
        # how many of the last candidates a solver added, which no search recalls
        self.n_added: Ints = np.zeros(r, dtype=np.int64)
        self.proofs: list[Proof | None] = [None] * r  # what a solver proved of each row
        self._changed: dict[int, Ints] = {}  # what `changed_members` said of rows

    def add(
        self,
        genomes: Floats,
        judged: Evaluation,
        rows: Ints,
        generation: int,
        counts: Bools | None = None,
        *,
        is_known: bool = False,
    ) -> Self:
        """Add candidates (r', n, d) of the given rows and update their non-dominated members.

        Where `counts` (r', n) is False a candidate only fills its place and becomes no member. With
        `is_known` the model was not asked about them.
        """
        self._changed.clear()
        if counts is None:
            counts = np.ones(genomes.shape[:2], dtype=np.bool_)
        new = NewCandidates(genomes, judged.predictions, judged.objectives, counts)
        _enter(self._arrays(), new, rows, generation, is_known)
        return self

    def renew(self, rows: Ints) -> None:
        """Note that the last wave of these rows was of use, whatever the hypervolume says."""
        self.stale[rows] = 0

    def _arrays(self) -> ArchiveArrays:
        """Return what `_enter` reads and writes."""
        return ArchiveArrays(
            self.genomes,
            self.predictions,
            self.objectives,
            self.members,
            self.n_members,
            self.entered,
            self.front,
            self.reference,
            self.generation,
            self.is_candidate,
            self.is_asked,
            self.size,
            self.stale,
        )

    def still_going(
        self,
        rows: Ints,
        generation: int,
        last: Ints | int,
        patience: int | None,
        deadline: float,
        ended: dict[str, Bools] | None = None,
        *,
        is_stopped: bool = False,
    ) -> Ints:
        """Return positions in `rows` of those to search on; note why the others stopped.

        `last` is the last generation of each of all rows, or one number if it is the same. `ended`
        tells which of them (r',) end for a reason that only their method knows.
        """
        reasons, is_late = dict(ended or {}), time.monotonic() >= deadline
        if patience is not None and self.stale.max() >= patience:
            reasons["patience"] = self.stale[rows] >= patience
        if is_late or is_stopped:
            reasons["seconds" if is_late else "interrupt"] = np.ones(len(rows), dtype=np.bool_)
        if not isinstance(last, int):
            reasons["budget"] = generation >= last[rows]
        elif generation >= last:
            reasons["budget"] = np.ones(len(rows), dtype=np.bool_)
        if not reasons:  # mostly
            return np.arange(len(rows))
        is_going = np.ones(len(rows), dtype=np.bool_)
        for reason, is_met in reasons.items():
            if is_met.any():
                self.stop(rows[is_going & is_met], reason)
                is_going &= ~is_met
        return np.flatnonzero(is_going)

    def stop(self, rows: Ints, reason: str) -> None:
        """Note why the search of these rows ended."""
        for row in rows:
            self.stopped[row] = reason

    def of_scores(
        self, row: int, problem: Problem, predictions: Floats, objectives: Floats
    ) -> Archive:
        """Return the archive of one row with other predictions (n,) and objectives (n, m).

        Its candidates are the same and in the same order; the non-dominated ones are found anew.
        """
        n = len(predictions)
        again = Archive(problem, n)
        again.add(
            self.genomes[None, row, :n].copy(),
            Evaluation(predictions[None].copy(), objectives[None].copy()),
            np.zeros(1, dtype=np.int64),
            generation=0,
            counts=self.is_candidate[None, row, :n].copy(),
        )
        again.generation[0] = self.generation[row, :n]
        again.is_asked[0] = self.is_asked[row, :n]
        again.n_learnt, again.stopped[0] = self.n_learnt, self.stopped[row]
        again.n_passed[0] = self.n_passed[row]
        again.places = None if self.places is None else self.places[[row], :n]
        again.n_added[0], again.proofs[0] = self.n_added[row], self.proofs[row]
        return again

    def with_added(
        self,
        problem: Problem,
        added: list[tuple[Floats, Evaluation]],
        n_asked: Ints,
        proofs: list[Proof],
    ) -> Archive:
        """Return the archive with more evaluated candidates of every row, and what is proved.

        `n_asked` (r,) tells about how many rows the model was asked to find those of a row.
        """
        n_most = max(genomes.shape[1] for genomes, _ in added)
        more = Archive(problem, self.genomes.shape[1] + n_most)
        for name, known in vars(self).items():
            if isinstance(known, np.ndarray) and known.ndim > 1 and name != "reference":
                getattr(more, name)[:, : known.shape[1]] = known
            else:
                setattr(more, name, copy(known))
        more.n_added, more.proofs = np.array([genomes.shape[1] for genomes, _ in added]), [*proofs]
        more.n_passed += n_asked - more.n_added
        for a, (genomes, judged) in enumerate(added):
            if genomes.shape[1]:
                generation = int(self.generation[a, : self.size[a]].max(initial=0))
                more.add(np.ascontiguousarray(genomes), judged, np.array([a]), generation)
        return more

    def changed_members(self, row: int) -> Ints:
        """Return the members of one row that differ from it, by gap, changes and distance."""
        if row not in self._changed:
            members = np.sort(self.members[row, : self.n_members[row]])
            values = self.objectives[row].take(members, axis=0).T
            order = np.lexsort((values[DISTANCE], values[CHANGES], values[GAP]))
            is_changed = values[CHANGES].take(order) > 0
            self._changed[row] = members.take(order)[is_changed]
        return self._changed[row]

    def replies(self, row: int) -> Floats:
        """Return what the model said of every candidate of a row that it was asked about."""
        asked = slice(self.n_learnt, int(self.size[row]) - int(self.n_added[row]))
        return self.predictions[row, asked].copy()

    def keep_all(self, row: int) -> None:
        """Make every candidate of one row a member, dominated or not."""
        n = int(self.size[row])
        self._changed.clear()
        self.members[row, :n] = np.arange(n)
        self.n_members[row] = n

    @property
    def evaluations(self) -> Ints:
        """Rows the model was asked for each explained row, everything included."""
        return np.asarray(1 + np.sum(self.is_asked, axis=1) + self.n_passed)


def empty_front(r: int, n: int, n_objectives: int) -> Floats:
    """Return the empty fronts of r rows, with room for n members each; few blocks are ever used."""
    return np.empty((r, -(-n // LANES), n_objectives, LANES))


class ArchiveArrays(NamedTuple):
    """The arrays of an `Archive` that new candidates are written to, and its reference points."""

    genomes: Floats
    predictions: Floats
    objectives: Floats
    members: Ints
    n_members: Ints
    entered: Bools
    front: Floats
    reference: Floats
    generation: Ints
    is_candidate: Bools
    is_asked: Bools
    size: Ints
    stale: Ints


class NewCandidates(NamedTuple):
    """Evaluated candidates of r rows, and which places (r, n) they fill."""

    genomes: Floats
    predictions: Floats
    objectives: Floats
    counts: Bools


@kernel
def _enter(
    archive: ArchiveArrays, wave: NewCandidates, rows: Ints, generation: int, is_known: bool
) -> None:
    """Write a wave of candidates into the archive and let them enter the non-dominated members.

    A candidate that repeats a member does not enter; different ones with equal objectives do.

    The hypervolume of a row grows exactly when a candidate enters that is strictly better than the
    reference in every objective and equals no member: no hypervolume needs to be computed to know
    it.
    """
    genomes, objectives, front = archive.genomes, archive.objectives, archive.front
    members, n_members = archive.members, archive.n_members
    n = wave.genomes.shape[1]
    for w, a in enumerate(rows):
        start, grows = archive.size[a], generation == 0
        archive.size[a] += n
        for i in range(n):
            new, is_there = start + i, wave.counts[w, i]
            assign(genomes[a, new], wave.genomes[w, i])
            archive.predictions[a, new] = wave.predictions[w, i]
            assign(objectives[a, new], wave.objectives[w, i])
            archive.generation[a, new], archive.is_candidate[a, new] = generation, is_there
            archive.is_asked[a, new] = is_there and not is_known
            if not is_there:
                continue
            point = objectives[a, new]
            n_now, n_equal = admit(point, front[a], members[a], n_members[a], new)
            if n_now == 0:
                continue
            if n_equal > 0 and is_repeat(objectives[a], genomes[a], members[a, : n_now - 1], new):
                clear_place(front[a], n_now - 1)
                continue
            n_members[a] = n_now
            archive.entered[a, new] = True
            grows |= n_equal == 0 and is_inside(point, archive.reference[a])
        archive.stale[a] = 0 if grows else archive.stale[a] + 1


@inner
def is_repeat(objectives: Floats, genomes: Floats, members: Ints, new: int) -> bool:
    """Whether a member has the candidate's objectives and its genome too."""
    for k in members:
        if are_equal(objectives[k], objectives[new]) and are_equal(genomes[k], genomes[new]):
            return True
    return False


@inner
def is_inside(point: Floats, reference: Floats) -> bool:
    """Whether a point is strictly better than the reference in every objective."""
    is_better = True
    for m in range(len(point)):
        is_better &= point[m] < reference[m]
    return is_better
