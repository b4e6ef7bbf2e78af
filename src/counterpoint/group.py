"""One group of rows, from problem to results: search, confirm with the model, note what matters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.evolution.archive import Archive
from counterpoint.evolution.baselines import WhatIf, search_randomly, take_nearest
from counterpoint.evolution.explore import explore
from counterpoint.evolution.nsga2 import evolve
from counterpoint.evolution.search import Search
from counterpoint.evolution.watch import Watch
from counterpoint.problem.problem import Problem
from counterpoint.result.counterfactuals import Again, Counterfactuals
from counterpoint.result.rescoring import rescore, settle


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
        results[a] = Counterfactuals.of(Archive(one, 1), 0, one, rows[a], search, seed, ())
    if len(todo):
        wanted = (own if isinstance(search, WhatIf) else problem).take(todo)
        archive = run(wanted, search, watch)
        drafts = rescore(archive, wanted) if wanted.predictor.is_accelerated else []
        found = []
        for i, a in enumerate(todo.tolist()):
            one = wanted.alone(np.array([i]))
            again = search_again(one, seed, rows[a])
            notes = notes_on(one)
            found.append(Counterfactuals.of(archive, i, one, rows[a], search, seed, notes, again))
            if drafts:
                own_search = search_again(drafts[i].problem, seed, rows[a])
                found[i] = settle(found[i], drafts[i], own_search)
        results |= zip(todo.tolist(), found if drafts else confirm(found, archive), strict=True)
    return [results[a] for a in range(len(rows))]


def run(problem: Problem, search: Search | WhatIf, watch: Watch) -> Archive:
    """Run the method the settings name."""
    if isinstance(search, WhatIf):
        watch.hear(0, len(problem.rows))
        return take_nearest(problem, search)
    methods = {"explore": explore, "nsga2": evolve, "random": search_randomly}
    return methods[search.method or "explore"](problem, search, watch)


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
    return Counterfactuals.of(
        archive.of_confirmed(i, careful),
        0,
        careful,
        found.row,
        found.search,
        found.seed,
        notes_on(careful),
        search_again(found.problem, found.seed, found.row),  # as it was searched: without labels
    )


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
        f"range [{features[j].shown(space.low[j])}, {features[j].shown(space.high[j])}]; the "
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
    if problem.ruling is None or row[j] < limits.low[j] or row[j] > limits.high[j]:
        return (
            f"the range given for {name!r} excludes the row's own value {feature.shown(row[j])}, "
            "so every counterfactual changes it."
        )
    value = encoding.by_feature(problem.rows.copy())[name].iloc[0]
    return (
        f"the constraints exclude the row's own {name!r} = {value}, so every counterfactual "
        "changes it."
    )
