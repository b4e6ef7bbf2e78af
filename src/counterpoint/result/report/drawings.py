"""Drawings: the figures of a result for the page, with the library that draws them there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.models.needed import needed

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

WIDTH = 500  # of a drawing, in pixels: two stand side by side
EXTRA = '"counterpoint[figures]", or leave them out with figures=False'


def draw_figures(found: Counterfactuals) -> dict[str, Any]:
    """Return the figures of a result as plain values, and the library as a text.

    Returns
    -------
    dict
        ``figures``: for each its name, title, subtitle, specifications of Vega-Lite for light and
        dark pages, and the datasets both name. ``library``: JavaScript that draws them.
    """
    needed("altair", "a report with figures", EXTRA)
    library = _library()
    return {
        "figures": [_draw(name, chart) for name, chart in _charts(found).items()],
        "library": library,
    }


@cache
def _library() -> str:
    """Return the code that draws; it interprets expressions, so pages need not allow `eval`."""
    converter = needed("vl_convert", "a report with figures", EXTRA)
    return str(converter.javascript_bundle("window.vegaEmbed=vegaEmbed;"))


def _charts(found: Counterfactuals) -> dict[str, Callable[[bool], Any]]:
    """Return how each figure is drawn, given whether the page is dark."""
    if len(found) == 0:
        return {}
    plot, often = found.plot, _often_changed(found)
    charts: dict[str, Callable[[bool], Any]] = {
        "parallel": lambda dark: plot.parallel(width=WIDTH, dark=dark),
        "objectives": lambda dark: plot.objectives(width=WIDTH, dark=dark),
        "strips": lambda dark: plot.strips(width=WIDTH, dark=dark),
        "frequency": lambda dark: plot.frequency(width=WIDTH - 120, dark=dark),
    }
    if found.kept is None:  # these ask the model
        charts["ice"] = lambda dark: plot.ice(width=WIDTH, dark=dark)
        if len(often) > 1:
            charts["surface"] = lambda dark: plot.surface(*often[:2], width=WIDTH - 140, dark=dark)
    return charts


def _often_changed(found: Counterfactuals) -> list[Any]:
    """Return the names of the features that change, the most often changed first."""
    counts = found.changed.sum(axis=0)
    names = found.problem.predictor.encoding.schema.names
    return [names[j] for j in np.argsort(-counts, kind="stable") if counts[j] > 0]


def _draw(name: str, chart: Callable[[bool], Any]) -> dict[str, Any]:
    """Return one figure: its title, two looks, and the data they share."""
    light, dark = (_without_data(chart(is_dark).to_dict()) for is_dark in (False, True))
    title = light[0].pop("title", {})
    dark[0].pop("title", None)
    return {
        "name": name,
        "title": title.get("text", name),
        "subtitle": title.get("subtitle", []),
        "light": light[0],
        "dark": dark[0],
        "datasets": light[1],
    }


def _without_data(spec: Any) -> tuple[Any, dict[str, Any]]:
    """Return a specification that only names its data, and the data by name."""
    datasets: dict[str, Any] = {}

    def strip(part: Any) -> Any:
        if isinstance(part, list):
            return [strip(each) for each in part]
        if not isinstance(part, dict):
            return part
        data = part.get("data")
        if isinstance(data, dict) and "name" in data and "values" in data:
            datasets[data["name"]] = data["values"]
            part = part | {"data": {"name": data["name"]}}
        return {key: strip(value) for key, value in part.items()}

    return strip(spec), datasets
