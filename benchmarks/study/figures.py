"""Figures of the study, drawn from stored results by Altair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.study import measures, paper, results, tables
from benchmarks.study.results import OURS
from benchmarks.study.subjects import PUBLISHED

SHOWN = (OURS, "mocmod", "moc", "whatif", "dice random", "recourse", "tweaking", "nice sparsity")
OBJECTIVES = ("gap", "distance", "changes", "implausibility")
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#666666", "#b8a800"]


def points(found: pd.DataFrame) -> pd.DataFrame:
    """Return the values of box plots: model, method, what, value; one row per point or count."""
    parts = []
    own = ~found["model"].str.startswith(PUBLISHED)  # as in the paper, one panel per kind
    for cell in found[own & found["method"].isin(SHOWN)].itertuples():
        ten: Any = cell.ten
        for k, name in enumerate(OBJECTIVES):
            parts.append(_values(cell, name, ten[:, k]))
        if cell.status != "not applicable":
            parts.append(_values(cell, "count", np.array([float(len(ten))])))
    return pd.concat(parts, ignore_index=True)


def _values(cell: Any, what: str, values: Any) -> pd.DataFrame:
    """Return values of one cell as rows."""
    fixed = {"model": cell.model, "method": cell.method, "what": what}
    return pd.DataFrame({"value": np.asarray(values, dtype=float)}).assign(**fixed)


def boxes(found: pd.DataFrame, file: Path) -> None:
    """Draw box plots of the objectives and counts per model for one dataset's results."""
    import altair as alt  # noqa: TID251 - figures of the study, not of the library

    values = summaries(points(found))
    order = [m for m in SHOWN if m in set(values["method"])]
    y = alt.Y("method:N", sort=order, title=None)
    colour = alt.Color("method:N", sort=order, legend=None, scale=alt.Scale(range=COLOURS))
    base = alt.Chart(values).encode(y=y, color=colour)
    axis = alt.X("low:Q", title=None, axis=alt.Axis(tickCount=3, gridOpacity=0.4))
    chart = alt.layer(
        base.mark_rule().encode(x=axis, x2="high:Q"),
        base.mark_bar(size=8).encode(x="first:Q", x2="third:Q"),
        base.mark_tick(color="black", size=10, thickness=1.5).encode(x="middle:Q"),
    ).properties(width=125, height=13 * len(order))
    faceted = chart.facet(
        row=alt.Row("model:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
        column=alt.Column("what:N", title=None, sort=[*OBJECTIVES, "count"]),
        spacing=8,
    )
    save(faceted.resolve_scale(x="independent").configure_view(stroke="#dddddd"), file)


def summaries(values: pd.DataFrame) -> pd.DataFrame:
    """Return quartiles, and the ends of whiskers at most 1.5 times the box beyond it."""
    groups = values.groupby(["model", "what", "method"])["value"]
    quartiles = {"first": 0.25, "middle": 0.5, "third": 0.75}
    box = pd.DataFrame({name: groups.quantile(q) for name, q in quartiles.items()})
    reach = 1.5 * (box["third"] - box["first"])
    bounded = values.join(
        pd.DataFrame({"from": box["first"] - reach, "to": box["third"] + reach}),
        on=["model", "what", "method"],
    )
    inside = bounded[bounded["value"].between(bounded["from"], bounded["to"])]
    ends = inside.groupby(["model", "what", "method"])["value"].agg(low="min", high="max")
    return box.join(ends).reset_index()


def mean_ranks(found: pd.DataFrame, by_dataset: bool) -> pd.DataFrame:
    """Return mean ranks of hypervolume over evaluations: dataset, method, evaluations, rank."""
    keys, volumes = results.histories(found)
    if len(keys) == 0:
        return pd.DataFrame(columns=["dataset", "method", "evaluations", "rank"])
    ranked = measures.ranks(np.swapaxes(volumes.round(6), 1, 2))  # (rows, steps, searches)
    # Each pair of dataset and model counts equally, as in the paper.
    label = keys["dataset"] if by_dataset else pd.Series("all", index=keys.index)
    parts = []
    for name in sorted(set(label)):
        here = (label == name).to_numpy()
        pairs = keys[here].groupby(["dataset", "model"]).ngroup().to_numpy()
        per_pair = [ranked[here][pairs == pair].mean(axis=0) for pair in sorted(set(pairs))]
        parts.append(_long(np.mean(per_pair, axis=0), name))
    return pd.concat(parts, ignore_index=True)


def _long(ranked: Any, name: str) -> pd.DataFrame:
    """Return ranks (steps, searches) as rows."""
    steps = 20 * (1 + np.arange(len(ranked)))
    wide = pd.DataFrame(ranked, columns=[*paper.VARIANTS, OURS]).assign(evaluations=steps)
    long = wide.melt("evaluations", var_name="method", value_name="rank")
    return long.assign(dataset=name)


def ranks(found: pd.DataFrame, file: Path, by_dataset: bool) -> None:
    """Draw mean ranks over evaluations, overall or per dataset."""
    values = mean_ranks(found, by_dataset)
    if len(values):
        save(_lines(values, 190 if by_dataset else 420, 130 if by_dataset else 260), file)


def published_ranks(datasets: list[str], file: Path) -> None:
    """Draw the same of the published logs of the networks at hand."""
    parts = []
    for name in datasets:
        ranked = tables.published_ranks(name)
        wide = pd.DataFrame(ranked, columns=list(paper.VARIANTS))
        wide["evaluations"] = 20 * (1 + np.arange(len(ranked)))
        long = wide.melt("evaluations", var_name="method", value_name="rank")
        parts.append(long.assign(dataset=name))
    save(_lines(pd.concat(parts, ignore_index=True), 190, 130), file)


def _lines(values: pd.DataFrame, width: int, height: int) -> Any:
    """Return lines of ranks over evaluations, one panel per dataset."""
    import altair as alt  # noqa: TID251

    order = [m for m in results.SETS if m in set(values["method"])]
    thinned = values[(values["evaluations"] <= 400) | (values["evaluations"] % 100 == 0)]
    return (
        alt.Chart(thinned.round(3))
        .mark_line()
        .encode(
            x=alt.X(
                "evaluations:Q", title="evaluations, 20 a generation", axis=alt.Axis(tickCount=4)
            ),
            y=alt.Y("rank:Q", title="mean rank", scale=alt.Scale(zero=False)),
            color=alt.Color(
                "method:N",
                sort=order,
                title=None,
                scale=alt.Scale(domain=order, range=COLOURS[: len(order)]),
            ),
        )
        .properties(width=width, height=height)
        .facet(facet=alt.Facet("dataset:N", title=None), columns=3)
        .configure_view(stroke="#dddddd")
    )


def time_and_quality(found: pd.DataFrame, file: Path) -> None:
    """Draw the median time of each method beside the mean hypervolume of its ten."""
    import altair as alt  # noqa: TID251

    found = results.complete(found)
    usable = found[found["status"] != "not applicable"]
    values = usable.groupby("method").agg(
        seconds=("seconds", "median"), volume=("volume_ten", "mean")
    )
    values = values.clip(lower=1e-3).reset_index()
    order = alt.EncodingSortField("volume", order="descending")
    base = alt.Chart(values).encode(y=alt.Y("method:N", sort=order, title=None))
    volume = base.mark_circle(size=60, color=COLOURS[0], opacity=1).encode(
        x=alt.X("volume:Q", title="mean hypervolume of ten, share of the box")
    )
    seconds = base.mark_circle(size=60, color=COLOURS[1], opacity=1).encode(
        x=alt.X(
            "seconds:Q",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=[0.001, 0.01, 0.1, 1, 10]),
            title="median seconds per row",
        ),
        y=alt.Y("method:N", sort=order, title=None, axis=alt.Axis(labels=False, ticks=False)),
    )
    panels = [part.properties(width=260, height=16 * len(values)) for part in (volume, seconds)]
    save(alt.hconcat(*panels), file)


def save(chart: Any, file: Path) -> None:
    """Write a figure; pictures with many marks as PNG, others as SVG, by the file's name."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".png":
        chart.save(str(file), scale_factor=1.1)
    else:
        chart.save(str(file))
