"""ICE curves: the row's prediction as one feature changes and all others stay."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterpoint.evolution.search import check_whole
from counterpoint.result.figures.frames.axes import Axis
from counterpoint.result.figures.frames.common import (
    Frames,
    all_genes,
    ask,
    changes_only,
    check_can_ask,
    chosen,
    everyone,
    varied,
)

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

MOST_CURVES = 6
RESOLUTION = 60


def ice_axes(
    found: Counterfactuals, features: Sequence[Hashable] | None, most: int
) -> tuple[list[Axis], str]:
    """Return the axes of the features whose curves are drawn, and what is left out."""
    places, left_out = chosen(found, features, most, "plot.ice")
    return [Axis.of(found, place) for place in places], left_out


def ice_data(
    found: Counterfactuals,
    features: Sequence[Hashable] | None = None,
    most: int = MOST_CURVES,
    resolution: int = RESOLUTION,
) -> Frames:
    """Return the row's prediction over single features, and the counterfactuals on these curves.

    Returns
    -------
    dict of str to DataFrame
        ``curves``: the prediction at each value of each feature (`panel` counts them), the row's
        own value included. ``counterfactuals``: the row, and those that change only this feature.
    """
    check_can_ask(found, "ice")
    check_whole("resolution", resolution, 2, 1000, owner="plot.ice")
    axes, _ = ice_axes(found, features, most)
    curves = [curve_of(found, axis, panel, resolution) for panel, axis in enumerate(axes)]
    points = [points_of(found, axis, panel) for panel, axis in enumerate(axes)]
    columns = ["panel", "feature", "x", "value", "prediction"]
    people = list(everyone(found).columns)
    return {
        "curves": pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=columns),
        "counterfactuals": pd.concat(points, ignore_index=True)
        if points
        else pd.DataFrame(columns=[*people, "panel", "feature", "x", "value"]),
    }


def curve_of(found: Counterfactuals, axis: Axis, panel: int, resolution: int) -> pd.DataFrame:
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


def points_of(found: Counterfactuals, axis: Axis, panel: int) -> pd.DataFrame:
    """Return the row and the counterfactuals that change nothing but this feature."""
    which = [0, *(1 + changes_only(found, [axis.place]))]
    genes = all_genes(found)[which, axis.place]
    return (
        everyone(found)
        .iloc[which]
        .assign(panel=panel, feature=axis.title, x=axis.at(genes), value=axis.written(genes))
    )
