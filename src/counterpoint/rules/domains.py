"""What values each feature may still take, while rules are weighed before the search.

A number has an interval, perhaps only the points of a lattice in it; a feature of levels has the
set of levels left. Besides, the row's own value may be kept, even where it is not on the grid.
Domains only shrink, and never lose a value that all rules allow. Lattices are in exact arithmetic:
where two of them meet is solved, not guessed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.errors import Signal
from counterpoint.rules.normal_form import OFF_STEP, ROUND_OFF, rounding_of
from counterpoint.table.features import Feature, Kind
from counterpoint.table.schema import Schema


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


class Domains:
    """The domains of d features.

    `start` is what is possible without rules.
    """

    def __init__(self, schema: Schema, start: Start) -> None:
        self.features = schema.features
        self.start = start
        self.rounding = rounding_of(schema)
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
        """Return values (d,) as they are written, without the dust of float32."""
        return np.array(
            [as_written(feature, float(values[j])) for j, feature in enumerate(self.features)]
        )

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

    def at_most(self, j: int, value: float, slack: float = 0.0, *, is_strict: bool = False) -> None:
        """Keep values up to `value`, or below it; values `slack` above it are the same."""
        limit = value if is_strict else value + slack
        keeps = bool(self.row[j] < value) if is_strict else bool(self.row[j] <= limit)
        if self.is_level(j):
            codes = np.arange(len(self.allowed[j]))
            self.keep_codes(j, codes < value if is_strict else codes <= limit)
        elif (lattice := self.lattice[j]) is not None:
            self.shrink(j, self.low[j], lattice.floor(limit, is_strict=is_strict), keeps)
        else:
            self.shrink(j, self.low[j], self._below(j, value) if is_strict else value, keeps)

    def at_least(
        self, j: int, value: float, slack: float = 0.0, *, is_strict: bool = False
    ) -> None:
        """Keep values from `value` on, or above it; values `slack` below it are the same."""
        limit = value if is_strict else value - slack
        keeps = bool(self.row[j] > value) if is_strict else bool(self.row[j] >= limit)
        if self.is_level(j):
            codes = np.arange(len(self.allowed[j]))
            self.keep_codes(j, codes > value if is_strict else codes >= limit)
        elif (lattice := self.lattice[j]) is not None:
            self.shrink(j, lattice.ceil(limit, is_strict=is_strict), self.high[j], keeps)
        else:
            self.shrink(j, -self._below(j, -value) if is_strict else value, self.high[j], keeps)

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


def as_written(feature: Feature, value: float) -> float:
    """Return a number as it is written: 0.1 for float32's nearest to it, if there are decimals."""
    if feature.is_single and feature.decimals is not None and value != MISSING:
        rounded = round(value, feature.decimals)
        if np.float32(rounded) == np.float32(value):
            return rounded
    return value
