"""Laws of the moves, of obeying limits, of memory and of choosing parents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.kernels import called
from tests.strategies import every_kind, generator, limits_of_every_kind, rows_of_every_kind

import counterpoint as cp
from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.neighbours.gower import terms
from counterpoint.neighbours.index import gower_weights
from counterpoint.problem.objectives import CHANGES, GAP
from counterpoint.problem.problem import Problem
from counterpoint.search.archive import empty_front
from counterpoint.search.explore import moves
from counterpoint.search.explore.knowledge import empty_classes
from counterpoint.search.explore.moves import (
    N_PARTS,
    NEAR_MISS,
    VALID,
    ArchiveView,
    Draws,
    ParentClasses,
    RowSpace,
)
from counterpoint.search.feasibility import search_space
from counterpoint.search.front import LANES
from counterpoint.search.nsga2.loop import random_candidates
from counterpoint.streams import row_keys
from counterpoint.table import space as memory
from counterpoint.table.space import empty_memory

COMPILED = settings(deadline=None, max_examples=60)  # the first call compiles
WHOLE, TENTH, REAL, SINGLE, KIND, TWO, GRADE = range(7)
KEYS = row_keys(0, np.array([[1.0]]))
SLOPES = np.array([[0.5, -0.1, 1e-9, 0.0, 1.0, 1.0, -2.0], [1e-320, 0.3, -3.0, 0.2, 1.0, 1.0, 0.7]])

start_draws, draw = called(moves.start_draws), called(moves.draw)
put_back, rescale, redraw = called(moves.put_back), called(moves.rescale), called(moves.redraw)
step_to_boundary = called(moves.step_to_boundary)
slide_to_boundary = called(moves.slide_to_boundary)
follow, mix = called(moves.follow), called(moves.mix)
most_different = called(moves.most_different)
MOVES = {
    "put_back": put_back,
    "rescale": rescale,
    "step_to_boundary": step_to_boundary,
    "slide_to_boundary": slide_to_boundary,
    "follow": follow,
    "mix": mix,
    "redraw": redraw,
}
keep_limits, remember = called(moves.keep_limits), called(memory.remember)
choose_parent, classify = called(moves.choose_parent), called(moves.classify)


DATA = every_kind()
EXPLAINER = cp.Explainer(lambda rows: rows["whole"] / 100.0, DATA)
OBSERVED = EXPLAINER.observed.genomes


def problem_of(row: dict[str, Any], seed: int = 0, **limits: Any) -> Problem:
    """Set up one row's problem as a search would."""
    tiny = cp.Search(population=2, generations=0)
    return EXPLAINER.explain(row, (0.5, 1.0), tiny, seed, **limits).problem


def space_of(problem: Problem) -> RowSpace:
    allowed, free = search_space(problem.space, problem.box), problem.box.may_change[0]
    return RowSpace(
        allowed.anchor[0],
        allowed.features[0],
        np.flatnonzero(free),
        int(allowed.max_free[0]),
        np.empty(len(free), dtype=np.int64),
    )


def draws_of(child: int, wave: int = 0) -> Draws:
    draws = Draws(np.zeros(1, dtype=np.uint64))
    start_draws(draws, KEYS[0], wave, child)
    return draws


def parents_of(problem: Problem, n: int) -> Floats:
    """Return candidates (n, d) that obey every limit."""
    genomes: Floats = random_candidates(problem, problem.box, n, generation=0).genomes[0]
    return genomes


def scale_of(problem: Problem) -> tuple[Floats, Floats]:
    """Return weight and cap of Gower's distance around the row."""
    weight, cap = gower_weights(problem.rows, problem.space)
    return weight[0], cap


def moved(problem: Problem, seed: int, name: str, n: int = 8) -> tuple[Floats, Floats]:
    """Return parents and what the named move makes of them."""
    space, parents = space_of(problem), parents_of(problem, n)
    children = parents.copy()
    for i, child in enumerate(children):
        draws = draws_of(i, seed)
        share = draw(draws) * 4.0
        arguments: dict[str, tuple[Any, ...]] = {
            "step_to_boundary": (share,),
            "slide_to_boundary": (share - 2.0, SLOPES),
            "follow": (OBSERVED[i], *scale_of(problem)),
            "mix": (parents[i - 1],),
        }
        MOVES[name](child, *arguments.get(name, ()), space, draws)
    return parents, children


