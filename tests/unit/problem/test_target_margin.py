"""How far inside a target a counterfactual should be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.problem.target import FEWEST_TOLD


def margin_of(function: Any, n: int = 200, end: float = 0.5) -> float:
    """Return the margin for scores of at least 0.5, learnt from n even steps between 0 and 1."""
    data = pd.DataFrame({"x": np.linspace(0.0, 1.0, n)})
    explainer = cp.Explainer(lambda rows: function(rows["x"].to_numpy()), data)
    return explainer.observed.margin_of(
        explainer.explain(data[:1], (end, None), cp.WhatIf()).target
    )


@pytest.mark.parametrize("slope", [0.1, 0.5, 1.0])
def test_a_margin_is_as_far_as_predictions_move_between_rows_like_each_other(slope: float) -> None:
    """Of even steps the five rows most like each are one to three steps away."""
    margin = margin_of(lambda x: 0.5 + slope * (x - 0.5))

    assert margin == pytest.approx(3 * slope / 199)


def test_where_predictions_jump_the_margin_is_what_most_rows_beyond_the_edge_have() -> None:
    jump = margin_of(lambda x: np.where(x < 0.5, 0.1, np.where(x < 0.75, 0.7, 0.9)))

    assert jump == pytest.approx(0.2)  # half of them have 0.2, the others 0.4


def test_too_few_rows_tell_no_margin() -> None:
    assert margin_of(lambda x: x, n=FEWEST_TOLD + 2) == 0.0
    assert margin_of(lambda x: x, end=0.97) == 0.0
