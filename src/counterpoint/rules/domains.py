"""Which values rules leave to each feature of a row: weighed, as arrays, and as search boxes.

A number has an interval, perhaps only the points of a lattice in it; a feature of levels has the
set of levels left. Besides, the row's own value may be kept, even where it is not on the grid.
Domains only shrink, and never lose a value that all rules allow. Lattices are in exact arithmetic:
where two of them meet is solved, not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.errors import InvalidInput, Signal, listed
from counterpoint.rules.normal_form import OFF_STEP, ROUND_OFF, Count, NormalRule, rounding_of
from counterpoint.rules.program import Records
from counterpoint.table.features import Feature, Kind
from counterpoint.table.schema import Schema
from counterpoint.table.space import Box, Space


def exact(value: float) -> Fraction:
    """Return the decimal number that `value` stands for.

    Examples
    --------
    >>> exact(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(value)))


@dataclass(frozen=True)
class Lattice:
    """The points a whole number of steps from an origin.

    Examples
    --------
    >>> sixes, grid = Lattice.of(4.5, 6.0), Lattice.of(0.0, 1.0)
    >>> sixes.meet(grid) is None
    True
    >>> even = Lattice.of(4.5, 1.5).meet(grid)
    >>> even.ceil(5.0), even.floor(5.0)
    (6.0, 3.0)
    """

    origin: Fraction
    step: Fraction

    @classmethod
    def of(cls, origin: float, step: float) -> Lattice:
        """Return the points from an origin, both read as decimal numbers."""
        return cls(exact(origin), exact(step))

    def meet(self, other: Lattice) -> Lattice | None:
        """Return the points of both, or None if there are none."""
        parts = (self.origin, self.step, other.origin, other.step)
        unit = math.lcm(*(part.denominator for part in parts))
        origin, step, other_origin, other_step = (int(part * unit) for part in parts)
        shared = math.gcd(step, other_step)
        apart, rest = divmod(other_origin - origin, shared)
        if rest:
            return None
        # origin + n * step is a point of the other where n solves a linear congruence
        modulus = other_step // shared
        n = apart * pow(step // shared, -1, modulus) % modulus
        return Lattice(Fraction(origin + n * step, unit), Fraction(step * modulus, unit))

    def floor(self, value: float, *, is_strict: bool = False) -> float:
        """Return the last point up to `value`, or before it."""
        n = (exact(value) - self.origin) / self.step
        return self.point(math.ceil(n) - 1 if is_strict else math.floor(n))

    def ceil(self, value: float, *, is_strict: bool = False) -> float:
        """Return the first point from `value` on, or after it."""
        n = (exact(value) - self.origin) / self.step
        return self.point(math.floor(n) + 1 if is_strict else math.ceil(n))

    def point(self, n: int) -> float:
        """Return the point n steps from the origin."""
        return float(self.origin + n * self.step)

    def has(self, value: float, slack: float) -> bool:
        """Whether `value` is a point, or within a share `slack` of a step from one."""
        n = (exact(value) - self.origin) / self.step
        return abs(n - round(n)) <= slack


class Impossible(Signal):
    """Nothing is left; the message says of what."""


class Start(NamedTuple):
    """Where a search begins, all of shape (d,): the row, its box, and whether it may stay."""

    row: Floats  # the row's genome
    # the smallest and largest value of each feature
    low: Floats
    high: Floats
    may_keep: Bools  # whether a feature may keep the row's value


def start_from_data(row: Floats, schema: Schema) -> Start:
    """Return the data's range, widened to what the row has."""
    low = np.array([feature.low for feature in schema.features])
    high = np.array([feature.high for feature in schema.features])
    may_keep = np.ones(len(row), dtype=np.bool_)
    known = np.where(row == MISSING, low, row)
    return Start(row, np.minimum(low, known), np.maximum(high, known), may_keep)


def start_from_box(rows: Floats, box: Box, w: int) -> Start:
    """Return where the search of row w begins."""
    low = np.where(box.may_change[w], box.lower[w], box.anchor[w])
    high = np.where(box.may_change[w], box.upper[w], box.anchor[w])
    return Start(rows[w], low, high, ~box.is_forced[w])


class Domains:
    """What is left to d features; `start` is what is possible without rules."""

    def __init__(self, schema: Schema, start: Start) -> None:
        self.features, self.start, self.rounding = schema.features, start, rounding_of(schema)
        self.row, self.low, self.high = map(self._as_written, (start.row, start.low, start.high))
        self.may_keep = start.may_keep.copy()
        self.allowed = [self._first_levels(j) for j in range(len(schema))]
        self.lattice = [grid_of(feature) for feature in schema.features]
        self.version = 0  # grows with every change

    def _first_levels(self, j: int) -> Bools:
        codes = np.arange(len(self.features[j].levels))
        is_in = (self.start.low[j] <= codes) & (codes <= self.start.high[j])
        if not self.start.may_keep[j]:
            is_in &= codes != self.row[j]
        return np.asarray(is_in)

    def _as_written(self, values: Floats) -> Floats:
        """Return values (d,) as they are written: 0.1 for float32's nearest to it."""
        written = values.astype(np.float64)
        for j, feature in enumerate(self.features):
            if feature.is_single and feature.decimals is not None and values[j] != MISSING:
                rounded = round(float(values[j]), feature.decimals)
                if np.float32(rounded) == np.float32(values[j]):
                    written[j] = rounded
        return written

    # What is left

    def is_level(self, j: int) -> bool:
        """Whether feature j has levels."""
        return not self.features[j].is_numeric

    def has_order(self, j: int) -> bool:
        """Whether the values of feature j can be compared with < and >."""
        return self.features[j].is_numeric or self.features[j].kind is Kind.ORDERED

    def hull(self, j: int) -> tuple[float, float]:
        """Return the smallest and largest value left."""
        low, high = float(self.low[j]), float(self.high[j])
        if self.is_level(j) or not self.may_keep[j]:
            return low, high
        row = float(self.row[j])
        return (row, row) if low > high else (min(low, row), max(high, row))

    def must_change(self, j: int) -> bool:
        """Whether the row's value is excluded."""
        return not self.may_keep[j]

    def cannot_change(self, j: int) -> bool:
        """Whether only the row's value is left."""
        return bool(self.may_keep[j]) and self.hull(j) == (self.row[j], self.row[j])

    # Shrinking

    def limit(
        self, j: int, value: float, slack: float = 0.0, *, is_upper: bool, is_strict: bool = False
    ) -> None:
        """Keep values up to `value`, or from it on; values `slack` beyond it are the same.

        The value itself is excluded if `is_strict`.
        """
        sign = 1.0 if is_upper else -1.0
        reach = value if is_strict else value + sign * slack

        def keeps(values: Any) -> Any:
            apart = sign * values, sign * reach
            return apart[0] < apart[1] if is_strict else apart[0] <= apart[1]

        if self.is_level(j):
            self.keep_codes(j, keeps(np.arange(len(self.allowed[j]))))
            return
        if (lattice := self.lattice[j]) is not None:
            end = (lattice.floor if is_upper else lattice.ceil)(reach, is_strict=is_strict)
        else:
            end = sign * self._below(j, sign * value) if is_strict else value
        low, high = (self.low[j], end) if is_upper else (end, self.high[j])
        self.shrink(j, low, high, bool(keeps(self.row[j])))

    def _below(self, j: int, value: float) -> float:
        """Return a real number that is below `value` by more than round-off."""
        return float(np.nextafter(value - 3.0 * ROUND_OFF * self.rounding[j] * abs(value), -np.inf))

    def shrink(self, j: int, low: float, high: float, keeps: bool) -> None:
        """Keep the numbers of an interval, and the row's value if it may be kept."""
        before = (self.low[j], self.high[j], self.may_keep[j])
        self.low[j], self.high[j] = max(low, self.low[j]), min(high, self.high[j])
        self.may_keep[j] &= keeps
        self._changed(j, before != (self.low[j], self.high[j], self.may_keep[j]))

    def keep_codes(self, j: int, is_kept: Bools) -> None:
        """Keep only some levels, given as a mask."""
        left = self.allowed[j] & is_kept
        has_changed = bool((left != self.allowed[j]).any())
        self.allowed[j] = left
        codes = np.flatnonzero(left)
        self.low[j], self.high[j] = (codes[0], codes[-1]) if len(codes) else (1.0, 0.0)
        self.may_keep[j] &= bool(left[int(self.row[j])])
        self._changed(j, has_changed)

    def keep_row(self, j: int) -> None:
        """Keep only the row's value."""
        if self.is_level(j) and self.row[j] != MISSING:
            self.keep_codes(j, np.arange(len(self.allowed[j])) == self.row[j])
        elif not self.cannot_change(j):
            self.allowed[j][:] = False  # of a missing level; numbers have none
            self.low[j] = self.high[j] = self.row[j]
            if not self.may_keep[j]:
                self.low[j] = np.inf
            self._changed(j, True)

    def drop_row(self, j: int) -> None:
        """Exclude the row's value."""
        if self.is_level(j) and self.row[j] != MISSING:
            self.keep_codes(j, np.arange(len(self.allowed[j])) != self.row[j])
        elif self.may_keep[j]:
            self.may_keep[j] = False
            self._changed(j, True)

    def keep_steps(self, j: int, step: float, origin: float) -> None:
        """Keep the points a whole number of steps from an origin."""
        steps = Lattice.of(origin, step)
        slack = OFF_STEP + ROUND_OFF * self.rounding[j] * abs(self.row[j]) / step
        keeps = steps.has(self.row[j], slack)
        own = self.lattice[j]
        points = steps if own is None else own.meet(steps)
        if points is None:
            self.shrink(j, np.inf, -np.inf, keeps)
            return
        self.lattice[j] = points
        low, high = self.low[j], self.high[j]
        if low <= high:
            low, high = points.ceil(low), points.floor(high)
        self.shrink(j, low, high, keeps)

    def _changed(self, j: int, has_changed: bool) -> None:
        """Note a change; refuse an empty domain."""
        self.version += has_changed
        is_only_row = self.low[j] == self.high[j] == self.row[j]  # and that is excluded
        if not self.may_keep[j] and (self.low[j] > self.high[j] or is_only_row):
            raise Impossible(self.nothing_left(j))

    def nothing_left(self, j: int) -> str:
        """Say that a feature has no value left, and among which."""
        feature = self.features[j]
        if self.is_level(j):
            return f"no level of {feature.name!r} is left"
        low, high = self.start.low[j], self.start.high[j]
        if low == high:
            return f"{feature.name!r} can only be {feature.shown(low)}"
        ends = f"{feature.shown(low)} to {feature.shown(high)}"
        return f"no value of {feature.name!r} from {ends} is left"


def grid_of(feature: Feature) -> Lattice | None:
    """Return the grid a number is searched on; None for the reals and for levels."""
    if feature.kind in (Kind.INTEGER, Kind.DATE):
        return Lattice(Fraction(0), Fraction(1))
    if feature.kind is Kind.REAL and feature.decimals is not None:
        return Lattice(Fraction(0), Fraction(1, 10**feature.decimals))
    return None


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


def bounds_of(domains: Domains, rules: Sequence[NormalRule]) -> Bounds:
    """Return what rules have left of domains."""
    d = len(domains.features)
    lower, upper = domains.low.copy(), domains.high.copy()
    only_row = lower > upper
    lower[only_row] = upper[only_row] = domains.row[only_row]
    counts = [rule.n for rule in rules if isinstance(rule, Count) and len(rule.features) == d]
    allowed = np.ones((d, max(1, *map(len, domains.allowed))), dtype=np.bool_)
    for j, mask in enumerate(domains.allowed):
        allowed[j, : len(mask)] = mask
    return Bounds(
        lower=_as_emitted(lower, domains),
        upper=_as_emitted(upper, domains),
        anchor=_as_emitted(np.array([_anchor(domains, j) for j in range(d)]), domains),
        may_change=(lower < upper) | (domains.may_keep & (lower != domains.row)),
        pitch=np.array([_pitch(domains, j) for j in range(d)]),
        allowed=allowed,
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
    if row < low or row > high:
        return low if row < low else high
    if (lattice := domains.lattice[j]) is None:
        return (row + high) / 2.0 if row < high else (low + row) / 2.0
    below, above = lattice.floor(row, is_strict=True), lattice.ceil(row, is_strict=True)
    if row in (low, high):
        return above if above <= high else below
    return below if row - below < above - row else above


def _pitch(domains: Domains, j: int) -> float:
    if (lattice := domains.lattice[j]) is None:
        return 1.0 if domains.is_level(j) else 0.0
    return float(lattice.step)


def _as_emitted(values: Floats, domains: Domains) -> Floats:
    """Return values (d,) in each column's own precision."""
    is_single = np.array([feature.is_single for feature in domains.features])
    is_single &= values != MISSING
    emitted = values + 0.0
    emitted[is_single] = values[is_single].astype(np.float32)
    return emitted


def narrow_box(
    rows: Floats, box: Box, bounds: Sequence[Bounds], names: tuple[Hashable, ...], may_miss: Bools
) -> Box:
    """Return the boxes of rows (r, d) within their bounds: what rules leave of them.

    A feature (d,) that may be missing and must not stay as it is has that choice besides the
    values that are left.

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
        may_change=box.may_change
        & (np.array([each.may_change for each in bounds]) | (is_forced & may_miss)),
        is_forced=is_forced,
        max_free=max_free.astype(np.int64),
    )


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
