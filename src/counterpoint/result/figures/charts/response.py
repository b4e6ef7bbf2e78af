"""Charts of the model's response: the surface over two features, and ICE curves of the row.

The surface is figure 2b of Dandl et al. (2020); candidates that lie on a curve are marked on it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from counterpoint.result.data import ResultData
from counterpoint.result.figures.axes import VALID, Axis, Names, prediction_name
from counterpoint.result.figures.charts import theme
from counterpoint.result.figures.frames import ice_data, is_share, surface_data, wants_low
from counterpoint.result.words import count_candidates, say
from counterpoint.result.words.sentences import target_text

ICE_WIDTH, PANEL, COLUMNS = 480, 240, 3


def ice(
    found: ResultData, features: Names, most: int, resolution: int, width: int | None, dark: bool
) -> Any:
    """Return the curve of one feature, or of each of those that change."""
    colors = theme.palette(dark)
    frames, axes, left_out = ice_data(found, features, most, resolution)
    if not axes:
        return theme.nothing(found, colors, say("figure.ice"), width)
    columns = min(COLUMNS, len(axes))
    each = (ICE_WIDTH if len(axes) == 1 else PANEL) if width is None else max(80, width // columns)
    ends = heights(found, frames)
    low, high = np.clip([found.target.low, found.target.high], *ends)
    frames["target"] = pd.DataFrame({"low": [low], "high": [high], "text": [say("figure.target")]})
    steps = np.arange(1, max(2, round(HATCHES * (high - low) / (ends[1] - ends[0]))))
    frames["hatch"] = pd.DataFrame({"at": low + (high - low) * steps / (len(steps) + 1)})
    panels = [
        theme.sized(
            panel_of(found, axis, number, ends, colors), each, max(LEAST_TALL, round(each * 0.62))
        )
        for number, axis in enumerate(axes)
    ]
    subtitle = [
        say("figure.ice.upwards", prediction=prediction_name(found)),
        say("figure.ice.how", target=target_text(found)),
        left_out,
        *(note for axis in axes for note in axis.notes),
    ]
    chart = alt.concat(*panels, columns=columns, spacing=28) if len(panels) > 1 else panels[0]
    return theme.finished(chart, frames, colors, say("figure.ice"), subtitle)


LEAST_TALL = 110  # pixels of a panel, for five numbers beside it
HATCHES = 24  # lines of the target's hatching on a whole axis


def heights(found: ResultData, frames: dict[str, pd.DataFrame]) -> tuple[float, float]:
    """Return the range of predictions all panels share, the target's near end included."""
    values = np.concatenate([frame["prediction"].to_numpy(float) for frame in frames.values()])
    low, high = float(values.min()), float(values.max())
    target = found.target
    low, high = min(low, target.high), max(high, target.low)
    if is_share(found, values):
        return 0.0, 1.0
    room = (high - low or 1.0) * 0.06
    # Where the target begins beyond all predictions, some of it is seen, with its name.
    below, above = (
        room * (1 if is_among else 3) for is_among in (low < target.high, high > target.low)
    )
    return low - below, high + above


def panel_of(
    found: ResultData, axis: Axis, number: int, ends: tuple[float, float], colors: theme.Palette
) -> Any:
    """Return one curve with the target's band, the candidates on it and the row."""
    x = theme.position(axis, alt.X, "x")
    y = alt.Y(
        "prediction:Q",
        scale=alt.Scale(domain=list(ends), nice=False, zero=False),
        axis=alt.Axis(title=None, tickCount=5),
    )
    here = f"datum.panel === {number}"
    notes = {"value:N": axis.title, "prediction:Q": say("tip.prediction")}
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
            tooltip=theme.candidate_tooltip(notes),
        )
    )
    others = points.transform_filter("datum.counterfactual > 0").mark_point(
        filled=True, opacity=1, size=44
    )
    row = points.transform_filter("datum.counterfactual === 0").mark_point(
        filled=True, opacity=1, size=170, stroke=colors.paper, strokeWidth=1.5
    )
    bands = bands_of(found, ends, colors)
    return alt.layer(*bands, drawn.encode(tooltip=theme.tooltip(notes)), others, row)


