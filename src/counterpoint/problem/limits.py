"""Costs: how hard each feature is to change, as weights of its term in `distance`.

Limits: what a counterfactual may change, as the caller states it and as arrays of one search.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.errors import InvalidInput, UnknownFeatureError, listed
from counterpoint.table.dates import day_of
from counterpoint.table.schema import Feature, Kind, Schema, is_number
from counterpoint.table.space import Box, Space


@dataclass(frozen=True)
class Limits:
    """The caller's limits, checked against the schema.

    Parameters
    ----------
    is_fixed : ndarray of shape (d,)
        Features that must keep the row's value.
    low, high : ndarray of shape (d,)
        The caller's ranges; NaN where none was given.
    max_changed : int
        The most features a counterfactual may change.
    """

    is_fixed: Bools
    low: Floats
    high: Floats
    max_changed: int

    @classmethod
    def of(
        cls,
        schema: Schema,
        fixed: Iterable[Hashable] = (),
        ranges: Mapping[Hashable, tuple[Any, Any]] | None = None,
        max_changed: int | None = None,
    ) -> Limits:
        """Check the caller's `fixed`, `ranges` and `max_changed` and put them into arrays."""
        names = list(schema.names)
        is_fixed = np.isin(np.arange(len(names)), _fixed_columns(fixed, names))
        low, high = np.full(len(names), np.nan), np.full(len(names), np.nan)
        for name, interval in _check_ranges(ranges).items():
            if name not in names:
                raise UnknownFeatureError.of(name, names, argument="ranges")
            j = names.index(name)
            low[j], high[j] = _check_range(schema.features[j], interval)
            if is_fixed[j]:
                raise InvalidInput(f"{name!r} is both in fixed and in ranges; keep one of the two.")
        if is_fixed.all():
            raise InvalidInput("fixed names every feature, so nothing could change; free some.")
        return cls(is_fixed, low, high, _check_max_changed(max_changed, len(names)))


def search_box(rows: Floats, space: Space, limits: Limits, names: tuple[Hashable, ...]) -> Box:
    """Return the box of each row: the data's range widened to the row, or the caller's range."""
    has_range, is_missing = ~np.isnan(limits.low), rows == MISSING
    known = np.where(is_missing, space.low, rows)
    lower = _as_emitted(np.where(has_range, limits.low, np.minimum(space.low, known)), space)
    upper = _as_emitted(np.where(has_range, limits.high, np.maximum(space.high, known)), space)
    is_inside = is_missing | ((lower <= rows) & (rows <= upper))
    lower, upper = _onto_grid(lower, space, inwards=1.0), _onto_grid(upper, space, inwards=-1.0)
    if (crossed := (lower > upper).any(axis=0)).any():
        empty = [names[j] for j in np.flatnonzero(crossed)]
        raise InvalidInput(
            f"ranges leave no value of the data's precision for {listed(empty)}; widen them."
        )
    anchor = np.where(is_inside, rows, np.clip(rows, lower, upper))
    is_forced = anchor != rows
    max_free = limits.max_changed - is_forced.sum(axis=1)
    if (max_free < 0).any():
        forced = [names[j] for j in np.flatnonzero(is_forced[np.argmin(max_free)])]
        raise InvalidInput(
            f"max_changed is {limits.max_changed}, but ranges exclude the row's own values of "
            f"{listed(forced)}, which must all change; raise max_changed or widen the ranges."
        )
    may_change = ~limits.is_fixed & ((lower < upper) | is_missing)
    return Box(lower, upper, anchor, may_change, is_forced, max_free.astype(np.int64))


def _onto_grid(ends: Floats, space: Space, inwards: float) -> Floats:
    """Move ends (r, d) to the nearest grid point, or the next one inwards; forgive round-off."""
    per_unit = np.where(space.grid > 0, space.grid, 1.0)
    steps = np.rint(ends * per_unit)
    overshoot = (ends - _as_emitted(steps / per_unit, space)) * inwards
    steps += np.where(overshoot * per_unit > 1e-6, inwards, 0.0)
    on_grid = _as_emitted(steps / per_unit + 0.0, space)  # no -0.0
    return np.ascontiguousarray(np.where(space.grid > 0, on_grid, ends))


def _as_emitted(values: Floats, space: Space) -> Floats:
    """Return values (r, d) in each column's own precision: float32 where it is."""
    emitted = values.copy()
    emitted[:, space.is_single] = values[:, space.is_single].astype(np.float32)
    return emitted


