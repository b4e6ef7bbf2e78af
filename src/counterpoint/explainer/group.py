"""One group of rows, from problem to results: search, confirm with the model, note what matters.

Where an accelerator answered in place of the model, the members of a result are scored again by
the model. Their new gaps may let other candidates in, which are scored too, until every member
carries the model's own score.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.errors import AcceleratorWarning
from counterpoint.problem.objectives import GAP, denied_gaps
from counterpoint.problem.problem import Problem
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.facts import Again, Facts, Live
from counterpoint.search.archive import Archive, Watch
from counterpoint.search.run import run
from counterpoint.search.settings import Search, WhatIf


def explain_group(
    problem: Problem,
    search: Search | WhatIf,
    seed: int,
    rows: list[Any],
    watch: Watch | None = None,
) -> list[Counterfactuals]:
    """Search the rows of one problem that do not reach their target yet."""
    watch = watch or Watch()
    own = replace(problem, predictor=problem.predictor.own)
    met = is_met(own)
    todo = np.flatnonzero(~met)
    watch.hear(0, len(met) - len(todo))
    results: dict[int, Counterfactuals] = {}
    for a in np.flatnonzero(met).tolist():
        one = own.alone(np.array([a]))
        facts = Facts.of(one, search, seed)
        results[a] = Counterfactuals.of(Archive(one, 1), 0, rows[a], facts, Live(one))
    if len(todo):
        wanted = (own if isinstance(search, WhatIf) else problem).take(todo)
        archive = run(wanted, search, watch)
        drafts = rescore(archive, wanted) if wanted.predictor.is_accelerated else []
        found = []
        for i, a in enumerate(todo.tolist()):
            one = wanted.alone(np.array([i]))
            live = Live(one, search_again(one, seed, rows[a]))
            facts = Facts.of(one, search, seed, notes_on(one))
            found.append(Counterfactuals.of(archive, i, rows[a], facts, live))
            if drafts:
                own_search = search_again(drafts[i].problem, seed, rows[a])
                found[i] = settle(found[i], drafts[i], own_search)
        results |= zip(todo.tolist(), found if drafts else confirm(found, archive), strict=True)
    return [results[a] for a in range(len(rows))]


def search_again(problem: Problem, seed: int, row: Any) -> Again:
    """Return the function that searches one row again, recalling what the model said before."""

    def again(search: Search, replies: Floats) -> Counterfactuals:
        with problem.predictor.one_thread():
            return explain_group(problem.after(replies), search, seed, [row])[0]

    return again


def is_met(problem: Problem) -> Bools:
    """Return which rows reach their target already; a class only if `predict` says so."""
    gaps = [t.gap_of(p) for t, p in zip(problem.targets, problem.row_predictions, strict=True)]
    met: Bools = np.array(gaps) <= 0.0
    if met.any() and problem.targets[0].is_decision and problem.predictor.has_decision:
        met = met & problem.confirmed(problem.rows[:, None, :])[:, 0]
    return met


def confirm(found: list[Counterfactuals], archive: Archive) -> list[Counterfactuals]:
    """Let the model's own `predict` confirm the valid ones of class targets, all in one call.

    On the observed rows `predict` agreed with the probabilities, so the search trusted them. If it
    disagrees here after all, it is asked about every candidate that seemed to reach the target, and
    the result is drawn again from those it confirms: no candidate is new, so no budget is spent.
    """
    problem = found[0].problem
    must_ask = problem.targets[0].is_decision and problem.predictor.has_decision
    asked = [i for i, each in enumerate(found) if each.reaches.any()]
    if not must_ask or problem.asks_labels or not asked:
        return found
    codes = problem.predictor.uneven_labels([found[i].genomes[found[i].reaches] for i in asked])
    confirmed = list(found)
    for i, labels in zip(asked, codes, strict=True):
        if not np.all(found[i].target.accepts_label(labels)):
            confirmed[i] = draw_confirmed(found[i], archive, i)
    return confirmed


def draw_confirmed(found: Counterfactuals, archive: Archive, i: int) -> Counterfactuals:
    """Return the result of row i again, drawn from what `predict` confirms."""
    careful = found.problem.with_labels()
    again = search_again(found.problem, found.seed, found.row)  # as it was searched: without labels
    facts = replace(found.facts, notes=notes_on(careful))
    confirmed = archive.of_confirmed(i, careful)
    return Counterfactuals.of(confirmed, 0, found.row, facts, Live(careful, again))


def notes_on(problem: Problem) -> tuple[str, ...]:
    """Return what a careful reader should know of the result of one row."""
    features, space, row = (
        problem.predictor.encoding.schema.features,
        problem.space,
        problem.rows[0],
    )
    is_outside = ((row < space.low) | (row > space.high)) & ~space.is_level & (row != MISSING)
    notes = [
        f"the row's {features[j].name!r} = {features[j].shown(row[j])} lies outside the data's "
        f"range, {features[j].shown(space.low[j])} to {features[j].shown(space.high[j])}; the "
        "search box was widened to it."
        for j in np.flatnonzero(is_outside)
    ]
    notes += [_note_on_forced(problem, int(j)) for j in np.flatnonzero(problem.box.is_forced[0])]
    if problem.asks_labels:
        notes.append(
            "the model's predict does not always name the likeliest class; it was asked about "
            "every candidate."
        )
    if problem.predictor.gives_only_labels:
        notes.append("the model gives labels only, so a gap is either 0 or 0.5.")
    if problem.recalled is not None:
        notes.append(
            f"the search started from the {len(problem.recalled.genomes)} counterfactuals of an "
            "earlier one, as far as they are still allowed; from scratch it may find others."
        )
    if problem.predictor.is_known_variant:
        notes.append(
            "the model's scores depend on which rows it is asked together; each row's candidates "
            "were scored on their own to keep the result independent of its company."
        )
    return tuple(notes)


def _note_on_forced(problem: Problem, j: int) -> str:
    """Say that every counterfactual changes feature j, and whether a range or a rule is why."""
    encoding, row, limits = problem.predictor.encoding, problem.rows[0], problem.limits
    feature = encoding.schema.features[j]
    name = feature.name
    if problem.row_rules is None or limits.excludes(j, row[j]):
        return (
            f"the range given for {name!r} excludes the row's own value {feature.shown(row[j])}, "
            "so every counterfactual changes it."
        )
    return (
        f"the constraints exclude the row's own {name!r} = {feature.shown(row[j])}, so every "
        "counterfactual changes it."
    )


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
        self.archive = self.archive.of_scores(self.row, self.problem, predictions, objectives)
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
        anew: Counterfactuals = own_search(found.search, np.empty(0))
        return anew
    note = (
        "candidates were scored by ONNX Runtime, and those returned again by the model itself; "
        f"the greatest difference was {draft.difference:.1g}."
    )
    live = Live(draft.problem, found.live.again if found.live is not None else None)
    facts = replace(found.facts, notes=(*found.notes, note))
    settled = Counterfactuals.of(draft.archive, draft.row, found.row, facts, live)
    return replace(settled, trace=replace(settled.trace, replies=found.trace.replies))
