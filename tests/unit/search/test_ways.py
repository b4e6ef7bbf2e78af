from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.problem.target import Target
from counterpoint.search.exact.finish import have_no_part, kept_sets
from counterpoint.search.ways import Pool, WayFinder, feature_lots, keys_of, other_values
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


def test_minimal_sets_are_kept_before_larger_ones_and_few_features_before_many() -> None:
    sizes, least = np.array([1, 2, 2, 4]), np.array([0.5, 0.1, 0.3, 0.01])
    is_minimal = np.array([True, False, True, True])

    assert kept_sets(sizes, least, is_minimal).tolist() == [3, 2, 0, 1]


def finder_of(genomes: Floats, pairs: Floats, inside: Floats, margin: float) -> WayFinder:
    """Return the ways of valid candidates (n, d) around zero, of distance and implausibility."""
    none = np.zeros(len(genomes))
    objectives = np.column_stack([none, pairs[:, 0], (genomes != 0).sum(axis=1), pairs[:, 1]])
    row, target = np.zeros(genomes.shape[1]), Target(0.0, np.inf)
    pool = Pool(row, genomes, inside, objectives, target, margin, np.full(len(row), np.inf))
    return WayFinder(pool, np.ones(len(genomes), dtype=np.bool_), np.arange(len(genomes)))


CASES = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, (n, 5), elements=st.sampled_from([0.0, 0.0, 1.0, 2.0])),
        arrays(np.float64, (n, 2), elements=st.sampled_from([0.25, 0.5, 0.75, 1.0])),
        arrays(np.float64, n, elements=st.sampled_from([0.0, 0.125, 0.25])),
        st.sampled_from([0.0, 0.125, 0.5]),
    )
)


@given(CASES)
def test_sets_are_those_of_the_candidates_the_nearest_minimal_ones_first(
    case: tuple[Floats, Floats, Floats, float],
) -> None:
    genomes, pairs, inside, margin = case
    genomes[:, 0] += ~genomes.any(axis=1)  # nothing is the row itself
    ways = finder_of(genomes, pairs, inside, margin)

    keys, first, group = np.unique(keys_of(genomes != 0), return_index=True, return_inverse=True)
    changed, least = genomes[first] != 0, np.full(len(first), np.inf)
    np.minimum.at(least, group, pairs[:, 0])
    is_minimal, sizes = have_no_part(changed), changed.sum(axis=1)
    kept = kept_sets(sizes, least, is_minimal)
    unsafe = np.maximum(margin - inside, 0.0)
    safest = int(np.lexsort((pairs[:, 0], sizes[group] > 3, unsafe))[0])
    if group[safest] not in kept:
        kept = np.append(kept, group[safest])
    np.testing.assert_array_equal(keys_of(ways.changed), keys[kept])
    np.testing.assert_array_equal(ways.is_minimal, is_minimal[kept])
    np.testing.assert_array_equal(ways.n_valid, np.bincount(group)[kept])
    np.testing.assert_array_equal(group[ways.candidates], kept[ways.way])
    values = {
        (w, j, value)
        for w, k in enumerate(kept)
        for j in np.flatnonzero(changed[k])
        for value in genomes[group == k, j]
        if is_minimal[k]
    }
    found = [*zip(*(each.tolist() for each in ways.values()), strict=True)]
    assert found == sorted(values)


@given(CASES)
def test_the_safe_one_to_show_comes_first_then_the_nearest_and_the_most_typical_of_the_front(
    case: tuple[Floats, Floats, Floats, float],
) -> None:
    """All candidates change one feature."""
    _, pairs, inside, margin = case
    genomes = np.zeros((len(pairs), 5))
    genomes[:, 0] = 1.0 + np.arange(len(pairs))[::-1]

    ways = finder_of(genomes, pairs, inside, margin)

    order, kept = np.lexsort((pairs[:, 1], pairs[:, 0])), ways.candidates.tolist()
    no_worse = (pairs[:, None] <= pairs[None]).all(axis=2)
    better = (pairs[:, None] < pairs[None]).any(axis=2)
    is_front = np.logical_not((no_worse & better).any(axis=0))
    front = [i for i in order.tolist() if is_front[i]]
    safe = [i for i in order.tolist() if inside[i] >= margin]
    shown = safe[0] if safe else order[np.argmax(inside[order])]
    expected = [shown, *[i for i in front if i != shown][:6]]
    typical = min(front, key=lambda i: pairs[i, 1])
    assert kept == [*expected, *([] if typical in expected else [typical])]
    np.testing.assert_array_equal(ways.is_front, is_front[kept])
    assert ways.values()[2].tolist() == sorted(genomes[:, 0].tolist())


def test_sets_of_more_features_than_a_number_has_bits_are_told_apart() -> None:
    genomes = np.zeros((3, 130))
    genomes[0, 128], genomes[1, 2], genomes[2, [2, 129]] = 1.0, 1.0, 1.0
    pairs = np.array([[0.3, 0.0], [0.2, 0.0], [0.1, 0.0]])

    ways = finder_of(genomes, pairs, np.ones(3), 0.0)

    assert [np.flatnonzero(each).tolist() for each in ways.changed] == [[2], [128], [2, 129]]
    assert ways.is_minimal.tolist() == [True, True, False]


def test_without_valid_candidates_there_are_no_ways() -> None:
    ways = finder_of(np.empty((0, 5)), np.empty((0, 2)), np.empty(0), 0.0)

    assert ways.changed.shape == (0, 5)
    assert [each.tolist() for each in ways.values()] == [[], [], []]
    assert ways.candidates.tolist() == ways.is_proved.tolist() == []


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
