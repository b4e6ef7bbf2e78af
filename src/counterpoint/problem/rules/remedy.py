"""Remedies: the cheapest change of one feature that makes a test hold, the others held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Keys, Whole
from counterpoint.kernels import inner, part
from counterpoint.problem.rules.fence import (
    first_position,
    last_position,
    nearest_number,
    other_value,
    position_of,
    value_at,
)
from counterpoint.problem.rules.machine import UNKNOWN, run
from counterpoint.problem.rules.program import (
    CHANGED,
    EQUAL,
    GENE,
    MORE_EQUAL,
    OFF_GRID,
    ON_STEP,
    UNCHANGED,
    UNEQUAL,
    Program,
    Records,
)
from counterpoint.streams import next_uniform

EXPLORE = 0.25  # how often a way other than the nearest is taken, so that all can be reached
HOPELESS = 1e6  # the cost of what cannot be done
PUSH = 10.0  # the cost of going only part of the way
NEAR = 1e-6  # how far from a point of its grid, as a share of a pitch, a value still is on it
HALVINGS = 64


class Bench(NamedTuple):
    """What the repair of one row's candidates works with.

    Attributes
    ----------
    program : Program
        The rules.
    row : ndarray of shape (d,)
        The row's genome.
    features : ndarray of records, of shape (d,)
        The values the candidates may take; see `FENCED`.
    allowed : ndarray of shape (d, most levels)
        The levels they may take.
    room : ndarray of records
        Scratch, of `make_room`.
    state : ndarray of shape (1,)
        The draws so far, as `next_uniform` has them.
    """

    program: Program
    row: Floats
    features: Records
    allowed: Bools
    room: Records
    state: Keys


@inner
def try_value(value: float, p: Whole, j: Whole, genome: Floats, bench: Bench) -> bool:
    """Whether test p would hold with feature j at `value`; its sides' order is left in the room."""
    operations, kept = bench.program.operations, genome[j]
    genome[j] = value
    answer = run(operations, operations[p].begin, p + 1, genome, bench.row, bench.room)
    genome[j] = kept
    return answer


@part
def turns(value: float, p: Whole, j: Whole, was: float, genome: Floats, bench: Bench) -> bool:
    """Whether test p holds at `value`; an equation, whether its sides have met or crossed."""
    answer = try_value(value, p, j, genome, bench)
    order = bench.room[p].size
    is_equation = bench.program.operations[p].operation == EQUAL
    return (order != was and order != UNKNOWN) if is_equation else answer


@inner
def seek(p: Whole, j: Whole, side: float, was: float, genome: Floats, bench: Bench) -> float:
    """Return the nearest value of number j, below (-1) or above (1), where test p turns, or NaN.

    By bisection, which finds the nearest if the test turns once; `was` is how its sides compare
    now. Kept in mind are a position that turns, `far`, and one before that does not, `near`.
    """
    it = bench.features[j]
    far = last_position(it) if side > 0.0 else first_position(it)
    near, first = position_of(genome[j], it), far
    if it.pitch > 0.0:
        near = np.floor(near + NEAR) if side > 0.0 else np.ceil(near - NEAR)
        first = near + side
    if (far - near) * side <= 0.0:
        return np.nan
    for halving in range(HALVINGS):
        middle = (near + far) / 2.0
        if it.pitch > 0.0:
            middle = np.floor(middle)
        if halving == 0:
            middle = far
        elif halving == 1:
            middle = first
        elif middle in (near, far):
            break
        if turns(value_at(middle, it), p, j, was, genome, bench):
            far = middle
        elif halving == 0:
            return np.nan
        else:
            near = middle
    return value_at(far, it)


@part
def seek_number(p: Whole, j: Whole, was: float, genome: Floats, bench: Bench) -> float:
    """Return the nearest value of number j on either side where test p turns, or NaN."""
    nearest, least = np.nan, np.inf
    for side in (-1.0, 1.0):
        value = seek(p, j, side, was, genome, bench)
        if abs(value - genome[j]) < least:  # never for NaN
            nearest, least = value, abs(value - genome[j])
    return nearest


