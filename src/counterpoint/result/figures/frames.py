"""What the figures show, as frames: of the candidates, and of the model's response.

In parallel coordinates each changed feature is an axis and each candidate a line. Strips show where
the values of each changed feature lie, with arrows from the row's value to the new ones. A surface
is the prediction over two features, all others as in the row; an ICE curve is the row's prediction
as one feature changes and all others stay.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats, Ints
from counterpoint.checks import check_whole, require_package
from counterpoint.errors import InvalidInput
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP
from counterpoint.result.data import ResultData
from counterpoint.result.figures.axes import (
    Axis,
    Frames,
    Names,
    all_genes,
    ask,
    changes_only,
    check_can_ask,
    chosen,
    clean,
    everyone,
    histogram,
    level_texts,
    names_of,
    shown,
    shown_features,
    shown_value,
    unique,
    varied,
)
from counterpoint.result.words import spoken_now
from counterpoint.table.features import Feature
from counterpoint.table.labels import SIGNS
from counterpoint.table.values import EXACT, write_number

MOST_AXES = 12
BELOW = 0.15  # of an axis: how far missing values stand below all others
MOST_TICKS = 8  # levels named on one axis; of more only the ends and the row's


def lines_and_note(found: ResultData, features: Names, most: int, n: int) -> tuple[Frames, str]:
    """Return the frames of `Plots.parallel_data`, and which features they leave out, in words."""
    drawn = shown(found, n, "plot.parallel")
    places, left_out = chosen(found, features, most, "plot.parallel", drawn[1:] - 1)
    names, features_shown = names_of(found), shown_features(found)
    people, genes = everyone(found).iloc[drawn], all_genes(found)[drawn]
    changed = np.vstack([np.zeros(len(names), dtype=np.bool_), found.changed])
    lines, ticks = [], []
    for order, place in enumerate(places):
        feature = features_shown[place]
        column, position = genes[:, place], positions(feature, genes[:, place])
        cells = {
            "axis": order,
            "feature": names[place],
            "value": [clean(shown_value(feature, gene)) for gene in column],
            "position": position,
            "changed": changed[drawn, place],
        }
        lines.append(people.assign(**cells))
        ticks += ticks_of(order, feature, column, position)
    axes = pd.DataFrame(
        {"axis": np.arange(len(places)), "feature": [names[place] for place in places]}
    )
    empty = people.iloc[:0].assign(axis=0, feature="", value="", position=0.0, changed=False)
    frames = {
        "counterfactuals": pd.concat(lines, ignore_index=True) if lines else empty,
        "axes": axes,
        "ticks": pd.DataFrame(ticks, columns=["axis", "position", "text", "end", "is_row"]),
    }
    return frames, left_out


def positions(feature: Feature, genes: Floats) -> Floats:
    """Return where genes (n,) stand between the smallest, 0, and the largest, 1; in order.

    Levels that occur are evenly spaced; a single value stands in the middle. Where some are missing
    (NaN), these stand at 0, a little below all others.
    """
    is_missing = np.isnan(genes)
    if is_missing.any() and not is_missing.all():
        known = positions(feature, genes[~is_missing])
        places = np.zeros(len(genes))
        places[~is_missing] = BELOW + (1.0 - BELOW) * known
        return places
    if is_missing.all():
        return np.full(len(genes), 0.5)
    if not feature.is_numeric:
        genes = np.searchsorted(np.unique(genes), genes).astype(np.float64)
    low, high = genes.min(), genes.max()
    if low == high:
        return np.full(len(genes), 0.5)
    size = max(abs(low), abs(high))  # else the span of the largest numbers would overflow
    low, high, genes = low / size, high / size, genes / size
    return np.asarray(np.clip((genes - low) / (high - low), 0.0, 1.0))


def ticks_of(axis: int, feature: Feature, genes: Floats, position: Floats) -> list[dict[str, Any]]:
    """Return what is written on one axis: the levels or both ends, and the row's own value."""
    spots = dict(sorted(zip(position.tolist(), genes.tolist(), strict=True)))
    known = position[~np.isnan(genes)]
    if feature.is_numeric or len(spots) > MOST_TICKS:
        marked = {*spots} & {min(spots), known.min(initial=1.0), max(spots), float(position[0])}
    else:
        marked = set(spots)
    texts = dict(zip(spots, _texts(feature, list(spots.values())), strict=True))
    ends = {min(spots): "low", max(spots): "high"} if len(spots) > 1 else {}
    return [
        {
            "axis": axis,
            "position": spot,
            "text": texts[spot],
            "end": ends.get(spot, ""),
            "is_row": spot == position[0],
        }
        for spot in spots
        if spot in marked
    ]


def _texts(feature: Feature, genes: list[float]) -> list[str]:
    """Return texts of values; those of levels tell them apart."""
    if feature.is_numeric:
        return [shown_value(feature, gene) for gene in genes]
    levels = level_texts(feature)
    return [shown_value(feature, gene) if np.isnan(gene) else levels[int(gene)] for gene in genes]


