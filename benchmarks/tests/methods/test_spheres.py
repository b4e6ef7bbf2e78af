"""Growing spheres: a boundary whose distance is known, and the laws of a layer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case, NotApplicable
from benchmarks.methods.spheres import GrowingSpheres, draw_layer, lengths, sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.logistic import UP, Logistic, square

SPHERES = GrowingSpheres(n_draws=300)


def line_case(boundary: float, seed: int = 0) -> Case:
    """Return a row on the left of a line that runs upwards at x = boundary."""
    background = Background(Logistic(-boundary, x=1.0), square(), precision="full")
    return Case(background, pd.DataFrame({"x": [0.2], "y": [0.5]}), UP, seed)


@settings(max_examples=20, deadline=None)
@given(boundary=st.floats(0.201, 0.99), seed=st.integers(0, 99))
def test_the_row_found_is_valid_and_within_the_layer(boundary: float, seed: int) -> None:
    case = line_case(boundary, seed)

    found = SPHERES.search(case)
    answer = case.codec.encode(SPHERES.explain(case))[0]

    assert found is not None
    nearest, radius = found
    assert case.reaches(np.vstack([nearest, answer])).all()
    assert boundary - 0.2 <= lengths(case, nearest[None])[0] <= radius + 1e-12
    assert lengths(case, answer[None])[0] <= lengths(case, nearest[None])[0] + 1e-12
    assert radius <= max(2.0 * (boundary - 0.2), 0.1) + 0.2  # the first layers beyond hold rows
    assert answer[1] == 0.5  # y does not matter, so it is set back


@settings(max_examples=20, deadline=None)
@given(layer=st.integers(0, 50), inner=st.floats(0.0, 0.1), thickness=st.floats(0.01, 0.1))
def test_a_layer_lies_between_its_radii(layer: int, inner: float, thickness: float) -> None:
    case = line_case(0.9)  # the box is no nearer than 0.2

    rows = draw_layer(case, 200, inner, inner + thickness, layer)

    apart = lengths(case, rows)
    assert (apart >= inner - 1e-9).all()
    assert (apart <= inner + thickness + 1e-9).all()
    assert np.ptp(apart) > thickness / 2


def test_the_least_moved_feature_is_set_back_first() -> None:
    """Either move alone suffices: the smaller goes."""
    background = Background(Logistic(-0.1, x=1.0, y=1.0), square())
    case = Case(background, pd.DataFrame({"x": [0.0], "y": [0.0]}), UP)

    np.testing.assert_array_equal(sparse(case, np.array([0.2, 0.3])), [0.0, 0.3])


def test_the_same_seed_gives_the_same_row_and_another_another() -> None:
    first, again, other = (SPHERES.explain(line_case(0.6, seed)) for seed in (1, 1, 2))

    pd.testing.assert_frame_equal(first, again)
    assert first["x"].iloc[0] != other["x"].iloc[0]


def test_a_target_beyond_the_box_is_a_reason() -> None:
    found = SPHERES.explain(line_case(1.5))

    assert len(found) == 0
    assert found.attrs["reason"].startswith("no drawn row up to the farthest corner")


def test_levels_alone_are_refused() -> None:
    rows = pd.DataFrame({"c": pd.Categorical(["a", "b"])})
    case = Case(Background(lambda rows: np.zeros(len(rows)), rows), rows.iloc[[0]], UP)

    with pytest.raises(NotApplicable, match="moves numbers only, and there are none that vary"):
        SPHERES.explain(case)
