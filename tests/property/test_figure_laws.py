"""Laws of the figures: what is drawn is what was found, whatever features and levels are called."""

from __future__ import annotations

import html
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st
from tests.figures import FIELDS, drawn, explained_once, fields_of, worth

import counterpoint as cp
from counterpoint.result.figures.axes import ROW, Axis, changes_only, histogram, unique
from counterpoint.result.figures.frames import contour_levels, positions
from counterpoint.table.features import Feature, Kind

FOUND = explained_once()
FEATURES = list(FOUND.encoding.schema.names)
NUMBER = Feature("a", Kind.REAL, np.dtype(float), (), 0.0, 1.0)
LEVELS = Feature("b", Kind.CATEGORICAL, np.dtype(object), tuple("uvwxyz"), 0.0, 5.0)
names = st.sampled_from(FEATURES)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1), st.booleans())
def test_positions_lie_on_the_axis_and_keep_the_order(values: list[float], is_level: bool) -> None:
    genes = np.array(values)
    if is_level:
        genes = np.where(np.isnan(genes), np.nan, np.mod(genes, 6.0) // 1.0)

    position = positions(LEVELS if is_level else NUMBER, genes)

    known = np.isfinite(genes)
    assert ((position >= 0.0) & (position <= 1.0)).all()
    assert (np.diff(position[known][np.argsort(genes[known])]) >= 0.0).all()
    assert (position[~known].max(initial=0.0) < position[known]).all() or known.all()


@given(st.lists(st.one_of(st.text(), st.integers(), st.tuples(st.integers()), st.none())))
def test_texts_of_different_values_differ_and_are_seen(values: list[Any]) -> None:
    texts = unique(values)

    assert len(set(texts)) == len(texts) == len(values)
    assert all(text.strip() for text in texts)
    assert all(text.isprintable() or not text.isascii() for text in texts)


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 8))
def test_every_counterfactual_shown_is_on_every_axis_once(pick: int, n: int, most: int) -> None:
    some = FOUND.take(np.unique([pick // 7**i % len(FOUND.genomes) for i in range(5)]))

    lines = some.plot.parallel_data(n=n, most=most)["counterfactuals"]

    per_axis = lines.groupby("axis")["counterfactual"]
    assert (per_axis.nunique() == per_axis.size()).all()
    assert (per_axis.size() == 1 + min(n, len(some.genomes))).all()
    numbers = lines.loc[lines["counterfactual"] > 0, "counterfactual"].unique()
    assert lines["axis"].nunique() == min(most, some.changed[numbers - 1].any(axis=0).sum())
    assert ((lines["outcome"] == ROW) == (lines["counterfactual"] == 0)).all()
    assert not lines.loc[lines["counterfactual"] == 0, "changed"].any()


def test_the_lines_say_what_changed() -> None:
    lines = FOUND.plot.parallel_data(n=len(FOUND.genomes))["counterfactuals"]

    for name, part in lines[lines["counterfactual"] > 0].groupby("feature"):
        expected = FOUND.changed[part["counterfactual"] - 1, FEATURES.index(name)]
        np.testing.assert_array_equal(part["changed"], expected)
    predictions = lines.groupby("counterfactual")["prediction"].first()
    np.testing.assert_array_equal(predictions[1:], FOUND.predictions)


def test_the_frequency_is_the_mean_of_the_changes() -> None:
    shown = FOUND.plot.frequency_data()["features"].set_index("feature")["share"]

    reaching = FOUND.valid()
    expected = reaching.change_frequency()
    assert shown.to_dict() == {str(name): share for name, share in expected.items()}
    assert (shown.to_numpy() == np.sort(reaching.changed.mean(axis=0))[::-1]).all()


@settings(max_examples=15, deadline=None)
@given(names, names, st.integers(2, 9))
def test_the_surface_is_the_model_on_the_grid(x: str, y: str, resolution: int) -> None:
    assume(x != y)

    grid = FOUND.plot.surface_data(x, y, resolution=resolution)["grid"]

    axes = [Axis.of(FOUND, FEATURES.index(name)) for name in (x, y)]
    across, up = np.meshgrid(*(axis.grid(resolution) for axis in axes))
    genomes = np.repeat(FOUND.genome[None], across.size, axis=0)
    for axis, genes in zip(axes, (across, up), strict=True):
        genomes[:, axis.place] = genes.ravel()
    rows = FOUND.encoding.decode(genomes)
    np.testing.assert_array_equal(grid["prediction"], worth(rows))
    for name, axis, genes in (("x", axes[0], across), ("y", axes[1], up)):
        middle = axis.at(genes.ravel())
        assert ((grid[name] <= middle) & (middle <= grid[f"{name}2"])).all()


@settings(max_examples=20, deadline=None)
@given(names, names)
def test_a_surface_shows_the_row_and_all_that_change_nothing_else(x: str, y: str) -> None:
    assume(x != y)

    points = FOUND.plot.surface_data(x, y, resolution=4)["counterfactuals"]

    others = [j for j, name in enumerate(FEATURES) if name not in (x, y)]
    expected = 1 + np.flatnonzero(~FOUND.changed[:, others].any(axis=1))
    assert points["counterfactual"].to_list() == [0, *expected]
    assert points[["x", "y"]].notna().all(axis=None)


@given(names, st.integers(2, 50))
def test_a_curve_holds_the_row_and_the_counterfactuals_on_it(name: str, resolution: int) -> None:
    frames = FOUND.plot.ice_data(name, resolution=resolution)

    curve = frames["curves"].set_index("x")["prediction"]
    points = frames["counterfactuals"]
    own = points[points["counterfactual"] == 0].iloc[0]
    assert own["prediction"] == curve[own["x"]] == FOUND.row_prediction
    assert curve.index.is_monotonic_increasing
    assert len(points) == 1 + len(changes_only(FOUND, [FEATURES.index(name)]))
    np.testing.assert_allclose(points["prediction"], curve[points["x"]], rtol=1e-12)


@given(names)
def test_a_histogram_counts_every_observed_row_once(name: str) -> None:
    axis = Axis.of(FOUND, FEATURES.index(name))

    bars = histogram(FOUND, axis)

    assert bars["count"].sum() == 120
    assert (bars["start"] < bars["end"]).all()
    assert (bars["start"].iloc[1:].to_numpy() == bars["end"].iloc[:-1].to_numpy()).all()


def test_the_strips_hold_every_change_once() -> None:
    frames = FOUND.plot.strips_data(n=len(FOUND.genomes))

    arrows = frames["counterfactuals"]
    assert len(arrows) == FOUND.changed[FOUND.reaches].sum()
    assert not arrows.duplicated(["counterfactual", "feature"]).any()
    assert (arrows["old"] != arrows["new"]).all()
    lanes = arrows.groupby(["feature", "new"])["lane"]
    assert (lanes.min() == lanes.max()).all()


def test_the_objectives_are_those_found() -> None:
    frames = FOUND.plot.objectives_data(n=len(FOUND.genomes))

    columns = frames["names"]["column"].to_list()
    table = frames["counterfactuals"][columns].to_numpy()
    np.testing.assert_array_equal(table[1:], FOUND.objectives)
    assert table[0, 1:3].tolist() == [0.0, 0.0]  # the row is no distance from itself


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_contour_levels_lie_inside_and_are_few(low: float, span: float) -> None:
    levels = contour_levels(np.array([[low, low + span]]), [])

    assert len(levels) <= 8
    assert all(low < level < low + span for level in levels)
    assert levels == sorted(set(levels))


awkward = st.one_of(
    st.text(min_size=1, max_size=12),
    st.integers(-5, 5),
    st.sampled_from(
        ["a.b", "a[0]", 'say "hi"', "it's", "\\", "<img src=x onerror=alert(1)>", "datum.x", "${x}"]
    ),
    st.tuples(st.text(max_size=3), st.integers()),
)
levels = st.lists(
    st.one_of(
        st.text(max_size=12), st.sampled_from(['"];alert(1);//', "<b>", "', '", "\u2028", "]"])
    ),
    min_size=2,
    max_size=4,
    unique=True,
)


# Without shrinking: an example explains and draws, and shrinking would take minutes.
@settings(
    max_examples=2,  # each draws every figure
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@example(["a\\", 'b\\"', '\\");'], ['"];alert(1);//', "\\"])
@example(["constructor", "__proto__", "toString"], ["valueOf", "__proto__", "hasOwnProperty"])
@given(st.lists(awkward, min_size=3, max_size=3, unique_by=lambda x: (str(type(x)), x)), levels)
def test_any_name_and_level_is_only_text(columns: list[Any], texts: list[str]) -> None:
    data = pd.DataFrame(
        {0: np.arange(12.0), 1: [texts[i % len(texts)] for i in range(12)], 2: [True, False] * 6}
    )
    data.columns = pd.Index(columns, dtype=object, tupleize_cols=False)

    def model(rows: pd.DataFrame) -> Any:
        is_first = rows[columns[1]].to_numpy() == texts[0]
        return (rows[columns[0]].to_numpy() + 3.0 * is_first) / 20.0

    explainer = cp.Explainer(model, data, groups={})
    found = explainer.explain(data.iloc[[1]], (0.4, 1.0), search=cp.Search(evaluations=60))

    charts = [
        found.plot.parallel(),
        found.plot.surface(columns[0], columns[1], resolution=3),
        found.plot.surface(columns[1], columns[2]),
        found.plot.ice(columns[1]),
        found.plot.strips(columns),
        found.plot.frequency(),
    ]

    pictures = []
    for chart in charts:
        spec = chart.to_dict()
        assert fields_of(spec) <= FIELDS
        json.dumps(spec, allow_nan=False)
        pictures.append(drawn(spec))
        assert len(pictures[-1]) > 5_000  # what Vega cannot draw is an empty picture
    shown = html.unescape(pictures[3])
    assert all(
        text.strip() in shown
        for text in unique(sorted(texts))
        if len(text) < 9 and "  " not in text
    )


@pytest.mark.parametrize("figure", ["parallel", "objectives", "ice", "strips", "frequency"])
def test_a_chart_holds_its_frames_by_name(figure: str) -> None:
    chart, frames = getattr(FOUND.plot, figure)(), getattr(FOUND.plot, f"{figure}_data")()

    datasets = chart.to_dict()["datasets"]

    for name, frame in frames.items():
        assert len(datasets[name]) == len(frame)
        assert set(frame.columns) <= set(datasets[name][0])
    if figure != "frequency":
        assert all("counterfactual" in row for row in datasets["counterfactuals"])
