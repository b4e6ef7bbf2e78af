"""One group of rows, from problem to results: search, confirm with the model, note what matters.

Where an accelerator answered in place of the model, the members of a result and of its ways are
scored again by the model. Their new gaps may let other candidates in, which are scored too, until
every one carries the model's own score.
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
from counterpoint.progress import Watch
from counterpoint.result.counterfactuals import Counterfactuals, settled
from counterpoint.result.facts import Again, Facts, Live
from counterpoint.search.archive import Archive
from counterpoint.search.confirmation import (
    Confirmation,
    complaint,
    confirm,
    edge_of,
    is_at_edge,
    is_close,
    wants_labels,
)
from counterpoint.search.run import run
from counterpoint.search.settings import Search, WhatIf
from counterpoint.search.ways import WayFinder
from counterpoint.table.values import counted

OTHER_COMPANY = (
    "some candidates reach the target among those of the search, but not alone or as returned; "
    "they are near misses."
)


def explain_group(
    problem: Problem,
    search: Search | WhatIf,
    seed: int,
    rows: list[Any],
    watch: Watch | None = None,
) -> list[Counterfactuals]:
    """Search the rows of one problem that do not reach their target yet."""
    watch = watch or Watch()
    doubts = doubts_of_rows(problem)
    if doubts:
        watch.hear(0, len(doubts))
        known = search_plainly(problem, doubts, search, seed, rows, watch)
        others = [a for a in range(len(rows)) if a not in doubts]
        if others:
            some = problem.take(np.array(others, dtype=np.int64))
            found = explain_group(some, search, seed, [rows[a] for a in others], watch)
            known |= zip(others, found, strict=True)
        return [known[a] for a in range(len(rows))]
    own = replace(problem, predictor=problem.predictor.own)
    met = is_met(own)
    todo = np.flatnonzero(~met)
    watch.hear(0, len(met) - len(todo))
    results: dict[int, Counterfactuals] = {}
    for a in np.flatnonzero(met).tolist():
        one = own.alone(np.array([a]))
        facts = Facts.of(one, search, seed, notes_on(one) if one.predictor.is_doubted else ())
        results[a] = Counterfactuals.of(Archive(one, 1), 0, rows[a], facts, Live(one))
    if len(todo):
        wanted = (own if isinstance(search, WhatIf) else problem).take(todo)
        some_rows = [rows[a] for a in todo]
        found = search_rows(wanted, search, seed, some_rows, watch)
        results |= zip(todo.tolist(), found, strict=True)
    return [results[a] for a in range(len(rows))]


def search_rows(
    problem: Problem, search: Search | WhatIf, seed: int, rows: list[Any], watch: Watch
) -> list[Counterfactuals]:
    """Search rows, and confirm what was found as the model's user would ask about it."""
    archive = run(problem, search, watch)
    drafts = rescore(archive, problem) if problem.predictor.is_accelerated else []
    results, checks = {}, {}
    for a, row in enumerate(rows):
        one = problem.alone(np.array([a]))
        live = Live(one, search_again(one, seed, row))
        facts = Facts.of(one, search, seed, notes_on(one))
        results[a] = Counterfactuals.of(archive, a, row, facts, live)
        source = (archive, a)
        if drafts:
            own_search = search_again(drafts[a].problem, seed, row)
            results[a] = settle(results[a], drafts[a], own_search)
            source = (drafts[a].archive, drafts[a].row)
        if not drafts or drafts[a].difference <= problem.predictor.tolerance:  # not searched anew
            checks[a] = Confirmation(*source, results[a].problem, search)
    confirm(list(checks.values()))
    results |= {a: confirmed(results[a], check) for a, check in checks.items()}
    doubts = {a: check.doubt for a, check in checks.items() if check.doubt}
    if doubts:
        results |= search_plainly(problem, doubts, search, seed, rows, watch)
    return [results[a] for a in range(len(rows))]


def confirmed(found: Counterfactuals, check: Confirmation) -> Counterfactuals:
    """Return what was found, without what was denied.

    The replies stay the search's: one that goes on must recall what it was told.
    """
    if check.n_denied:
        problem, n_own = check.problem, len(notes_on(check.problem))
        problem = problem.with_labels() if check.denies_label else problem
        notes = (*notes_on(problem), *(() if check.denies_label else (OTHER_COMPANY,)))
        facts = replace(found.facts, notes=(*notes, *found.notes[n_own:]))
        live = Live(problem, found.live.again if found.live is not None else None)
        drawn = Counterfactuals.of(check.archive, check.row, found.row, facts, live)
        found = replace(drawn, trace=replace(drawn.trace, replies=found.trace.replies))
    codes, predictions = check.told(found.genomes)
    shown = predictions if found.target.is_lead else found.predictions
    trace = replace(found.trace, confirmations=check.n_asked)
    found = replace(found, codes=codes, predictions=shown, trace=trace, way_rows=check.ways_told())
    return found if found.proof is None else settled(found)


