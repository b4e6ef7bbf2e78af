"""One grammar for all figures: the row in one strong colour, unchanged in grey, valid or not.

Colours are of Okabe and Ito's palette, which colour-blind readers can tell apart; outcomes differ
in shape and dash, too.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from counterpoint.result.data import ResultData
from counterpoint.result.figures.axes import (
    INVALID,
    OUTCOMES,
    ROW,
    VALID,
    Axis,
    Frames,
    clean,
    titled,
)
from counterpoint.result.words import say, spoken_now
from counterpoint.result.words.sentences import message
from counterpoint.table.labels import SIGNS

FONT = "Inter, Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
DASHES = {ROW: [1, 0], VALID: [1, 0], INVALID: [5, 3]}
SHAPES = {ROW: "diamond", VALID: "circle", INVALID: "cross"}
SHORT = ",.3~r"  # numbers on short axes: three digits, no powers of ten
MOST_SIGNS, MOST_TITLE = 84, 56  # of a line above a figure, which would else be as wide as that
DIGITS = 6  # significant ones of a prediction in a chart


@dataclass(frozen=True)
class Palette:
    """The colours of a figure."""

    paper: str
    ink: str
    faint: str  # titles of axes, numbers on them
    line: str  # axes and rules
    quiet: str  # what is unchanged or only observed
    row: str
    valid: str
    invalid: str
    ramp: tuple[str, ...]  # of a surface, from low to high


LIGHT = Palette(
    *("#ffffff", "#1f2328", "#4b5158", "#c5cad0", "#b4bac1", "#d55e00", "#0072b2", "#b0508a"),
    ramp=("#fbfaf3", "#e9ecc6", "#bcd9a0", "#7fbd93", "#3f9a86"),
)
DARK = Palette(
    *("#16191d", "#f0f2f4", "#b9c0c7", "#4a5058", "#6b737c", "#f0a030", "#56b4e9", "#d98cba"),
    ramp=("#20262b", "#24424a", "#24635f", "#3a8570", "#6fae83"),
)


def palette(dark: bool) -> Palette:
    """Return the colours for a light or a dark page."""
    return DARK if dark else LIGHT


def drawn_from(name: str) -> alt.Chart:
    """Return a chart of one of the datasets that `finished` puts into the figure."""
    return alt.Chart(alt.NamedData(name=name))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame as a list of rows fit for JSON; what is not finite becomes null.

    Examples
    --------
    >>> records(pd.DataFrame({"x": [1.5, np.nan], "n": [1, 2], "prediction": [1 / 3, 0.5]}))
    [{'x': 1.5, 'n': 1, 'prediction': 0.333333}, {'x': None, 'n': 2, 'prediction': 0.5}]
    """
    columns = {str(name): _cells(frame[name], str(name)) for name in frame.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _cells(column: pd.Series[Any], name: str) -> list[Any]:
    cells = column.tolist()
    if name == "prediction":  # a grid has thousands: no reader sees more digits
        cells = [float(f"{cell:.{DIGITS}g}") for cell in cells]
    return [None if isinstance(cell, float) and not np.isfinite(cell) else cell for cell in cells]


def sized(chart: Any, width: int, height: int) -> Any:
    """Set the size of a chart that was made here, and return it.

    Altair's `properties` does the same to a copy, and copies each layer several times for it.
    """
    chart.width, chart.height = width, height
    return chart


def constant(channel: Any, value: Any) -> Any:
    """Return a channel that is the same for all, such as a place in pixels."""
    return channel(value)


def chosen(channel: Any, test: Any, then: Any, otherwise: Any) -> Any:
    """Return a channel that is `then` where the test holds, and a single value elsewhere.

    Altair would take what `condition` returns, and go through all classes of its schema to find
    out which channel that is.
    """
    told = alt.condition(test, then, alt.value(otherwise))
    return channel(told["value"], condition=told["condition"])


def outcomes() -> list[str]:
    """Return what the outcomes are called, in their order."""
    return [say(f"figure.outcome.{outcome}") for outcome in OUTCOMES]


def coded(channel: Any, looks: Iterable[Any], legend: alt.Legend | None = None) -> Any:
    """Return a channel that tells outcomes apart; one legend serves colour, shape and dash."""
    scale = alt.Scale(domain=outcomes(), range=list(looks))
    return channel("outcome:N", scale=scale, legend=legend or signs())


def color(colors: Palette, legend: alt.Legend | None = None) -> Any:
    """Return the colour of an outcome."""
    return coded(alt.Color, [colors.row, colors.valid, colors.invalid], legend)


def shape(legend: alt.Legend | None = None) -> Any:
    """Return the shape of an outcome."""
    return coded(alt.Shape, SHAPES.values(), legend)


def signs(symbol: Any = alt.Undefined, offset: int = 18) -> alt.Legend:
    """Return the legend of outcomes, so many pixels below the drawing."""
    return alt.Legend(title=None, symbolType=symbol, symbolOpacity=1, offset=offset)


def tooltip(titles: Mapping[str, str]) -> list[alt.Tooltip]:
    """Return tooltips of fields (with their type) to titles."""
    return [alt.Tooltip(field, title=titled(title)) for field, title in titles.items()]


def candidate_tooltip(titles: Mapping[str, str]) -> list[alt.Tooltip]:
    """Return the tooltips of a candidate: its number and outcome, then other fields to titles."""
    own = {"counterfactual:Q": say("tip.number"), "outcome:N": say("tip.outcome")}
    return tooltip({**own, **titles})


def position(axis: Axis, channel: Any, field: str, **options: Any) -> Any:
    """Return a position channel on a feature's axis: numbers, dates, or levels by their texts."""
    scale = alt.Scale(domain=list(axis.domain), nice=False, zero=False)
    if axis.is_date:
        # Milliseconds on a scale of numbers: where expressions are interpreted, as in our pages,
        # Vega draws all of a scale of times with given ends at its beginning.
        days = (axis.high - axis.low) < 90.0
        form = "%d. %b %Y" if spoken_now() == "de" else "%d %b %Y"
        text = f"utcFormat(datum.value, '{form if days else '%b %Y'}')"
        shown = alt.Axis(
            title=headed(axis), values=date_ticks(axis), labelOverlap=True, labelExpr=text
        )
        return channel(f"{field}:Q", scale=scale, axis=shown, **options)
    if axis.is_level:
        if channel is alt.Y:  # the first level on top, as lists are read
            scale = alt.Scale(domain=list(axis.domain), nice=False, zero=False, reverse=True)
        return channel(f"{field}:Q", scale=scale, axis=level_axis(axis, channel), **options)
    few = axis.high - axis.low < 5 and axis.feature.decimals in (None, 0)
    whole: dict[str, Any] = {"tickMinStep": 1} if few and axis.feature.kind != "real" else {}
    shown = alt.Axis(title=headed(axis), tickCount=6, labelOverlap=True, **whole)
    return channel(f"{field}:Q", scale=scale, axis=shown, **options)


MOST_HEADING = 34  # characters of a line below an axis


def headed(axis: Axis) -> list[str]:
    """Return the title of a feature's axis in lines; what does not fit into three is left out."""
    lines = textwrap.wrap(axis.heading, MOST_HEADING, max_lines=3, placeholder=" …")
    return [titled(clean(line)) for line in lines or [axis.heading]]


def date_ticks(axis: Axis) -> list[float]:
    """Return about five dates on an axis, in milliseconds: first days of years or months, or days.

    Dates before 1970 are below 0.
    """
    for unit, size in (("Y", 365.25), ("M", 30.44), ("D", 1.0)):
        n = (axis.high - axis.low) / size
        if n >= 3.0 or unit == "D":
            break
    kind = f"datetime64[{unit}]"
    first, last = (
        int(np.datetime64(int(day), "D").astype(kind).astype(np.int64))
        for day in (axis.low, axis.high)
    )
    ticks = np.arange(first, last + 1, max(1, int(np.ceil(n / 5.0)))).astype(kind)
    places = ticks.astype("datetime64[ms]").astype(np.float64)
    low, high = axis.domain
    return [place for place in places.tolist() if low <= place <= high]


def level_axis(axis: Axis, channel: Any) -> alt.Axis:
    """Return an axis that writes the levels at their places.

    The texts stand in an expression as one JSON list, of ASCII signs only, so that none of them
    can be read as anything but text.
    """
    texts = json.dumps(axis.labels)
    is_long = max(map(len, axis.labels)) * len(axis.labels) > 48
    slanted: dict[str, Any] = (
        {"labelAngle": -35, "labelAlign": "right"} if is_long and channel is alt.X else {}
    )
    return alt.Axis(
        title=headed(axis),
        values=list(range(len(axis.labels))),
        labelExpr=f"{texts}[datum.value]",
        labelLimit=90 if slanted else 130,
        labelOverlap=False,
        grid=False,
        ticks=False,
        labelPadding=5,
        **slanted,
    )


def in_drawing_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what misses the target first, then what reaches it, the row last: on top."""
    if "outcome" not in frame:
        return frame
    rank = frame["outcome"].map({INVALID: 0, VALID: 1, ROW: 2})
    ordered = frame.iloc[np.argsort(rank.to_numpy(), kind="stable")]
    called = dict(zip(OUTCOMES, outcomes(), strict=True))
    return ordered.assign(outcome=ordered["outcome"].map(called))


def finished(
    chart: Any, frames: Frames, colors: Palette, title: str, subtitle: Iterable[str] = ()
) -> Any:
    """Return a chart with its datasets, its title and the looks all figures share.

    The datasets stand once, at the top, under the names of the frames: a page that shows the chart
    can filter those that have a column `counterfactual`, by `view.data(name, rows).run()`.
    """
    said = [line for line in subtitle if line]
    lines = [part for line in said for part in textwrap.wrap(line, MOST_SIGNS)]
    # Set, not handed to `properties`: altair copies all of a chart, data included, at every step.
    chart.title = alt.TitleParams(textwrap.wrap(title, MOST_TITLE), subtitle=lines)
    chart.usermeta = {"title": title, "subtitle": said}  # for a page that breaks lines itself
    chart.config = looks(colors)
    chart.datasets = {name: records(in_drawing_order(frame)) for name, frame in frames.items()}
    return chart


def looks(colors: Palette) -> alt.Config:
    """Return fonts, sizes and colours of titles, axes and legends."""
    return alt.Config(
        **_locale(),
        background=colors.paper,
        font=FONT,
        padding=12,
        view=alt.ViewConfig(stroke=None),
        title=alt.TitleConfig(
            anchor="start",
            frame="group",
            color=colors.ink,
            subtitleColor=colors.faint,
            fontSize=16,
            subtitleFontSize=12,
            subtitleLineHeight=16,
            subtitlePadding=5,
            offset=14,
        ),
        axis=alt.AxisConfig(
            labelColor=colors.faint,
            titleColor=colors.ink,
            domainColor=colors.line,
            tickColor=colors.line,
            gridColor=colors.line,
            gridOpacity=0.35,
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            titlePadding=8,
            titleLimit=320,
        ),
        legend=alt.LegendConfig(
            labelColor=colors.ink,
            titleColor=colors.ink,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            orient="bottom",
            symbolSize=90,
            symbolStrokeWidth=2,
            labelLimit=260,
            titleLimit=260,
        ),
    )


def _locale() -> dict[str, Any]:
    """Return how numbers and dates on axes are written, where that is not as Vega does."""
    if (lang := spoken_now()) == "en":
        return {}
    signs, days = SIGNS[lang], ("So", "Mo", "Di", "Mi", "Do", "Fr", "Sa")
    number = {"decimal": signs.decimal, "thousands": signs.thousands, "grouping": [3]}
    number |= {"percent": signs.percent}
    time = {
        "dateTime": "%d.%m.%Y",
        "date": "%d.%m.%Y",
        "time": "%H:%M",
        "periods": ["", ""],
        "days": days,
        "shortDays": days,
        "months": signs.months,
        "shortMonths": [month[:3] for month in signs.months],
    }
    return {"locale": {"number": {**number, "currency": ["", ""]}, "time": time}}


def nothing(found: ResultData, colors: Palette, title: str, width: int | None) -> Any:
    """Return a figure that says why it shows nothing."""
    width, text = width or 520, say("figure.nothing", message=message(found))
    frame = pd.DataFrame({"text": ["\n".join(textwrap.wrap(text, max(30, width // 7)))]})
    words = (
        drawn_from("note")
        .mark_text(align="left", baseline="top", fontSize=13, color=colors.faint, lineBreak="\n")
        .encode(text="text:N", x=constant(alt.XValue, 0), y=constant(alt.YValue, 4))
    )
    return finished(sized(words, width, 70), {"note": frame}, colors, title)
