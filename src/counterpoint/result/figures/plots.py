"""Plots: the door to all figures of one result, as `found.plot`, or as plain values for a page."""

from __future__ import annotations

import base64
import gzip
import uuid
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

from counterpoint.checks import check_whole, require_package
from counterpoint.errors import InvalidInput
from counterpoint.result.data import ResultData
from counterpoint.result.figures import frames
from counterpoint.result.figures.axes import MOST_SHOWN, Frames, Names, chosen
from counterpoint.result.figures.frames import (
    CURVE_POINTS,
    MOST_AXES,
    MOST_BARS,
    MOST_CURVES,
    MOST_STRIPS,
    SURFACE_POINTS,
)
from counterpoint.result.words import Lang, speaking

CHARTS = "counterpoint.result.figures.charts"
EXTRA = '"counterpoint[figures]", or leave them out with figures=False'


@cache
def drawing_library() -> str:
    """Return the code that draws; it interprets expressions, so pages need not allow `eval`."""
    converter = require_package("vl_convert", "a report with figures", EXTRA)
    return str(converter.javascript_bundle("window.vegaEmbed=vegaEmbed;"))


def packed(text: str) -> str:
    """Return a text compressed, in base64: it has no character that HTML reads."""
    # Without a time stamp, so that equal reports are equal files.
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


# A notebook shows each output by itself, so each brings the library; only the first unpacks it.
NOTEBOOK = """<div id="{place}"></div><script type="module">
const unpacked = async (text) => {{
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}};
window.counterpointVega ??= unpacked("{library}").then((code) => {{
  const script = document.createElement("script");
  script.textContent = code;
  document.head.append(script);
}});
await window.counterpointVega;
const spec = JSON.parse(await unpacked("{spec}"));
window.vegaEmbed(document.getElementById("{place}"), spec, {{ast: true, actions: false}});
</script>"""


