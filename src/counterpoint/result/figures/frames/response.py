"""What the figures of the model's response show: a surface over two features, and ICE curves.

A surface is the prediction over two features, all others as in the row. An ICE curve is the row's
prediction as one feature changes and all others stay.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.checks import check_whole, require_package
from counterpoint.errors import InvalidInput
from counterpoint.problem.target import safety_margins
from counterpoint.result.data import ResultData
from counterpoint.result.figures.frames.common import (
    Axis,
    Frames,
    Names,
    all_genes,
    ask,
    changes_only,
    check_can_ask,
    chosen,
    everyone,
    histogram,
    place_of,
    varied,
)
from counterpoint.result.words.language import spoken_now
from counterpoint.table.labels import SIGNS
from counterpoint.table.values import EXACT, write_number

MOST_CURVES = 6
CURVE_POINTS = 60


def steps_of(found: ResultData, genome: Floats) -> list[tuple[int, float]]:
    """Return the changes of a candidate (d,) one after another, and the prediction after each.

    First comes the change that leads nearest to the target by itself, then the one that does so
    beside it, and so on. The prediction after the last is the candidate's.
    """
    now, steps, target = found.genome.copy(), [], found.target
    places = np.flatnonzero(genome != now)
    while len(places):
        tried = np.repeat(now[None], len(places), axis=0)
        tried[np.arange(len(places)), places] = genome[places]
        outputs = found.problem.predictor.own.outputs(tried)
        scores = np.asarray(target.score(outputs))
        best = int(np.lexsort((-safety_margins(target, scores), target.gaps(scores)))[0])
        steps.append((int(places[best]), float(target.prediction(outputs[best]))))
        now, places = tried[best], np.delete(places, best)
    return steps


def ice_data(
    found: ResultData, features: Names, most: int, resolution: int
) -> tuple[Frames, list[Axis], str]:
    """Return the frames of `Plots.ice_data`, the curves' axes, and what is left out in words."""
    check_can_ask(found, "ice")
    check_whole("plot.ice.resolution", resolution, 2, 1000)
    places, left_out = chosen(found, features, most, "plot.ice")
    axes = [Axis.of(found, place) for place in places]
    curves = [curve_of(found, axis, panel, resolution) for panel, axis in enumerate(axes)]
    points = [points_on_curve(found, axis, panel) for panel, axis in enumerate(axes)]
    columns = ["panel", "feature", "x", "value", "prediction"]
    people = [*everyone(found).columns, "panel", "feature", "x", "value"]
    frames = {
        "curves": pd.concat(curves, ignore_index=True) if axes else pd.DataFrame(columns=columns),
        "counterfactuals": pd.concat(points, ignore_index=True)
        if axes
        else pd.DataFrame(columns=people),
    }
    return frames, axes, left_out


def curve_of(found: ResultData, axis: Axis, panel: int, resolution: int) -> pd.DataFrame:
    """Return one curve, at values the feature can have and at the row's and the set's own."""
    on_curve = all_genes(found)[[0, *(1 + changes_only(found, [axis.place]))], axis.place]
    genes = np.unique(np.concatenate([axis.grid(resolution), on_curve[np.isfinite(on_curve)]]))
    return pd.DataFrame(
        {
            "panel": panel,
            "feature": axis.title,
            "x": axis.at(genes),
            "value": axis.written(genes),
            "prediction": ask(found, varied(found, {axis.place: genes})),
        }
    )


def points_on_curve(found: ResultData, axis: Axis, panel: int) -> pd.DataFrame:
    """Return the row and the candidates that change nothing but this feature."""
    which = [0, *(1 + changes_only(found, [axis.place]))]
    genes = all_genes(found)[which, axis.place]
    return (
        everyone(found)
        .iloc[which]
        .assign(panel=panel, feature=axis.title, x=axis.at(genes), value=axis.written(genes))
    )


def is_share(found: ResultData, values: Floats) -> bool:
    """Whether predictions are drawn from 0 to 1: probabilities, or a target and values so small."""
    if found.target.label is not None:
        return True
    all_of = np.array([*target_ends(found), *values[np.isfinite(values)]])
    return bool(((all_of >= 0.0) & (all_of <= 1.0)).all())


def wants_low(found: ResultData) -> bool:
    """Whether the smaller prediction is the wanted one: only the target's upper end is an end."""
    low, high = found.target.low, found.target.high
    return bool(np.isfinite(high) and (np.isneginf(low) or (low <= 0.0 and high < 1.0)))


def target_ends(found: ResultData) -> list[float]:
    """Return the finite ends of the target's interval, each once."""
    ends = dict.fromkeys((found.target.low, found.target.high))
    return [end for end in ends if np.isfinite(end)]


SURFACE_POINTS = 40
EDGE = 0.04  # of an axis: closer to its end a label would stick out
FLAT = 1e-9
N_LEVELS = 7  # contour lines, about
NICE_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def surface_axes(found: ResultData, x: Hashable, y: Hashable) -> tuple[Axis, Axis]:
    """Return the axes of two features; refuse unknown ones and one feature twice."""
    first, second = (
        place_of(found, name, f"plot.surface({arg}=...)") for name, arg in ((x, "x"), (y, "y"))
    )
    if first == second:
        raise InvalidInput(
            f"plot.surface needs two different features, got {x!r} twice; for one feature there is "
            f"plot.ice({x!r})."
        )
    return Axis.of(found, first), Axis.of(found, second)


