"""Task: rows to explain, checked and encoded, and their way from a problem to results.

What was found is confirmed as the model's user would ask about it. Where a quick way to ask
disagrees with the model, a row is searched again with the model itself.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.errors import AcceleratorWarning, CounterpointError, InvalidInput
from counterpoint.explainer.building import Built
from counterpoint.explainer.group import (
    Grouping,
    bytes_in_flight,
    bytes_of_result,
    bytes_of_rules,
    plan_groups,
)
from counterpoint.models.predictor import Predictor
from counterpoint.problem.limits import CheckedLimits
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.problem.problem import Domain, Explained, Past, Problem
from counterpoint.problem.target import TargetLike, check_order, parse_target
from counterpoint.progress import Watch
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.facts import Again, Facts, Live
from counterpoint.result.ways import settled
from counterpoint.search.archive import Archive
from counterpoint.search.confirmation import (
    Confirmation,
    Draft,
    complaint,
    confirm,
    edge_of,
    is_at_edge,
    is_close,
    rescore,
)
from counterpoint.search.run import RUNS
from counterpoint.search.settings import Effort, Explore, Search, Variant, WhatIf
from counterpoint.streams import check_seed
from counterpoint.table.frames import Rows
from counterpoint.table.schema import Encoding
from counterpoint.table.space import Space
from counterpoint.table.values import counted

DEFAULT_SEARCH = Explore()
MOST_KEPT = 1024  # rows of which it is kept where rules let them be searched
OTHER_COMPANY = (
    "some candidates reach the target among those of the search, but not alone or as returned; "
    "they are near misses."
)


@dataclass(frozen=True)
class Task:
    """Rows to explain, checked and encoded, with what the model says of them now."""

    frame: pd.DataFrame  # the rows as they were given
    # the same, encoded, with what the model says of them and what it should say
    explained: Explained
    search: Search | WhatIf  # the settings
    seed: int
    limits: CheckedLimits  # what counterfactuals may change, and the rules they must satisfy
    # where each row may be searched; None if there are no rules, or too many rows to keep it
    domain: Domain | None

    @classmethod
    def of(
        cls,
        rows: Rows,
        argument: Literal["row", "rows"],
        target: TargetLike,
        search: Search | WhatIf | None,
        seed: int,
        limits: CheckedLimits,
        built: Built,
    ) -> Task:
        """Check what is asked of `built`, encode the rows and ask the model about them."""
        try:
            frame = built.encoding.as_frame(rows, argument, 5)  # as who called the door wrote it
        except CounterpointError:
            check_order(target, argument)
            raise
        if argument == "row" and len(frame) != 1:
            raise InvalidInput(
                f"row must be one row, got {len(frame)}; use explain_many for several."
            )
        search, seed = check_search(search), check_seed(seed)
        encoding, predictor = built.encoding, built.predictor
        if limits.costs is not None:
            check_costs_apply(built.observed.aims)
        if len(frame) == 0:
            none = np.empty((0, len(encoding.schema)))
            return cls(frame, Explained(none, none, ()), search, seed, limits, None)
        genomes = encoding.encode(frame, argument)
        domain = None
        if limits.rules.rules:
            domain = check_rules(limits, genomes, frame, built.observed.space)
            limits.rules.ask(encoding.to_rows(genomes.copy()))  # a wrong function is told at once
        with predictor.one_thread():
            outputs = outputs_of_rows(predictor, genomes)
            labels = labels_for(target, genomes, predictor.trusted)
            targets = parse_target(target, predictor.classes, outputs, labels)
        explained = Explained(genomes, outputs, tuple(targets))
        return cls(frame, explained, search, seed, limits, domain)


def check_search(search: object) -> Search | WhatIf:
    """Return the search settings, the default for None."""
    if search is None:
        return DEFAULT_SEARCH
    if not isinstance(search, Search | WhatIf):
        example = "Search(evaluations=2000)"
        if isinstance(search, str) and search in get_args(Variant):
            example = f"Search.paper({search!r})"
        elif isinstance(search, str) and search in get_args(Effort):
            example = f"Search(effort={search!r})"
        raise InvalidInput(
            f"search must be a Search, WhatIf or NICE, got {search!r}; for example "
            f"search={example}."
        )
    return search


def check_rules(
    limits: CheckedLimits, genomes: Floats, frame: pd.DataFrame, space: Space
) -> Domain | None:
    """Return where rules let rows (n, d) be searched; refuse rows that they leave nothing.

    All rows are tried before any is searched. Of very many rows the answers are not kept.
    """
    domains = []
    for start in range(0, len(genomes), MOST_KEPT):
        block = slice(start, start + MOST_KEPT)
        try:
            domains.append(Domain.of(genomes[block], space, limits))
        except InvalidInput:
            if len(genomes) > 1:
                _name_row(limits, genomes[block], frame.iloc[block], space)
            raise
    return domains[0] if len(genomes) <= MOST_KEPT else None


def _name_row(limits: CheckedLimits, genomes: Floats, frame: pd.DataFrame, space: Space) -> None:
    """Say which of the rows (n, d) the rules leave nothing."""
    for i in range(len(genomes)):
        try:
            Domain.of(genomes[i : i + 1], space, limits)
        except InvalidInput as error:
            raise InvalidInput(f"of row {frame.index[i]!r}: {error}") from error


def outputs_of_rows(predictor: Predictor, genomes: Floats) -> Floats:
    """Return what the model says of rows (n, d), as its user would ask; quickly where it agrees."""
    own = predictor.own
    outputs = own.blocks(genomes[:, None, :])[:, 0]
    if own.is_quick:
        is_off = ~is_close(outputs, own.plain.in_chunks(genomes)).all(axis=1)
        if is_off.any():
            outputs[is_off] = own.plain.blocks(genomes[is_off][:, None, :])[:, 0]
    return outputs


def labels_for(target: TargetLike, genomes: Floats, predictor: Predictor) -> Ints | None:
    """Return the classes `predict` gives rows (n, d), if "opposite" is asked of a classifier."""
    is_opposite = isinstance(target, str) and target == "opposite"
    if not is_opposite or predictor.classes is None or not predictor.has_decision:
        return None
    return predictor.label_blocks(genomes[:, None, :])[:, 0]


def rows_as_given(task: Task, group: Ints, encoding: Encoding) -> list[Any]:
    """Return rows as they were given; where the data are of polars or pyarrow, as such tables.

    Of an array each is a frame of one row, for a result needs names. Frames of one row are cut out
    of one frame of the group, which is quicker than to take each by itself.
    """
    if encoding.form.kind in ("pandas", "numpy"):
        frame = task.frame.iloc[group]
        return [frame.iloc[i : i + 1] for i in range(len(group))]
    return [encoding.to_rows(task.explained.genomes[[i]]) for i in group]


class Work(NamedTuple):
    """The rows of a call, and who is asked about them."""

    built: Built  # the explainer
    task: Task  # the rows, and what is asked of them

    def problem(self, group: Ints) -> Problem:
        """Set up the problem of a group of rows."""
        built, task = self
        return Problem.of(
            task.explained.take(group),
            built.observed,
            built.predictor,
            task.limits,
            task.seed,
            None if task.domain is None else task.domain.of_rows(group),
        )

    def grouping(self, workers: int, memory: float) -> Grouping:
        """Return how the rows are grouped."""
        built, task = self
        (n, d), n_observed = task.explained.genomes.shape, len(built.observed.genomes)
        n_candidates, is_quick = task.search.most_candidates, built.predictor.is_quick
        row_bytes = bytes_in_flight(d, n_observed, task.search)
        row_bytes += bytes_of_rules(task.limits.rules, n_candidates)
        row_bytes += built.observed.aims.n_bytes(n_candidates)
        result_bytes = bytes_of_result(d, task.search)
        return plan_groups(n, row_bytes, result_bytes, workers, memory, is_quick=is_quick)

    def search(self, group: Ints, watch: Watch) -> list[Counterfactuals]:
        """Search a group of rows in this process."""
        built, task = self
        rows = rows_as_given(task, group, built.encoding)
        with built.predictor.one_thread():
            return explain_group(self.problem(group), task.search, task.seed, rows, watch)


def explain_group(
    problem: Problem,
    search: Search | WhatIf,
    seed: int,
    rows: list[Any],
    watch: Watch,
) -> list[Counterfactuals]:
    """Search the rows of one problem that do not reach their target yet."""
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
    archive = RUNS[type(search)](problem, search, watch)
    drafts = rescore(archive, problem) if problem.predictor.is_accelerated else []
    results: dict[int, Counterfactuals] = {}
    checks: dict[int, Confirmation] = {}
    for a, row in enumerate(rows):
        if not drafts:
            checks[a] = Confirmation(archive, a, problem.alone(np.array([a])), search)
        elif drafts[a].difference <= problem.predictor.tolerance:
            checks[a] = Confirmation(drafts[a].archive, drafts[a].row, drafts[a].problem, search)
        else:
            results[a] = search_anew(drafts[a], problem.predictor.tolerance, search, seed, row)
    confirm(list(checks.values()))
    doubts = {a: check.doubt for a, check in checks.items() if check.doubt}
    for a in checks.keys() - doubts:
        one = problem.alone(np.array([a])) if drafts else checks[a].problem
        notes = notes_on_found(one, checks[a], drafts[a] if drafts else None)
        facts, again = Facts.of(one, search, seed, notes), search_again(one, seed, rows[a])
        results[a] = confirmed(checks[a], facts, rows[a], again, archive.replies(a))
    if doubts:
        results |= search_plainly(problem, doubts, search, seed, rows, watch)
    return [results[a] for a in range(len(rows))]


def confirmed(
    check: Confirmation, facts: Facts, row: Any, again: Again, replies: Floats
) -> Counterfactuals:
    """Return what was found of a row and holds.

    The replies are the search's: one that goes on must recall what it was told.
    """
    problem = replace(check.problem, asks_labels=True) if check.denies_label else check.problem
    found = Counterfactuals.of(check.archive, check.row, row, facts, Live(problem, again))
    codes, predictions = check.told(found.genomes)
    shown = predictions if found.target.is_lead else found.predictions
    trace = replace(found.trace, replies=replies, confirmations=check.n_asked)
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


def search_anew(
    draft: Draft, tolerance: float, search: Any, seed: int, row: Any
) -> Counterfactuals:
    """Search a row with the model itself, with which the accelerator disagreed."""
    warnings.warn(
        f"accelerate='onnx' is not believed: {draft.complaint}, where {tolerance:.2g} is "
        "allowed; the row is searched again with the model itself.",
        AcceleratorWarning,
        stacklevel=2,
    )
    found: Counterfactuals = search_again(draft.problem, seed, row)(search, np.empty(0))
    return found


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
            past = replace(problem, past=Past(replies))
            return explain_group(past, search, seed, [row], Watch())[0]

    return again


def is_met(problem: Problem) -> Bools:
    """Return which rows reach their target already, asked as the model's user would ask."""
    plain, has_labels = problem.predictor.trusted, problem.wants_labels
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


def notes_on_found(one: Problem, check: Confirmation, draft: Draft | None) -> tuple[str, ...]:
    """Return what a careful reader should know of what was found for a row, and how."""
    notes = notes_on(replace(one, asks_labels=True) if check.denies_label else one)
    if check.n_denied and not check.denies_label:
        notes += (OTHER_COMPANY,)
    if draft is not None:
        notes += (
            "candidates were scored by ONNX Runtime, and those returned again by the model itself; "
            f"the greatest difference was {draft.difference:.1g}.",
        )
    return notes


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
