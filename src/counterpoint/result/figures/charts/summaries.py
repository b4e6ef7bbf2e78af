"""Charts of the whole result: objectives, how often features change, history of the search."""

from __future__ import annotations

from typing import Any

import altair as alt

from counterpoint.result.data import ResultData
from counterpoint.result.figures.charts import theme
from counterpoint.result.figures.frames.common import MOST_SHOWN, how_many, titled
from counterpoint.result.figures.frames.summaries import (
    MOST_BARS,
    frequency_data,
    history_data,
    objectives_data,
)
from counterpoint.result.words.message import message

TRADE_OFF = "The trade-off: each objective against each other"
LEFT = "All are minimised: better is left and below"
FREQUENCY = "How often each feature changes"
HISTORY = "How the search went"
PANEL, LEAST_PANEL, BAR = 150, 70, 24
WIDE = 50  # times as many evaluations at the end: the beginning would not be seen


def objectives(
    found: ResultData, n: int = MOST_SHOWN, width: int | None = None, dark: bool = False
) -> Any:
    """Return a scatter matrix of all objectives, own ones included."""
    colors = theme.palette(dark)
    frames = objectives_data(found, n)
    names = frames["names"]["objective"].to_list()
    last = len(names) - 1
    each = PANEL if width is None else max(LEAST_PANEL, width // last - 20)
    pairs = [(across, up) for up in range(1, last + 1) for across in range(up)]
    panels = {
        pair: scatter(names, pair, colors).properties(name=view_name(pair), width=each, height=each)
        for pair in pairs
    }
    rows = [
        alt.hconcat(*(panels[across, up] for across in range(up)), spacing=14, bounds="flush")
        for up in range(1, last + 1)
    ]
    brush = alt.TopLevelSelectionParameter(
        name="brush",
        select=alt.IntervalSelectionConfig(type="interval", resolve="union"),
        views=[view_name(pair) for pair in pairs],
    )
    chart = alt.vconcat(*rows, spacing=14, params=[brush])
    return theme.finished(chart, frames, colors, TRADE_OFF, [how_many(found, n), LEFT])


def view_name(pair: tuple[int, int]) -> str:
    """Return what a panel is called, so that one brush serves all."""
    return f"objectives_{pair[0]}_{pair[1]}"


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
    zero = alt.Scale(zero=False, nice=True, padding=6)
    notes = {f"objective_{m}:Q": name for m, name in enumerate(names)}
    return (
        theme.drawn_from("counterfactuals")
        .mark_point(filled=True, stroke=colors.paper, strokeWidth=0.4)
        .encode(
            x=alt.X(f"objective_{across}:Q", scale=zero, axis=axis(across, up == last)),
            y=alt.Y(f"objective_{up}:Q", scale=zero, axis=axis(up, across == 0)),
            color=alt.condition(brush, theme.color(colors), alt.value(colors.quiet)),
            shape=theme.shape(),
            opacity=alt.condition("datum.counterfactual === 0", alt.value(1), alt.value(0.7)),
            size=alt.condition("datum.counterfactual === 0", alt.value(130), alt.value(46)),
            tooltip=theme.tooltip({**theme.CANDIDATE, "prediction:Q": "prediction"} | notes),
        )
    )


def frequency(
    found: ResultData, most: int = MOST_BARS, width: int | None = None, dark: bool = False
) -> Any:
    """Return bars of how many candidates change each feature."""
    colors = theme.palette(dark)
    frame = frequency_data(found, most)["features"]
    if len(found.genomes) == 0:
        return theme.nothing(colors, FREQUENCY, f"Nothing to show: {message(found)}", width or 520)
    texts = [
        f"{'<1%' if 0 < share < 0.005 else f'{share:.0%}'}  ({count:,})"
        for share, count in zip(frame["share"], frame["count"], strict=True)
    ]
    frame = frame.assign(text=texts)
    n_features = len(found.encoding.schema)
    cut = f"Shown: the {most} most often changed of {n_features} features"
    noun = "the counterfactuals" if found.reaches.all() else "counterfactuals and near misses"
    layers = bar_layers(frame["feature"].to_list(), f"Share of {noun}", colors)
    chart = alt.layer(*layers).properties(
        width=420 if width is None else width, height=BAR * len(frame)
    )
    subtitle = [
        how_many(found, len(found.genomes)),
        cut if n_features > most else "",
    ]
    return theme.finished(chart, {"features": frame}, colors, FREQUENCY, subtitle)


def bar_layers(features: list[str], title: str, colors: theme.Palette) -> list[Any]:
    """Return the bars, in the order of the features, and what is written at their ends."""
    names = alt.Y(
        "feature:N",
        sort=features,
        axis=alt.Axis(
            title=None, labelLimit=220, labelPadding=6, ticks=False, domain=False, labelFontSize=12
        ),
    )
    base = theme.drawn_from("features").encode(y=names)
    share = alt.X(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(title=title, format="%", tickCount=5),
    )
    notes = {
        "feature:N": "feature",
        "count:Q": "changed in",
        "count_valid:Q": "of them counterfactuals",
    }
    bars = base.mark_bar(color=colors.valid, height=14, cornerRadiusEnd=2).encode(
        x=share, tooltip=theme.tooltip(notes)
    )
    words = base.mark_text(align="left", dx=5, fontSize=11).encode(
        x=share,
        text="text:N",
        color=alt.condition("datum.count > 0", alt.value(colors.ink), alt.value(colors.quiet)),
    )
    return [bars, words]


def history(found: ResultData, width: int | None = None, dark: bool = False) -> Any:
    """Return the hypervolume over the model's evaluations."""
    colors = theme.palette(dark)
    frame = history_data(found)["history"]
    if frame.empty:
        return theme.nothing(colors, HISTORY, f"Nothing to show: {message(found)}", width or 520)
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
        tooltip=theme.tooltip(
            {
                "generation:Q": "generation",
                "evaluations:Q": "evaluations",
                "hypervolume:Q": "hypervolume",
            }
        ),
    )
    line = base.mark_line(color=colors.valid, strokeWidth=2, interpolate="step-after")
    dots = base.mark_point(color=colors.valid, filled=True, size=20, opacity=1)
    chart = alt.layer(line, dots).properties(width=480 if width is None else width, height=260)
    stopped = f"Stopped by {found.stopped}" if found.stopped else ""
    return theme.finished(
        chart,
        {"history": frame},
        colors,
        HISTORY,
        [f"Higher is better: more of the trade-off is covered. {stopped}"],
    )
