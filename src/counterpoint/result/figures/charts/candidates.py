"""Charts of the candidates: parallel coordinates, strips, objectives, frequencies, history.

Parallel coordinates are figure 2a of Dandl et al. (2020).
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from counterpoint.result.data import ResultData
from counterpoint.result.figures.axes import ROW, Axis, Names, how_many, titled, wrapped_apart
from counterpoint.result.figures.charts import theme
from counterpoint.result.figures.frames import (
    MOST_ARROWS,
    frequency_data,
    history_data,
    lines_and_note,
    objectives_data,
    strips_and_axes,
)
from counterpoint.result.words import count_candidates, say, spoken_now, texts_of
from counterpoint.result.words.sentences import target_text
from counterpoint.table.labels import SIGNS

HEIGHT, STEP, LINE = 320, 118, 15
LEAST_STEP = 78  # pixels between two axes, for names and numbers that do not overlap


def parallel(
    found: ResultData, features: Names, most: int, n: int, width: int | None, dark: bool
) -> Any:
    """Return parallel coordinates of the changed features."""
    colors = theme.palette(dark)
    if width is not None and features is None:
        most = min(most, max(2, width // LEAST_STEP))
    frames, left_out = lines_and_note(found, features, most, n)
    n_axes = len(frames["axes"])
    if n_axes == 0:
        return theme.nothing(found, colors, say("figure.parallel"), width)
    width = max(460, STEP * n_axes) if width is None else width
    room = max(8, int(width / n_axes / 7.2))
    labels = wrapped_apart(list(frames["axes"]["feature"]), room)
    n_lines = 1 + max(label.count("\n") for label in labels)
    # All have as many lines, so that they end at one height, above the numbers.
    labels = ["\n" * (n_lines - 1 - label.count("\n")) + label for label in labels]
    frames["axes"] = frames["axes"].assign(label=labels)
    layers = [
        *axis_layers(n_axes, n_lines, colors),
        *line_layers(n_axes, colors, min(n, len(found.genomes))),
        *tick_layers(n_axes, colors, width // n_axes - 8),
    ]
    chart = theme.sized(alt.layer(*layers), width, HEIGHT)
    return theme.finished(
        chart, frames, colors, say("figure.parallel"), [how_many(found, n), left_out]
    )


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
        y=theme.constant(alt.YValue, 0), y2=theme.constant(alt.Y2Value, HEIGHT)
    )
    names = base.mark_text(
        baseline="line-bottom",
        fontSize=12,
        fontWeight=600,
        color=colors.ink,
        lineBreak="\n",
        lineHeight=LINE,
    ).encode(text="label:N", y=theme.constant(alt.YValue, -30 - LINE * (n_lines - 1)))
    return [rules, names]


def line_layers(n_axes: int, colors: theme.Palette, n: int) -> list[Any]:
    """Return the lines of the candidates, then the row's on top."""
    legend = theme.signs("stroke", offset=34)  # below the numbers at the axes' ends
    tint = theme.color(colors, legend)
    picked = alt.selection_point(name="picked", fields=["counterfactual"], empty=True)
    strength = float(np.clip(6.0 / max(1, n), 0.18, 0.75))
    everyone = theme.drawn_from("counterfactuals").encode(
        x=across(n_axes), y=upwards(), detail="counterfactual:N"
    )
    others = everyone.transform_filter("datum.counterfactual > 0")
    notes = theme.candidate_tooltip(
        {
            "feature:N": say("tip.feature"),
            "value:N": say("tip.value"),
            "prediction:Q": say("tip.prediction"),
        }
    )
    drawn = others.mark_line(strokeWidth=1.6).encode(
        color=tint,
        strokeDash=theme.coded(alt.StrokeDash, theme.DASHES.values(), legend),
        opacity=theme.chosen(alt.OpacityValue, picked, alt.value(strength), 0.06),
        order="axis:Q",
        tooltip=notes,
    )
    dots = others.mark_point(filled=True, size=34, opacity=1).encode(
        color=theme.chosen(alt.ColorValue, "datum.changed", tint, colors.quiet),
        opacity=theme.chosen(alt.OpacityValue, picked, alt.value(0.95), 0.1),
        tooltip=notes,
    )
    own = everyone.transform_filter("datum.counterfactual === 0")
    row_line = own.mark_line(strokeWidth=3.5).encode(color=tint, order="axis:Q", tooltip=notes)
    row_dots = own.mark_point(
        filled=True, size=90, shape=theme.SHAPES[ROW], opacity=1, stroke=colors.paper
    ).encode(color=tint, tooltip=notes)
    return [drawn.add_params(picked), dots, row_line, row_dots]


