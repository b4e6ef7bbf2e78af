"""What the figures of the candidates show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from tests.figures import drawn, mixed_table

import counterpoint as cp
from counterpoint.result.figures.axes import VALID
from counterpoint.result.figures.frames import (
    MOST_ARROWS,
    MOST_TICKS,
    positions,
    row_objectives,
    ticks_of,
)
from counterpoint.table.features import Feature, Kind

NUMBER = Feature("a", Kind.REAL, np.dtype(float), (), 0.0, 1.0)
LEVELS = Feature("b", Kind.CATEGORICAL, np.dtype(object), tuple("abcdefghijkl"), 0.0, 11.0)


def test_strips_draw_arrows_to_the_most_frequent_values(found: cp.Counterfactuals) -> None:
    arrows = found.plot.strips_data(["amount"], n=len(found.genomes))["counterfactuals"]

    drawn_ones = arrows[arrows["lane"] >= 0]
    assert drawn_ones["lane"].nunique() == min(MOST_ARROWS, arrows["new"].nunique())
    assert drawn_ones["together"].min() >= arrows.loc[arrows["lane"] < 0, "together"].max()
    assert VALID in set(arrows["outcome"])


def test_a_one_hot_group_is_one_axis_of_its_levels() -> None:
    data = mixed_table()[["amount", "job"]]
    wide = pd.get_dummies(data, columns=["job"], dtype=int)

    def score(rows: pd.DataFrame) -> Any:
        return (rows["amount"] + 60.0 * rows["job_nurse"]).to_numpy()

    groups = {"job": ["job_clerk", "job_nurse", "job_smith"]}
    row = wide[wide["job_clerk"] == 1].iloc[[0]]
    found = cp.Explainer(score, wide, groups=groups).explain(
        row, (180.0, 300.0), search=cp.Search(evaluations=200)
    )

    ticks = found.plot.parallel_data(["job"])["ticks"]

    assert {"clerk", "nurse"} <= set(ticks["text"])
    assert drawn(found.plot.surface("amount", "job", resolution=5))


@given(st.lists(st.integers(0, 11), min_size=1, max_size=15), st.booleans())
def test_the_ends_and_the_row_are_always_written_on_an_axis(
    values: list[int], is_level: bool
) -> None:
    feature, genes = LEVELS if is_level else NUMBER, np.array(values, dtype=np.float64)
    position = positions(feature, genes)

    ticks = ticks_of(0, feature, genes, position)

    spots = [tick["position"] for tick in ticks]
    assert spots == sorted(set(spots))
    assert {position.min(), position.max(), position[0]} <= set(spots) <= set(position)
    assert [tick["position"] for tick in ticks if tick["is_row"]] == [position[0]]
    assert len(ticks) <= MOST_TICKS
    assert is_level or len(ticks) <= 3


def test_the_row_has_no_changes_and_no_distance(
    found: cp.Counterfactuals, loaded: cp.Counterfactuals
) -> None:
    ours, theirs = row_objectives(found)[0], row_objectives(loaded)[0]

    assert ours[1:3].tolist() == theirs[1:3].tolist() == [0.0, 0.0]
    assert ours[0] == theirs[0] == found.target.gap_of(found.row_prediction)
    assert np.isnan(theirs[3])
