"""Strips: what was observed of each changed feature, with arrows from old to new values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from counterpoint.result.figures.charts import theme
from counterpoint.result.figures.frames.axes import Axis
from counterpoint.result.figures.frames.common import MOST_SHOWN, how_many
from counterpoint.result.figures.frames.strips import (
    MOST_ARROWS,
    MOST_STRIPS,
    strips_and_axes,
)

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

TITLE = "From the row's values to new ones"
WIDTH, COLUMNS = 300, 2
TALL, LANE = 4.0, 11  # the histogram in lanes, a lane in pixels


def strips(
    found: Counterfactuals,
    features: Sequence[Hashable] | None = None,
    most: int = MOST_STRIPS,
    n: int = MOST_SHOWN,
    width: int | None = None,
    dark: bool = False,
) -> Any:
    """Return a strip for each feature that changes."""
    colors = theme.palette(dark)
    frames, axes, left_out = strips_and_axes(found, features, most, n)
    if not axes:
        return theme.nothing(colors, TITLE, f"Nothing to show: {found.message}", width or 520)
    columns = min(COLUMNS, len(axes))
    each = WIDTH if width is None else max(80, width // columns)
    arrows = frames["counterfactuals"]
    panels = []
    for number, axis in enumerate(axes):
        lanes = 1 + arrows.loc[arrows["panel"] == number, "lane"].max() if len(arrows) else 0
        lanes = 1 if pd.isna(lanes) else max(1, int(lanes))
        panel = strip_of(axis, number, lanes, colors)
        panels.append(panel.properties(width=each, height=round(LANE * (TALL + lanes + 1))))
    is_cut = (arrows["lane"] < 0).any() if len(arrows) else False
    subtitle = [
        how_many(found, n),
        "Grey: the observed rows. Arrows: the changes, thicker where several counterfactuals agree",
        f"Arrows to the {MOST_ARROWS} most frequent new values; ticks show all" if is_cut else "",
        left_out,
        *(note for axis in axes for note in axis.notes),
    ]
    chart = alt.concat(*panels, columns=columns, spacing=30) if len(panels) > 1 else panels[0]
    return theme.finished(chart, frames, colors, TITLE, subtitle)


def strip_of(axis: Axis, number: int, lanes: int, colors: theme.Palette) -> Any:
    """Return one strip: bars above, arrows in lanes below, the row's value through both."""
    here = f"datum.panel === {number}"
    scale = alt.Scale(domain=[-lanes - 1.0, TALL], nice=False)

    def up(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=None)

    def along(field: str) -> Any:
        return theme.position(axis, alt.X, field)

    bars = (
        theme.drawn_from("bars")
        .transform_filter(here)
        .transform_calculate(top=f"datum.height * {TALL}", bottom="0")
        .mark_rect(color=colors.quiet, stroke=colors.paper, strokeWidth=0.8, clip=True)
        .encode(
            x=along("start"), x2="end", y=up("bottom"), y2="top", tooltip=alt.Tooltip("count:Q")
        )
    )
    row = (
        theme.drawn_from("row")
        .transform_filter(here)
        .mark_rule(color=colors.row, strokeWidth=2.5)
        .encode(x=along("x"), tooltip=theme.tooltip({"value:N": "the row"}))
    )
    return alt.layer(bars, row, *arrow_layers(axis, here, scale, colors))


def arrow_layers(axis: Axis, here: str, scale: alt.Scale, colors: theme.Palette) -> list[Any]:
    """Return a tick for every new value, and arrows in lanes to the most frequent ones."""
    old, new = (theme.position(axis, alt.X, field) for field in ("old", "new"))
    height = alt.Y("height:Q", scale=scale, axis=None)
    notes = theme.tooltip(
        {**theme.PERSON, "old_value:N": "from", "new_value:N": "to", "together:Q": "so many"}
    )
    moves = theme.drawn_from("counterfactuals").transform_filter(here)
    # All counterfactuals have a tick at the new value; those of one value share an arrow.
    ticks = moves.mark_tick(orient="vertical", thickness=1.5, size=7, opacity=0.8).encode(
        x=new, y=alt.Y(datum=-0.35, scale=scale, axis=None), color=theme.color(colors)
    )
    arrows = moves.transform_filter("datum.lane >= 0").transform_calculate(
        height="-datum.lane - 1.2", heading="datum.new > datum.old ? 'right' : 'left'"
    )
    thick = alt.StrokeWidth(
        "together:Q", scale=alt.Scale(domain=[1, 10], range=[1.2, 3], clamp=True), legend=None
    )
    shafts = arrows.mark_rule(opacity=0.85).encode(
        x=old,
        x2="new",
        y=height,
        color=theme.color(colors),
        strokeWidth=thick,
        tooltip=notes,
    )
    heads = arrows.mark_point(filled=True, size=70, opacity=1).encode(
        x=new,
        y=height,
        color=theme.color(colors),
        shape=alt.Shape(
            "heading:N",
            scale=alt.Scale(domain=["right", "left"], range=["triangle-right", "triangle-left"]),
            legend=None,
        ),
        tooltip=notes,
    )
    return [ticks, shafts, heads]
