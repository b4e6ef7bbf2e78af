"""Laws of dominance, penalised fronts, crowding and the order made of them."""

from __future__ import annotations

from typing import Any

import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.kernels import called
from tests.strategies import generator

from counterpoint.arrays import Floats, Ints
from counterpoint.neighbours import gower as distance
from counterpoint.search.nsga2 import operators
from counterpoint.search.nsga2.loop import empty_ranking, select_mates
from counterpoint.search.nsga2.operators import (
    Ranking,
    find_best,
    find_crowding,
    find_fronts,
    find_penalized_fronts,
)
from counterpoint.streams import row_keys
from counterpoint.table import space as identity

add_ranks = called(operators.add_ranks)
are_equal = called(identity.are_equal)
dominates = called(operators.dominates)
gower = called(distance.gower)

COMPILED = settings(deadline=None)  # the first call compiles
MAPS = [lambda x: 3.0 * x - 1.0, np.exp, np.cbrt, lambda x: x**3, np.arctan]  # strictly increasing


def frozen(values: Any) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def points(n_most: int = 24) -> st.SearchStrategy[Floats]:
    """Objective vectors on a coarse grid, so that ties and repeats are common."""
    vector = st.tuples(*[st.integers(0, 4)] * 4)
    return st.lists(vector, min_size=1, max_size=n_most).map(frozen)


def scattered(n_most: int = 16) -> st.SearchStrategy[Floats]:
    """Objective vectors without ties in any objective."""
    return st.tuples(st.integers(1, n_most), st.integers(0, 10**6)).map(
        lambda drawn: frozen(generator(drawn[1]).random((drawn[0], 4)))
    )


def genomes_for(objectives: Floats) -> Floats:
    return frozen(generator(len(objectives)).random((len(objectives), 3)))


def room(n: int) -> Ranking:
    """Return room to rank n, filled with what no result may depend on."""
    ranking = empty_ranking(n)
    for array in ranking:
        array.fill(-1 if array.dtype == np.int64 else np.nan)
    return ranking


def nondominated_fronts(objectives: Floats) -> Ints:
    ranking = room(len(objectives))
    last = find_fronts(objectives, ranking)
    assert last == ranking.fronts.max()
    np.testing.assert_array_equal(ranking.members, np.arange(len(objectives)))
    return ranking.fronts


def penalized_fronts(objectives: Floats, epsilon: float) -> Ints:
    ranking = room(len(objectives))
    find_penalized_fronts(objectives, epsilon, ranking)
    return ranking.fronts


def average_ranks(values: Floats) -> Floats:
    n, ranks = len(values), np.zeros(len(values))
    add_ranks(values, np.arange(n), n, np.full(n, -1), ranks)
    return ranks


def crowding(objectives: Floats, genomes: Floats, weight: Floats, cap: Floats) -> Floats:
    n, ranking = len(objectives), room(len(objectives))
    ranking.members[:] = np.arange(n)
    find_crowding(objectives, genomes, weight, cap, n, ranking)
    return ranking.crowding


def best_first(
    objectives: Floats, genomes: Floats, weight: Floats, cap: Floats, epsilon: float, n: int
) -> Ints:
    chosen = np.full(n, -1)
    find_best(objectives, genomes, weight, cap, epsilon, room(len(objectives)), chosen)
    return chosen


def crowd(objectives: Floats, genomes: Floats) -> Floats:
    return crowding(objectives, genomes, frozen(np.ones(3)), frozen(np.full(3, np.inf)))


def best(objectives: Floats, epsilon: float, n: int) -> Ints:
    genomes = genomes_for(objectives)
    cap = frozen(np.full(3, np.inf))
    return best_first(objectives, genomes, frozen(np.ones(3)), cap, epsilon, n)


@COMPILED
@given(points(n_most=1))
def test_nothing_dominates_itself(one: Floats) -> None:
    assert not dominates(one[0], one[0])


@COMPILED
@given(points())
def test_of_two_at_most_one_dominates(several: Floats) -> None:
    a, b = several[0], several[-1]

    assert not (dominates(a, b) and dominates(b, a))


@COMPILED
@given(points(n_most=8))
def test_dominance_passes_on(several: Floats) -> None:
    is_better = np.array([[dominates(a, b) for b in several] for a in several])

    through_another = is_better.astype(np.int64) @ is_better.astype(np.int64) > 0

    assert is_better[through_another].all()


@COMPILED
@given(points())
def test_comparing_agrees_with_its_definition(several: Floats) -> None:
    a, b = several[0], several[-1]

    is_better, is_worse = dominates(a, b), dominates(b, a)

    assert is_better == bool((a <= b).all() and (a < b).any())
    assert is_worse == bool((b <= a).all() and (b < a).any())
    assert are_equal(a, b) == np.array_equal(a, b)


@COMPILED
@given(points())
def test_fronts_are_those_of_moocore(objectives: Floats) -> None:
    fronts = nondominated_fronts(objectives)

    np.testing.assert_array_equal(fronts, moocore.pareto_rank(objectives) + 1)


