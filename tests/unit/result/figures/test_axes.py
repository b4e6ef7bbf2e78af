"""Texts, axes and bars that all figures share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.figures import drawn, explained_once

import counterpoint as cp
from counterpoint.result.figures.axes import (
    MOST_BARS,
    MOST_LEVELS,
    Axis,
    bar_edges,
    clean,
    how_many,
    prediction_name,
    shown,
    titled,
    varied,
    wrapped,
    wrapped_apart,
)

FOUND = explained_once()
AXES = [Axis.of(FOUND, place) for place in range(len(FOUND.genome))]
axes = st.sampled_from(AXES)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("age", "age"),
        ("credit_amount", "credit_amount"),
        (
            "installment_rate_in_percentage_of_disposable_income",
            "installment_\nrate_in_\npercentage_…",
        ),
        ("", ""),
    ],
)
def test_long_names_are_wrapped(name: str, lines: str) -> None:
    assert wrapped(name) == lines


def test_names_that_an_ellipsis_makes_alike_are_told_by_what_differs() -> None:
    names = [f"average number of payments of kind {k} in a year" for k in ("10", "14")]

    assert wrapped_apart(["age", *names], 10, 2) == ["age", "… 10 in a\nyear", "… 14 in a\nyear"]
    assert wrapped_apart(["a_long_name", "b"], 8, 2) == ["a_long_\nname", "b"]


def test_of_many_levels_those_that_matter_are_shown() -> None:
    data = pd.DataFrame({"city": [f"c{i % 40:02}" for i in range(200)], "a": range(200)})
    explainer = cp.Explainer(lambda rows: (rows["city"] == "c39").to_numpy(dtype=float), data)
    found = explainer.explain({"city": "c38", "a": 3}, (0.5, 1.0))

    axis = Axis.of(found, 0)

    assert len(axis.labels) == MOST_LEVELS
    assert {"c38", "c39"} <= set(axis.labels)
    assert "20 of 40 levels of city" in drawn(found.plot.ice("city"))


@given(st.text())
def test_any_text_is_one_line_that_is_seen_and_written(text: str) -> None:
    line = clean(text)

    assert line.strip()
    assert len(line.splitlines()) == 1
    assert line.encode("utf-8")
    assert not set(titled(line)) & {"\\", '"'}


@given(axes, st.integers(2, 60))
def test_a_grid_runs_over_the_axis_in_cells_without_gaps(axis: Axis, resolution: int) -> None:
    genes = axis.grid(resolution)

    start, end = axis.cells(genes)

    assert len(genes) <= max(resolution, len(axis.codes))
    np.testing.assert_array_equal(start[1:], end[:-1])
    assert (start[0], end[-1]) == axis.domain
    places = axis.at(genes)
    assert ((start <= places) & (places <= end)).all()


@given(axes)
def test_bars_cover_the_axis_and_are_few(axis: Axis) -> None:
    edges = bar_edges(axis)

    assert (np.diff(edges) > 0.0).all()
    assert edges[0] <= axis.low <= axis.high <= edges[-1]
    assert len(edges) - 1 <= max(MOST_BARS, len(axis.codes))


@given(st.integers(1, 60))
def test_at_most_n_are_shown_the_row_first(n: int) -> None:
    places = shown(FOUND, n, "plot")

    total = len(FOUND.genomes)
    assert places[0] == 0
    assert len(places) == 1 + min(n, total)
    assert (np.diff(places) > 0).all()
    assert places.max() <= total
    assert (f"(shown: {n} that differ most, those that reach it first)" in how_many(FOUND, n)) == (
        n < total
    )


def test_a_varied_row_differs_in_the_named_features_only() -> None:
    genomes = varied(FOUND, {1: [2.0, 3.0]})

    assert genomes[:, 1].tolist() == [2.0, 3.0]
    np.testing.assert_array_equal(np.delete(genomes, 1, 1), [np.delete(FOUND.genome, 1)] * 2)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("good", "Probability of “good”"),
        (("good", (0.5, 1.0)), "Probability of “good”"),
        ("opposite", "Probability of “good”"),
    ],
)
def test_a_prediction_is_named_by_its_class(target: Any, name: str) -> None:
    def score(rows: pd.DataFrame) -> Any:
        return np.column_stack([1 - rows["a"] / 9, rows["a"] / 9])

    data = pd.DataFrame({"a": range(10)})
    found = cp.Explainer(score, data, classes=["bad", "good"]).explain({"a": 1}, target)

    assert prediction_name(found) == name