def surface_data(
    found: ResultData, x: Hashable, y: Hashable, resolution: int
) -> tuple[Frames, tuple[Axis, Axis]]:
    """Return the frames of `Plots.surface_data`, and both axes."""
    check_can_ask(found, "surface")
    check_whole("plot.surface.resolution", resolution, 2, 200)
    axes = surface_axes(found, x, y)
    grid, heights = grid_of(found, axes, resolution)
    lines = contour_lines(found, axes, resolution, heights)
    frames = {
        "grid": grid,
        "lines": lines,
        "labels": labels_of(lines, axes),
        "counterfactuals": points_on_surface(found, axes),
        "bars_x": histogram(found, axes[0]),
        "bars_y": histogram(found, axes[1]),
    }
    return frames, axes


def grid_of(
    found: ResultData, axes: tuple[Axis, Axis], resolution: int
) -> tuple[pd.DataFrame, Floats]:
    """Return the cells with their predictions, and these as an array (rows of y, columns of x)."""
    genes = [axis.grid(resolution) for axis in axes]
    across, up = (mesh.ravel() for mesh in np.meshgrid(*genes))
    predictions = ask(found, varied(found, {axes[0].place: across, axes[1].place: up}))
    columns: dict[str, Any] = {}
    for name, axis, own, index in zip(
        "xy", axes, genes, np.indices((len(genes[1]), len(genes[0])))[::-1], strict=True
    ):
        start, end = axis.cells(own)
        columns |= {name: start[index.ravel()], f"{name}2": end[index.ravel()]}
        columns |= {f"{name}_value": np.array(axis.written(own), dtype=object)[index.ravel()]}
    frame = pd.DataFrame(columns | {"prediction": predictions})
    return frame, predictions.reshape(len(genes[1]), len(genes[0]))


def points_on_surface(found: ResultData, axes: tuple[Axis, Axis]) -> pd.DataFrame:
    """Return the row and the candidates that change nothing but the two features."""
    which = [0, *(1 + changes_only(found, [axis.place for axis in axes]))]
    people, genes = everyone(found).iloc[which], all_genes(found)[which]
    columns: dict[str, Any] = {}
    for name, axis in zip("xy", axes, strict=True):
        own = genes[:, axis.place]
        columns |= {name: axis.at(own), f"{name}_value": axis.written(own)}
    return people.assign(**columns).reset_index(drop=True)


def contour_lines(
    found: ResultData, axes: tuple[Axis, Axis], resolution: int, heights: Floats
) -> pd.DataFrame:
    """Return contour lines point by point; none where an axis has levels or a single value."""
    rows: list[pd.DataFrame] = []
    if not any(axis.is_level for axis in axes) and min(heights.shape) > 1:
        contourpy = require_package("contourpy", "plot.surface", '"counterpoint[figures]"')
        places = [axis.at(axis.grid(resolution)) for axis in axes]
        generator = contourpy.contour_generator(*places, heights)
        ends = [end for end in target_ends(found) if heights.min() < end < heights.max()]
        for level in sorted({*ends, *contour_levels(heights, ends)}):
            for line in generator.lines(level):
                points = pd.DataFrame(line, columns=["x", "y"])
                points = points.assign(level=level, is_target=level in ends, line=len(rows))
                rows.append(points.assign(order=np.arange(len(points))))
    columns = ["line", "order", "x", "y", "level", "is_target"]
    return pd.concat(rows)[columns] if rows else pd.DataFrame(columns=columns)


def contour_levels(heights: Floats, ends: list[float]) -> list[float]:
    """Return round numbers between the lowest and the highest prediction, clear of the target's."""
    low, high = float(heights.min()), float(heights.max())
    if high - low <= FLAT * max(abs(low), abs(high), FLAT):  # rounding errors have no contours
        return []
    rough = (high - low) / N_LEVELS
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * nice for nice in NICE_STEPS if power * nice >= rough * 0.999)
    levels = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1.0)
    inside = levels[(levels > low) & (levels < high)]
    return [level for level in inside.tolist() if all(abs(level - end) > step / 4 for end in ends)]


def labels_of(lines: pd.DataFrame, axes: tuple[Axis, Axis]) -> pd.DataFrame:
    """Return one label per contour level, in the middle of its longest line, if it fits there."""
    found = []
    for _, group in lines.groupby("level"):
        longest = group[group["line"] == group["line"].value_counts().index[0]]
        middle = longest.iloc[len(longest) // 2]
        ends = [axis.domain for axis in axes]
        shares = [
            (middle[name] - low) / (high - low)
            for name, (low, high) in zip("xy", ends, strict=True)
        ]
        if all(EDGE <= share <= 1.0 - EDGE for share in shares):
            text = write_number(middle["level"], SIGNS[spoken_now()], EXACT)
            found.append({"x": middle["x"], "y": middle["y"], "text": text})
    return pd.DataFrame(found, columns=["x", "y", "text"])
