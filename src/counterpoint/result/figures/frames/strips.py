"""Strips: where each changed feature's values lie, and arrows from the row's to the new ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterpoint.arrays import Ints
from counterpoint.result.figures.frames.axes import Axis, histogram
from counterpoint.result.figures.frames.common import (
    MOST_SHOWN,
    Frames,
    all_genes,
    chosen,
    everyone,
    shown,
)

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

MOST_STRIPS = 12
MOST_ARROWS = 6  # lanes below one strip


def strips_data(
    found: Counterfactuals,
    features: Sequence[Hashable] | None = None,
    most: int = MOST_STRIPS,
    n: int = MOST_SHOWN,
) -> Frames:
    """Return what was observed of each feature, and how the counterfactuals change it.

    Returns
    -------
    dict of str to DataFrame
        ``bars``: histograms of the observed rows (none for a loaded result), `height` up to 1.
        ``counterfactuals``: one line for each change of a feature, from `old` to `new`; those to
        one value share a `lane`, -1 where there are too many to draw. ``row``: its own values.
    """
    return strips_and_axes(found, features, most, n)[0]


def strips_and_axes(
    found: Counterfactuals, features: Sequence[Hashable] | None, most: int, n: int
) -> tuple[Frames, list[Axis], str]:
    """Return the frames of `strips_data`, their axes, and what is left out in words."""
    drawn = shown(found, n, "plot.strips")[1:] - 1
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


def arrows_of(found: Counterfactuals, axis: Axis, drawn: Ints) -> pd.DataFrame:
    """Return the counterfactuals that change a feature, from where to where, each in its lane.

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
