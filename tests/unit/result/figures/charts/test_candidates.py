"""Charts of the candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.figures import drawn, explained
from tests.strategies import generator

import counterpoint as cp


@pytest.mark.parametrize("figure", ["parallel", "frequency", "history"])
def test_the_width_is_as_asked(found: cp.Counterfactuals, figure: str) -> None:
    assert getattr(found.plot, figure)(width=333).to_dict()["width"] == 333


def test_of_many_counterfactuals_some_are_drawn_and_that_is_said(found: cp.Counterfactuals) -> None:
    chart = found.plot.parallel(n=7)

    lines = chart.to_dict()["datasets"]["counterfactuals"]
    kept = {row["counterfactual"] for row in lines} - {0}
    assert len(found.genomes) > 7
    assert len(kept) == 7
    n = int(found.reaches.sum())
    counts = f"{n} counterfactuals; {len(found.genomes) - n} near misses for {found.target}"
    said = " ".join(chart.to_dict()["title"]["subtitle"])
    assert said == f"{counts} (shown: 7 that differ most, those that reach it first)"


def test_of_a_hundred_features_the_most_often_changed_are_shown() -> None:
    rng = generator(1)
    data = pd.DataFrame({f"f{j}": rng.normal(size=60).round(2) for j in range(100)})
    explainer = cp.Explainer(lambda rows: rows.sum(axis=1).to_numpy(), data)
    row = data.iloc[[int(np.argmin(data.sum(axis=1)))]]
    found = explainer.explain(row, (20.0, 90.0), search=cp.Search(evaluations=600))

    chart = found.plot.parallel().to_dict()

    axes = [row["feature"] for row in chart["datasets"]["axes"]]
    shown = found.plot.parallel_data(most=100)["axes"]["feature"].to_list()
    assert len(axes) == 12
    assert axes == shown[:12]
    assert "Shown: the 12 most often changed of" in chart["title"]["subtitle"][1]
    assert "the 20 most often changed of 100" in drawn(found.plot.frequency())


def test_own_objectives_are_in_the_matrix_by_name() -> None:
    def price(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        return (rows["amount"] - row["amount"].iloc[0]).abs().to_numpy()

    found = explained(objectives=[cp.Objective("<b>price</b>", price)], evaluations=200)

    svg = drawn(found.plot.objectives())

    assert "&lt;b&gt;price&lt;/b&gt;" in svg
    assert found.plot.objectives_data()["names"]["objective"].to_list()[-1] == "<b>price</b>"


def test_each_pair_of_objectives_has_one_panel(found: cp.Counterfactuals) -> None:
    rows = found.plot.objectives().to_dict()["vconcat"]

    names = [panel["name"] for row in rows for panel in row["hconcat"]]
    assert names == [f"objectives_{a}_{b}" for b in range(1, 4) for a in range(b)]


def test_the_history_says_why_the_search_ended(found: cp.Counterfactuals) -> None:
    subtitle = found.plot.history().to_dict()["title"]["subtitle"]

    assert subtitle[0].endswith("Ended by its budget")
