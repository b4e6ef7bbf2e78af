"""Combinations: all within reach, each once, and none where there are too many."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.search.exact.cells import Options, Reach
from counterpoint.search.exact.solve import MOST_COMBINATIONS, combinations_within


def gene(n: int, *, has_own: bool) -> Options:
    """Return a gene with values 0, 1, …, of which the first may be the row's own."""
    values = np.arange(n, dtype=np.float64) + (not has_own)
    return Options(values, values / 10, values == 0.0)


@given(
    sizes=st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=4),
    distance=st.sampled_from([0.15, 0.45, np.inf]),
    most=st.integers(0, 4),
)
def test_they_are_all_within_reach_and_each_once(
    sizes: list[tuple[int, bool]], distance: float, most: int
) -> None:
    options = [gene(n, has_own=has_own) for n, has_own in sizes]

    found = combinations_within(
        options, [np.ones(n, dtype=np.bool_) for n, _ in sizes], Reach(distance, most)
    )

    assert found is not None
    genomes, distances = found
    every = np.array(list(itertools.product(*(each.values.tolist() for each in options))))
    within = (every.sum(axis=1) / 10 <= distance + 1e-12) & ((every != 0.0).sum(axis=1) <= most)
    assert sorted(map(tuple, genomes.tolist())) == sorted(map(tuple, every[within].tolist()))
    np.testing.assert_allclose(distances, genomes.sum(axis=1) / 10)


def test_too_many_are_left_to_the_solver() -> None:
    options = [gene(MOST_COMBINATIONS, has_own=True), gene(2, has_own=True)]
    every = [np.ones(len(each.values), dtype=np.bool_) for each in options]

    assert combinations_within(options, every, Reach(np.inf, 2)) is None
    assert combinations_within(options, every, Reach(0.2, 0)) is not None


def test_a_gene_without_any_option_leaves_none() -> None:
    nothing = [np.zeros(3, dtype=np.bool_)]

    found = combinations_within([gene(3, has_own=True)], nothing, Reach(np.inf, 1))

    assert found is not None
    assert len(found[0]) == 0
