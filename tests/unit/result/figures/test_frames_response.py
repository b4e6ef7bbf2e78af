"""What the figures of the model's response show."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.figures import explained_once, with_gaps

import counterpoint as cp
from counterpoint.errors import InvalidInput
from counterpoint.result.figures.axes import Axis
from counterpoint.result.figures.frames import EDGE, contour_levels, labels_of

FOUND = explained_once()


def test_one_feature_makes_no_surface(found: cp.Counterfactuals) -> None:
    message = (
        "plot.surface needs two different features, got 'job' twice; for one feature there is "
        "plot.ice('job')."
    )

    with pytest.raises(InvalidInput, match=re.escape(message)):
        found.plot.surface("job", "job")


def test_a_missing_level_is_a_place_of_its_own() -> None:
    found = with_gaps(row_is_missing=True)

    frames = found.plot.ice_data("b")

    curve, row = frames["curves"], frames["counterfactuals"].iloc[0]
    assert sorted(curve["value"]) == ["missing", "u", "v"]
    assert row["value"] == "missing"
    assert curve.set_index("x").loc[row["x"], "prediction"] == found.row_prediction
    assert found.plot.surface_data("a", "b")["bars_y"]["count"].sum() == 80


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_contour_is_labelled_where_the_number_fits(x: float, y: float) -> None:
    axes = Axis.of(FOUND, 0), Axis.of(FOUND, 1)
    assume(min(abs(share - end) for share in (x, y) for end in (EDGE, 1.0 - EDGE)) > 1e-9)
    (left, right), (low, high) = (axis.domain for axis in axes)
    point = {"x": left + x * (right - left), "y": low + y * (high - low)}
    line = pd.DataFrame([point]).assign(line=0, order=0, level=0.25, is_target=False)

    labels = labels_of(line, axes)

    fits = all(EDGE <= share <= 1.0 - EDGE for share in (x, y))
    assert labels["text"].tolist() == ["0.25"] * fits


@given(st.floats(-1e6, 1e6))
def test_rounding_errors_have_no_contours(height: float) -> None:
    flat = np.full((3, 3), height)
    flat[1, 1] = np.nextafter(height, np.inf)

    assert contour_levels(flat, []) == []
