"""The space genomes live in, as arrays a kernel can read: kinds, grids, boxes and scales."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import inner
from counterpoint.table.schema import Kind, Schema


class Space(NamedTuple):
    """What the kernels need to know of the d features; a NamedTuple, which Numba accepts.

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
    """

    is_level: Bools
    is_binary: Bools
    is_single: Bools
    grid: Floats
    n_levels: Ints
    low: Floats
    high: Floats
    deviation: Floats


def describe_space(schema: Schema, observed: Floats) -> Space:
    """Return the space of `schema`, with scales from the encoded data `observed` (n, d)."""
    features = schema.features
    kinds = [feature.kind for feature in features]
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
    )


def _grid(kind: Kind, decimals: int | None) -> float:
    """Return the grid points per unit of one feature."""
    if kind is not Kind.REAL:
        return 1.0
    return 0.0 if decimals is None else 10.0**decimals


@inner
def snap(value: float, j: int, space: Space, lower: float, upper: float) -> float:
    """Return `value` put on feature j's grid and into [lower, upper], as it will be emitted."""
    if space.grid[j] > 0.0:
        value = np.rint(value * space.grid[j]) / space.grid[j] + 0.0  # no -0.0
    value = min(max(value, lower), upper)
    if space.is_single[j]:
        value = float(np.float32(value))
    return value


@inner
def from_uniform(u: float, j: int, space: Space, lower: float, upper: float) -> float:
    """Return feature j's value at share u of [lower, upper]; grid points are equally likely."""
    if space.grid[j] > 0.0:
        n_steps = np.rint((upper - lower) * space.grid[j])
        value = lower + np.floor(u * (n_steps + 1.0)) / space.grid[j]
    else:
        value = lower + u * (upper - lower)
    return snap(value, j, space, lower, upper)