def is_on_grid(genomes: Floats, problem: Problem) -> Bools:
    grid, space = np.where(problem.space.grid > 0, problem.space.grid, 1.0), problem.space
    nearest = np.rint(genomes * grid) / grid
    nearest = np.where(space.is_single, nearest.astype(np.float32), nearest)
    emitted = np.where(space.is_single, genomes.astype(np.float32), genomes) == genomes
    on_grid: Bools = ((nearest == genomes) | (space.grid == 0)) & emitted
    return on_grid


@COMPILED
@given(row=rows_of_every_kind(), limit=limits_of_every_kind(), seed=st.integers(0, 999))
def test_a_move_stays_in_the_box_on_the_grid_and_off_what_may_not_change(
    row: dict[str, Any], limit: dict[str, Any], seed: int
) -> None:
    """Every move is tried on each problem: to set one up takes longer than to move."""
    problem = problem_of(row, seed, **limit)
    if not problem.box.may_change.any():
        return
    for name in MOVES:
        parents, children = moved(problem, seed, name)

        box = problem.box
        is_anchor = children == box.anchor[0]
        in_box = (children >= box.lower[0]) & (children <= box.upper[0])
        assert (in_box | is_anchor).all(), name
        assert (is_on_grid(children, problem) | is_anchor).all(), name
        assert (children == parents)[:, ~box.may_change[0]].all(), name


@COMPILED
@given(row=rows_of_every_kind(), limit=limits_of_every_kind(), seed=st.integers(0, 999))
def test_putting_back_brings_one_or_two_features_to_the_row_and_moves_no_other(
    row: dict[str, Any], limit: dict[str, Any], seed: int
) -> None:
    problem = problem_of(row, seed, **limit)

    parents, children = moved(problem, seed, "put_back")

    is_moved = children != parents
    anchors = np.broadcast_to(problem.box.anchor[0], children.shape)
    np.testing.assert_array_equal(children[is_moved], anchors[is_moved])
    could = ((parents != anchors) & problem.box.may_change[0]).sum(axis=1)
    assert (is_moved.sum(axis=1) >= np.minimum(could, 1)).all()
    assert (is_moved.sum(axis=1) <= 2).all()


@COMPILED
@given(row=rows_of_every_kind(), limit=limits_of_every_kind(), seed=st.integers(0, 999))
def test_rescaling_changes_at_most_one_feature_that_had_changed(
    row: dict[str, Any], limit: dict[str, Any], seed: int
) -> None:
    problem = problem_of(row, seed, **limit)

    parents, children = moved(problem, seed, "rescale")

    is_moved = children != parents
    assert (is_moved.sum(axis=1) <= 1).all()
    assert (parents != problem.box.anchor[0])[is_moved].all()


@COMPILED
@given(row=rows_of_every_kind(), seed=st.integers(0, 999))
def test_following_moves_at_most_three_features_and_only_towards_the_observed_row(
    row: dict[str, Any], seed: int
) -> None:
    problem = problem_of(row, seed)

    parents, children = moved(problem, seed, "follow")

    goals, is_moved = OBSERVED[: len(children)], children != parents
    slack = np.where(problem.space.grid > 0, 0.5 / np.maximum(problem.space.grid, 1.0), 0.0)
    low, high = np.minimum(parents, goals) - slack, np.maximum(parents, goals) + slack
    assert (is_moved.sum(axis=1) <= moves.MOST_FOLLOWED).all()
    assert ((children >= low - 1e-9) & (children <= high + 1e-9)).all()
    is_level = np.broadcast_to(problem.space.is_level, children.shape)
    np.testing.assert_array_equal(children[is_moved & is_level], goals[is_moved & is_level])


@COMPILED
@given(row=rows_of_every_kind(), limit=limits_of_every_kind(), seed=st.integers(0, 999))
def test_what_differs_most_is_a_feature_that_may_change_and_no_such_one_is_farther_apart(
    row: dict[str, Any], limit: dict[str, Any], seed: int
) -> None:
    problem = problem_of(row, seed, **limit)
    space, (weight, cap) = space_of(problem), scale_of(problem)
    for genome, goal in zip(parents_of(problem, 8), OBSERVED, strict=False):
        apart = terms(genome, goal, weight, cap)[space.free]

        j = most_different(genome, goal, weight, cap, space)

        if apart.max(initial=0.0) == 0.0:
            assert j == -1
        else:
            assert j == space.free[np.argmax(apart)]