def bands_of(found: ResultData, ends: tuple[float, float], colors: theme.Palette) -> list[Any]:
    """Return the target as a hatched band with its name; a line where it is a single number."""
    base = theme.drawn_from("target")
    scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    style: dict[str, Any] = {"align": "right", "dx": -4, "fontSize": 10, "color": colors.valid}
    name = base.mark_text(**style, baseline="top", dy=3).encode(
        x=theme.constant(alt.XValue, "width"), y=alt.Y("high:Q", scale=scale), text="text:N"
    )
    if found.target.low == found.target.high:
        line = base.mark_rule(color=colors.valid, strokeDash=[6, 4]).encode(
            y=alt.Y("low:Q", scale=scale)
        )
        return [line, name]
    band = base.mark_rect(color=colors.valid, opacity=0.08).encode(
        y=alt.Y("low:Q", scale=scale), y2="high"
    )
    lines = (
        theme.drawn_from("hatch")
        .mark_rule(color=colors.valid, opacity=0.3, strokeWidth=0.7)
        .encode(y=alt.Y("at:Q", scale=scale))
    )
    return [band, lines, name]


WIDTH, SIDE = 440, 56
NARROW = 400  # pixels; in less, a legend beside another is a list
PER_LEVEL = 44
MOST_OUTLINED = 60  # points large enough for an outline
ROOM = (26, 14)  # pixels a number takes
MOST_NUMBERED = 15  # points with their number beside them


def surface(
    found: ResultData, x: Hashable, y: Hashable, resolution: int, width: int | None, dark: bool
) -> Any:
    """Return the prediction over two features, with the row and what changes only those."""
    colors = theme.palette(dark)
    frames, axes = surface_data(found, x, y, resolution)
    width = WIDTH if width is None else width
    height = round(width * 0.8)
    if axes[1].is_level:
        height = min(height, PER_LEVEL * len(axes[1].codes) + 20)
    points = frames["counterfactuals"]
    frames["counterfactuals"] = points.assign(is_numbered=apart(points, axes, (width, height)))
    main = alt.layer(
        heat(axes, colors, found, width, is_share(found, frames["grid"]["prediction"].to_numpy())),
        *contours(axes, colors),
        *people(len(points), axes, colors, width),
    )
    above = theme.sized(bars(axes[0], "x", colors), width, SIDE)
    beside = theme.sized(bars(axes[1], "y", colors), SIDE, height)
    main = theme.sized(main, width, height)
    chart = alt.vconcat(
        above, alt.hconcat(main, beside, spacing=18, bounds="flush"), spacing=10, bounds="flush"
    )
    n = len(points) - 1
    n_valid = int((points["outcome"] == VALID).sum())
    who = say("figure.surface.who", counts=count_candidates(n_valid, n - n_valid))
    has_target = frames["lines"]["is_target"].any()
    subtitle = [
        say("figure.surface.all", who=who if n else say("figure.surface.none")),
        say("figure.surface.edge", target=target_text(found)) if has_target else "",
        *(note for axis in axes for note in axis.notes),
    ]
    said = {"prediction": prediction_name(found), "x": axes[0].title, "y": axes[1].title}
    title = say("figure.surface", **said)
    return theme.finished(chart, frames, colors, title, subtitle)


