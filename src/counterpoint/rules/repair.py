"""Repair: small changes that make a genome satisfy the rules.

One broken rule after the other is repaired. Every test that fails is priced: what is the nearest
value of one of its features that makes it hold, the others held, and how many features more are
changed from the row then? "And" costs the sum of its parts, "or" (and so "implies") the cheaper
one, and what was chosen is set. If repairs do not lead to an end, the features of the broken rules
are put back to the row's values first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Keys, Whole
from counterpoint.kernels import inner, part
from counterpoint.rules.normal_form import INCOMPARABLE
from counterpoint.rules.program import (
    AND,
    CHANGED,
    COUNT,
    EQUAL,
    FIRST_TEST,
    FORMULA,
    GENE,
    LAST_COMPARISON,
    OFF_STEPS,
    ON_STEPS,
    UNCHANGED,
    UNEQUAL,
    Program,
    Records,
    count_changed,
    next_broken,
    run,
)
from counterpoint.streams import next_uniform
from counterpoint.table.space import snap

EXPLORE = 0.25  # how often a way other than the nearest is taken, so that all can be reached
TOO_COSTLY = 1e6  # the cost of what cannot be done
PUSH = 10.0  # the cost of going only part of the way
NEAR = 1e-6  # how far from a point of its grid, as a share of a pitch, a value still is on it
HALVINGS = 64
ATTEMPTS, ATTEMPTS_PER_RULE = 8, 4
SMALLEST_STRIDE = 0.01  # a feature that must differ goes so much of its range, up to all of it


class Repair(NamedTuple):
    """What the repair of one row's candidates works with."""

    program: Program  # the rules
    row: Floats  # (d,): the row's genome
    features: Records  # (d,): the values the candidates may take, by feature; see `DOMAIN`
    allowed: Bools  # (d, most levels): the levels they may take
    scratch: Records  # what `make_scratch` returns
    state: Keys  # (1,): the draws so far, as `next_uniform` has them


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


@inner
def try_value(value: float, p: Whole, j: Whole, genome: Floats, repair: Repair) -> bool:
    """Whether test p would hold with feature j at `value`; the scratch keeps its sides' order."""
    operations, kept = repair.program.operations, genome[j]
    genome[j] = value
    answer = run(operations, operations[p].begin, p + 1, genome, repair.row, repair.scratch)
    genome[j] = kept
    return answer


@part
def turns(value: float, p: Whole, j: Whole, was: float, genome: Floats, repair: Repair) -> bool:
    """Whether test p holds at `value`; an equation, whether its sides have met or crossed."""
    answer = try_value(value, p, j, genome, repair)
    order = repair.scratch[p].size
    is_equation = repair.program.operations[p].operation == EQUAL
    return (order != was and order != INCOMPARABLE) if is_equation else answer


@inner
def seek(p: Whole, j: Whole, side: float, was: float, genome: Floats, repair: Repair) -> float:
    """Return the nearest value of number j, below (-1) or above (1), where test p turns, or NaN.

    By bisection, which finds the nearest if the test turns once; `was` is how its sides compare
    now. Kept in mind are a position that turns, `far`, and one before that does not, `near`.
    """
    it = repair.features[j]
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
        if turns(value_at(middle, it), p, j, was, genome, repair):
            far = middle
        elif halving == 0:
            return np.nan
        else:
            near = middle
    return value_at(far, it)


@part
def seek_number(p: Whole, j: Whole, was: float, genome: Floats, repair: Repair) -> float:
    """Return the nearest value of number j on either side where test p turns, or NaN."""
    nearest, least = np.nan, np.inf
    for side in (-1.0, 1.0):
        value = seek(p, j, side, was, genome, repair)
        if abs(value - genome[j]) < least:  # never for NaN
            nearest, least = value, abs(value - genome[j])
    return nearest


@part
def seek_level(p: Whole, j: Whole, genome: Floats, repair: Repair) -> float:
    """Return a level of feature j for which test p holds: the nearest, without an order any."""
    it, best, least, n_seen = repair.features[j], np.nan, np.inf, 0.0
    for code in range(it.n_levels):
        if not repair.allowed[j, code] or not try_value(float(code), p, j, genome, repair):
            continue
        apart = abs(code - genome[j])
        if it.is_level:
            n_seen += 1.0
            apart = -n_seen if next_uniform(repair.state) * n_seen < 1.0 else np.inf
        if apart < least:
            best, least = float(code), apart
    return best


