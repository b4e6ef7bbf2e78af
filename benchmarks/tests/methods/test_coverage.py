"""Coverage: what counts as covered, the star, and the choice of ten."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.peers.scoring import hypervolume
from benchmarks.study.coverage import PUBLISHED, Coverage, counted, is_covered, ten_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

POINTS = arrays(np.float64, st.tuples(st.integers(1, 8), st.just(4)), elements=st.integers(0, 3))
CELLS = [(d, m) for d, methods in PUBLISHED.items() for m in methods]


@pytest.mark.parametrize(("dataset", "method"), CELLS)
def test_the_papers_stars_follow_from_its_shares_and_counts(dataset: str, method: str) -> None:
    share, count, has_star = PUBLISHED[dataset][method]

    found = Coverage(round(share * count), count)

    assert round(found.share, 2) == share
    assert found.is_significant == has_star


def test_the_papers_table_has_25_fields() -> None:
    assert len(CELLS) == 25
    assert str(Coverage(22, 24)) == "0.92* (24)"
    assert str(Coverage(18, 40)) == "0.45 (40)"


def test_equal_objectives_do_not_cover() -> None:
    points = np.array([[0.0, 0.1, 1.0, 0.2], [0.0, 0.1, 2.0, 0.2], [0.0, 0.05, 9.0, 0.9]])

    np.testing.assert_array_equal(is_covered(points, points[:1]), [False, True, False])


@given(points=POINTS, by=POINTS)
def test_who_is_covered_is_dominated_and_covers_none_of_its_dominators(
    points: np.ndarray, by: np.ndarray
) -> None:
    covered = is_covered(points, by)

    for point, claim in zip(points, covered, strict=True):
        assert claim == any((b <= point).all() and (b < point).any() for b in by)
    assert not is_covered(by, points[covered]).all() or not covered.any()


def test_repeated_and_dominated_answers_and_misses_do_not_count() -> None:
    rows = pd.DataFrame(
        [
            [1, 0.0, 0.1, 1, 0.3],
            [1, 0.0, 0.1, 1, 0.3],
            [1, 0.0, 0.1, 1, 0.3],
            [2, 0.0, 0.2, 1, 0.3],  # dominated
            [3, 0.1, 0.05, 1, 0.3],  # misses the target
        ],
        columns=["x", "o1", "o2", "o3", "o4"],
    )

    assert len(counted(rows, ["x"])) == 1
    # One repetition is kept: so did the authors' code, and the published counts need it.
    assert len(counted(rows.iloc[1:], ["x"])) == 2


@given(
    points=arrays(
        np.float64, st.tuples(st.integers(11, 16), st.just(4)), elements=st.floats(0.01, 0.4)
    ),
    n_valid=st.integers(0, 16),
)
def test_ten_are_chosen_valid_ones_first(points: np.ndarray, n_valid: int) -> None:
    points = points.copy()
    points[:n_valid, 0] = 0.0

    ten = ten_of(points)

    assert ten.shape == (10, 4)
    assert (ten[:, 0] == 0.0).sum() >= min(n_valid, 10)
    assert all((point == points).all(axis=1).any() for point in ten)
    if n_valid == 0:
        reference = np.array([0.5, 1.0, points[:, 2].max() + 1.0, 1.0])
        best = max(hypervolume(point[None], reference) for point in points)
        assert hypervolume(ten[:1], reference) == best
