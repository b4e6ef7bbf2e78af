"""What rules say about single features of one row, as arrays, and the search boxes they leave."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.errors import InvalidInput, listed
from counterpoint.problem.limits import Box
from counterpoint.problem.rules.core import Core, Count
from counterpoint.problem.rules.domains import Domains, Start
from counterpoint.problem.rules.propagate import propagate
from counterpoint.table.schema import Kind, Schema


class Bounds(NamedTuple):
    """Where rules leave one row's features; arrays of shape (d,) but `allowed` and `max_changed`.

    Attributes
    ----------
    lower, upper : ndarray of shape (d,)
        The smallest and largest value or code left, on the feature's grid.
    anchor : ndarray of shape (d,)
        The row's value, or the nearest one left.
    may_change : ndarray of shape (d,)
        False where only one value is left.
    pitch : ndarray of shape (d,)
        The distance between values: the rules' step or the data's precision; 0 for the reals.
    allowed : ndarray of shape (d, most levels)
        Which levels are left; True beyond a feature's levels.
    max_changed : int
        The most features that may change.
    """

    lower: Floats
    upper: Floats
    anchor: Floats
    may_change: Bools
    pitch: Floats
    allowed: Bools
    max_changed: int


def bound(rules: Sequence[Core], schema: Schema, start: Start) -> Bounds:
    """Return what the rules leave of a start; raises `Impossible` if that is nothing."""
    domains = Domains(schema, start)
    propagate(rules, domains)
    d = len(schema)
    lower, upper = domains.low.copy(), domains.high.copy()
    only_row = lower > upper
    lower[only_row] = upper[only_row] = domains.row[only_row]
    may_change = (lower < upper) | (domains.may_keep & (lower != domains.row))
    counts = [rule.n for rule in rules if isinstance(rule, Count) and len(rule.features) == d]
    return Bounds(
        lower=_as_emitted(lower, schema),
        upper=_as_emitted(upper, schema),
        anchor=_as_emitted(np.array([_anchor(domains, j) for j in range(d)]), schema),
        may_change=may_change,
        pitch=np.array([_pitch(domains, j) for j in range(d)]),
        allowed=_stack(domains.allowed),
        max_changed=min([d, *counts]),
    )


def _anchor(domains: Domains, j: int) -> float:
    """Return the value left that is nearest to the row's; for levels without order the first."""
    row = float(domains.row[j])
    if domains.may_keep[j]:
        return row
    if not domains.is_level(j):
        return _nearest_number(domains, j)
    codes = np.flatnonzero(domains.allowed[j])
    if domains.features[j].kind is Kind.ORDERED:
        return float(codes[np.argmin(np.abs(codes - row))])
    return float(codes[0])


def _nearest_number(domains: Domains, j: int) -> float:
    """Return the number left that is nearest to the row's, which is excluded."""
    low, high, row = float(domains.low[j]), float(domains.high[j]), float(domains.row[j])
    if row <= low or row >= high:
        clipped = low if row <= low else high
        return clipped if clipped != row else _beside(domains, j)
    if (lattice := domains.lattice[j]) is None:
        return _beside(domains, j)
    below, above = lattice.floor(row, is_strict=True), lattice.ceil(row, is_strict=True)
    return below if row - below < above - row else above


def _beside(domains: Domains, j: int) -> float:
    """Return another number left, next to the row's."""
    low, high, row = float(domains.low[j]), float(domains.high[j]), float(domains.row[j])
    if (lattice := domains.lattice[j]) is not None:
        above = lattice.ceil(row, is_strict=True)
        return above if above <= high else lattice.floor(row, is_strict=True)
    return (row + high) / 2.0 if row < high else (low + row) / 2.0


def _pitch(domains: Domains, j: int) -> float:
    """Return the distance between the values of a feature."""
    lattice = domains.lattice[j]
    if lattice is None:
        return 1.0 if domains.is_level(j) else 0.0
    return float(lattice.step)


def _stack(masks: list[Bools]) -> Bools:
    """Return masks of different lengths as rows of one array, filled up with True."""
    stacked = np.ones((len(masks), max(1, *map(len, masks))), dtype=np.bool_)
    for j, mask in enumerate(masks):
        stacked[j, : len(mask)] = mask
    return stacked


def _as_emitted(values: Floats, schema: Schema) -> Floats:
    """Return values (d,) in each column's own precision."""
    is_single = np.array([feature.is_single for feature in schema.features])
    is_single &= values != MISSING
    emitted = values + 0.0
    emitted[is_single] = values[is_single].astype(np.float32)
    return emitted


def start_from_box(rows: Floats, box: Box, w: int) -> Start:
    """Return where the search of row w begins."""
    low = np.where(box.may_change[w], box.lower[w], box.anchor[w])
    high = np.where(box.may_change[w], box.upper[w], box.anchor[w])
    return Start(rows[w], low, high, ~box.is_forced[w])


def narrow(rows: Floats, box: Box, bounds: Sequence[Bounds], names: tuple[Hashable, ...]) -> Box:
    """Return the boxes of r rows within their bounds.

    Parameters
    ----------
    rows : ndarray of shape (r, d)
        The explained rows.
    box : Box
        Their boxes without rules.
    bounds : sequence of Bounds
        What rules leave of these boxes, one for each row.
    names : tuple
        The features' names, for errors.

    Returns
    -------
    Box
        The smaller boxes.

    Raises
    ------
    InvalidInput
        If more features are forced to change than may.
    """
    anchor = np.array([each.anchor for each in bounds])
    is_forced = anchor != rows
    allowed_before = box.max_free + box.is_forced.sum(axis=1)
    max_changed = np.minimum(allowed_before, [each.max_changed for each in bounds])
    max_free = max_changed - is_forced.sum(axis=1)
    if (max_free < 0).any():
        w = int(np.argmin(max_free))
        forced = [names[j] for j in np.flatnonzero(is_forced[w])]
        raise InvalidInput(
            f"constraints exclude the row's own values of {listed(forced)}, which must all "
            f"change, but max_changed allows {max_changed[w]}; raise it, or drop a rule."
        )
    return Box(
        lower=np.array([each.lower for each in bounds]),
        upper=np.array([each.upper for each in bounds]),
        anchor=anchor,
        may_change=box.may_change & np.array([each.may_change for each in bounds]),
        is_forced=is_forced,
        max_free=max_free.astype(np.int64),
    )
