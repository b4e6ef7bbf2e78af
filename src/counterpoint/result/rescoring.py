"""Rescoring: what an accelerator found is told in the words of the model itself.

The members of a result are scored again by the model. Their new gaps may let other candidates in,
which are scored too, until every member carries the model's own score.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import AcceleratorWarning
from counterpoint.evolution.archive import Archive
from counterpoint.evolution.search import Search
from counterpoint.problem.objectives import CHANGES, GAP
from counterpoint.problem.problem import Evaluation, Problem, denied_gaps
from counterpoint.result.counterfactuals import Again, Counterfactuals


class Draft:
    """The candidates of one row, of which the model itself scores those that would be returned.

    Parameters
    ----------
    archive : Archive
        What the accelerator's search evaluated.
    row : int
        Which of its rows.
    problem : Problem
        The problem of that row, with the model itself as predictor.

    Attributes
    ----------
    archive, row : Archive, int
        The candidates with the model's own scores where these are known.
    difference : float
        The greatest difference of both scores so far.
    complaint : str
        The candidate where they differ so, and both scores.
    """

    def __init__(self, archive: Archive, row: int, problem: Problem) -> None:
        self.archive, self.row, self.problem = archive, row, problem
        self.difference, self.complaint = 0.0, ""
        self._is_own = np.arange(archive.size[row]) < archive.n_learnt  # observed: scored before

    @property
    def unscored(self) -> Ints:
        """The members the model itself has not scored yet."""
        members = self.archive.members[self.row, : self.archive.n_members[self.row]]
        return np.sort(members[~self._is_own[members]])

    def learn(self, which: Ints, outputs: Floats) -> None:
        """Take the model's outputs (n, c) of the given candidates and draw the members again."""
        n, target = len(self._is_own), self.problem.targets[0]
        genomes = self.archive.genomes[self.row, :n]
        predictions = self.archive.predictions[self.row, :n].copy()
        objectives = self.archive.objectives[self.row, :n].copy()
        scores = np.asarray(target.prediction(outputs))
        self._compare(genomes[which], predictions[which], scores)
        predictions[which] = scores
        objectives[which, GAP] = self._gaps(genomes[which], scores)
        self._is_own[which] = True
        self.archive = redraw(self.archive, self.row, self.problem, predictions, objectives)
        self.row = 0

    def _compare(self, genomes: Floats, quick: Floats, own: Floats) -> None:
        """Note where the accelerator and the model differ most."""
        differences = np.abs(quick - own)
        worst = int(np.argmax(differences))
        if differences[worst] >= self.difference:
            self.difference = float(differences[worst])
            encoding = self.problem.predictor.encoding
            values = encoding.by_feature(genomes[[worst]]).to_dict("records")[0]
            self.complaint = f"of {values} it says {quick[worst]:.6g}, the model {own[worst]:.6g}"

    def _gaps(self, genomes: Floats, predictions: Floats) -> Floats:
        """Return the gaps of genomes (n, d); a class is reached only if `predict` says so."""
        problem, target = self.problem, self.problem.targets[0]
        gaps = np.array([target.gap_of(prediction) for prediction in predictions.tolist()])
        if target.is_decision and problem.predictor.has_decision:
            asked = np.flatnonzero((gaps <= 0.0) | problem.asks_labels)
            if len(asked):
                denied = asked[~problem.confirmed(genomes[None, asked])[0]]
                gaps[denied] = denied_gaps(gaps[denied], predictions[denied])
        return gaps


def rescore(archive: Archive, problem: Problem) -> list[Draft]:
    """Let the model itself score the members of every row; the calls of all rows are merged."""
    predictor = problem.predictor
    own = replace(problem, predictor=predictor.own)
    drafts = [Draft(archive, a, own.alone(np.array([a]))) for a in range(len(problem.rows))]
    while True:
        unscored = [(d, d.unscored) for d in drafts if d.difference <= predictor.tolerance]
        unscored = [(draft, which) for draft, which in unscored if len(which)]
        if not unscored:
            return drafts
        blocks = [draft.archive.genomes[draft.row, which] for draft, which in unscored]
        outputs = predictor.own.uneven_blocks(blocks)
        for (draft, which), answers in zip(unscored, outputs, strict=True):
            draft.learn(which, answers)


def redraw(
    archive: Archive, row: int, problem: Problem, predictions: Floats, objectives: Floats
) -> Archive:
    """Return the archive of one row with other predictions (n,) and objectives (n, m)."""
    n = len(predictions)
    again = Archive(problem, n)
    is_learnt = (np.arange(n) < archive.n_learnt) & (objectives[:, CHANGES] > 0)  # else it fills
    again.add(
        archive.genomes[None, row, :n].copy(),
        Evaluation(predictions[None].copy(), objectives[None].copy()),
        np.zeros(1, dtype=np.int64),
        generation=0,
        counts=archive.is_asked[None, row, :n] | is_learnt,
    )
    again.generation[0] = archive.generation[row, :n]
    again.is_asked[0] = archive.is_asked[row, :n]
    again.n_learnt, again.stopped[0] = archive.n_learnt, archive.stopped[row]
    return again


def settle(found: Counterfactuals, draft: Draft, own_search: Again) -> Counterfactuals:
    """Return what the accelerator found, as the model scores it; search again if they disagree.

    The replies stay the accelerator's: a search that goes on must recall what it was told.
    """
    tolerance = found.problem.predictor.tolerance
    if draft.difference > tolerance and isinstance(found.search, Search):
        warnings.warn(
            f"accelerate='onnx' is not believed: {draft.complaint}, where {tolerance:.2g} is "
            "allowed; the row is searched again with the model itself.",
            AcceleratorWarning,
            stacklevel=2,
        )
        return own_search(found.search, np.empty(0))
    note = (
        "candidates were scored by ONNX Runtime, and those returned again by the model itself; "
        f"the greatest difference was {draft.difference:.1g}."
    )
    settled = Counterfactuals.of(
        draft.archive,
        draft.row,
        draft.problem,
        found.row,
        found.search,
        found.seed,
        (*found.notes, note),
        found.again,
    )
    return replace(settled, trace=replace(settled.trace, replies=found.trace.replies))