@part
def nearest_step(p: Whole, j: Whole, genome: Floats, repair: Repair) -> float:
    """Return the value of number j nearest to a point of test p, a grid of steps."""
    origin, step = repair.scratch[p - 1].value, repair.program.operations[p].number
    point = origin + np.rint((genome[j] - origin) / step) * step
    return nearest_number(point, repair.features[j])


@inner
def single_change(p: Whole, j: Whole, was: float, genome: Floats, repair: Repair) -> float:
    """Return a value of feature j that makes test p hold, or NaN.

    Now and then that is the row's value, even if another one is nearer.
    """
    it, operation = repair.features[j], repair.program.operations[p].operation
    value = float(it.anchor)
    if operation != UNCHANGED and next_uniform(repair.state) >= EXPLORE:
        value = np.nan
    if np.isnan(value) or not try_value(value, p, j, genome, repair):
        if operation == UNCHANGED:
            return np.nan
        if it.n_levels > 0:
            value = seek_level(p, j, genome, repair)
        elif operation in (CHANGED, UNEQUAL, OFF_STEPS):
            value = other_value(genome[j], it, repair.allowed[j], repair.state)
        elif operation == ON_STEPS:
            value = nearest_step(p, j, genome, repair)
        else:
            value = seek_number(p, j, was, genome, repair)
    if not np.isnan(value) and not try_value(value, p, j, genome, repair):
        value = np.nan
    return value


@part
def price_of(value: float, j: Whole, genome: Floats, repair: Repair) -> float:
    """Return how many features more are changed with feature j at `value`, and a little for far."""
    it = repair.features[j]
    cost = int(value != it.row) - int(genome[j] != it.row)
    is_missing = value == MISSING or genome[j] == MISSING
    is_far = it.is_level or it.upper <= it.lower or is_missing
    far = 1.0 if is_far else abs(value - genome[j]) / (it.upper - it.lower)
    return float(cost + 0.25 * far + 0.25 * next_uniform(repair.state))


@part
def push(p: Whole, j: Whole, genome: Floats, repair: Repair) -> float:
    """Return the end of number j that brings the sides of comparison p nearer together, or NaN."""
    best, least = np.nan, np.inf
    left = repair.program.operations[p].left
    for value in (genome[j], repair.features[j].lower, repair.features[j].upper):
        try_value(value, p, j, genome, repair)
        apart = abs(repair.scratch[left].value - repair.scratch[p - 1].value)
        if apart < least:
            best, least = value, apart
    return best if best != genome[j] else np.nan


@inner
def price_test(p: Whole, genome: Floats, repair: Repair) -> None:
    """Note the cheapest way to make test p hold; if no feature suffices, go part of the way."""
    operations, here = repair.program.operations, repair.scratch[p]
    was, is_comparison = here.size, operations[p].operation <= LAST_COMPARISON
    here.cost = TOO_COSTLY
    for is_pushed in (False, True):
        for q in range(operations[p].begin, p + 1):
            j = operations[q].feature
            reads = operations[q].operation == GENE or (q == p and not is_comparison)
            if not (reads and repair.features[j].may_change):
                continue
            value = np.nan
            if not is_pushed:
                value = single_change(p, j, was, genome, repair)
            elif is_comparison and repair.features[j].n_levels == 0:
                value = push(p, j, genome, repair)
            cost = price_of(value, j, genome, repair) + (PUSH if is_pushed else 0.0)
            if not np.isnan(value) and cost < here.cost:
                here.cost, here.feature, here.new_value = cost, j, value
        if here.cost < TOO_COSTLY:
            break
    here.value, here.size = 0.0, was  # what was tried is forgotten


@part
def repair_formula(rule: Whole, genome: Floats, repair: Repair) -> bool:
    """Set what makes a formula hold at the least cost; return False if nothing does."""
    operations, scratch = repair.program.operations, repair.scratch
    begin, end = repair.program.rules[rule].begin, repair.program.rules[rule].end
    run(operations, begin, end, genome, repair.row, scratch)
    for p in range(begin, end):
        operation, left = operations[p].operation, operations[p].left
        scratch[p].is_wanted = False
        if operation < FIRST_TEST:
            continue
        if scratch[p].value == 1.0:
            scratch[p].cost = 0.0
        elif operation < AND:
            price_test(p, genome, repair)
        elif operation == AND:
            scratch[p].cost = scratch[left].cost + scratch[p - 1].cost
        else:
            scratch[p].cost = min(scratch[left].cost, scratch[p - 1].cost)
    if scratch[end - 1].cost >= TOO_COSTLY:
        return False
    scratch[end - 1].is_wanted = True
    for p in range(end - 1, begin - 1, -1):
        if scratch[p].is_wanted and scratch[p].value == 0.0:
            fulfil(p, genome, repair)
    return True


