"""Charts of the model's response."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.figures import explained_once

import counterpoint as cp
from counterpoint.result.figures.axes import Axis
from counterpoint.result.figures.charts.response import MOST_NUMBERED, ROOM, apart, heights
from counterpoint.result.figures.charts.theme import date_ticks
from counterpoint.table.schema import Schema

FOUND = explained_once()
AXES = Axis.of(FOUND, 0), Axis.of(FOUND, 1)
SIZE = (300, 200)


@pytest.mark.parametrize(("width", "expected"), [(None, 480), (333, 333)])
def test_a_single_curve_is_as_wide_as_asked_or_its_own_width(
    found: cp.Counterfactuals, width: int | None, expected: int
) -> None:
    assert found.plot.ice("amount", width=width).to_dict()["width"] == expected


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), max_size=MOST_NUMBERED + 3))
def test_numbers_of_points_do_not_stand_on_each_other(shares: list[tuple[float, float]]) -> None:
    ends = [axis.domain for axis in AXES]
    places = [
        [low + share * (high - low) for share, (low, high) in zip(pair, ends, strict=True)]
        for pair in shares
    ]
    points = pd.DataFrame([[k, *place] for k, place in enumerate(places)])
    points = points.reindex(columns=range(3)).set_axis(["counterfactual", "x", "y"], axis=1)

    given_ones = apart(points, AXES, SIZE)

    pixels = [
        (x * SIZE[0], y * SIZE[1]) for k, (x, y) in enumerate(shares) if given_ones[k] or k == 0
    ]
    assert not any(given_ones) or len(shares) <= MOST_NUMBERED + 1
    for i, (x, y) in enumerate(pixels):
        for left, up in pixels[:i]:
            assert abs(x - left) > ROOM[0] - 1e-6 or abs(y - up) > ROOM[1] - 1e-6


def test_the_heights_hold_the_curves_and_the_near_end_of_the_target() -> None:
    low, high = heights(FOUND, {"curves": pd.DataFrame({"prediction": [1.0, 2.0]})})

    assert low < 1.0
    assert high > max(2.0, FOUND.target.low)


@given(low=st.integers(-20_000, 20_000), days=st.integers(1, 20_000))
def test_dates_have_a_few_ticks_within_their_axis(low: int, days: int) -> None:
    feature = Schema.infer(
        pd.DataFrame({"day": pd.to_datetime([low, low + days], unit="D", origin="unix")})
    ).features[0]
    axis = Axis(0, feature, "day", float(low), float(low + days), np.empty(0), 0, False)

    ticks = date_ticks(axis)

    start, end = axis.domain
    assert len(ticks) <= 8
    assert all(start <= tick <= end for tick in ticks)
    assert all(tick % 86_400_000.0 == 0.0 for tick in ticks)
    assert ticks or days < 120
