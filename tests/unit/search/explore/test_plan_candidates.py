"""Moves within sets of features are judged by what they find: the nearest of each way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp

DATA = pd.DataFrame(
    {"x": np.linspace(0.0, 10.0, 101), "y": np.linspace(10.0, 0.0, 101), "k": np.arange(101) % 5}
)


def test_a_single_feature_is_halved_down_to_the_boundary() -> None:
    explainer = cp.Explainer(lambda rows: (rows["x"] + 0 * rows["y"]) / 10, DATA)

    way = explainer.explain(DATA[:1], (0.6173, None)).ways(margin=0)[0]

    assert way.features == ("x",)
    assert way.closest["x"].item() == pytest.approx(6.173, abs=0.11)


def test_all_points_of_a_small_grid_are_asked_about_once_the_feature_is_a_way() -> None:
    explainer = cp.Explainer(lambda rows: rows["k"] / 4 + 0 * rows["x"], DATA)

    way = explainer.explain(DATA[:1], (0.5, None)).ways()[0]

    assert way.features == ("k",)
    assert way.is_whole
    assert way.ranges == {"k": (2, 4)}


def test_a_pair_trades_one_feature_for_the_other_to_its_nearest() -> None:
    explainer = cp.Explainer(lambda rows: rows["x"] / 20 + rows["k"] / 8, DATA)
    found = explainer.explain(DATA[:1], (0.7, None))

    way = next(way for way in found.ways() if way.features == ("x", "k"))

    nearest = min(
        (abs(x) / 10 + k / 4) / 3
        for x in DATA["x"]
        for k in range(5)
        if x / 20 + k / 8 >= 0.7 and x and k
    )
    assert way.closest["distance"].item() <= nearest * 1.05