@part
def fulfil(p: Whole, genome: Floats, repair: Repair) -> None:
    """Want the parts that make condition p hold, or set the value that makes test p hold."""
    operation = repair.program.operations[p].operation
    left, right = repair.scratch[repair.program.operations[p].left], repair.scratch[max(p - 1, 0)]
    if operation < AND:
        genome[repair.scratch[p].feature] = repair.scratch[p].new_value
    elif operation == AND:
        left.is_wanted, right.is_wanted = True, True
    else:
        is_left = left.cost <= right.cost
        has_choice = max(left.cost, right.cost) < TOO_COSTLY
        if has_choice and next_uniform(repair.state) < EXPLORE:
            is_left = not is_left
        left.is_wanted, right.is_wanted = is_left, not is_left


@part
def repair_count(rule: Whole, genome: Floats, repair: Repair) -> bool:
    """Put surplus changes back, chosen at random."""
    program, it = repair.program, repair.program.rules[rule]
    surplus = count_changed(program, rule, genome, repair.row) - it.most
    n_free = 0.0  # changes that can be put back and have not been looked at
    for i in range(it.first_read, it.last_read):
        feature = repair.features[program.reads[i]]
        n_free += genome[program.reads[i]] != feature.row and feature.anchor == feature.row
    for i in range(it.first_read, it.last_read):
        j = program.reads[i]
        feature = repair.features[j]
        if genome[j] != feature.row and feature.anchor == feature.row:
            if next_uniform(repair.state) * n_free < surplus:  # each with the same probability
                genome[j] = feature.row
                surplus -= 1
            n_free -= 1.0
    return bool(surplus <= 0)


@part
def repair_group(rule: Whole, genome: Floats, repair: Repair) -> bool:
    """Change all features of a group or put all back, as a coin falls."""
    program, it = repair.program, repair.program.rules[rule]
    can_change, can_stay = True, True
    for i in range(it.first_read, it.last_read):
        feature = repair.features[program.reads[i]]
        can_change &= feature.may_change or feature.anchor != feature.row
        can_stay &= feature.anchor == feature.row
    is_change = can_change and (not can_stay or next_uniform(repair.state) < 0.5)
    for i in range(it.first_read, it.last_read):
        j = program.reads[i]
        feature = repair.features[j]
        if not is_change:
            genome[j] = feature.anchor
        elif genome[j] == feature.row:
            genome[j] = other_value(genome[j], feature, repair.allowed[j], repair.state)
    return can_change or can_stay


@part
def put_back(rule: Whole, genome: Floats, repair: Repair) -> None:
    """Put all features a rule reads back to the row's values, or the nearest ones left."""
    program = repair.program
    for i in range(program.rules[rule].first_read, program.rules[rule].last_read):
        genome[program.reads[i]] = repair.features[program.reads[i]].anchor


@inner
def repair_genome(genome: Floats, repair: Repair) -> bool:
    """Make a genome (d,) satisfy all rules by small changes, in place.

    Returns whether it does now; if not, it is still inside the domains. A genome that satisfies the
    rules inside the domains is not changed.
    """
    program, row, scratch = repair.program, repair.row, repair.scratch
    n_rules = len(program.rules)
    if n_rules == 0:
        return True
    move_inside(genome, repair.features, repair.allowed, repair.state)
    n_attempts = ATTEMPTS + ATTEMPTS_PER_RULE * n_rules
    for attempt in range(3 * n_attempts):
        rule = next_broken(attempt % n_rules, program, genome, row, scratch)
        if rule < 0:
            return True
        kind, is_repaired = program.rules[rule].kind, False
        if attempt >= n_attempts and attempt % 2 == 0:
            pass  # it did not work out so far: every other time begin again at the row
        elif kind == FORMULA:
            is_repaired = repair_formula(rule, genome, repair)
        elif kind == COUNT:
            is_repaired = repair_count(rule, genome, repair)
        else:
            is_repaired = repair_group(rule, genome, repair)
        if not is_repaired:
            put_back(rule, genome, repair)
    return next_broken(0, program, genome, row, scratch) < 0
