"""The values one row's features may take, for kernels: to go to the nearest, or to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys, Whole
from counterpoint.kernels import inner
from counterpoint.problem.limits import Box
from counterpoint.problem.rules.bounds import Bounds
from counterpoint.problem.rules.program import Records
from counterpoint.streams import next_uniform
from counterpoint.table.space import Space, snap

SMALLEST_STRIDE = 0.01  # a feature that must differ goes so much of its range, up to all of it

# One feature of one row; `snap` reads some of it.
FENCED = np.dtype(
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


class Fences(NamedTuple):
    """Where the candidates of each of r rows must stay.

    Attributes
    ----------
    features : ndarray of records, of shape (r, d)
        Row, box and grid of each feature; see `FENCED`.
    allowed : ndarray of shape (r, d, most levels)
        Which levels are left.
    """

    features: Records
    allowed: Bools

    def of_rows(self, which: Ints) -> Fences:
        """Return the fences of some of the rows only."""
        return Fences(self.features[which], self.allowed[which])


def fence_in(rows: Floats, box: Box, bounds: Sequence[Bounds], space: Space) -> Fences:
    """Return the fences of rows (r, d) in boxes that their bounds have narrowed."""
    features = np.zeros(rows.shape, FENCED)
    features["row"] = rows
    features["pitch"] = [each.pitch for each in bounds]
    for name in ("anchor", "lower", "upper", "may_change"):
        features[name] = getattr(box, name)
    for name in ("grid", "n_levels", "is_level", "is_single"):
        features[name] = getattr(space, name)
    is_code = (space.n_levels > 0) & box.may_change  # kernels read `allowed` at these, unchecked
    assert (~is_code | ((box.lower >= 0.0) & (box.upper < space.n_levels))).all()
    return Fences(features, np.array([each.allowed for each in bounds]))


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
def settle(genome: Floats, features: Records, allowed: Bools, state: Keys) -> None:
    """Put every gene on the nearest value it may take, in place."""
    for j in range(len(genome)):
        it = features[j]
        if not it.may_change:
            genome[j] = it.anchor
        elif genome[j] != it.anchor and genome[j] != MISSING:  # which no rule compares
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