@part
def seek_level(p: Whole, j: Whole, genome: Floats, bench: Bench) -> float:
    """Return a level of feature j for which test p holds: the nearest, without an order any."""
    it, best, least, n_seen = bench.features[j], np.nan, np.inf, 0.0
    for code in range(it.n_levels):
        if not bench.allowed[j, code] or not try_value(float(code), p, j, genome, bench):
            continue
        apart = abs(code - genome[j])
        if it.is_level:
            n_seen += 1.0
            apart = -n_seen if next_uniform(bench.state) * n_seen < 1.0 else np.inf
        if apart < least:
            best, least = float(code), apart
    return best


@part
def nearest_step(p: Whole, j: Whole, genome: Floats, bench: Bench) -> float:
    """Return the value of number j nearest to a point of test p, a grid of steps."""
    origin, step = bench.room[p - 1].value, bench.program.operations[p].number
    point = origin + np.rint((genome[j] - origin) / step) * step
    return nearest_number(point, bench.features[j])


@inner
def remedy(p: Whole, j: Whole, was: float, genome: Floats, bench: Bench) -> float:
    """Return a value of feature j that makes test p hold, or NaN.

    Now and then that is the row's value, even if another one is nearer.
    """
    it, operation = bench.features[j], bench.program.operations[p].operation
    value = float(it.anchor)
    if operation != UNCHANGED and next_uniform(bench.state) >= EXPLORE:
        value = np.nan
    if np.isnan(value) or not try_value(value, p, j, genome, bench):
        if operation == UNCHANGED:
            return np.nan
        if it.n_levels > 0:
            value = seek_level(p, j, genome, bench)
        elif operation in (CHANGED, UNEQUAL, OFF_GRID):
            value = other_value(genome[j], it, bench.allowed[j], bench.state)
        elif operation == ON_STEP:
            value = nearest_step(p, j, genome, bench)
        else:
            value = seek_number(p, j, was, genome, bench)
    if not np.isnan(value) and not try_value(value, p, j, genome, bench):
        value = np.nan
    return value


@part
def price_of(value: float, j: Whole, genome: Floats, bench: Bench) -> float:
    """Return how many features more are changed with feature j at `value`, and a little for far."""
    it = bench.features[j]
    cost = int(value != it.row) - int(genome[j] != it.row)
    is_missing = value == MISSING or genome[j] == MISSING
    is_far = it.is_level or it.upper <= it.lower or is_missing
    far = 1.0 if is_far else abs(value - genome[j]) / (it.upper - it.lower)
    return float(cost + 0.25 * far + 0.25 * next_uniform(bench.state))


@part
def push(p: Whole, j: Whole, genome: Floats, bench: Bench) -> float:
    """Return the end of number j that brings the sides of comparison p nearer together, or NaN."""
    best, least = np.nan, np.inf
    left = bench.program.operations[p].left
    for value in (genome[j], bench.features[j].lower, bench.features[j].upper):
        try_value(value, p, j, genome, bench)
        apart = abs(bench.room[left].value - bench.room[p - 1].value)
        if apart < least:
            best, least = value, apart
    return best if best != genome[j] else np.nan


@inner
def price_test(p: Whole, genome: Floats, bench: Bench) -> None:
    """Note the cheapest way to make test p hold; if no feature suffices, go part of the way."""
    operations, here = bench.program.operations, bench.room[p]
    was, is_comparison = here.size, operations[p].operation <= MORE_EQUAL
    here.cost = HOPELESS
    for is_pushed in (False, True):
        for q in range(operations[p].begin, p + 1):
            j = operations[q].feature
            reads = operations[q].operation == GENE or (q == p and not is_comparison)
            if not (reads and bench.features[j].may_change):
                continue
            value = np.nan
            if not is_pushed:
                value = remedy(p, j, was, genome, bench)
            elif is_comparison and bench.features[j].n_levels == 0:
                value = push(p, j, genome, bench)
            cost = price_of(value, j, genome, bench) + (PUSH if is_pushed else 0.0)
            if not np.isnan(value) and cost < here.cost:
                here.cost, here.feature, here.goal = cost, j, value
        if here.cost < HOPELESS:
            break
    here.value, here.size = 0.0, was  # what was tried is forgotten
