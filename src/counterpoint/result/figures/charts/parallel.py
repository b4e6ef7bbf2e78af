"""Parallel coordinates (Dandl et al. 2020, figure 2a)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from counterpoint.result.figures.charts import theme
from counterpoint.result.figures.frames.common import MOST_SHOWN, ROW, how_many
from counterpoint.result.figures.frames.parallel import MOST_AXES, lines_and_note
from counterpoint.result.figures.frames.texts import wrapped

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

TITLE = "What the counterfactuals change"
HEIGHT, STEP, LINE = 320, 118, 15


def parallel(
    found: Counterfactuals,
    features: Sequence[Hashable] | None = None,
    most: int = MOST_AXES,
    n: int = MOST_SHOWN,
    width: int | None = None,
    dark: bool = False,
) -> Any:
    """Return parallel coordinates of the changed features."""
    colors = theme.palette(dark)
    frames, left_out = lines_and_note(found, features, most, n)
    n_axes = len(frames["axes"])
    if n_axes == 0:
        return theme.nothing(colors, TITLE, f"Nothing to show: {found.message}", width or 520)
    width = max(460, STEP * n_axes) if width is None else width
    room = max(8, int(width / n_axes / 7.2))
    labels = [wrapped(name, room) for name in frames["axes"]["feature"]]
    n_lines = 1 + max(label.count("\n") for label in labels)
    # All have as many lines, so that they end at one height, above the numbers.
    labels = ["\n" * (n_lines - 1 - label.count("\n")) + label for label in labels]
    frames["axes"] = frames["axes"].assign(label=labels)
    layers = [
        *axis_layers(n_axes, n_lines, colors),
        *line_layers(n_axes, colors, min(n, len(found))),
        *tick_layers(n_axes, colors),
    ]
    chart = alt.layer(*layers).properties(width=width, height=HEIGHT)
    return theme.finished(chart, frames, colors, TITLE, [how_many(found, n), left_out])


def across(n: int) -> alt.X:
    """Return where axis number 0 to n - 1 stands."""
    return alt.X("axis:Q", scale=alt.Scale(domain=[-0.5, n - 0.5], nice=False), axis=None)


def upwards() -> alt.Y:
    """Return the height on an axis."""
    return alt.Y("position:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=None)


def axis_layers(n_axes: int, n_lines: int, colors: theme.Palette) -> list[Any]:
    """Return the axes and their names."""
    base = theme.drawn_from("axes").encode(x=across(n_axes))
    rules = base.mark_rule(color=colors.line, strokeWidth=1.5).encode(
        y=alt.value(0), y2=alt.value(HEIGHT)
    )
    names = base.mark_text(
        baseline="line-bottom",
        fontSize=12,
        fontWeight=600,
        color=colors.ink,
        lineBreak="\n",
        lineHeight=LINE,
    ).encode(text="label:N", y=alt.value(-30 - LINE * (n_lines - 1)))
    return [rules, names]


def line_layers(n_axes: int, colors: theme.Palette, n: int) -> list[Any]:
    """Return the lines of the counterfactuals, then the row's on top."""
    legend = theme.signs("stroke", offset=34)  # below the numbers at the axes' ends
    tint = theme.color(colors, legend)
    picked = alt.selection_point(name="picked", fields=["counterfactual"], empty=True)
    strength = float(np.clip(6.0 / max(1, n), 0.18, 0.75))
    everyone = theme.drawn_from("counterfactuals").encode(
        x=across(n_axes), y=upwards(), detail="counterfactual:N"
    )
    others = everyone.transform_filter("datum.counterfactual > 0")
    notes = theme.tooltip(
        {
            **theme.PERSON,
            "feature:N": "feature",
            "value:N": "value",
            "prediction:Q": "prediction",
        }
    )
    drawn = others.mark_line(strokeWidth=1.6).encode(
        color=tint,
        strokeDash=theme.dash(legend),
        opacity=alt.condition(picked, alt.value(strength), alt.value(0.06)),
        order="axis:Q",
        tooltip=notes,
    )
    dots = others.mark_point(filled=True, size=34, opacity=1).encode(
        color=alt.condition("datum.changed", tint, alt.value(colors.quiet)),
        opacity=alt.condition(picked, alt.value(0.95), alt.value(0.1)),
        tooltip=notes,
    )
    own = everyone.transform_filter("datum.counterfactual === 0")
    row_line = own.mark_line(strokeWidth=3.5).encode(color=tint, order="axis:Q", tooltip=notes)
    row_dots = own.mark_point(
        filled=True, size=90, shape=theme.SHAPES[ROW], opacity=1, stroke=colors.paper
    ).encode(color=tint, tooltip=notes)
    return [drawn.add_params(picked), dots, row_line, row_dots]


def tick_layers(n_axes: int, colors: theme.Palette) -> list[Any]:
    """Return what is written on the axes: ends outside of them, levels and the row's beside."""
    layers = []
    places: dict[str, dict[str, Any]] = {
        "datum.end === 'high'": {"dy": -12},
        "datum.end === 'low'": {"dy": 14},
        "datum.end === ''": {"dx": 10, "align": "left"},
    }
    for rule, options in places.items():
        base = (
            theme.drawn_from("ticks")
            .transform_filter(rule)
            .encode(x=across(n_axes), y=upwards(), text="text:N")
        )
        style: dict[str, Any] = {"fontSize": 11, "baseline": "middle", "limit": 104} | options
        halo = base.mark_text(
            **style, stroke=colors.paper, strokeWidth=4, strokeJoin="round", color=colors.paper
        )
        words = base.mark_text(**style).encode(
            color=alt.condition("datum.is_row", alt.value(colors.row), alt.value(colors.faint))
        )
        layers += [halo, words]
    return layers
