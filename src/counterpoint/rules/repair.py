"""Repair: small changes that make a genome satisfy the rules.

One broken rule after the other is mended. Every test that fails is priced: what is the nearest
value of one of its features that makes it hold, the others held, and how many features more are
changed from the row then? "And" costs the sum of its parts, "or" (and so "implies") the cheaper
one, and what was chosen is set. If mending does not lead to an end, the features of the broken
rules are put back to the row's values first.

Remedies: the cheapest change of one feature that makes a test hold, the others held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Keys, Whole
from counterpoint.kernels import inner, kernel, part
from counterpoint.rules.bounds import (
    Fences,
    first_position,
    last_position,
    nearest_number,
    other_value,
    position_of,
    settle,
    value_at,
)
from counterpoint.rules.program import (
    AND,
    CHANGED,
    COUNT,
    EQUAL,
    FIRST_TEST,
    FORMULA,
    GENE,
    MORE_EQUAL,
    OFF_GRID,
    ON_STEP,
    UNCHANGED,
    UNEQUAL,
    UNKNOWN,
    Program,
    Records,
    count_changed,
    make_room,
    next_broken,
    run,
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


ATTEMPTS, ATTEMPTS_PER_RULE = 8, 4


@part
def mend_formula(rule: Whole, genome: Floats, bench: Bench) -> bool:
    """Set what makes a formula hold at the least cost; return False if nothing does."""
    operations, room = bench.program.operations, bench.room
    begin, end = bench.program.rules[rule].begin, bench.program.rules[rule].end
    run(operations, begin, end, genome, bench.row, room)
    for p in range(begin, end):
        operation, left = operations[p].operation, operations[p].left
        room[p].is_wanted = False
        if operation < FIRST_TEST:
            continue
        if room[p].value == 1.0:
            room[p].cost = 0.0
        elif operation < AND:
            price_test(p, genome, bench)
        elif operation == AND:
            room[p].cost = room[left].cost + room[p - 1].cost
        else:
            room[p].cost = min(room[left].cost, room[p - 1].cost)
    if room[end - 1].cost >= HOPELESS:
        return False
    room[end - 1].is_wanted = True
    for p in range(end - 1, begin - 1, -1):
        if room[p].is_wanted and room[p].value == 0.0:
            fulfil(p, genome, bench)
    return True


@part
def fulfil(p: Whole, genome: Floats, bench: Bench) -> None:
    """Want the parts that make condition p hold, or set the value that makes test p hold."""
    operation = bench.program.operations[p].operation
    left, right = bench.room[bench.program.operations[p].left], bench.room[p - 1]
    if operation < AND:
        genome[bench.room[p].feature] = bench.room[p].goal
    elif operation == AND:
        left.is_wanted, right.is_wanted = True, True
    else:
        is_left = left.cost <= right.cost
        has_choice = max(left.cost, right.cost) < HOPELESS
        if has_choice and next_uniform(bench.state) < EXPLORE:
            is_left = not is_left
        left.is_wanted, right.is_wanted = is_left, not is_left


@part
def mend_count(rule: Whole, genome: Floats, bench: Bench) -> bool:
    """Put surplus changes back, chosen at random."""
    program, it = bench.program, bench.program.rules[rule]
    surplus = count_changed(program, rule, genome, bench.row) - it.most
    n_free = 0.0  # changes that can be put back and have not been looked at
    for i in range(it.first_read, it.last_read):
        feature = bench.features[program.reads[i]]
        n_free += genome[program.reads[i]] != feature.row and feature.anchor == feature.row
    for i in range(it.first_read, it.last_read):
        j = program.reads[i]
        if genome[j] != bench.features[j].row and bench.features[j].anchor == bench.features[j].row:
            if next_uniform(bench.state) * n_free < surplus:  # each with the same probability
                genome[j] = bench.features[j].row
                surplus -= 1
            n_free -= 1.0
    return bool(surplus <= 0)


@part
def mend_group(rule: Whole, genome: Floats, bench: Bench) -> bool:
    """Change all features of a group or put all back, as a coin falls."""
    program, it = bench.program, bench.program.rules[rule]
    can_change, can_stay = True, True
    for i in range(it.first_read, it.last_read):
        feature = bench.features[program.reads[i]]
        can_change &= feature.may_change or feature.anchor != feature.row
        can_stay &= feature.anchor == feature.row
    is_change = can_change and (not can_stay or next_uniform(bench.state) < 0.5)
    for i in range(it.first_read, it.last_read):
        j = program.reads[i]
        feature = bench.features[j]
        if not is_change:
            genome[j] = feature.anchor
        elif genome[j] == feature.row:
            genome[j] = other_value(genome[j], feature, bench.allowed[j], bench.state)
    return can_change or can_stay


@part
def put_back(rule: Whole, genome: Floats, bench: Bench) -> None:
    """Put all features a rule reads back to the row's values, or the nearest ones left."""
    program = bench.program
    for i in range(program.rules[rule].first_read, program.rules[rule].last_read):
        genome[program.reads[i]] = bench.features[program.reads[i]].anchor


@inner
def repair(genome: Floats, bench: Bench) -> bool:
    """Make a genome (d,) satisfy all rules by small changes, in place.

    Returns whether it does now; if not, it is still inside the fence. A genome that satisfies the
    rules inside the fence is not changed.
    """
    program, row, room = bench.program, bench.row, bench.room
    n_rules = len(program.rules)
    if n_rules == 0:
        return True
    settle(genome, bench.features, bench.allowed, bench.state)
    n_attempts = ATTEMPTS + ATTEMPTS_PER_RULE * n_rules
    for attempt in range(3 * n_attempts):
        rule = next_broken(attempt % n_rules, program, genome, row, room)
        if rule < 0:
            return True
        kind, is_mended = program.rules[rule].kind, False
        if attempt >= n_attempts and attempt % 2 == 0:
            pass  # it did not work out so far: every other time begin again at the row
        elif kind == FORMULA:
            is_mended = mend_formula(rule, genome, bench)
        elif kind == COUNT:
            is_mended = mend_count(rule, genome, bench)
        else:
            is_mended = mend_group(rule, genome, bench)
        if not is_mended:
            put_back(rule, genome, bench)
    return next_broken(0, program, genome, row, room) < 0


def repair_all(genomes: Floats, w: int, rules: Program, fences: Fences, states: Keys) -> Bools:
    """Repair genomes (n, d) of row w in place, each with its own start of draws (n,).

    Returns which of them satisfy the rules now.
    """
    features, allowed = fences.features[w], fences.allowed[w]
    row = np.ascontiguousarray(features["row"])
    state = np.zeros(1, dtype=np.uint64)
    is_repaired = np.empty(len(genomes), dtype=np.bool_)
    bench = Bench(rules, row, features, allowed, make_room(rules), state)
    _repair_all(genomes, bench, states, is_repaired)
    return is_repaired


@kernel
def _repair_all(genomes: Floats, bench: Bench, states: Keys, is_repaired: Bools) -> None:
    """Write which of the genomes (n, d) satisfy the rules after their repair."""
    for i in range(len(genomes)):
        bench.state[0] = states[i]
        is_repaired[i] = repair(genomes[i], bench)
