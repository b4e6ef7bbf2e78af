"""ICE curves of the row, with the counterfactuals that lie on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from counterpoint.result.figures.charts import theme
from counterpoint.result.figures.frames.axes import Axis
from counterpoint.result.figures.frames.ice import MOST_CURVES, RESOLUTION, ice_axes, ice_data
from counterpoint.result.figures.frames.texts import prediction_name

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

TITLE = "The row's prediction as one feature changes"
WIDTH, PANEL, COLUMNS = 480, 240, 3


def ice(
    found: Counterfactuals,
    features: Sequence[Hashable] | None = None,
    most: int = MOST_CURVES,
    resolution: int = RESOLUTION,
    width: int | None = None,
    dark: bool = False,
) -> Any:
    """Return the curve of one feature, or of each of those that change."""
    colors = theme.palette(dark)
    frames = ice_data(found, features, most, resolution)
    axes, left_out = ice_axes(found, features, most)
    if not axes:
        return theme.nothing(colors, TITLE, f"Nothing to show: {found.message}", width or 520)
    columns = min(COLUMNS, len(axes))
    each = (WIDTH if len(axes) == 1 else PANEL) if width is None else max(80, width // columns)
    ends = heights(found, frames)
    low, high = np.clip([found.target.low, found.target.high], *ends)
    frames["target"] = pd.DataFrame({"low": [low], "high": [high]})
    panels = [
        panel_of(found, axis, number, ends, colors).properties(
            width=each, height=round(each * 0.62)
        )
        for number, axis in enumerate(axes)
    ]
    subtitle = [
        f"All others stay; the shaded part is the target, {found.target}",
        left_out,
        *(note for axis in axes for note in axis.notes),
    ]
    chart = alt.concat(*panels, columns=columns, spacing=28) if len(panels) > 1 else panels[0]
    return theme.finished(chart, frames, colors, TITLE, subtitle)


def heights(found: Counterfactuals, frames: dict[str, pd.DataFrame]) -> tuple[float, float]:
    """Return the range of predictions all panels share, the target's near end included."""
    values = np.concatenate([frame["prediction"].to_numpy(float) for frame in frames.values()])
    low, high = float(values.min()), float(values.max())
    target = found.target
    low, high = min(low, target.high), max(high, target.low)
    room = (high - low or 1.0) * 0.06
    is_share = found.problem.predictor.classes is not None
    return (max(0.0, low - room), min(1.0, high + room)) if is_share else (low - room, high + room)


def panel_of(
    found: Counterfactuals,
    axis: Axis,
    number: int,
    ends: tuple[float, float],
    colors: theme.Palette,
) -> Any:
    """Return one curve with the target's band, the counterfactuals on it and the row."""
    x = theme.position(axis, alt.X, "x")
    y = alt.Y(
        "prediction:Q",
        scale=alt.Scale(domain=list(ends), nice=False, zero=False),
        axis=alt.Axis(title=None if number % COLUMNS else prediction_name(found), tickCount=5),
    )
    here = f"datum.panel === {number}"
    notes = {"value:N": axis.title, "prediction:Q": "prediction"}
    curve = theme.drawn_from("curves").transform_filter(here).encode(x=x, y=y)
    if axis.is_level:
        drawn = curve.mark_tick(orient="horizontal", thickness=3, size=26, color=colors.quiet)
    else:
        drawn = curve.mark_line(color=colors.faint, strokeWidth=2)
    points = (
        theme.drawn_from("counterfactuals")
        .transform_filter(here)
        .encode(
            x=x,
            y=y,
            color=theme.color(colors),
            shape=theme.shape(),
            tooltip=theme.tooltip({**theme.PERSON, **notes}),
        )
    )
    others = points.transform_filter("datum.counterfactual > 0").mark_point(
        filled=True, opacity=1, size=44
    )
    row = points.transform_filter("datum.counterfactual === 0").mark_point(
        filled=True, opacity=1, size=170, stroke=colors.paper, strokeWidth=1.5
    )
    band = band_of(found, ends, colors)
    return alt.layer(band, drawn.encode(tooltip=theme.tooltip(notes)), others, row)


def band_of(found: Counterfactuals, ends: tuple[float, float], colors: theme.Palette) -> Any:
    """Return the target as a shaded band; a line where it is a single number."""
    base = theme.drawn_from("target")
    scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    if found.target.low == found.target.high:
        return base.mark_rule(color=colors.valid, strokeDash=[6, 4]).encode(
            y=alt.Y("low:Q", scale=scale)
        )
    return base.mark_rect(color=colors.valid, opacity=0.12).encode(
        y=alt.Y("low:Q", scale=scale), y2="high"
    )