def search_plainly(
    problem: Problem,
    doubts: dict[int, str],
    search: Search | WhatIf,
    seed: int,
    rows: list[Any],
    watch: Watch,
) -> dict[int, Counterfactuals]:
    """Search rows again of which the quick way disagreed with the model, with the model itself."""
    first, n = next(iter(doubts.values())), counted(len(doubts), "row")
    warnings.warn(
        f"a quick way to ask the model is not believed: {first}; {n} searched with the model "
        "itself, which takes longer.",
        AcceleratorWarning,
        stacklevel=2,
    )
    some = problem.take(np.array(list(doubts), dtype=np.int64))
    plain = replace(some, predictor=problem.predictor.doubted(), past=None)
    found = explain_group(plain, search, seed, [rows[a] for a in doubts], watch.quietly())
    return dict(zip(doubts, found, strict=True))


def doubts_of_rows(problem: Problem) -> dict[int, str]:
    """Return the rows of which the quick way says another thing than the model, and what."""
    own = problem.predictor.own
    if not own.is_quick:
        return {}
    quick = own.blocks(problem.rows[:, None, :])[:, 0]
    is_off = ~is_close(quick, problem.row_outputs).all(axis=1)
    each = {int(a): complaint(own, problem.rows[[a]]) for a in np.flatnonzero(is_off)}
    return {a: doubt for a, doubt in each.items() if doubt}


def search_again(problem: Problem, seed: int, row: Any) -> Again:
    """Return the function that searches one row again, recalling what the model said before."""

    def again(search: Search, replies: Floats) -> Counterfactuals:
        with problem.predictor.one_thread():
            return explain_group(problem.after(replies), search, seed, [row])[0]

    return again


def is_met(problem: Problem) -> Bools:
    """Return which rows reach their target already, asked as the model's user would ask."""
    plain, has_labels = problem.predictor.trusted, wants_labels(problem)
    if has_labels:
        met = replace(problem, predictor=plain).confirmed(problem.rows[:, None, :])[:, 0]
    else:
        gaps = [t.gap_of(p) for t, p in zip(problem.targets, problem.row_scores, strict=True)]
        met = np.array(gaps) <= 0.0
    for a in np.flatnonzero(met):
        target, genome = problem.targets[a], problem.rows[[a]]
        if is_at_edge(target, problem.row_scores[[a]], edge_of(plain))[0]:
            alone = float(target.score(plain.outputs(genome))[0])
            is_label = has_labels and target.accepts_label(plain.labels(genome))[0]
            met[a] = is_label if has_labels else target.gap_of(alone) <= 0.0
    return np.asarray(met)


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
    if problem.predictor.is_doubted:
        notes.append(
            "a quick way to ask the model disagreed with it about this row or a counterfactual; "
            "the row was searched with the model itself."
        )
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

    They are an accelerator's; `problem` has the model itself as predictor. `archive` gets its
    scores as they become known; `difference` is the greatest of both scores so far, and `complaint`
    names the candidate where they differ so.
    """

    def __init__(self, archive: Archive, row: int, problem: Problem) -> None:
        self.archive, self.row, self.problem = archive, row, problem
        self.difference, self.complaint = 0.0, ""
        self._is_own = np.arange(archive.size[row]) < archive.n_learnt  # observed: scored before

    @property
    def unscored(self) -> Ints:
        """The members, and candidates of ways, that the model itself has not scored yet."""
        members = self.archive.members[self.row, : self.archive.n_members[self.row]]
        ways = WayFinder.of(self.archive, self.row, self.problem, repeats=True)
        returned = np.union1d(members, ways.candidates)
        return returned[~self._is_own[returned]]

    def learn(self, which: Ints, outputs: Floats) -> None:
        """Take the model's outputs (n, c) of the given candidates and draw the members again."""
        n, target = len(self._is_own), self.problem.targets[0]
        genomes = self.archive.genomes[self.row, :n]
        predictions = self.archive.predictions[self.row, :n].copy()
        objectives = self.archive.objectives[self.row, :n].copy()
        scores = np.asarray(target.score(outputs))
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
            confirmed = problem.confirmed(np.ascontiguousarray(genomes[None]))[0]
            is_denied = (gaps <= 0.0) | problem.asks_labels
            missed = np.where(is_denied, denied_gaps(gaps, predictions), gaps)
            gaps = np.where(confirmed, 0.0, missed)
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
