"""The space genomes live in, as arrays a kernel can read: kinds, grids, boxes and scales."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.kernels import inner
from counterpoint.table.schema import Kind, Schema

# One feature of one row: one argument of a kernel instead of nine, which it compiles faster.
FEATURE = np.dtype(
    [
        ("anchor", np.float64),  # what "unchanged" means
        ("lower", np.float64),  # the search box
        ("upper", np.float64),
        ("grid", np.float64),  # see `Space`
        ("is_level", np.bool_),
        ("is_binary", np.bool_),
        ("is_single", np.bool_),
        ("may_change", np.bool_),
        ("is_forced", np.bool_),  # the anchor is not the row's own value
        ("may_miss", np.bool_),  # a counterfactual may lack it
    ],
    align=True,
)
Features: TypeAlias = NDArray[np.void]


class Space(NamedTuple):
    """What is known of the d features.

    Attributes
    ----------
    is_level : ndarray of shape (d,)
        Whether equality is all that counts: categorical and binary features.
    is_binary : ndarray of shape (d,)
        Whether the feature has exactly two levels.
    is_single : ndarray of shape (d,)
        Whether the column is float32, so that values must survive the cast.
    grid : ndarray of shape (d,)
        Grid points per unit, 10**decimals; 1 for integers and codes; 0 for the reals.
    n_levels : ndarray of shape (d,)
        Number of levels; 0 for numbers.
    low, high : ndarray of shape (d,)
        The observed box.
    deviation : ndarray of shape (d,)
        Standard deviation of each gene in the data.
    may_miss : ndarray of shape (d,)
        Whether a counterfactual may lack it, even if the row does not.
    """

    is_level: Bools
    is_binary: Bools
    is_single: Bools
    grid: Floats
    n_levels: Ints
    low: Floats
    high: Floats
    deviation: Floats
    may_miss: Bools


def describe_space(schema: Schema, observed: Floats, may_miss: Bools | None = None) -> Space:
    """Return the space of `schema`, with scales from the encoded data `observed` (n, d).

    `may_miss` (d,) tells what counterfactuals may lack: nothing if it is None.
    """
    features = schema.features
    kinds = [feature.kind for feature in features]
    if schema.has_missing:
        spread = np.array([_deviation(genes[genes != MISSING]) for genes in observed.T])
    else:
        spread = observed.std(axis=0, ddof=1) if len(observed) > 1 else np.zeros(len(features))
    return Space(
        is_level=np.array([kind in (Kind.CATEGORICAL, Kind.BINARY) for kind in kinds]),
        is_binary=np.array([kind is Kind.BINARY for kind in kinds]),
        is_single=np.array([feature.is_single for feature in features]),
        grid=np.array([_grid(feature.kind, feature.decimals) for feature in features]),
        n_levels=np.array([len(feature.levels) for feature in features], dtype=np.int64),
        low=np.array([feature.low for feature in features]),
        high=np.array([feature.high for feature in features]),
        deviation=np.ascontiguousarray(spread),
        may_miss=np.zeros(len(features), dtype=np.bool_) if may_miss is None else may_miss,
    )


def _deviation(genes: Floats) -> float:
    """Return the standard deviation of the values that are there."""
    return float(genes.std(ddof=1)) if len(genes) > 1 else 0.0


def _grid(kind: Kind, decimals: int | None) -> float:
    """Return the grid points per unit of one feature."""
    if kind is not Kind.REAL:
        return 1.0
    return 0.0 if decimals is None else 10.0**decimals


@inner
def snap(value: float, feature: Any) -> float:
    """Return `value` put on a feature's grid and into its box, as it will be emitted."""
    if feature.grid > 0.0:
        value = np.rint(value * feature.grid) / feature.grid + 0.0  # no -0.0
    value = min(max(value, feature.lower), feature.upper)
    if feature.is_single:
        value = float(np.float32(value))
    return value


@inner
def from_uniform(u: float, feature: Any) -> float:
    """Return a feature's value at share u of its box; grid points are equally likely."""
    lower, span = feature.lower, feature.upper - feature.lower
    if feature.grid > 0.0:
        n_steps = np.floor(span * feature.grid + 0.5)
        step = np.floor(u * (n_steps + 1.0))
        # The last step is the upper end itself: in single precision both may be off the grid.
        value = lower + step / feature.grid if step < n_steps else feature.upper
    else:
        value = lower + u * span
    return snap(value, feature)
