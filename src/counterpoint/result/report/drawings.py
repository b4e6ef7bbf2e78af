"""Drawings: the figures of a result for the page, with the library that draws them there."""

from __future__ import annotations

from dataclasses import asdict
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
    library, dark = drawing_library(), _dark_colours()
    return {
        "figures": [_draw(name, chart, dark) for name, chart in _charts(found).items()],
        "library": library,
    }


@cache
def drawing_library() -> str:
    """Return the code that draws; it interprets expressions, so pages need not allow `eval`."""
    converter = needed("vl_convert", "a report with figures", EXTRA)
    return str(converter.javascript_bundle("window.vegaEmbed=vegaEmbed;"))


def _charts(found: Counterfactuals) -> dict[str, Any]:
    """Return the figures of a result by name; of a loaded one those that ask no model."""
    if len(found) == 0:
        return {}
    plot, often = found.plot, _often_changed(found)
    charts = {
        "parallel": plot.parallel(width=WIDTH),
        "objectives": plot.objectives(width=WIDTH - 80),
        "strips": plot.strips(width=WIDTH - 60),
        "frequency": plot.frequency(width=WIDTH - 180),
    }
    if found.kept is None:
        charts["ice"] = plot.ice(width=WIDTH - 140)
        if len(often) > 1:
            charts["surface"] = plot.surface(*often[:2], width=WIDTH - 240)
    return charts


def _often_changed(found: Counterfactuals) -> list[Any]:
    """Return the names of the features that change, the most often changed first."""
    counts = found.changed.sum(axis=0)
    names = found.problem.predictor.encoding.schema.names
    return [names[j] for j in np.argsort(-counts, kind="stable") if counts[j] > 0]


def _draw(name: str, chart: Any, dark: dict[str, str]) -> dict[str, Any]:
    """Return one figure: its title, two looks, and the data they share."""
    spec = chart.to_dict(validate=False)  # it was, when it was put together
    title, datasets = spec.pop("title", {}), spec.pop("datasets", {})
    return {
        "name": name,
        "title": title.get("text", name),
        "subtitle": title.get("subtitle", []),
        "light": spec,
        "dark": _recoloured(spec, dark),
        "datasets": datasets,
    }


def _dark_colours() -> dict[str, str]:
    """Return for each colour of a light figure that of a dark one."""
    theme = needed("counterpoint.result.figures.charts.theme", "a report with figures", EXTRA)
    light, dark = (asdict(theme.palette(is_dark)) for is_dark in (False, True))
    ramps = zip(light.pop("ramp"), dark.pop("ramp"), strict=True)
    return {light[name]: dark[name] for name in light} | dict(ramps)


def _recoloured(part: Any, colours: dict[str, str]) -> Any:
    """Return a specification in other colours."""
    if isinstance(part, list):
        return [_recoloured(each, colours) for each in part]
    if isinstance(part, dict):
        return {key: _recoloured(value, colours) for key, value in part.items()}
    return colours.get(part, part) if isinstance(part, str) else part
