"""Feasibility: which rows the limits and rules allow, of those observed and of those made.

Of the observed rows, those that reach the target within the limits are found by their distance.
Candidates that break written rules are repaired in the kernels. Functions can only be asked, which
is done for all candidates at once; those they refuse are made again with other draws, a few times.
Where nothing feasible was made, the explained row itself fills the place and is no candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys
from counterpoint.kernels import inner, kernel
from counterpoint.neighbours.index import gower_to_all, nearest_first, rough_distances
from counterpoint.problem.problem import Problem
from counterpoint.rules.domains import DOMAIN
from counterpoint.rules.program import Program, Records, compile_rules, make_scratch
from counterpoint.rules.repair import Repair, repair_genome
from counterpoint.streams import MAX_GENERATIONS, WHOLE, Stage, word_at
from counterpoint.table.space import FEATURE, Box, Features, Space

OFTEN_ENOUGH = 8  # of so many times the rows that are wanted, the nearest are looked at first
RETRIES = 7  # how often what is not feasible is made anew
PATIENT = 4  # within rules, how many times as often a new candidate is tried for
REPAIR = np.int64(Stage.REPAIR)


class SearchSpace(NamedTuple):
    """Where each of r rows may be searched, as kernels read it."""

    anchor: Floats  # (r, d): what "unchanged" means: the row's value, or the nearest allowed one
    features: Features  # (r, d): kind, grid and box of each feature; see `FEATURE`
    max_free: Ints  # (r,): how many features may change besides those that must


def search_space(space: Space, box: Box) -> SearchSpace:
    """Return where rows with these features and boxes may be searched."""
    features = np.empty(box.anchor.shape, FEATURE)
    for name in ("is_level", "is_binary", "is_single", "grid", "may_miss"):
        features[name] = getattr(space, name)
    for name in ("anchor", "lower", "upper", "may_change", "is_forced"):
        features[name] = getattr(box, name)
    return SearchSpace(box.anchor, features, box.max_free)


class Candidates(NamedTuple):
    """Candidates of r rows that are not evaluated yet."""

    genomes: Floats  # (r, n, d): the candidates
    # (r, n, d): the use-original indicators: where True, the gene is the row's own value
    keeps: Bools


class RowRepairs(NamedTuple):
    """What the repair of the candidates of r rows works with; see `Repair`."""

    program: Program  # the rules
    rows: Floats  # (r, d): the explained rows
    features: Records  # (r, d): the values the candidates may take
    allowed: Bools  # (r, d, most levels): the levels they may take
    scratch: Records  # space for the work on one genome
    # how many times as often as without rules a new candidate is tried for: repair leads many
    # children to the same genome, so that new ones take longer to be found
    patience: int


def repairs_of(problem: Problem) -> RowRepairs:
    """Return what repairs the candidates of a problem's rows; without rules, an empty program.

    So there is one type of it, and the kernels that are given it are compiled once.
    """
    row_rules, rows = problem.row_rules, np.ascontiguousarray(problem.rows)
    if row_rules is None:
        return no_repairs()._replace(rows=rows)
    program, domains = row_rules.program, row_rules.domains
    scratch = make_scratch(program)
    return RowRepairs(program, rows, domains.features, domains.allowed, scratch, PATIENT)


@cache
def no_repairs() -> RowRepairs:
    """Return the repairs of no row without rules, of which nothing is ever written to."""
    program, nothing = compile_rules([], np.ones(0)), np.zeros((0, 0), DOMAIN)
    allowed = np.zeros((0, 0, 0), dtype=np.bool_)
    return RowRepairs(program, np.zeros((0, 0)), nothing, allowed, make_scratch(program), 1)


def draws_of(generation: int, retry: int) -> int:
    """Return the generation whose draws a retry uses: far from those of all others.

    Examples
    --------
    >>> draws_of(3, retry=0), draws_of(3, retry=1)
    (3, 524291)
    """
    n = MAX_GENERATIONS + 1
    return (generation + retry * (n // (RETRIES + 1))) % n


@inner
def repair_candidate(genome: Floats, w: int, repairs: RowRepairs, state: Keys) -> bool:
    """Repair a genome of row w in place; return whether it satisfies the written rules now."""
    if len(repairs.program.rules) == 0:
        return True
    repair = Repair(
        repairs.program,
        repairs.rows[w],
        repairs.features[w],
        repairs.allowed[w],
        repairs.scratch,
        state,
    )
    return repair_genome(genome, repair)


@kernel
def _repair_all(
    genomes: Floats, repairs: RowRepairs, keys: Keys, generation: int, state: Keys, is_good: Bools
) -> None:
    """Repair genomes (r, n, d) in place, and write which of them are good now."""
    for a in range(genomes.shape[0]):
        for i in range(genomes.shape[1]):
            state[0] = word_at(keys[a], REPAIR, generation, i, WHOLE)
            is_good[a, i] = repair_candidate(genomes[a, i], a, repairs, state)


def repaired(problem: Problem, candidates: Candidates, generation: int) -> tuple[Candidates, Bools]:
    """Return candidates repaired, and which of them (r, n) are feasible."""
    repairs, genomes = repairs_of(problem), np.ascontiguousarray(candidates.genomes).copy()
    is_good = np.ones(genomes.shape[:2], dtype=np.bool_)
    if len(repairs.program.rules):
        state = np.zeros(1, dtype=np.uint64)
        _repair_all(genomes, repairs, problem.keys, generation, state, is_good)
    is_good &= problem.accepts(genomes, is_good)
    return Candidates(genomes, candidates.keeps & (genomes == problem.box.anchor[:, None])), is_good


def feasible(
    problem: Problem, make: Callable[[int], Candidates], generation: int
) -> tuple[Candidates, Bools | None]:
    """Return feasible candidates, and which places (r, n) they fill; None if all.

    `make` makes candidates with the draws of a generation, always of the same shape. Where nothing
    feasible was made, the row itself stands, which is no candidate.
    """
    made = make(generation)
    if problem.row_rules is None:
        return made, None
    made, is_good = repaired(problem, made, generation)
    for retry in range(1, RETRIES + 1):
        if is_good.all():
            break
        draws = draws_of(generation, retry)
        other, is_better = repaired(problem, make(draws), draws)
        fills = (is_better & ~is_good)[..., None]
        made = Candidates(
            *(np.where(fills, new, old) for new, old in zip(other, made, strict=True))
        )
        is_good |= is_better
    genomes = np.where(is_good[..., None], made.genomes, problem.rows[:, None])
    return Candidates(genomes, made.keeps | ~is_good[..., None]), is_good


def nearest_wanted(problem: Problem, n: int) -> tuple[Ints, Ints]:
    """Return the n nearest distinct observed rows (r, n) each row may become, and their number.

    They reach the row's target and obey its limits; where there are fewer, index 0 pads.
    """
    wanted = np.zeros((len(problem.rows), n), dtype=np.int64)
    n_wanted = np.zeros(len(problem.rows), dtype=np.int64)
    for a in range(len(problem.rows)):
        nearest = nearest_wanted_of(problem, a, n)
        wanted[a, : len(nearest)], n_wanted[a] = nearest, len(nearest)
    return wanted, n_wanted


def nearest_wanted_of(problem: Problem, a: int, n: int) -> Ints:
    """Return the n nearest distinct observed rows row a may become: of those at hand if they do."""
    near_rows, indexed = problem.near_rows, problem.observed.indexed
    at, n_near = near_rows.at[a], near_rows.n_near
    for n_first in sorted({min(OFTEN_ENOUGH * n, n_near), n_near}):
        horizon = near_rows.horizon[at]
        if n_first < n_near:
            horizon = float(near_rows.radius[at, n_first - 1]) - indexed.slack
        nearest = _nearest_among(problem, a, n, near_rows.order[at, :n_first], horizon)
        if nearest is not None:
            return nearest
    reaching = np.flatnonzero(is_reaching(problem, a, indexed.which))
    distances = rough_distances(problem.rows[[a]], indexed, near_rows.weight[[at]], near_rows.cap)[
        0
    ]
    distances = distances[reaching]
    while nearest is None:
        near = nearest_first(distances, min(n_near, len(reaching)))
        is_all = len(near) == len(reaching)
        horizon = np.inf if is_all else distances[near[-1]] - indexed.slack
        nearest = _nearest_among(problem, a, n, reaching[near], horizon)
        n_near *= 4
    return nearest


def _nearest_among(problem: Problem, a: int, n: int, places: Ints, horizon: float) -> Ints | None:
    """Return the n nearest distinct observed rows row a may become, if they are among `places`.

    These are indexed rows; all others are at least as far as `horizon`.
    """
    near_rows, indexed = problem.near_rows, problem.observed.indexed
    wanted = np.sort(places[is_wanted(problem, a, indexed.which[places])])
    weight, row = near_rows.weight[near_rows.at[a]], problem.rows[a]
    distances = gower_to_all(row, indexed.genomes[wanted], weight, near_rows.cap)
    order = np.argsort(distances, kind="stable")
    nearest = first_distinct(indexed.genomes, wanted[order[distances[order] < horizon]], n)
    return indexed.which[nearest] if len(nearest) == n or horizon == np.inf else None


def first_distinct(genomes: Floats, order: Ints, n: int) -> Ints:
    """Return the first n of `order` whose genomes differ: rows that repeat answer once."""
    chosen: dict[bytes, int] = {}
    for i in order.tolist():
        chosen.setdefault(genomes[i].tobytes(), i)
        if len(chosen) == n:
            break
    return np.array(list(chosen.values()), dtype=np.int64)


def observed_predictions(problem: Problem, a: int, which: Ints | slice) -> Floats:
    """Return the scores of some of the observed rows, in terms of row a's target."""
    return problem.targets[a].score(problem.observed.outputs[which])


