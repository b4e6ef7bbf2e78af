"""Laws of the front: who is admitted, who is dropped, and that eight lanes hide nobody."""

from __future__ import annotations

from typing import Any

import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels import called
from tests.strategies import generator

from counterpoint.arrays import Floats, Ints
from counterpoint.search import front as of_front
from counterpoint.search.archive import empty_front
from counterpoint.search.front import LANES

COMPILED = settings(deadline=None, max_examples=60)  # the first call compiles
admit, compare_block = of_front.admit, called(of_front.compare_block)
compare_wide = called(of_front.compare_wide)
N_OBJECTIVES = 4


class Front:
    """One row's front with all that is needed to fill it, as the archive does."""

    def __init__(self, capacity: int, m: int = N_OBJECTIVES) -> None:
        self.blocks: Floats = empty_front(1, capacity, m)[0]
        self.blocks[:] = -7.0  # what lay there before must not count
        self.members: Ints = np.full(capacity, -1, dtype=np.int64)
        self.n = 0

    def admit(self, point: Floats, new: int) -> tuple[int, int]:
        """Let a candidate try; return what the kernel says."""
        n_now, n_equal = admit(point, self.blocks, self.members, self.n, new)
        self.n = n_now or self.n
        return n_now, n_equal

    @property
    def points(self) -> Floats:
        """The objectives of every place of the blocks in use, filled or not, one row each."""
        in_use = self.blocks[: -(-self.n // LANES)]
        places: Floats = in_use.transpose(0, 2, 1).reshape(-1, self.blocks.shape[1])
        return places

    @property
    def indices(self) -> Ints:
        """Which candidates are members now."""
        held: Ints = self.members[: self.n]
        return held


def filled(points: Floats) -> Front:
    front = Front(len(points), points.shape[1])
    for i, point in enumerate(points):
        front.admit(point, i)
    return front


def best_of(points: Floats) -> Ints:
    """Return who is non-dominated according to an independent library; ties all stay."""
    kept: Ints = np.flatnonzero(moocore.is_nondominated(points, keep_weakly=True))
    return kept


def on_a_simplex(n: int) -> Floats:
    """Return n points of which none dominates another."""
    first = np.arange(n, dtype=np.float64)
    return np.column_stack([first, n - first, np.ones(n), np.ones(n)])


def points_with_ties(most: int = 70, m: int = N_OBJECTIVES) -> st.SearchStrategy[Floats]:
    """Return few different values, so that many points are equal, dominated or neither."""
    point = st.tuples(*[st.integers(0, 3)] * m)
    return st.lists(point, min_size=1, max_size=most).map(lambda rows: np.array(rows) / 4.0)


@COMPILED
@given(points=points_with_ties())
def test_exactly_the_non_dominated_points_are_kept(points: Floats) -> None:
    front = filled(points)

    np.testing.assert_array_equal(np.sort(front.indices), best_of(points))


@COMPILED
@given(points=points_with_ties())
def test_after_every_point_the_front_is_that_of_the_points_so_far(points: Floats) -> None:
    front = Front(len(points))
    for i, point in enumerate(points):
        front.admit(point, i)

        np.testing.assert_array_equal(np.sort(front.indices), best_of(points[: i + 1]))


@COMPILED
@given(points=points_with_ties())
def test_the_front_holds_the_objectives_of_its_members_and_nothing_else(points: Floats) -> None:
    front = Front(len(points))
    for i, point in enumerate(points):
        front.admit(point, i)

        np.testing.assert_array_equal(front.points[: front.n], points[front.indices])
        assert np.isnan(front.points[front.n :]).all()


@COMPILED
@given(points=points_with_ties())
def test_a_point_is_told_how_many_members_equal_it(points: Floats) -> None:
    front = Front(len(points))
    for i, point in enumerate(points):
        held = points[front.indices]
        is_refused = ((held <= point).all(axis=1) & (held < point).any(axis=1)).any()

        n_now, n_equal = front.admit(point, i)

        assert (n_now == 0) == is_refused
        assert n_equal == (0 if is_refused else (held == point).all(axis=1).sum())


@COMPILED
@given(points=points_with_ties(), seed=st.integers(0, 99))
def test_the_order_of_arrival_does_not_matter(points: Floats, seed: int) -> None:
    order = generator(seed).permutation(len(points))

    shuffled = filled(points[order])

    np.testing.assert_array_equal(np.sort(order[shuffled.indices]), best_of(points))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 64, 65])
def test_a_front_of_any_size_is_filled_and_emptied_again(n: int) -> None:
    front = filled(np.vstack([on_a_simplex(n), on_a_simplex(n)]))
    assert front.n == 2 * n

    n_now, n_equal = front.admit(np.zeros(N_OBJECTIVES), 99)

    assert (n_now, n_equal) == (1, 0)
    assert front.indices.tolist() == [99]
    assert np.isnan(front.points[1:]).all()


@pytest.mark.parametrize("n", [7, 8, 9, 16, 17, 24])
@pytest.mark.parametrize("seed", range(5))
def test_a_block_that_refuses_moves_forwards_with_its_members(n: int, seed: int) -> None:
    points = on_a_simplex(n)
    front = filled(points)
    worse = points[generator(seed).integers(0, n, 40)] + 0.25

    answers = [front.admit(point, 99) for point in worse]

    assert set(answers) == {(0, 0)}
    assert sorted(front.indices) == list(range(n))
    np.testing.assert_array_equal(front.points[:n], points[front.indices])


def test_a_long_random_search_keeps_the_front_of_all_it_saw() -> None:
    points = np.round(generator(0).random((3000, N_OBJECTIVES)), 2)

    front = filled(points)

    np.testing.assert_array_equal(np.sort(front.indices), best_of(points))
    assert front.n > 2 * LANES


@pytest.mark.parametrize("n_filled", range(LANES + 1))
def test_empty_places_are_neither_better_nor_worse(n_filled: int) -> None:
    block = np.full((N_OBJECTIVES, LANES), np.nan)
    block[:, :n_filled] = 0.5

    compared = [compare_block(np.full(4, x), block) for x in (0.25, 0.5, 0.75)]

    assert compared == [(0, n_filled, 0), (n_filled, n_filled, n_filled), (n_filled, 0, 0)]


@COMPILED
@given(points=st.integers(4, 9).flatmap(lambda m: points_with_ties(m=m)))
def test_with_more_objectives_the_non_dominated_points_are_kept(points: Floats) -> None:
    front = filled(points)

    np.testing.assert_array_equal(np.sort(front.indices), best_of(points))
    np.testing.assert_array_equal(front.points[: front.n], points[front.indices])
    assert np.isnan(front.points[front.n :]).all()


@COMPILED
@given(points=points_with_ties(LANES), at=st.tuples(*[st.integers(0, 3)] * N_OBJECTIVES))
def test_four_objectives_written_out_compare_as_any_number_does(points: Floats, at: Any) -> None:
    block, point = np.full((N_OBJECTIVES, LANES), np.nan), np.array(at) / 4.0
    block[:, : len(points)] = points.T

    assert compare_wide(point, block) == compare_block(point, block)


@COMPILED
@given(points=points_with_ties(LANES, m=6), order=st.permutations(range(6)))
def test_the_order_of_objectives_does_not_matter(points: Floats, order: list[int]) -> None:
    block = np.full((6, LANES), np.nan)
    block[:, : len(points)] = points.T

    answers = {compare_wide(points[0][list(each)], block[list(each)]) for each in (range(6), order)}

    assert len(answers) == 1