def test_half_of_those_who_follow_take_what_differs_most() -> None:
    """Of seven features one differs by all of its range, the others by little."""
    problem = middle()
    space, own = space_of(problem), problem.rows[0]
    goal = own + 0.01
    goal[KIND] = 3.0
    children = np.repeat(own[None], 2000, axis=0)

    for i, child in enumerate(children):
        follow(child, goal, *scale_of(problem), space, draws_of(i))

    is_taken = children[:, KIND] == goal[KIND]
    by_chance = np.mean([1 / 7, 2 / 7, 3 / 7])
    assert is_taken.mean() == pytest.approx(0.5 + 0.5 * by_chance, abs=0.05)


@COMPILED
@given(row=rows_of_every_kind(), limit=limits_of_every_kind(), seed=st.integers(0, 999))
def test_mixing_takes_every_value_from_one_of_the_two_parents(
    row: dict[str, Any], limit: dict[str, Any], seed: int
) -> None:
    problem = problem_of(row, seed, **limit)

    parents, children = moved(problem, seed, "mix")

    assert ((children == parents) | (children == np.roll(parents, 1, axis=0))).all()


def middle() -> Problem:
    """Return a row in the middle of everything."""
    row = {"whole": 5, "tenth": 0.0, "real": 0.0, "single": 0.5}
    return problem_of(row | {"kind": "b", "two": "no", "grade": "mid"})


def test_mixing_adds_all_changes_of_the_other_or_takes_each_feature_half_of_the_time() -> None:
    problem = middle()
    space, own = space_of(problem), problem.rows[0]
    lower, upper = space.features["lower"], space.features["upper"]
    other = np.where(own == lower, upper, lower)
    children = np.repeat(own[None], 2000, axis=0)

    for i, child in enumerate(children):
        mix(child, other, space, draws_of(i))

    is_taken = children == other
    is_sum = is_taken.all(axis=1)
    assert is_sum.mean() == pytest.approx(0.5 + 0.5 / 2**7, abs=0.04)
    assert is_taken[~is_sum].mean() == pytest.approx(0.5, abs=0.03)


def test_mixing_in_all_changes_keeps_those_the_other_lacks() -> None:
    problem = middle()
    space, own = space_of(problem), problem.rows[0]
    mine, other = own.copy(), own.copy()
    mine[WHOLE], other[KIND] = 9.0, 3.0
    children = np.repeat(mine[None], 400, axis=0)

    for i, child in enumerate(children):
        mix(child, other, space, draws_of(i))

    n_both = ((children[:, WHOLE] == 9.0) & (children[:, KIND] == 3.0)).mean()
    assert n_both == pytest.approx(0.5 + 0.5 / 4, abs=0.08)


def test_redrawing_reaches_both_bounds_and_every_level() -> None:
    problem = middle()
    space, start = space_of(problem), problem.rows[0]
    children = np.repeat(start[None], 6000, axis=0)

    for i, child in enumerate(children):
        redraw(child, space, draws_of(i))

    lower, upper = space.features["lower"], space.features["upper"]
    for j in range(7):
        seen = set(children[:, j])
        assert {lower[j], upper[j]} <= seen
        if j in (WHOLE, KIND, TWO, GRADE):
            assert seen == set(np.arange(lower[j], upper[j] + 1))
    n_redrawn = (children != start).sum(axis=1)
    assert n_redrawn.max() == 1


def test_redrawn_levels_are_even() -> None:
    problem = middle()
    space = space_of(problem)._replace(free=np.array([KIND]))
    children = np.repeat(problem.rows, 3000, axis=0)

    for i, child in enumerate(children):
        redraw(child, space, draws_of(i))

    assert stats.chisquare(np.bincount(children[:, KIND].astype(np.int64))).pvalue > 1e-3


@COMPILED
@given(
    weights=st.tuples(*[st.floats(0.2, 2.0)] * 3),
    ends=st.tuples(*[st.floats(0.3, 1.0)] * 3),
    needed=st.floats(0.05, 0.9),
    child=st.integers(0, 999),
)
def test_a_step_to_the_boundary_of_a_linear_model_lands_just_beyond_it(
    weights: tuple[float, ...], ends: tuple[float, ...], needed: float, child: int
) -> None:
    """The score is 0 at the row; the parent gains some, of which a share would be enough."""
    data = pd.DataFrame(generator(2).uniform(0.0, 1.0, (30, 3)), columns=list("abc"))
    data.iloc[0], data.iloc[1] = 0.0, 3.0
    linear = cp.Explainer(lambda rows: rows.to_numpy() @ np.array(weights), data)
    row = {"a": 0.0, "b": 0.0, "c": 0.0}
    problem = linear.explain(row, (99.0, None), cp.Search(population=2, generations=0)).problem
    genome = np.array(ends)
    gained = float(genome @ weights)
    boundary = needed * gained

    step_to_boundary(genome, boundary / gained, space_of(problem), draws_of(child))

    score = float(genome @ weights)
    assert boundary <= score <= 1.12 * boundary