@COMPILED
@given(points(), st.tuples(*[st.sampled_from(MAPS)] * 4))
def test_fronts_survive_strictly_increasing_maps(objectives: Floats, maps: Any) -> None:
    mapped = frozen(np.column_stack([f(objectives[:, m]) for m, f in enumerate(maps)]))

    fronts = nondominated_fronts(mapped)

    np.testing.assert_array_equal(fronts, nondominated_fronts(objectives))


@COMPILED
@given(points(), st.randoms())
def test_fronts_do_not_depend_on_the_order(objectives: Floats, shuffler: Any) -> None:
    order = shuffler.sample(range(len(objectives)), len(objectives))

    fronts = nondominated_fronts(frozen(objectives[order]))

    np.testing.assert_array_equal(fronts, nondominated_fronts(objectives)[order])


@COMPILED
@given(points(), st.sampled_from([0.0, 1.0, 2.5, np.inf]))
def test_those_beyond_epsilon_follow_the_fronts_by_their_gap(
    objectives: Floats, epsilon: float
) -> None:
    distinct = frozen(np.unique(objectives, axis=0))  # ascending in the gap
    ordinary = nondominated_fronts(distinct)
    is_beyond = distinct[:, 0] > epsilon

    fronts = penalized_fronts(distinct, epsilon)

    np.testing.assert_array_equal(fronts[~is_beyond], ordinary[~is_beyond])
    expected = ordinary.max() + 1 + np.arange(is_beyond.sum())
    np.testing.assert_array_equal(fronts[is_beyond], expected)


@COMPILED
@given(points(), st.randoms())
def test_ties_in_the_gap_go_to_the_smaller_index(objectives: Floats, shuffler: Any) -> None:
    distinct = np.unique(objectives, axis=0)
    distinct = frozen(distinct[shuffler.sample(range(len(distinct)), len(distinct))])

    fronts = penalized_fronts(distinct, -1.0)

    expected = np.lexsort((np.arange(len(distinct)), distinct[:, 0]))
    np.testing.assert_array_equal(np.argsort(fronts), expected)


@COMPILED
@given(points(), st.sampled_from([0.0, 1.0, np.inf]))
def test_repeated_objectives_share_the_last_front(objectives: Floats, epsilon: float) -> None:
    _, first = np.unique(objectives, axis=0, return_index=True)
    is_repeat = ~np.isin(np.arange(len(objectives)), first)

    fronts = penalized_fronts(objectives, epsilon)

    if is_repeat.any():
        assert set(fronts[is_repeat]) == {fronts.max()}
        assert (fronts[~is_repeat] < fronts.max()).all()


@COMPILED
@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_equal_values_share_their_mean_rank(values: list[int]) -> None:
    ranks = average_ranks(frozen(values))

    below = [sum(other < value for other in values) for value in values]
    same = [values.count(value) for value in values]
    expected = [b + (s + 1) / 2 for b, s in zip(below, same, strict=True)]
    np.testing.assert_array_equal(ranks, expected)


@COMPILED
@given(scattered(), st.randoms())
def test_crowding_does_not_depend_on_the_order(objectives: Floats, shuffler: Any) -> None:
    order = shuffler.sample(range(len(objectives)), len(objectives))
    genomes = genomes_for(objectives)

    shuffled = crowd(frozen(objectives[order]), frozen(genomes[order]))

    np.testing.assert_array_equal(shuffled, crowd(objectives, genomes)[order])


@COMPILED
@given(scattered())
def test_crowding_sees_the_extremes_first(objectives: Floats) -> None:
    is_extreme = np.zeros(len(objectives), dtype=np.bool_)
    is_extreme[objectives.argmin(axis=0)] = True
    is_extreme[objectives.argmax(axis=0)] = True

    distances = crowd(objectives, genomes_for(objectives))

    assert len(set(distances[is_extreme])) == 1
    assert (distances[~is_extreme] < distances[is_extreme].min()).all()


@COMPILED
@given(scattered(), st.integers(0, 3), st.floats(-5.0, 5.0))
def test_an_objective_that_is_constant_changes_nothing(
    objectives: Floats, m: int, constant: float
) -> None:
    with_constant = objectives.copy()
    with_constant[:, m] = constant
    genomes = genomes_for(objectives)

    distances = crowd(frozen(with_constant), genomes)

    without = crowd(frozen(np.delete(objectives, m, axis=1)), genomes)
    np.testing.assert_array_equal(distances, without)


@COMPILED
@given(scattered(), st.integers(0, 3), st.floats(0.5, 100.0))
def test_crowding_does_not_depend_on_the_scale_of_an_objective(
    objectives: Floats, m: int, factor: float
) -> None:
    scaled = objectives.copy()
    scaled[:, m] *= 2.0 ** round(factor)  # exact
    genomes = genomes_for(objectives)

    distances = crowd(frozen(scaled), genomes)

    np.testing.assert_array_equal(distances, crowd(objectives, genomes))