@dataclass(frozen=True)
class Plots:
    """Figures of one result.

    Each method returns an Altair chart, which notebooks show and ``chart.save("x.png")`` writes
    as PNG, SVG, HTML or JSON; with ``_data`` after its name it returns the frames in that chart.
    The row is one strong colour everywhere, what stays as it is grey. All take `width`, the width
    of the drawing in pixels, and `dark`, for dark pages.

    Examples
    --------
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "owns": [True, False, True, False]})
    >>> explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
    >>> found = explainer.explain({"age": 20, "owns": True}, target=(0.4, 1.0))
    >>> lines = found.plot.parallel_data()["counterfactuals"]
    >>> lines.loc[lines["counterfactual"] == 0, ["feature", "value", "outcome"]].values.tolist()
    [['age', '20', 'the row']]
    """

    found: ResultData

    def parallel(
        self,
        features: Names = None,
        *,
        most: int = MOST_AXES,
        n: int = MOST_SHOWN,
        width: int | None = None,
        dark: bool = False,
    ) -> Any:
        """Return parallel coordinates: an axis for each changed feature, the row's line in colour.

        Each axis runs from the smallest to the largest value of the row and the candidates,
        which are written at its ends; levels stand at their places.

        Parameters
        ----------
        features : sequence of names, optional
            The features to show; None takes those that change, the most often changed first.
        most : int, default=12
            Show no more than this many of those that change.
        n : int, default=200
            Draw no more than this many candidates; of more, those of
            `select(n, by="diverse")`.
        width, dark
            As for all figures.
        """
        return _drawn("candidates", "parallel", width, dark, self.found, features, most, n)

    def parallel_data(
        self, features: Names = None, *, most: int = MOST_AXES, n: int = MOST_SHOWN
    ) -> Frames:
        """Return the lines and axes of `parallel`.

        Returns
        -------
        dict of str to DataFrame
            ``counterfactuals``: one line per candidate and axis, the row as number 0; `position`
            runs from 0, the smallest value on the axis, to 1. ``axes``: the axes in their order.
            ``ticks``: what is written on them, the smallest and largest value or the levels.
        """
        return frames.lines_and_note(self.found, features, most, n)[0]

    def surface(
        self,
        x: Hashable,
        y: Hashable,
        *,
        resolution: int = SURFACE_POINTS,
        width: int | None = None,
        dark: bool = False,
    ) -> Any:
        """Return the prediction over two features, all others as in the row.

        With contour lines (the target's dashed), the row, the candidates that change only
        these two, and histograms of the observed rows. Levels are cells side by side.

        Parameters
        ----------
        x, y : hashable
            The names of two features, numbers, dates or levels.
        resolution : int, default=40
            How many values of a number are asked about.
        width, dark
            As for all figures.

        Raises
        ------
        InvalidInput
            If the result was loaded from a file: it has no model to ask.
        """
        return _drawn("response", "surface", width, dark, self.found, x, y, resolution)

    def surface_data(self, x: Hashable, y: Hashable, *, resolution: int = SURFACE_POINTS) -> Frames:
        """Return the prediction over two features, and who stands on it.

        Places on an axis are the feature's own numbers, milliseconds since 1970 for dates, and 0,
        1, 2 for levels; `x_value` and `y_value` are texts.

        Returns
        -------
        dict of str to DataFrame
            ``grid``: the model's prediction of each cell, from (x, y) to (x2, y2). ``lines``:
            contour lines, those of the target marked. ``labels``: a number on each.
            ``counterfactuals``: the row, and those that change only these two features.
            ``bars_x``, ``bars_y``: histograms.
        """
        return frames.surface_data(self.found, x, y, resolution)[0]

    def objectives(
        self, *, n: int = MOST_SHOWN, width: int | None = None, dark: bool = False
    ) -> Any:
        """Return each objective against each other, your own included; brushing links them.

        Of more than `n` candidates those are drawn that `select(n, by="diverse")` gives.
        """
        return _drawn("candidates", "objectives", width, dark, self.found, n)

    def objectives_data(self, *, n: int = MOST_SHOWN) -> Frames:
        """Return the objectives of the candidates, and of the row where they are known.

        Returns
        -------
        dict of str to DataFrame
            ``counterfactuals``: columns objective_0, objective_1, ... in the order of
            `found.objective_names`. ``names``: which is which.
        """
        return frames.objectives_data(self.found, n)

    def frequency(
        self, *, most: int = MOST_BARS, width: int | None = None, dark: bool = False
    ) -> Any:
        """Return how often each feature changes, for at most `most` of them."""
        return _drawn("candidates", "frequency", width, dark, self.found, most)

    def frequency_data(self, *, most: int = MOST_BARS) -> Frames:
        """Return the frame ``features``: how many candidates, and valid ones, change each.

        ``place`` is where the feature stands among all.
        """
        return frames.frequency_data(self.found, most)

    def history(self, *, width: int | None = None, dark: bool = False) -> Any:
        """Return the hypervolume of the set over the rows the model was asked about."""
        return _drawn("candidates", "history", width, dark, self.found)

    def history_data(self) -> Frames:
        """Return the frame ``history``: generation, evaluations, hypervolume."""
        return frames.history_data(self.found)

    def ice(
        self,
        feature: Hashable | None = None,
        *,
        most: int = MOST_CURVES,
        resolution: int = CURVE_POINTS,
        width: int | None = None,
        dark: bool = False,
    ) -> Any:
        """Return the row's prediction as one feature changes and all others stay.

        Marked are the row and the candidates that change only this feature; the target is
        shaded.

        Parameters
        ----------
        feature : hashable, optional
            The feature's name; None draws a small curve for each feature that changes.
        most : int, default=6
            Draw no more than this many small curves.
        resolution : int, default=60
            How many values of a number are asked about.
        width, dark
            As for all figures.

        Raises
        ------
        InvalidInput
            If the result was loaded from a file: it has no model to ask.
        """
        return _drawn(
            "response", "ice", width, dark, self.found, self._alone(feature), most, resolution
        )

    def ice_data(
        self,
        feature: Hashable | None = None,
        *,
        most: int = MOST_CURVES,
        resolution: int = CURVE_POINTS,
    ) -> Frames:
        """Return the row's prediction over single features, and the candidates on these curves.

        Returns
        -------
        dict of str to DataFrame
            ``curves``: the prediction at each value of each feature (`panel` counts them), the
            row's own value included. ``counterfactuals``: the row, and those that change only this
            feature.
        """
        return frames.ice_data(self.found, self._alone(feature), most, resolution)[0]

    def _alone(self, feature: Hashable | None) -> list[Hashable] | None:
        """Return one feature as the list of all there are; refuse what is none."""
        if feature is None:
            return None
        self.found.encoding.schema.places_of([feature], "plot.ice(feature=...)")
        return [feature]

    def strips(
        self,
        features: Names = None,
        *,
        most: int = MOST_STRIPS,
        n: int = MOST_SHOWN,
        width: int | None = None,
        dark: bool = False,
    ) -> Any:
        """Return where each changed feature's values lie, with arrows from old to new values.

        It takes what `parallel` does.
        """
        return _drawn("candidates", "strips", width, dark, self.found, features, most, n)

    def strips_data(
        self, features: Names = None, *, most: int = MOST_STRIPS, n: int = MOST_SHOWN
    ) -> Frames:
        """Return what was observed of each feature, and how the candidates change it.

        Returns
        -------
        dict of str to DataFrame
            ``bars``: histograms of the observed rows (none for a loaded result), `height` up to 1.
            ``counterfactuals``: one line for each change of a feature, from `old` to `new`; those
            to one value share a `lane`, -1 where there are too many to draw. ``row``: its own
            values.
        """
        return frames.strips_and_axes(self.found, features, most, n)[0]