def tick_layers(n_axes: int, colors: theme.Palette, room: int) -> list[Any]:
    """Return what is written on the axes: ends outside of them, levels and the row's beside.

    No text is wider than the room between two axes, in pixels.
    """
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
        style: dict[str, Any] = {
            "fontSize": 11,
            "baseline": "middle",
            "limit": min(104, room),
        } | options
        halo = base.mark_text(
            **style, stroke=colors.paper, strokeWidth=4, strokeJoin="round", color=colors.paper
        )
        words = base.mark_text(**style).encode(
            color=theme.chosen(alt.ColorValue, "datum.is_row", alt.value(colors.row), colors.faint)
        )
        layers += [halo, words]
    return layers


WIDTH, COLUMNS = 300, 2
TALL, LANE = 4.0, 11  # the histogram in lanes, a lane in pixels


def strips(
    found: ResultData, features: Names, most: int, n: int, width: int | None, dark: bool
) -> Any:
    """Return a strip for each feature that changes."""
    colors = theme.palette(dark)
    frames, axes, left_out = strips_and_axes(found, features, most, n)
    if not axes:
        return theme.nothing(found, colors, say("figure.strips"), width)
    columns = min(COLUMNS, len(axes))
    each = WIDTH if width is None else max(80, width // columns)
    arrows = frames["counterfactuals"]
    panels = []
    for number, axis in enumerate(axes):
        lanes = 1 + arrows.loc[arrows["panel"] == number, "lane"].max() if len(arrows) else 0
        lanes = 1 if pd.isna(lanes) else max(1, int(lanes))
        panel = strip_of(axis, number, lanes, colors)
        panels.append(theme.sized(panel, each, round(LANE * (TALL + lanes + 1))))
    is_cut = (arrows["lane"] < 0).any() if len(arrows) else False
    subtitle = [
        how_many(found, n),
        say("figure.strips.how"),
        say("figure.strips.cut", n=MOST_ARROWS) if is_cut else "",
        left_out,
        *(note for axis in axes for note in axis.notes),
    ]
    chart = alt.concat(*panels, columns=columns, spacing=30) if len(panels) > 1 else panels[0]
    return theme.finished(chart, frames, colors, say("figure.strips"), subtitle)


def strip_of(axis: Axis, number: int, lanes: int, colors: theme.Palette) -> Any:
    """Return one strip: bars above, arrows in lanes below, the row's value through both."""
    here = f"datum.panel === {number}"
    scale = alt.Scale(domain=[-lanes - 1.0, TALL], nice=False)

    def along(field: str) -> Any:
        return theme.position(axis, alt.X, field)

    bars = (
        theme.drawn_from("bars")
        .transform_filter(here)
        .transform_calculate(top=f"datum.height * {TALL}", bottom="0")
        .mark_rect(color=colors.quiet, stroke=colors.paper, strokeWidth=0.8, clip=True)
        .encode(
            x=along("start"),
            x2="end",
            y=alt.Y("bottom:Q", scale=scale, axis=None),
            y2="top",
            tooltip=alt.Tooltip("count:Q"),
        )
    )
    row = (
        theme.drawn_from("row")
        .transform_filter(here)
        .mark_rule(color=colors.row, strokeWidth=2.5)
        .encode(x=along("x"), tooltip=theme.tooltip({"value:N": say("tip.row")}))
    )
    return alt.layer(bars, row, *arrow_layers(axis, here, scale, colors))


def arrow_layers(axis: Axis, here: str, scale: alt.Scale, colors: theme.Palette) -> list[Any]:
    """Return a tick for every new value, and arrows in lanes to the most frequent ones."""
    old, new = (theme.position(axis, alt.X, field) for field in ("old", "new"))
    height = alt.Y("height:Q", scale=scale, axis=None)
    notes = theme.candidate_tooltip(
        {
            "old_value:N": say("tip.from"),
            "new_value:N": say("tip.to"),
            "together:Q": say("tip.together"),
        }
    )
    moves = theme.drawn_from("counterfactuals").transform_filter(here)
    # All candidates have a tick at the new value; those of one value share an arrow.
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
        x=old, x2="new", y=height, color=theme.color(colors), strokeWidth=thick, tooltip=notes
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


HISTORY = "How the search went"
PANEL, LEAST_PANEL, BAR, TALL_BAR = 150, 70, 24, 32  # pixels; names of two lines need more
MOST_NAME = 36  # characters of a line beside a bar
WIDE = 50  # times as many evaluations at the end: the beginning would not be seen


def objectives(found: ResultData, n: int, width: int | None, dark: bool) -> Any:
    """Return a scatter matrix of all objectives, own ones included."""
    colors = theme.palette(dark)
    frames = objectives_data(found, n)
    names = [objective_text(name) for name in frames["names"]["objective"]]
    last = len(names) - 1
    each = PANEL if width is None else max(LEAST_PANEL, width // last - 20)
    pairs = [(across, up) for up in range(1, last + 1) for across in range(up)]
    views = {pair: f"objectives_{pair[0]}_{pair[1]}" for pair in pairs}  # one brush serves all
    panels = {pair: theme.sized(scatter(names, pair, colors), each, each) for pair in pairs}
    for pair, view in views.items():
        panels[pair].name = view
    rows = [
        alt.hconcat(*(panels[across, up] for across in range(up)), spacing=14, bounds="flush")
        for up in range(1, last + 1)
    ]
    brush = alt.TopLevelSelectionParameter(
        name="brush",
        select=alt.IntervalSelectionConfig(type="interval", resolve="union"),
        views=list(views.values()),
    )
    chart = alt.vconcat(*rows, spacing=14, params=[brush])
    return theme.finished(
        chart,
        frames,
        colors,
        say("figure.objectives"),
        [how_many(found, n), say("figure.objectives.how")],
    )


def objective_text(name: str) -> str:
    """Return what an objective is called in a figure: in English by its name."""
    key = f"objective.{name}.short"
    return name if spoken_now() == "en" else texts_of(spoken_now()).get(key, name)


def scatter(names: list[str], pair: tuple[int, int], colors: theme.Palette) -> Any:
    """Return one panel of the matrix; only the outer ones have titles and numbers."""
    across, up = pair
    last = len(names) - 1

    def axis(m: int, is_outer: bool) -> alt.Axis:
        title = titled(names[m]) if is_outer else None
        return alt.Axis(
            title=title,
            labels=is_outer,
            ticks=is_outer,
            tickCount=3,
            labelOverlap=True,
            format=theme.SHORT,
        )

    brush = alt.selection_interval(name="brush")  # the one all panels share
    own = "datum.counterfactual === 0"
    zero = alt.Scale(zero=False, nice=True, padding=6)
    notes = {f"objective_{m}:Q": name for m, name in enumerate(names)}
    return (
        theme.drawn_from("counterfactuals")
        .mark_point(filled=True, stroke=colors.paper, strokeWidth=0.4)
        .encode(
            x=alt.X(f"objective_{across}:Q", scale=zero, axis=axis(across, up == last)),
            y=alt.Y(f"objective_{up}:Q", scale=zero, axis=axis(up, across == 0)),
            color=theme.chosen(alt.ColorValue, brush, theme.color(colors), colors.quiet),
            shape=theme.shape(),
            opacity=theme.chosen(alt.OpacityValue, own, alt.value(1), 0.7),
            size=theme.chosen(alt.SizeValue, own, alt.value(130), 46),
            tooltip=theme.candidate_tooltip({"prediction:Q": say("tip.prediction"), **notes}),
        )
    )


def frequency(found: ResultData, most: int, width: int | None, dark: bool) -> Any:
    """Return bars of how many candidates change each feature."""
    colors = theme.palette(dark)
    frame = frequency_data(found, most)["features"]
    if len(found.genomes) == 0:
        return theme.nothing(found, colors, say("figure.frequency", counts="0"), width)
    signs = SIGNS[spoken_now()]
    texts = [
        f"{'<1' if 0 < share < 0.005 else f'{100 * share:.0f}'}{signs.percent}  "
        f"({signs.whole(count)})"
        for share, count in zip(frame["share"], frame["count"], strict=True)
    ]
    names = wrapped_apart(list(frame["feature"]), MOST_NAME, lines=2)
    are_apart = len(set(names)) == len(names)  # an ellipsis may have made two alike
    frame = frame.assign(text=texts, feature=names if are_apart else frame["feature"])
    n_features = len(found.encoding.schema)
    n_counted = int(found.reaches.sum()) or len(found.genomes)
    some_reach = bool(found.reaches.any())
    counts = count_candidates(*((n_counted, 0) if some_reach else (0, n_counted)))
    cut = say("figure.frequency.cut", most=most, n=n_features)
    share = "figure.frequency.share" if some_reach else "figure.frequency.share misses"
    layers = bar_layers(say(share), colors)
    tall = TALL_BAR if any("\n" in name for name in names) else BAR
    chart = theme.sized(alt.layer(*layers), 420 if width is None else width, tall * len(frame))
    about = say("figure.frequency.for", target=target_text(found))
    subtitle = [about, cut if n_features > most else ""]
    title = say("figure.frequency", counts=counts)
    return theme.finished(chart, {"features": frame}, colors, title, subtitle)


def bar_layers(title: str, colors: theme.Palette) -> list[Any]:
    """Return the bars, the longest first, and what is written at their ends."""
    names = alt.Y(
        "feature:N",
        sort=alt.EncodingSortField("share", op="max", order="descending"),
        axis=alt.Axis(
            title=None,
            labelLimit=220,
            labelPadding=6,
            ticks=False,
            domain=False,
            labelFontSize=11,
            labelExpr=r"split(datum.label, '\n')",
        ),
    )
    base = theme.drawn_from("features").encode(y=names)
    share = alt.X(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(title=title, format="%", tickCount=5),
    )
    notes = {"feature:N": "feature", "count:Q": "changed in"}
    bars = base.mark_bar(color=colors.valid, height=14, cornerRadiusEnd=2).encode(
        x=share, tooltip=theme.tooltip(notes)
    )
    words = base.mark_text(align="left", dx=5, fontSize=11).encode(
        x=share,
        text="text:N",
        color=theme.chosen(alt.ColorValue, "datum.count > 0", alt.value(colors.ink), colors.quiet),
    )
    return [bars, words]


def history(found: ResultData, width: int | None, dark: bool) -> Any:
    """Return the hypervolume over the model's evaluations."""
    colors = theme.palette(dark)
    frame = history_data(found)["history"]
    if frame.empty:
        return theme.nothing(found, colors, HISTORY, width)
    is_wide = frame["evaluations"].max() > WIDE * max(1, frame["evaluations"].min())
    scale = " (logarithmic scale)" if is_wide else ""
    base = theme.drawn_from("history").encode(
        x=alt.X(
            "evaluations:Q",
            scale=alt.Scale(type="log" if is_wide else "linear", nice=False, zero=False),
            axis=alt.Axis(title=f"Rows the model was asked about{scale}", tickCount=6),
        ),
        y=alt.Y(
            "hypervolume:Q",
            scale=alt.Scale(zero=False),
            axis=alt.Axis(title="Hypervolume of the set so far"),
        ),
        tooltip=theme.tooltip({f"{name}:Q": str(name) for name in frame}),
    )
    line = base.mark_line(color=colors.valid, strokeWidth=2, interpolate="step-after")
    dots = base.mark_point(color=colors.valid, filled=True, size=20, opacity=1)
    chart = theme.sized(alt.layer(line, dots), 480 if width is None else width, 260)
    stopped = f"Ended by {say(f'ended.{found.stopped}')}" if found.stopped else ""
    return theme.finished(
        chart,
        {"history": frame},
        colors,
        HISTORY,
        [f"Higher is better: more of the trade-off is covered. {stopped}"],
    )