def heat(
    axes: tuple[Axis, Axis],
    colors: theme.Palette,
    found: ResultData,
    width: int,
    is_share_of_grid: bool,
) -> Any:
    """Return the cells, coloured by prediction; probabilities on the whole range from 0 to 1."""
    name = prediction_name(found)
    whole: dict[str, Any] = {"domain": [0.0, 1.0]} if is_share_of_grid else {}
    ramp = colors.ramp[::-1] if wants_low(found) else colors.ramp  # the wanted side is the deep one
    shade = alt.Fill(
        "prediction:Q",
        scale=alt.Scale(range=list(ramp), interpolate="lab", **whole),
        legend=alt.Legend(
            title=name,
            direction="horizontal",
            gradientLength=min(180, width // 2),
            format=theme.SHORT,
        ),
    )
    notes = {"x_value:N": axes[0].title, "y_value:N": axes[1].title, "prediction:Q": name}
    return (
        theme.drawn_from("grid")
        # Cells overlap a little, else the paper would show between them.
        .mark_rect(clip=True, x2Offset=0.7, y2Offset=0.7 if axes[1].is_level else -0.7)
        .encode(
            x=theme.position(axes[0], alt.X, "x"),
            x2="x2",
            y=theme.position(axes[1], alt.Y, "y"),
            y2="y2",
            fill=shade,
            tooltip=theme.tooltip(notes),
        )
    )


def contours(axes: tuple[Axis, Axis], colors: theme.Palette) -> list[Any]:
    """Return contour lines with their numbers; the target's dashed and strong."""
    if any(axis.is_level for axis in axes):
        return []
    where = {"x": theme.position(axes[0], alt.X, "x"), "y": theme.position(axes[1], alt.Y, "y")}
    target = "datum.is_target"
    lines = (
        theme.drawn_from("lines")
        .mark_line(color=colors.ink, interpolate="linear")
        .encode(
            **where,
            detail="line:N",
            order="order:Q",
            strokeWidth=theme.chosen(alt.StrokeWidthValue, target, alt.value(2.2), 0.7),
            opacity=theme.chosen(alt.OpacityValue, target, alt.value(0.95), 0.6),
            strokeDash=theme.chosen(alt.StrokeDashValue, target, alt.value([6, 4]), [1, 0]),
        )
    )
    labels = theme.drawn_from("labels").encode(**where, text="text:N")
    halo = labels.mark_text(
        fontSize=10, stroke=colors.paper, strokeWidth=3, color=colors.paper, opacity=0.85
    )
    return [lines, halo, labels.mark_text(fontSize=10, color=colors.ink)]


def people(n: int, axes: tuple[Axis, Axis], colors: theme.Palette, width: int) -> list[Any]:
    """Return the candidates, numbered if they are few, and the row on top."""
    picked = alt.selection_point(name="picked", fields=["counterfactual"])
    base = theme.drawn_from("counterfactuals").encode(
        x=theme.position(axes[0], alt.X, "x"),
        y=theme.position(axes[1], alt.Y, "y"),
        tooltip=theme.candidate_tooltip(
            {
                "x_value:N": axes[0].title,
                "y_value:N": axes[1].title,
                "prediction:Q": say("tip.prediction"),
            }
        ),
    )
    few = n - 1 <= MOST_OUTLINED
    legend = theme.signs()
    legend.direction = "vertical" if width < NARROW else "horizontal"
    coded = base.encode(color=theme.color(colors, legend), shape=theme.shape(legend))
    others = coded.transform_filter("datum.counterfactual > 0").mark_point(
        filled=True, size=80 if few else 24, stroke=colors.paper if few else None, strokeWidth=1.2
    )
    row = coded.transform_filter("datum.counterfactual === 0").mark_point(
        filled=True, opacity=1, size=200, stroke=colors.paper, strokeWidth=1.5
    )
    seen = theme.chosen(alt.OpacityValue, picked, alt.value(1), 0.25)
    numbers = base.transform_filter("datum.is_numbered").encode(text="counterfactual:Q")
    style: dict[str, Any] = {"dx": 8, "dy": -8, "fontSize": 10, "fontWeight": 600}
    halo = numbers.mark_text(**style, stroke=colors.paper, strokeWidth=3, color=colors.paper)
    words = numbers.mark_text(**style, color=colors.ink)
    return [others.encode(opacity=seen).add_params(picked), halo, words, row]


def apart(points: pd.DataFrame, axes: tuple[Axis, Axis], size: tuple[int, int]) -> list[bool]:
    """Return which points have room for their number: few, inside, and not beside another's."""
    taken: list[tuple[float, float]] = []
    given = []
    ends = [axis.domain for axis in axes]
    for number, *place in points[["counterfactual", "x", "y"]].itertuples(index=False):
        x, y = (
            (at - low) / (high - low) * pixels
            for at, (low, high), pixels in zip(place, ends, size, strict=True)
        )
        is_free = all(abs(x - left) > ROOM[0] or abs(y - up) > ROOM[1] for left, up in taken)
        given.append(bool(number > 0 and len(points) <= MOST_NUMBERED + 1 and is_free))
        if (given[-1] or number == 0) and not (pd.isna(x) or pd.isna(y)):
            taken.append((x, y))
    return given


def bars(axis: Axis, name: str, colors: theme.Palette) -> Any:
    """Return the histogram of the observed rows along one axis, the row's value marked."""
    place, far, along, size, zero = (
        (alt.X, "x2", alt.Y, "y", {"y2": alt.Y2(datum=0)})
        if name == "x"
        else (alt.Y, "y2", alt.X, "x", {"x2": alt.X2(datum=0)})
    )
    hidden = theme.position(axis, place, "start")
    hidden.axis = alt.Axis(labels=False, ticks=False, title=None, grid=False, domain=False)
    own = hidden.copy()
    own.shorthand = f"{name}:Q"
    count = alt.Axis(
        title=say("figure.rows"), tickCount=2, grid=False, titleFontSize=10, labelFontSize=9
    )
    shown = theme.drawn_from(f"bars_{name}").mark_rect(
        color=colors.quiet, stroke=colors.paper, strokeWidth=0.8, clip=True
    )
    row = (
        theme.drawn_from("counterfactuals")
        .transform_filter("datum.counterfactual === 0")
        .mark_rule(color=colors.row, strokeWidth=2)
        .encode(**{name: own})
    )
    notes = theme.tooltip({"count:Q": say("figure.rows")})
    encoded = shown.encode(
        **{name: hidden, far: "end", size: along("count:Q", axis=count)}, **zero, tooltip=notes
    )
    return alt.layer(encoded, row)