def _fixed_columns(fixed: Iterable[Hashable], names: list[Hashable]) -> list[int]:
    """Return the positions of the fixed features."""
    if isinstance(fixed, str) or not isinstance(fixed, Iterable):
        raise InvalidInput(
            f"fixed must be a list of column names, got {fixed!r}; "
            f"for example fixed=[{names[0]!r}]."
        )
    columns = []
    for name in fixed:
        if name not in names:
            raise UnknownFeatureError.of(name, names, argument="fixed")
        columns.append(names.index(name))
    return columns


def _check_ranges(ranges: object) -> Mapping[Hashable, Any]:
    """Return the caller's ranges by column name; none for None."""
    if ranges is None:
        return {}
    if not isinstance(ranges, Mapping):
        raise InvalidInput(f"ranges must be a dict of column name to (low, high), got {ranges!r}.")
    return ranges


def _check_range(feature: Feature, interval: Any) -> tuple[float, float]:
    """Return a caller's range as floats; None means the observed end."""
    if not feature.is_numeric:
        raise InvalidInput(
            f"ranges names {feature.name!r}, which is {feature.kind}, not a number; "
            "ranges are for numbers."
        )
    if not isinstance(interval, tuple | list) or len(interval) != 2:
        raise InvalidInput(f"ranges[{feature.name!r}] must be (low, high), got {interval!r}.")
    ends = [_as_day(end, feature) if feature.kind is Kind.DATE else end for end in interval]
    low = feature.low if ends[0] is None else ends[0]
    high = feature.high if ends[1] is None else ends[1]
    if not (is_number(low) and is_number(high)):
        raise InvalidInput(f"ranges[{feature.name!r}] must hold numbers or None, got {interval!r}.")
    if not np.isfinite([float(low), float(high)]).all() or low > high:
        raise InvalidInput(
            f"ranges[{feature.name!r}] must be finite with low <= high, got {interval!r}; None "
            f"stands for the data's own end in {feature.shown(feature.low)} to "
            f"{feature.shown(feature.high)}."
        )
    smallest, largest = feature.dtype_range
    if low < smallest or high > largest:
        raise InvalidInput(
            f"ranges[{feature.name!r}] is {interval!r}, which the data's dtype {feature.dtype} "
            f"cannot hold; stay within {feature.shown(smallest)} to {feature.shown(largest)}."
        )
    return float(low), float(high)


def _as_day(end: Any, feature: Feature) -> Any:
    """Return an end of a range of dates in days; None and days stay what they are."""
    is_day = end is None or is_number(end)
    return end if is_day else day_of(end, f"ranges[{feature.name!r}]")


def _check_max_changed(max_changed: int | None, d: int) -> int:
    """Return `max_changed`, or the number of features for None."""
    if max_changed is None:
        return d
    if isinstance(max_changed, bool) or not isinstance(max_changed, int | np.integer):
        raise InvalidInput(f"max_changed must be a whole number or None, got {max_changed!r}.")
    if max_changed < 1:
        raise InvalidInput(f"max_changed must be at least 1, got {max_changed}.")
    return min(int(max_changed), d)


def check_costs(costs: Mapping[Any, float] | None, schema: Schema) -> Floats | None:
    """Return the cost of each feature, 1 where none was given; None if none was at all.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [20, 30], "pay": [1.5, 2.5]}))
    >>> check_costs({"age": 3}, schema)
    array([3., 1.])
    """
    if costs is not None and not isinstance(costs, Mapping):
        raise InvalidInput(
            f"costs must be a dict of column name to number, got {costs!r}; for example "
            f"costs={{{schema.names[0]!r}: 3.0}}."
        )
    if not costs:
        return None
    names, found = list(schema.names), np.ones(len(schema))
    for name, cost in costs.items():
        if name not in names:
            raise UnknownFeatureError.of(name, names, argument="costs")
        if not is_number(cost) or not np.isfinite(float(cost)) or cost < 0:
            raise InvalidInput(
                f"costs[{name!r}] must be a finite number of at least 0, got {cost!r}."
            )
        found[names.index(name)] = float(cost)
    if not 0.0 < sum(found.tolist()) < np.inf:
        raise InvalidInput("costs must not all be 0, nor add up to more than a float can hold.")
    return found