@COMPILED
@given(row=rows_of_every_kind(), limit=limits_of_every_kind(), seed=st.integers(0, 999))
def test_sliding_to_the_boundary_moves_at_most_one_number_that_had_changed(
    row: dict[str, Any], limit: dict[str, Any], seed: int
) -> None:
    problem = problem_of(row, seed, **limit)

    parents, children = moved(problem, seed, "slide_to_boundary")

    is_moved = children != parents
    assert (is_moved.sum(axis=1) <= 1).all()
    assert (parents != problem.box.anchor[0])[is_moved].all()
    assert not is_moved[:, problem.space.is_level].any()


@COMPILED
@given(
    start=st.floats(-2.0, 2.0).filter(lambda x: abs(x) > 0.1),
    missing=st.floats(-0.5, 0.5),
    slope=st.sampled_from([-1.5, -0.8, 0.8, 1.5]),
    child=st.integers(0, 999),
)
def test_a_slide_along_a_known_slope_ends_on_the_wanted_side_of_the_boundary(
    start: float, missing: float, slope: float, child: int
) -> None:
    """It gains what was missing and up to 10 % more, or gives back not quite all it had."""
    problem = middle()
    genome, slopes = problem.rows[0].copy(), np.full((2, 7), np.nan)
    genome[REAL] = start
    slopes[int(start > 0.0), REAL] = slope
    wide = space_of(problem)
    wide.features["lower"] -= 9.0
    wide.features["upper"] += 9.0

    slide_to_boundary(genome, missing, slopes, wide, draws_of(child))

    gained = slope * (genome[REAL] - start)
    assert missing - 1e-9 <= gained <= missing + 0.1 * abs(missing) + 1e-9


@pytest.mark.parametrize(("share", "factor"), [(0.0, 0.01), (1e9, moves.FARTHEST)])
def test_a_step_to_the_boundary_is_never_far_off(share: float, factor: float) -> None:
    problem = middle()
    genome = problem.rows[0].copy()
    genome[REAL] += 0.25

    step_to_boundary(genome, share, space_of(problem), draws_of(0))

    assert genome[REAL] == pytest.approx(problem.rows[0, REAL] + factor * 0.25)


@COMPILED
@given(row=rows_of_every_kind(), limit=limits_of_every_kind(), seed=st.integers(0, 999))
def test_whatever_was_made_obeys_the_limits_afterwards(
    row: dict[str, Any], limit: dict[str, Any], seed: int
) -> None:
    problem = problem_of(row, seed, **limit)
    box, genomes = problem.box, OBSERVED[:20].copy()
    genomes = np.clip(genomes, box.lower[0], box.upper[0])
    before, space = genomes.copy(), space_of(problem)

    for i, genome in enumerate(genomes):
        keep_limits(genome, space, draws_of(i, seed))

    is_fixed, own = problem.limits.is_fixed, problem.rows[0]
    assert (genomes[:, is_fixed] == own[is_fixed]).all()
    assert ((genomes != own).sum(axis=1) <= problem.limits.max_changed).all()
    assert ((genomes == before) | (genomes == box.anchor[0])).all()
    n_free = ((before != box.anchor[0]) & ~box.is_forced[0] & box.may_change[0]).sum(axis=1)
    n_left = ((genomes != box.anchor[0]) & ~box.is_forced[0]).sum(axis=1)
    np.testing.assert_array_equal(n_left, np.minimum(n_free, box.max_free[0]))


def test_surplus_changes_are_put_back_evenly() -> None:
    space = space_of(middle())._replace(max_free=2)
    n_kept, anchor = np.zeros(7), space.anchor

    for i in range(2000):
        genome = anchor + 1.0
        keep_limits(genome, space, draws_of(i))
        n_kept += genome != anchor

    assert n_kept.sum() == 2 * 2000
    assert stats.chisquare(n_kept).pvalue > 1e-3


@COMPILED
@given(
    genomes=st.lists(st.tuples(*[st.sampled_from([-0.0, 0.0, 0.5, 1.0, -1.0])] * 3), max_size=60)
)
def test_a_genome_is_new_exactly_once(genomes: list[tuple[float, ...]]) -> None:
    """Python's own set agrees: -0.0 equals 0.0 there too."""
    table, seen = empty_memory(1, max(len(genomes), 1))[0], set[tuple[float, ...]]()

    for genome in genomes:
        assert remember(table, np.array(genome)) == (genome not in seen)
        seen.add(genome)

    assert np.count_nonzero(table) == len(seen)


