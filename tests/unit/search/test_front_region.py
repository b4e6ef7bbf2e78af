"""The region that chosen points leave: its volume is the hypervolume, its choice the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.arrays import Floats
from counterpoint.search import front
from counterpoint.search.front import UndominatedRegion, hypervolume


@st.composite
def drawn_points(draw: st.DrawFn) -> Floats:
    """Draw points of a grid, coarse or fine, some of them beyond the reference or repeated."""
    m, n = draw(st.integers(4, 6)), draw(st.integers(1, 12))
    steps = draw(st.sampled_from([3, 1000]))
    cells = st.lists(st.integers(0, steps), min_size=m, max_size=m)
    points = np.array(draw(st.lists(cells, min_size=n, max_size=n))) / steps
    points[:, 0] *= np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return points


@settings(max_examples=60)
@given(points=drawn_points())
def test_what_is_closed_is_the_hypervolume(points: Floats) -> None:
    reference = np.full(points.shape[1], 0.8)
    left = UndominatedRegion(np.zeros(points.shape[1]), reference)

    for point in points:
        left.close(point)

    assert left.is_open
    assert left.volume == pytest.approx(hypervolume(points, reference), abs=1e-12)


@settings(max_examples=60)
@given(points=drawn_points(), n=st.integers(1, 8))
def test_the_choice_is_the_one_made_by_hypervolumes_alone(points: Floats, n: int) -> None:
    worst = np.ones(points.shape[1] - 2)
    chosen = front.greatest_contribution(points, n, worst)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(front, "_next_in", lambda _, *rest: front._next(*rest))
        plain = front.greatest_contribution(points, n, worst)

    assert chosen.tolist() == plain.tolist()


def test_more_boxes_than_there_is_place_for_leave_it_to_hypervolumes() -> None:
    points = np.random.default_rng(0).random((60, 4))  # noqa: TID251 - made-up points
    chosen = front.greatest_contribution(points, 8)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(front, "MOST_BOXES", 4)
        small = UndominatedRegion(np.zeros(4), np.ones(4))
        for point in points[:8]:
            small.close(point)
        again = front.greatest_contribution(points, 8)

    assert not small.is_open
    assert again.tolist() == chosen.tolist()


def test_endless_region_leaves_it_to_hypervolumes() -> None:
    assert not UndominatedRegion(np.full(4, -1e300), np.full(4, 1e300)).is_open
