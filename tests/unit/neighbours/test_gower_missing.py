"""Gower's rule for missing values: kernels against the plain definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.arrays import MISSING, Floats
from counterpoint.neighbours.gower import (
    complete_rows,
    filled,
    gower_with_missing,
    search_incomplete,
)
from counterpoint.neighbours.index import gower_to_all


def table(seed: int, n: int, d: int, share: float) -> Floats:
    rng = np.random.default_rng(seed)  # noqa: TID251
    genomes = rng.integers(0, 6, (n, d)).astype(np.float64)
    genomes[rng.random((n, d)) < share] = MISSING
    return genomes


def settings_of(d: int) -> tuple[Floats, Floats]:
    is_level = np.arange(d) % 3 == 0
    return np.where(is_level, 1.0, 0.2), np.where(is_level, 1.0, np.inf)


tables = st.tuples(st.integers(0, 999), st.integers(1, 40), st.integers(1, 7))
shares = st.sampled_from([0.0, 0.3, 0.7, 1.0])


@given(about=tables, share=shares, k=st.integers(1, 3))
def test_the_nearest_rows_are_those_of_the_plain_definition(
    about: tuple[int, int, int], share: float, k: int
) -> None:
    seed, n, d = about
    others, genomes = table(seed, n, d, share), table(seed + 1, 5, d, share)
    weight, cap = settings_of(d)
    distances = np.full((1, 5, k), np.inf)

    search_incomplete(
        genomes[None], np.ones((1, 5), dtype=np.bool_), others, (weight[None], cap), distances
    )

    expected = np.sort(gower_with_missing(genomes, others, weight, cap), axis=1)
    expected = np.pad(expected, ((0, 0), (0, k)), constant_values=np.inf)[:, :k]
    np.testing.assert_allclose(distances[0], expected, rtol=1e-12)


@given(about=tables)
def test_without_missing_values_it_is_the_plain_distance(about: tuple[int, int, int]) -> None:
    others = table(*about, share=0.0)
    weight, cap = settings_of(about[2])

    found = gower_with_missing(others[:1], others, weight, cap)[0]

    np.testing.assert_allclose(found, gower_to_all(others[0], others, weight, cap), rtol=1e-12)


@given(about=tables, share=shares)
def test_distances_are_symmetric_within_bounds_and_0_to_themselves(
    about: tuple[int, int, int], share: float
) -> None:
    genomes = table(*about, share)
    weight, cap = settings_of(about[2])

    found = gower_with_missing(genomes, genomes, weight, cap)

    np.testing.assert_array_equal(found, found.T)
    assert ((found >= 0.0) & (found <= 1.0)).all()
    is_empty = (genomes == MISSING).all(axis=1)
    np.testing.assert_array_equal(np.diag(found), is_empty.astype(float))


def test_rows_that_were_not_asked_about_are_left_alone() -> None:
    weight, cap = settings_of(2)
    distances = np.full((2, 1, 1), 7.0)

    search_incomplete(
        np.zeros((2, 1, 2)),
        np.array([[False], [True]]),
        np.zeros((1, 2)),
        (np.tile(weight, (2, 1)), cap),
        distances,
    )

    assert distances.ravel().tolist() == [7.0, 0.0]


def test_costs_weigh_what_both_have() -> None:
    row, other = np.array([[1.0, 2.0, MISSING]]), np.array([[2.0, 4.0, 9.0]])
    weight, cap = np.full(3, 0.1), np.full(3, np.inf)

    found = gower_with_missing(row, other, weight, cap, np.array([3.0, 1.0, 5.0]))

    assert np.isclose(found.item(), (3.0 * 0.1 + 0.2) / 4.0)


def test_whole_rows_are_those_that_miss_nothing_or_filled_ones() -> None:
    genomes = np.array([[1.0, MISSING], [2.0, 5.0], [3.0, MISSING]])

    assert complete_rows(genomes).tolist() == [[2.0, 5.0]]
    assert complete_rows(np.array([[1.0, MISSING], [MISSING, 4.0]])).tolist() == [[1, 4], [1, 4]]
    assert filled(genomes).tolist() == [[1, 5], [2, 5], [3, 5]]