@pytest.mark.parametrize("n", [1, 2, 3, 511, 512, 513, 4000])
def test_memory_holds_all_it_has_room_for_and_is_at_most_half_full(n: int) -> None:
    """Neighbouring genomes: a poor hash would pile them up or confuse them."""
    table = empty_memory(1, n)[0]
    genomes = np.column_stack([np.arange(n) // 60, np.arange(n) % 60]).astype(np.float64)

    first = [remember(table, genome) for genome in genomes]
    second = [remember(table, genome) for genome in genomes]

    assert all(first)
    assert not any(second)
    assert np.count_nonzero(table) == n <= len(table) // 2


ODDS = 1.0 / np.maximum(np.arange(4), 1)


def classes_of(sizes: list[list[int]]) -> ParentClasses:
    """Return classes with so many members; the members are numbered class by class."""
    size = np.array(sizes, dtype=np.int64)
    odds = np.where(size > 0, ODDS, 0.0).sum(axis=1)
    start, kind = np.cumsum(size) - size.ravel(), np.empty(0, dtype=np.int32)
    at = np.zeros((N_PARTS, size.size), dtype=np.int64)
    return ParentClasses(np.arange(size.sum()), start, size.ravel(), kind, at, odds)


def chosen(classes: ParentClasses, p_valid: float, odds: Floats, n: int = 6000) -> Ints:
    return np.array([choose_parent(classes, p_valid, odds, draws_of(i)) for i in range(n)])


def test_parents_are_valid_as_often_as_wanted_and_of_few_changes_as_the_odds_say() -> None:
    """Within a class every member is as likely as another, however many there are."""
    classes = classes_of([[0, 2, 10, 3], [0, 40, 0, 1]])

    counts = np.bincount(chosen(classes, 0.4, ODDS), minlength=56)

    of_valid, of_missing = ODDS[1:] / ODDS[1:].sum(), ODDS[[1, 3]] / ODDS[[1, 3]].sum()
    per_class = [*(0.4 * of_valid), *(0.6 * of_missing)]
    shares = np.repeat(np.array(per_class) / [2, 10, 3, 40, 1], [2, 10, 3, 40, 1])
    assert stats.chisquare(counts, shares * counts.sum()).pvalue > 1e-3
    assert counts[:15].sum() / counts.sum() == pytest.approx(0.4, abs=0.025)


@pytest.mark.parametrize("p_valid", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("sizes", [[[0, 3, 1, 0], [0] * 4], [[0] * 4, [0, 0, 2, 2]]])
def test_where_one_sort_is_missing_parents_are_of_the_other(
    sizes: list[list[int]], p_valid: float
) -> None:
    classes = classes_of(sizes)

    parents = chosen(classes, p_valid, ODDS, n=300)

    assert set(parents) == {0, 1, 2, 3}


@COMPILED
@given(
    kinds=st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=30),
    seed=st.integers(0, 99),
)
def test_members_are_sorted_by_whether_they_reach_the_target_and_by_their_changes(
    kinds: list[tuple[bool, int]], seed: int
) -> None:
    n = len(kinds)
    front, members = empty_front(1, n, 4), generator(seed).permutation(n)[None]
    for k, (is_valid, changes) in enumerate(kinds):
        front[0, k // LANES, :, k % LANES] = 0.5
        front[0, k // LANES, GAP, k % LANES] = 0.0 if is_valid else 0.1
        front[0, k // LANES, CHANGES, k % LANES] = changes
    size = np.array([n])
    archive = ArchiveView(np.zeros((1, n, 3)), np.zeros((1, n)), front, members, size, size)

    classes = empty_classes(n, d=3)

    n_classified = classify(archive, 0, ODDS, classes)

    for sort in (VALID, NEAR_MISS):
        odds = 0.0
        for changes in range(1, 4):
            c = 4 * sort + changes
            start, size = classes.start[c], classes.size[c]
            expected = [members[0, k] for k in range(n) if kinds[k] == (sort == VALID, changes)]
            assert classes.member[start : start + size].tolist() == expected
            odds += ODDS[changes] if expected else 0.0
        assert classes.odds[sort] == odds
    assert n_classified == sum(changes > 0 for _, changes in kinds)
