"""Tables larger than what is kept at hand for each row: nothing that counts is overlooked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.arrays import Bools, Floats
from counterpoint.neighbours.nearest import NEAR

N = 3 * NEAR


def table() -> pd.DataFrame:
    """Return rows of which only those with a large `x` are wanted, and few at hand are."""
    rng = np.random.default_rng(3)  # noqa: TID251
    return pd.DataFrame(
        {
            "x": rng.random(N).round(3),
            "y": rng.normal(size=N).round(2),
            "job": rng.choice(list("abc"), N),
        }
    )


def score(rows: pd.DataFrame) -> Any:
    return rows["x"].to_numpy()


DATA = table()
ROW: dict[str, Any] = {"x": 0.05, "y": 0.1, "job": "a"}
EXPLAINER = cp.Explainer(score, DATA)


def distances() -> Floats:
    """Return Gower's distances of the row to the data."""
    total = np.zeros(N)
    for name in ("x", "y"):
        low, high = min(DATA[name].min(), ROW[name]), max(DATA[name].max(), ROW[name])
        total += (DATA[name] - ROW[name]).abs().to_numpy() / (high - low)
    total += (DATA["job"] != ROW["job"]).to_numpy()
    return total / 3


def nearest(wanted: Bools, n: int) -> set[Any]:
    """Return the n nearest wanted rows, each once."""
    order = np.argsort(np.where(wanted, distances(), np.inf), kind="stable")
    return set(DATA.iloc[order].drop_duplicates()[:n].itertuples(index=False, name=None))


@pytest.mark.parametrize("low", [0.3, 0.9, 0.995, 0.9995])
@pytest.mark.parametrize("n", [1, 4])
def test_the_nearest_wanted_rows_are_found_however_far_they_are(low: float, n: int) -> None:
    found = EXPLAINER.explain(ROW, (low, 1.0), cp.WhatIf(n=n))

    assert int((distances() < distances()[DATA["x"] >= low].min()).sum()) > 0
    expected = nearest((DATA["x"] >= low).to_numpy(), n)
    assert (
        set(found.to_frame(near_misses=True)[["x", "y", "job"]].itertuples(index=False, name=None))
        == expected
    )


def test_limits_hold_for_rows_that_are_not_at_hand() -> None:
    found = EXPLAINER.explain(ROW, (0.99, 1.0), cp.WhatIf(n=3), ranges={"y": (1.0, 2.0)})

    allowed = (DATA["x"] >= 0.99) & DATA["y"].between(1.0, 2.0)
    expected = nearest(allowed.to_numpy(), 3)
    assert (
        set(found.to_frame(near_misses=True)[["x", "y", "job"]].itertuples(index=False, name=None))
        == expected
    )


def test_implausibility_is_that_of_all_rows() -> None:
    found = EXPLAINER.explain(ROW, (0.97, 1.0), cp.Search(evaluations=600))

    frame = found.to_frame(near_misses=True)
    assert frame["distance"].max() > 0.3  # beyond what is at hand
    for _, each in frame.iterrows():
        total = (DATA["job"] != each["job"]).to_numpy().astype(float)
        for name in ("x", "y"):
            span = max(DATA[name].max(), ROW[name]) - min(DATA[name].min(), ROW[name])
            total += (DATA[name] - each[name]).abs().to_numpy() / span
        assert each["implausibility"] == pytest.approx(total.min() / 3, abs=1e-12)