def _drawn(module: str, figure: str, width: object, dark: object, *asked: Any) -> Any:
    """Return a figure of a module of charts; altair is imported with it, and only then.

    A width or a page no figure can be drawn for is refused.
    """
    if width is not None:
        check_whole(f"plot.{figure}.width", width, 100, 10_000)
    if not isinstance(dark, bool):
        raise InvalidInput(f"plot.{figure}.dark must be True or False, got {dark!r}.")
    for name in ("altair", f"{CHARTS}.{module}"):
        charts = require_package(name, "found.plot", '"counterpoint[figures]"')
    return offline(getattr(charts, figure)(*asked, width, dark))


@cache
def _packed_library() -> str:
    return packed(drawing_library())


def offline(chart: Any) -> Any:
    """Return a chart that notebooks show without a network: nothing is fetched from anywhere."""

    def shown(*_: object, **__: object) -> dict[str, str]:
        spec, place = packed(chart.to_json(indent=None)), f"counterpoint-{uuid.uuid4().hex}"
        return {"text/html": NOTEBOOK.format(place=place, library=_packed_library(), spec=spec)}

    # Altair takes what is set on a chart for a part of its specification.
    object.__setattr__(chart, "_repr_mimebundle_", shown)
    return chart


WIDTH = 500  # of a drawing, in pixels: two stand side by side
MOST_PANELS, MOST_LINES = 6, 15  # of a figure, so that none is much taller than its neighbour


def draw_figures(
    found: ResultData, lang: Lang = "en", told: Callable[[], object] = bool
) -> dict[str, Any]:
    """Return the figures of a result as plain values, and the library that draws them as a text.

    A figure has its name, title, subtitle, specifications of Vega-Lite for light and dark pages,
    and the datasets both name. `told` is called after each.
    """
    require_package("altair", "a report with figures", EXTRA)
    library, dark = drawing_library(), _dark_colours()
    # Altair would check each part of our own charts against its schema at every step; tests do.
    checks = require_package("altair.utils.schemapi", "a report with figures", EXTRA)
    with speaking(lang), checks.debug_mode(False):
        drawn = []
        for name, chart in _charts(found).items():
            drawn.append(_draw(name, chart(), dark))
            told()
    return {"figures": drawn, "library": library}


def _charts(found: ResultData) -> dict[str, Callable[[], Any]]:
    """Return by name how to draw the figures of a result; of a loaded one without its model."""
    if len(found.genomes) == 0:
        return {}
    plot = Plots(found)
    charts: dict[str, Callable[[], Any]] = {
        "parallel": partial(plot.parallel, width=WIDTH),
        "objectives": partial(plot.objectives, width=WIDTH - 80),
        "strips": partial(plot.strips, most=MOST_PANELS, width=WIDTH - 60),
        "frequency": partial(plot.frequency, most=MOST_LINES, width=WIDTH - 180),
    }
    if found.live is not None:
        charts["ice"] = partial(plot.ice, width=WIDTH - 140)
        often, _ = chosen(found, None, 2, "report")
        if len(often) > 1:
            names = (found.encoding.schema.names[j] for j in often)
            charts["surface"] = partial(plot.surface, *names, width=WIDTH - 240)
    return charts


def _draw(name: str, chart: Any, dark: dict[str, str]) -> dict[str, Any]:
    """Return one figure: its title, two looks, and the data they share."""
    datasets, chart.datasets = chart.datasets, {}  # altair would copy each of their values
    spec = chart.to_dict(validate=False)
    for name_of_part in ("title", "datasets"):
        spec.pop(name_of_part, None)
    said = spec.pop("usermeta", {})
    return {
        "name": name,
        "title": said.get("title", name),
        "subtitle": said.get("subtitle", []),
        "light": spec,
        "dark": _recoloured(spec, dark),
        "datasets": datasets,
    }


def _dark_colours() -> dict[str, str]:
    """Return for each colour of a light figure that of a dark one."""
    theme = require_package(f"{CHARTS}.theme", "a report with figures", EXTRA)
    light, dark = (asdict(theme.palette(is_dark)) for is_dark in (False, True))
    ramps = zip(light.pop("ramp"), dark.pop("ramp"), strict=True)
    return {light[name]: dark[name] for name in light} | dict(ramps)


def _recoloured(part: Any, colours: dict[str, str]) -> Any:
    if isinstance(part, list):
        return [_recoloured(each, colours) for each in part]
    if isinstance(part, dict):
        return {key: _recoloured(value, colours) for key, value in part.items()}
    return colours.get(part, part) if isinstance(part, str) else part