@COMPILED
@given(st.integers(2, 12), st.integers(0, 100))
def test_an_isolated_point_is_less_crowded_than_those_close_together(n: int, seed: int) -> None:
    """The first objective rises and the second falls; the point before the last stands alone."""
    gaps = generator(seed).uniform(0.5, 1.0, n)
    along = np.concatenate([np.cumsum(gaps), [n + 100.0, n + 200.0]])
    objectives = frozen(
        np.column_stack([along, -along, np.zeros_like(along), np.zeros_like(along)])
    )
    genomes = frozen(np.repeat(along[:, None], 3, axis=1))
    alone, middle = n, np.arange(1, n)

    distances = crowd(objectives, genomes)

    assert (distances[alone] > distances[middle]).all()


def test_crowding_is_the_sum_of_two_ranks_computed_by_hand() -> None:
    objectives = frozen([[0, 9, 1, 0], [1, 4, 1, 0], [2, 2, 1, 0], [5, 1, 1, 0], [9, 0, 1, 0]])
    genomes = frozen([[0, 0, 0], [1, 0, 0], [1, 1, 1], [3, 1, 1], [3, 3, 3]])
    weight, cap = frozen([1, 1, 1]), frozen([np.inf] * 3)

    def apart(i: int, j: int) -> float:
        return float(gower(genomes[i], genomes[j], weight, cap))

    in_objectives = [np.inf, 2 / 9 + 7 / 9, 4 / 9 + 3 / 9, 7 / 9 + 2 / 9, np.inf]
    in_features = [np.inf, *(2 * (apart(i, i - 1) + apart(i, i + 1)) for i in (1, 2, 3)), np.inf]
    assert in_features[1:4] == [2 * (1 / 3 + 2 / 3), 2 * (2 / 3 + 2 / 3), 2 * (2 / 3 + 4 / 3)]

    distances = crowding(objectives, genomes, weight, cap)

    assert in_objectives[1] == in_objectives[3] == 1.0  # ranks 2.5, 1, 2.5 and 4.5 for both ends
    np.testing.assert_array_equal(distances, [9.0, 2.5 + 1, 1 + 2, 2.5 + 3, 9.0])


@COMPILED
@given(points(), st.sampled_from([0.0, 1.0, np.inf]), st.data())
def test_the_best_are_the_front_of_one_order(
    objectives: Floats, epsilon: float, data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(objectives)))

    chosen = best(objectives, epsilon, n)

    everyone = best(objectives, epsilon, len(objectives))
    assert sorted(everyone) == list(range(len(objectives)))
    np.testing.assert_array_equal(chosen, everyone[:n])


@COMPILED
@given(points(), st.sampled_from([0.0, 1.0, np.inf]), st.data())
def test_the_best_contain_the_first_fronts_that_fit(
    objectives: Floats, epsilon: float, data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(objectives)))
    fronts = penalized_fronts(objectives, epsilon)

    chosen = best(objectives, epsilon, n)

    assert (np.diff(fronts[chosen]) >= 0).all()
    for front in np.unique(fronts):
        if (fronts <= front).sum() <= n:
            assert set(np.flatnonzero(fronts == front)) <= set(chosen)


@COMPILED
@given(scattered())
def test_within_a_front_the_least_crowded_come_first(objectives: Floats) -> None:
    fronts, genomes = nondominated_fronts(objectives), genomes_for(objectives)

    chosen = best(objectives, np.inf, len(objectives))

    for front in np.unique(fronts):
        members = chosen[fronts[chosen] == front]
        inside = np.sort(members)
        distances = dict(
            zip(inside, crowd(frozen(objectives[inside]), frozen(genomes[inside])), strict=True)
        )
        assert (np.diff([distances[i] for i in members]) <= 0).all()


@COMPILED
@given(points(), st.sampled_from([0.0, np.inf]))
def test_no_input_is_written_to(objectives: Floats, epsilon: float) -> None:
    """Kernels do not compile for read-only arrays they would write to; what is read stays."""
    genomes, weight, cap = genomes_for(objectives), frozen(np.ones(3)), frozen([np.inf] * 3)
    before = objectives.copy(), genomes.copy()

    best_first(objectives, genomes, weight, cap, epsilon, len(objectives))

    np.testing.assert_array_equal(objectives, before[0])
    np.testing.assert_array_equal(genomes, before[1])


@pytest.mark.parametrize("n_parents", [3, 8])
def test_the_better_of_two_different_parents_mates(n_parents: int) -> None:
    """Parents are sorted: index i wins against the n - 1 - i behind it, the last never wins."""
    n_mates = 6000

    mates = select_mates(row_keys(0, np.array([[1.0]])), 1, n_parents, n_mates)

    behind = n_parents - 1 - np.arange(n_parents)
    expected = n_mates * behind / behind.sum()
    counts = np.bincount(mates[0], minlength=n_parents)
    assert counts[-1] == 0
    assert stats.chisquare(counts[:-1], expected[:-1]).pvalue > 1e-3


def test_mates_differ_between_generations_and_rows() -> None:
    keys = row_keys(0, np.array([[1.0], [2.0]]))

    first, second = (select_mates(keys, generation, 20, 20) for generation in (1, 2))

    assert not np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
