"""Groups of rows: how many are searched side by side, and each from problem to results.

A model scores a thousand candidates in one call far faster than in fifty calls. So rows are
searched side by side, generation by generation, and groups of rows on several threads, within a
memory limit: kernels and most models release Python's lock. Where they do not, other processes take
the place of threads (`explainer/processes.py`). What is found for a row depends on nothing of this.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.checks import check_number, check_whole
from counterpoint.errors import AcceleratorWarning, InvalidInput
from counterpoint.neighbours.index import SINGLE, bytes_per_near_row
from counterpoint.neighbours.nearest import NEAR
from counterpoint.problem.problem import Past, Problem
from counterpoint.progress import Watch, stopped_by_signals
from counterpoint.result.counterfactuals import Counterfactuals, settled
from counterpoint.result.facts import Again, Facts, Live
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
from counterpoint.search.settings import Search, WhatIf
from counterpoint.table.values import counted

MEMORY = 4.0  # GiB a call may use for rows in flight and for results, unless told otherwise
MOST_TOGETHER = 128  # rows in one group: more fill no larger calls worth having, but spill caches
GIB = 2.0**30
MOST_MEMORY = 2.0**20  # GiB: no limit at all

SearchGroup = Callable[[Ints], list[Counterfactuals]]
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
    archive = RUNS[type(search)](problem, search, watch)
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
    """Return what was found, without what was denied."""
    if check.n_denied:
        problem, n_own = check.problem, len(notes_on(check.problem))
        problem = replace(problem, asks_labels=True) if check.denies_label else problem
        notes = (*notes_on(problem), *(() if check.denies_label else (OTHER_COMPANY,)))
        notes = (*notes, *found.notes[n_own:])
        found = drawn_again(found, check.archive, check.row, problem, notes)
    codes, predictions = check.told(found.genomes)
    shown = predictions if found.target.is_lead else found.predictions
    trace = replace(found.trace, confirmations=check.n_asked)
    found = replace(found, codes=codes, predictions=shown, trace=trace, way_rows=check.ways_told())
    return found if found.proof is None else settled(found)


def drawn_again(
    found: Counterfactuals, archive: Archive, a: int, problem: Problem, notes: tuple[str, ...]
) -> Counterfactuals:
    """Return the result of row a of an archive in which the model itself has scored candidates.

    The replies stay the search's: one that goes on must recall what it was told.
    """
    facts = replace(found.facts, notes=notes)
    live = Live(problem, found.live.again if found.live is not None else None)
    drawn = Counterfactuals.of(archive, a, found.row, facts, live)
    return replace(drawn, trace=replace(drawn.trace, replies=found.trace.replies))


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
            return explain_group(replace(problem, past=Past(replies)), search, seed, [row])[0]

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


def settle(found: Counterfactuals, draft: Draft, own_search: Again) -> Counterfactuals:
    """Return what the accelerator found, as the model scores it; search again if they disagree."""
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
    return drawn_again(found, draft.archive, draft.row, draft.problem, (*found.notes, note))


@dataclass(frozen=True)
class Grouping:
    """How many rows are searched side by side, and what that takes."""

    n_rows: int  # rows to explain
    together: int  # rows in one group
    workers: int  # groups searched at a time
    row_bytes: int  # most memory of one row in flight
    result_bytes: int  # estimated memory of one row's result

    @property
    def groups(self) -> list[Ints]:
        """The rows of each group, by position."""
        starts = range(0, self.n_rows, self.together)
        return [np.arange(i, min(i + self.together, self.n_rows)) for i in starts]


def plan_groups(
    n_rows: int,
    d: int,
    n_observed: int,
    search: Search | WhatIf,
    workers: int,
    memory: float,
    row_extra: int = 0,
) -> Grouping:
    """Choose the size of the groups so that all in flight fit into half of `memory` GiB.

    The other half is for the model and for results that wait to be taken. `row_extra` is what a
    row needs for its rules.
    """
    row_bytes = bytes_in_flight(d, n_observed, search) + row_extra
    room = int(min(memory, MOST_MEMORY) * GIB / 2)
    if row_bytes > room:
        raise InvalidInput(
            f"memory={memory:g} GiB is too little: the search of one row takes up to "
            f"{2 * row_bytes / GIB:.2g} GiB; raise memory or lower evaluations."
        )
    workers = max(1, min(workers, n_rows, room // row_bytes))
    most = min(MOST_TOGETHER, room // (workers * row_bytes), -(-n_rows // workers))
    return Grouping(n_rows, max(1, most), workers, row_bytes, bytes_of_result(d, search))


def bytes_in_flight(d: int, n_observed: int, search: Search | WhatIf) -> int:
    """Return the most memory the search of one row takes: its candidates and its near rows."""
    n = search.most_candidates
    candidates = n * (8 * (d + 12) + 32)  # genomes, objectives, front, indices, memory of hashes
    near = bytes_per_near_row(d) * min(n_observed, NEAR)
    return candidates + near + SINGLE * n_observed  # its distances to all, from which near ones are


def bytes_of_result(d: int, search: Search | WhatIf) -> int:
    """Return about what one result takes: a third of the candidates, a trace, and all replies."""
    n = search.most_candidates
    return 4096 + 8 * n + 8 * (d + 10) * (n // 3 + 1)


def check_results_fit(grouping: Grouping, memory: float) -> None:
    """Refuse to gather more results than fit into `memory` GiB, with the estimate."""
    needed = grouping.n_rows * grouping.result_bytes / GIB
    if needed > memory:
        raise InvalidInput(
            f"the results of {grouping.n_rows:,} rows would take about {needed:.2g} GiB, more than "
            f"memory={memory:g} allows; use explain_each, which yields one result after the other, "
            "or raise memory."
        )


def check_memory(memory: object) -> float:
    """Return the memory limit in GiB, or say what it should be."""
    return check_number("memory", memory, 0.0, above=True, unit="GiB")


def check_workers(workers: object, *, is_shared: bool) -> int:
    """Return the number of threads; None means all cores if the model may be shared among them."""
    if workers is None:
        return n_cores() if is_shared else 1
    return check_whole("workers", workers, 1, said="of at least 1, or None for all cores")


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_start() -> bool:
    """Whether this interpreter can start another: not where it is part of a program, or Windows."""
    python = Path(sys.executable or "").name.lower()
    is_own = python.startswith("python") and not getattr(sys, "frozen", False)
    return is_own and os.name == "posix"


def search_groups(
    grouping: Grouping, search_group: SearchGroup, watch: Watch
) -> Iterator[list[Counterfactuals]]:
    """Yield the results of each group in order, until all are searched or `watch` says stop.

    Then the groups in flight end with the best so far, and no other is begun.
    """
    if grouping.workers == 1:
        for group in grouping.groups:
            if watch.is_stopped:
                return
            with stopped_by_signals(watch):
                results = search_group(group)
            yield results
        return
    with ThreadPoolExecutor(grouping.workers) as pool:
        try:
            yield from _in_order(pool, grouping, search_group, watch)
        finally:  # also when the caller takes no more: nothing goes on unseen
            watch.stop()
            pool.shutdown(cancel_futures=True)


def _in_order(
    pool: ThreadPoolExecutor, grouping: Grouping, search_group: SearchGroup, watch: Watch
) -> Iterator[list[Counterfactuals]]:
    """Yield the groups in order; one more than there are threads may be begun, none waits idly."""
    waiting = deque(grouping.groups)
    begun: deque[Future[list[Counterfactuals]]] = deque()
    while (waiting and not watch.is_stopped) or begun:
        while waiting and len(begun) <= grouping.workers and not watch.is_stopped:
            begun.append(pool.submit(search_group, waiting.popleft()))
        with stopped_by_signals(watch):
            results = begun.popleft().result()
        yield results