MOST_STRIPS = 12
MOST_ARROWS = 6  # lanes below one strip


def strips_and_axes(
    found: ResultData, features: Names, most: int, n: int
) -> tuple[Frames, list[Axis], str]:
    """Return the frames of `Plots.strips_data`, their axes, and what is left out in words."""
    drawn = shown(found, n, "plot.strips")[1:] - 1
    if found.reaches.any():  # arrows lead to what reaches the target
        drawn = drawn[found.reaches[drawn]]
    places, left_out = chosen(found, features, most, "plot.strips", drawn)
    axes = [Axis.of(found, place) for place in places]
    bars, arrows, own = [], [], []
    for panel, axis in enumerate(axes):
        seen = histogram(found, axis)
        seen["height"] = seen["count"] / max(1, seen["count"].max())
        bars.append(seen[seen["count"] > 0].assign(panel=panel, feature=axis.title))
        arrows.append(arrows_of(found, axis, drawn).assign(panel=panel, feature=axis.title))
        gene = all_genes(found)[:1, axis.place]
        row = {"x": axis.at(gene), "value": axis.written(gene)}
        own.append(pd.DataFrame(row).assign(counterfactual=0, panel=panel, feature=axis.title))
    empty = pd.DataFrame({"panel": np.empty(0, dtype=np.int64)})
    frames = {
        "bars": pd.concat(bars, ignore_index=True) if bars else empty,
        "counterfactuals": pd.concat(arrows, ignore_index=True) if arrows else empty,
        "row": pd.concat(own, ignore_index=True) if own else empty,
    }
    return frames, axes, left_out


def arrows_of(found: ResultData, axis: Axis, drawn: Ints) -> pd.DataFrame:
    """Return the candidates that change a feature, from where to where, each in its lane.

    The values most often proposed get lanes, ordered by how far they are from the row's.
    """
    changing = drawn[found.changed[drawn, axis.place]]
    genes, old = all_genes(found)[1 + changing, axis.place], all_genes(found)[:1, axis.place]
    values, code, counts = np.unique(genes, return_inverse=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:MOST_ARROWS]
    nearest_first = kept[np.argsort(np.abs(values[kept] - old[0]), kind="stable")]
    lane = np.full(len(values), -1)
    lane[nearest_first] = np.arange(len(kept))
    people: pd.DataFrame = everyone(found).iloc[1 + changing]
    return people.assign(
        old=axis.at(np.repeat(old, len(genes))),
        new=axis.at(genes),
        old_value=axis.written(old)[0],
        new_value=axis.written(genes),
        lane=lane[code],
        together=counts[code] if len(code) else code,
    )


MOST_BARS = 20


def objectives_data(found: ResultData, n: int) -> Frames:
    """Return the frames of `Plots.objectives_data`."""
    values = np.concatenate([row_objectives(found), found.objectives])
    columns = {f"objective_{m}": values[:, m] for m in range(values.shape[1])}
    names, drawn = unique(found.objective_names), shown(found, n, "plot.objectives")
    return {
        "counterfactuals": everyone(found).assign(**columns).iloc[drawn],
        "names": pd.DataFrame({"column": list(columns), "objective": names}),
    }


def row_objectives(found: ResultData) -> Floats:
    """Return the row's own objectives (1, m); without data some are unknown, NaN."""
    if found.live is not None:
        problem = found.problem
        judged = problem.judge(problem.rows[:1, None], problem.row_scores[:1, None])
        return np.asarray(judged.objectives[0])
    known = np.full((1, len(found.objective_names)), np.nan)
    known[0, [GAP, DISTANCE, CHANGES]] = found.target.gap_of(found.row_score), 0.0, 0.0
    return known


def frequency_data(found: ResultData, most: int) -> Frames:
    """Return the frame of `Plots.frequency_data`, the most often changed feature first."""
    check_whole("plot.frequency.most", most, 1, 1000)
    # What misses the target is no counterfactual, and counts only where nothing else was found.
    counted = found.changed[found.reaches] if found.reaches.any() else found.changed
    names, count = np.array(names_of(found), dtype=object), counted.sum(axis=0)
    order = np.argsort(-count, kind="stable")[:most]
    frame = pd.DataFrame(
        {
            "feature": names[order],
            "place": order,
            "count": count[order],
            "share": count[order] / max(1, len(counted)),
        }
    )
    return {"features": frame.assign(order=np.arange(len(frame)))}


def history_data(found: ResultData) -> Frames:
    """Return the frame of `Plots.history_data`."""
    history = found.history  # of the data's own kind: pandas, polars or pyarrow
    names = ("generation", "evaluations", "hypervolume")
    return {"history": pd.DataFrame({name: np.asarray(history[name]) for name in names})}


MOST_CURVES = 6
CURVE_POINTS = 60


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
    places_of = found.encoding.schema.places_of
    (first,), (second,) = (
        places_of([x], "plot.surface(x=...)"),
        places_of([y], "plot.surface(y=...)"),
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
