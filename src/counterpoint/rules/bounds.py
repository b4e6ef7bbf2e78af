"""Which values rules leave to the features of a row: as arrays, as search boxes, and for kernels.

Kernels move a gene to the nearest value it may take, or to another one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys, Whole
from counterpoint.errors import InvalidInput, listed
from counterpoint.kernels import inner
from counterpoint.rules.domains import Domains, Start
from counterpoint.rules.normal_form import Count, NormalRule
from counterpoint.rules.program import Records
from counterpoint.rules.propagation import propagate
from counterpoint.streams import next_uniform
from counterpoint.table.features import Kind
from counterpoint.table.schema import Schema
from counterpoint.table.space import Box, Space, snap

SMALLEST_STRIDE = 0.01  # a feature that must differ goes so much of its range, up to all of it

# One feature of one row; `snap` reads some of it.
DOMAIN = np.dtype(
    [
        ("row", np.float64),  # the row's value
        ("anchor", np.float64),  # the row's value, or the nearest one left
        ("lower", np.float64),  # the box, on the feature's grid
        ("upper", np.float64),
        ("grid", np.float64),  # see `Space`
        ("pitch", np.float64),  # the distance between values, from `lower` on; 0 for the reals
        ("n_levels", np.int64),  # 0 for numbers
        ("is_level", np.bool_),  # whether levels have no order
        ("is_single", np.bool_),
        ("may_change", np.bool_),  # else it must stay at its anchor
    ],
    align=True,
)


class RowDomains(NamedTuple):
    """The values left to the candidates of each of r rows."""

    features: Records  # (r, d): row, box and grid of each feature; see `DOMAIN`
    allowed: Bools  # (r, d, most levels): which levels are left

    def of_rows(self, which: Ints) -> RowDomains:
        """Return the domains of some of the rows only."""
        return RowDomains(self.features[which], self.allowed[which])


def domains_of_rows(rows: Floats, box: Box, bounds: Sequence[Bounds], space: Space) -> RowDomains:
    """Return the domains of rows (r, d) in boxes that their bounds have narrowed."""
    features = np.zeros(rows.shape, DOMAIN)
    features["row"] = rows
    features["pitch"] = [each.pitch for each in bounds]
    for name in ("anchor", "lower", "upper", "may_change"):
        features[name] = getattr(box, name)
    for name in ("grid", "n_levels", "is_level", "is_single"):
        features[name] = getattr(space, name)
    is_code = (space.n_levels > 0) & box.may_change  # kernels read `allowed` at these, unchecked
    assert (~is_code | ((box.lower >= 0.0) & (box.upper < space.n_levels))).all()
    return RowDomains(features, np.array([each.allowed for each in bounds]))


@inner
def first_position(it: Any) -> float:
    """Return the position of a number's lower end; see `value_at`."""
    return 0.0 if it.pitch > 0.0 else float(it.lower)


@inner
def last_position(it: Any) -> float:
    """Return the position of a number's upper end."""
    return float(np.rint((it.upper - it.lower) / it.pitch)) if it.pitch > 0.0 else float(it.upper)


@inner
def position_of(value: float, it: Any) -> float:
    """Return the position of a value, which lies between whole ones if it is not on the grid."""
    return float((value - it.lower) / it.pitch) if it.pitch > 0.0 else value


@inner
def value_at(position: float, it: Any) -> float:
    """Return a number so many pitches above its lower end; on the reals `position` itself."""
    return snap(it.lower + position * it.pitch if it.pitch > 0.0 else position, it)


@inner
def nearest_number(value: float, it: Any) -> float:
    """Return the nearest value a number may take."""
    position = position_of(value, it)
    if it.pitch > 0.0:
        position = min(max(np.rint(position), 0.0), last_position(it))
    return value_at(position, it)


@inner
def any_level(but: float, n_levels: Whole, allowed: Bools, state: Keys) -> float:
    """Return an allowed level other than `but`, each as likely; `but` if there is none."""
    chosen, n_seen = but, 0.0
    for code in range(n_levels):
        if allowed[code] and code != but:
            n_seen += 1.0
            if next_uniform(state) * n_seen < 1.0:  # each of the n seen stays with 1 / n
                chosen = float(code)
    return chosen


@inner
def nearest_level(code: float, it: Any, allowed: Bools, state: Keys) -> float:
    """Return the nearest allowed level; if levels have no order, any."""
    if 0.0 <= code < it.n_levels and allowed[int(code)]:
        return code
    if it.is_level:
        return any_level(code, it.n_levels, allowed, state)
    nearest = it.anchor
    for other in range(it.n_levels):
        if allowed[other] and abs(other - code) < abs(nearest - code):
            nearest = float(other)
    return float(nearest)


@inner
def move_inside(genome: Floats, features: Records, allowed: Bools, state: Keys) -> None:
    """Put every gene on the nearest value it may take, in place."""
    for j in range(len(genome)):
        it = features[j]
        if not it.may_change:
            genome[j] = it.anchor
        elif genome[j] != it.anchor and genome[j] != MISSING:  # which breaks no rule
            if it.n_levels > 0:
                genome[j] = nearest_level(genome[j], it, allowed[j], state)
            else:
                genome[j] = nearest_number(genome[j], it)


@inner
def other_value(value: float, it: Any, allowed: Bools, state: Keys) -> float:
    """Return another value a feature may take: any level, or a number a stride up or down.

    Strides are of any magnitude, so that small changes are as likely as large ones.
    """
    if it.n_levels > 0:
        return any_level(value, it.n_levels, allowed, state)
    first, last, here = first_position(it), last_position(it), position_of(value, it)
    if value == MISSING:
        here = first + (last - first) * next_uniform(state)
    stride = (last - first) * SMALLEST_STRIDE ** next_uniform(state)
    if it.pitch > 0.0:
        here, stride = np.rint(here), max(1.0, np.rint(stride))
    if next_uniform(state) < 0.5:
        stride = -stride
    if here + stride < first or here + stride > last:
        stride = -stride
    return value_at(min(max(here + stride, first), last), it)


class Bounds(NamedTuple):
    """Where rules leave one row's features."""

    # (d,): the smallest and largest value or code left, on the feature's grid
    lower: Floats
    upper: Floats
    anchor: Floats  # (d,): the row's value, or the nearest one left
    may_change: Bools  # (d,): False where only one value is left
    # (d,): the distance between values: the rules' step or the data's precision; 0 for the reals
    pitch: Floats
    allowed: Bools  # (d, most levels): which levels are left; True beyond a feature's levels
    max_changed: int  # the most features that may change


def bounds_of(rules: Sequence[NormalRule], schema: Schema, start: Start) -> Bounds:
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


def narrow_box(
    rows: Floats, box: Box, bounds: Sequence[Bounds], names: tuple[Hashable, ...]
) -> Box:
    """Return the boxes of rows (r, d) within their bounds: what rules leave of them.

    Raises InvalidInput if more features are forced to change than may.
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
