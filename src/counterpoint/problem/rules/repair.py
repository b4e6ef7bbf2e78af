"""Repair: small changes that make a genome satisfy the rules.

One broken rule after the other is mended. Every test that fails is priced: what is the nearest
value of one of its features that makes it hold, the others held, and how many features more are
changed from the row then? "And" costs the sum of its parts, "or" (and so "implies") the cheaper
one, and what was chosen is set. If mending does not lead to an end, the features of the broken
rules are put back to the row's values first.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Bools, Floats, Keys, Whole
from counterpoint.kernels import inner, kernel, part
from counterpoint.problem.rules.fence import Fences, other_value, settle
from counterpoint.problem.rules.machine import count_changed, make_room, next_broken, run
from counterpoint.problem.rules.program import AND, COUNT, FIRST_TEST, FORMULA, Program
from counterpoint.problem.rules.remedy import EXPLORE, HOPELESS, Bench, price_test
from counterpoint.streams import next_uniform

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
