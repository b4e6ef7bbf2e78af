from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.search.ways import (
    choose_rows,
    feature_lots,
    have_no_part,
    in_order,
    kept_sets,
    keys_of,
    other_values,
    sets_of,
)
from counterpoint.table.space import Space

SETS = arrays(np.bool_, st.tuples(st.integers(1, 12), st.just(5)))


@given(SETS)
def test_a_set_has_no_part_if_no_other_is_inside_it(changed: Bools) -> None:
    sets = np.unique(changed, axis=0)

    expected = [
        not any((a <= b).all() for k, a in enumerate(sets) if k != i) for i, b in enumerate(sets)
    ]

    assert have_no_part(sets).tolist() == expected


@given(SETS)
def test_equal_sets_have_equal_keys_and_different_sets_different_ones(changed: Bools) -> None:
    keys = keys_of(changed)

    same = (changed[:, None] == changed[None]).all(axis=2)
    np.testing.assert_array_equal(keys[:, None] == keys[None], same)


@given(SETS)
def test_a_key_is_the_sum_of_the_lots_of_its_features(changed: Bools) -> None:
    lots = feature_lots(changed.shape[1])

    assert keys_of(changed).tolist() == [int(lots[each].sum()) for each in changed]


@given(arrays(np.int64, st.integers(1, 40), elements=st.integers(-3, 3)))
def test_sets_ascend_by_key_and_each_has_its_first_candidate(keys: Ints) -> None:
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)

    found = sets_of(keys)

    np.testing.assert_array_equal(found[0], first)
    np.testing.assert_array_equal(found[1], group)


@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.just(5)), elements=st.integers(0, 2)))
def test_candidates_are_ordered_by_rank_and_all_objectives_but_the_gap(values: Floats) -> None:
    ranks, objectives = values[:, 0].astype(np.int64), values[:, 1:]

    order = in_order(ranks, objectives)

    each = np.column_stack([ranks, objectives[:, 1:]])[order].tolist()
    assert each == sorted(each)
    assert sorted(order.tolist()) == list(range(len(values)))


def test_minimal_sets_are_kept_before_larger_ones_and_few_features_before_many() -> None:
    sizes, least = np.array([1, 2, 2, 4]), np.array([0.5, 0.1, 0.3, 0.01])
    is_minimal = np.array([True, False, True, True])

    assert kept_sets(sizes, least, is_minimal).tolist() == [3, 2, 0, 1]


@given(
    arrays(np.float64, st.tuples(st.integers(1, 20), st.just(2)), elements=st.floats(0, 1)),
    st.floats(0, 1),
)
def test_the_first_row_kept_is_the_nearest_safe_one(pairs: Floats, margin: float) -> None:
    objectives = np.column_stack([0 * pairs[:, 0], pairs[:, 0], 0 * pairs[:, 0], pairs[:, 1]])
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    objectives, inside = np.ascontiguousarray(objectives[order]), pairs[::-1, 1].copy()
    places, is_front = np.full((1, 8), -1), np.zeros((1, 8), dtype=np.bool_)

    front = np.empty(len(pairs), dtype=np.int64)
    choose_rows(objectives, inside, np.array([len(pairs)]), margin, places, is_front, front)

    shown, is_safe = int(places[0, 0]), inside >= margin
    if is_safe.any():
        assert shown == int(np.argmax(is_safe))
    else:
        assert inside[shown] == inside.max()
    kept = places[0][places[0] >= 0]
    assert len(set(kept.tolist())) == len(kept)
    no_worse = (objectives[:, None] <= objectives[None, kept]).all(axis=2)
    better = (objectives[:, None] < objectives[None, kept]).any(axis=2)
    dominated = (no_worse & better).any(axis=0)
    np.testing.assert_array_equal(is_front[0][: len(kept)], ~dominated)


@given(
    st.sampled_from([1.0, 10.0, 100.0]),
    st.integers(-50, 50),
    st.integers(0, 20),
    st.integers(-600, 800).map(lambda i: i / 10) | st.just(MISSING),
    st.booleans(),
)
def test_a_number_can_change_to_all_points_of_its_grid_but_its_own(
    grid: float, first: int, n_steps: int, at: float, may_miss: bool
) -> None:
    points = np.arange(first, first + n_steps + 1) / grid
    own = at if at == MISSING else at / grid
    d = np.ones(1)
    space = Space(
        d < 0,
        d < 0,
        d < 0,
        d * grid,
        np.zeros(1, dtype=np.int64),
        d,
        d,
        d,
        np.array([may_miss]),
        0 * d,
    )

    n = other_values(space, points[:1], points[-1:], np.array([own]))

    expected = sum(abs(point - own) > 1e-9 for point in points.tolist())
    assert n.tolist() == [expected + (may_miss and own != MISSING)]


def test_a_level_can_change_to_all_others_and_a_real_to_infinitely_many() -> None:
    is_level, none = np.array([True, True, False]), np.zeros(3, dtype=np.bool_)
    space = Space(
        is_level,
        none,
        none,
        np.array([1.0, 1.0, 0.0]),
        np.array([4, 4, 0]),
        np.zeros(3),
        np.ones(3),
        np.ones(3),
        none,
        np.zeros(3),
    )

    n = other_values(space, np.zeros(3), np.array([3.0, 3.0, 1.0]), np.array([2.0, MISSING, 0.5]))

    assert n.tolist() == [3.0, 4.0, np.inf]


def test_a_missing_number_with_many_decimals_has_all_values_before_it() -> None:
    """What stands for a missing value is so large that a grid would make it overflow."""
    no, yes = np.zeros(1, dtype=np.bool_), np.ones(1)
    space = Space(no, no, no, np.array([1e12]), np.array([0]), 0 * yes, yes, yes, no, 0 * yes)

    n = other_values(space, np.zeros(1), np.array([2e-12]), np.array([MISSING]))

    assert n.tolist() == [3.0]