def meets_target(problem: Problem, a: int, which: Ints | slice) -> Bools:
    """Return which of these observed rows reach row a's target; `predict` decides on classes."""
    target = problem.targets[a]
    if target.is_decision:
        reaches: Bools = target.accepts_label(problem.predictor.observed_labels[which])
        return reaches
    predictions = observed_predictions(problem, a, which)
    return (predictions >= target.low) & (predictions <= target.high)


def is_reaching(problem: Problem, a: int, which: Ints | slice) -> Bools:
    """Return which of these observed rows reach row a's target and lack no value.

    A search begins with complete rows only.
    """
    reaches = meets_target(problem, a, which)
    if problem.observed.has_missing:
        reaches &= problem.observed.is_complete[which]
    return reaches


def is_wanted(problem: Problem, a: int, which: Ints) -> Bools:
    """Return which of these observed rows reach row a's target and obey its limits and rules."""
    wanted = is_reaching(problem, a, which)
    reaching = np.flatnonzero(wanted)  # often few: only these are compared with the limits
    genomes = problem.observed.genomes.take(which[reaching], axis=0)
    wanted[reaching] = is_allowed(problem, a, genomes)
    return wanted


def is_allowed(problem: Problem, a: int, genomes: Floats) -> Bools:
    """Return which genomes (n, d) row a's limits and rules allow."""
    box, row, limits = problem.box, problem.rows[a], problem.limits
    obeys: Bools = (genomes[:, limits.is_fixed] == row[limits.is_fixed]).all(axis=1)
    is_inside = (genomes >= box.lower[a]) & (genomes <= box.upper[a])
    if problem.row_rules is not None or problem.observed.has_missing:
        # Rules can leave the row's own value beside the box, and no box holds a missing one.
        is_inside |= (genomes == row) & ~box.is_forced[a]
    obeys &= is_inside.all(axis=1)
    obeys &= (genomes != row).sum(axis=1) <= limits.max_changed
    if problem.row_rules is not None:
        within, alone = np.flatnonzero(obeys), problem.alone(np.array([a]))
        obeys[within] = alone.obeys(genomes[None, within])[0]
    return obeys
