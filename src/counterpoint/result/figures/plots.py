"""Plots: the door to all figures of one result, as `found.plot`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from counterpoint.checks import check_whole, require_package
from counterpoint.errors import InvalidInput
from counterpoint.result.data import ResultData
from counterpoint.result.figures.frames.candidates import (
    MOST_AXES,
    MOST_BARS,
    MOST_STRIPS,
    frequency_data,
    history_data,
    objectives_data,
    parallel_data,
    strips_data,
)
from counterpoint.result.figures.frames.common import MOST_SHOWN, Frames, place_of
from counterpoint.result.figures.frames.response import (
    CURVE_POINTS,
    MOST_CURVES,
    SURFACE_POINTS,
    ice_data,
    surface_data,
)

CHARTS = "counterpoint.result.figures.charts"


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
        features: Sequence[Hashable] | None = None,
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
            Draw no more than this many candidates; of more, those `select(n)` gives.
        width : int, optional
            Width of the drawing in pixels.
        dark : bool, default=False
            Colours for a dark page.
        """
        check_looks("parallel", width, dark)
        return _drawing("candidates").parallel(self.found, features, most, n, width, dark)

    def parallel_data(
        self,
        features: Sequence[Hashable] | None = None,
        *,
        most: int = MOST_AXES,
        n: int = MOST_SHOWN,
    ) -> Frames:
        """Return the frames ``counterfactuals``, ``axes`` and ``ticks`` behind `parallel`."""
        return parallel_data(self.found, features, most, n)

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
        width : int, optional
            Width of the drawing in pixels.
        dark : bool, default=False
            Colours for a dark page.

        Raises
        ------
        InvalidInput
            If the result was loaded from a file: it has no model to ask.
        """
        check_looks("surface", width, dark)
        return _drawing("response").surface(self.found, x, y, resolution, width, dark)

    def surface_data(self, x: Hashable, y: Hashable, *, resolution: int = SURFACE_POINTS) -> Frames:
        """Return ``grid``, ``lines``, ``labels``, ``counterfactuals`` and bars of `surface`."""
        return surface_data(self.found, x, y, resolution)

    def objectives(
        self, *, n: int = MOST_SHOWN, width: int | None = None, dark: bool = False
    ) -> Any:
        """Return each objective against each other, your own included; brushing links them.

        Of more than `n` candidates those are drawn that `select(n)` gives.
        """
        check_looks("objectives", width, dark)
        return _drawing("candidates").objectives(self.found, n, width, dark)

    def objectives_data(self, *, n: int = MOST_SHOWN) -> Frames:
        """Return the frames ``counterfactuals`` and ``names`` behind `objectives`."""
        return objectives_data(self.found, n)

    def frequency(
        self,
        *,
        most: int = MOST_BARS,
        width: int | None = None,
        dark: bool = False,
    ) -> Any:
        """Return how often each feature changes, for at most `most` of them."""
        check_looks("frequency", width, dark)
        return _drawing("candidates").frequency(self.found, most, width, dark)

    def frequency_data(self, *, most: int = MOST_BARS) -> Frames:
        """Return the frame ``features`` behind `frequency`."""
        return frequency_data(self.found, most)

    def history(self, *, width: int | None = None, dark: bool = False) -> Any:
        """Return the hypervolume of the set over the rows the model was asked about."""
        check_looks("history", width, dark)
        return _drawing("candidates").history(self.found, width, dark)

    def history_data(self) -> Frames:
        """Return the frame ``history`` behind `history`."""
        return history_data(self.found)

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
        width : int, optional
            Width of the drawing in pixels.
        dark : bool, default=False
            Colours for a dark page.

        Raises
        ------
        InvalidInput
            If the result was loaded from a file: it has no model to ask.
        """
        check_looks("ice", width, dark)
        features = self._alone(feature)
        return _drawing("response").ice(self.found, features, most, resolution, width, dark)

    def ice_data(
        self,
        feature: Hashable | None = None,
        *,
        most: int = MOST_CURVES,
        resolution: int = CURVE_POINTS,
    ) -> Frames:
        """Return the frames ``curves`` and ``counterfactuals`` behind `ice`."""
        return ice_data(self.found, self._alone(feature), most, resolution)

    def _alone(self, feature: Hashable | None) -> list[Hashable] | None:
        """Return one feature as the list of all there are; refuse what is none."""
        if feature is None:
            return None
        place_of(self.found, feature, "plot.ice(feature=...)")
        return [feature]

    def strips(
        self,
        features: Sequence[Hashable] | None = None,
        *,
        most: int = MOST_STRIPS,
        n: int = MOST_SHOWN,
        width: int | None = None,
        dark: bool = False,
    ) -> Any:
        """Return where each changed feature's values lie, with arrows from old to new values.

        Parameters
        ----------
        features : sequence of names, optional
            The features to show; None takes those that change, the most often changed first.
        most : int, default=12
            Show no more than this many of those that change.
        n : int, default=200
            Draw no more than this many candidates; of more, those `select(n)` gives.
        width : int, optional
            Width of the drawing in pixels.
        dark : bool, default=False
            Colours for a dark page.
        """
        check_looks("strips", width, dark)
        return _drawing("candidates").strips(self.found, features, most, n, width, dark)

    def strips_data(
        self,
        features: Sequence[Hashable] | None = None,
        *,
        most: int = MOST_STRIPS,
        n: int = MOST_SHOWN,
    ) -> Frames:
        """Return the frames ``bars``, ``counterfactuals`` and ``row`` behind `strips`."""
        return strips_data(self.found, features, most, n)


def _drawing(module: str) -> Any:
    """Return a module of charts; altair is imported with it, and only then."""
    require_package("altair", "found.plot", '"counterpoint[figures]"')
    return require_package(f"{CHARTS}.{module}", "found.plot", '"counterpoint[figures]"')


def check_looks(figure: str, width: object, dark: object) -> None:
    """Refuse a width or a page no figure can be drawn for."""
    if width is not None:
        check_whole(f"plot.{figure}.width", width, 100, 10_000)
    if not isinstance(dark, bool):
        raise InvalidInput(f"plot.{figure}.dark must be True or False, got {dark!r}.")
