"""Finish: the nearest counterfactual, by several small steps at once.

Close to the row the best is often a few small steps together, none of which is much alone. Some
features of a good candidate are set free, and get the cheapest values of their lists (see
`small_steps`) that should gain enough together: a knapsack. Gains
are drawn around what is believed of them, so that what is uncertain is tried.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Floats
from counterpoint.kernels import assign, fetch, inner, kernel, part
from counterpoint.search.explore.knapsack import choose_values, draw_gains, shorten
from counterpoint.search.explore.moves import (
    Draws,
    draw,
    pick,
    set_free,
    tighten,
)
from counterpoint.search.explore.niches import best_of_three, gain_of, list_near
from counterpoint.search.explore.small_steps import (
    NOBODY,
    PER_LINE,
    ROW,
    Finish,
    FinishSource,
    StepValues,
    believed,
    cost,
    cost_of,
    enter_leaf,
    learn,
    list_values,
    shift,
    usual_gain,
)
from counterpoint.streams import WHOLE, Stage, word_at
from counterpoint.table.space import (
    Features,
    fetch_place,
    has_hash,
    hash_genome,
    is_remembered,
    snap,
)

FINISH = np.int64(Stage.FINISH)
STALE = 40  # waves without anything nearer after which fewer are made of unknown models …
NEARER = 0.999  # … where nearer is what has at most this share of the least distance
STATE, HASH = 0, 1  # what is noted of each place …
NOTHING, WANTED = np.uint64(0), np.uint64(1)  # … and its hash before there is one: none is 0
FEWEST = 3  # then every other place, and later every third, is left to other moves
ATTEMPTS = 4  # tries to make a candidate that is new, and nearer than the nearest
P_NEAREST = 0.25  # share of candidates made of the nearest counterfactual
P_TIGHTEN = 0.15  # share that only moves one number towards the row
P_NUDGE = 0.1  # share that moves one number away from the row's value by any small step
P_ALL = 0.1  # share for which all features are free
FINER = 0.85  # lists are made anew when the least distance has fallen to this share
LEAST = 0.05  # gains are at least so uncertain, as a share of what is needed
P_LEAF = 0.2  # share for which a leaf of a known tree is entered first
P_SHIFT = 0.6  # share of these two that moves a number by few thresholds of known trees instead
P_SHORTEN = 0.75  # share in which a number may get a value between those of its list


@kernel
def finish_wave(finish: Finish, source: FinishSource, wave: int, first: int, every: int) -> None:
    """Learn from the candidates of the last wave, and make those of the next.

    A candidate of the i-th slot was, and is to be, number ``first + i * every`` of its wave.
    """
    for w, a in enumerate(source.places):
        learn(finish, a, w, source, first, every)
        archive = source.archive
        n_eligible, nearest = list_near(
            archive.front[a], archive.members[a], archive.n_members[a], finish.eligible
        )
        row, lists = finish.rows[a], finish.lists[a]
        row.n_before = source.archive.size[a]
        for slot in range(finish.parent.shape[1]):
            finish.parent[a, slot] = NOBODY
        if nearest < 0 or row.power == 0.0:
            continue
        genome, anchor = source.archive.genomes[a, nearest], source.space.anchor[w]
        least = cost_of(genome, anchor, lists, row.power)
        row.n_stale = 0 if least < NEARER * row.least else row.n_stale + 1
        row.least = least
        if row.least < FINER * row.listed:
            list_values(finish, a, w, source)
        row.usual = max(usual_gain(lists), LEAST * source.goals[a].needed)
        few = n_apart(row.n_stale, source.steps)
        for slot in range(0, finish.parent.shape[1], few):
            finish.words[STATE, slot] = word_at(source.keys[w], FINISH, wave, slot, WHOLE)
            child = finish.candidate[a, slot]
            if slot % 2 == 0 and next_single(child, row, lists, w, source):
                finish.parent[a, slot] = ROW
        for _ in range(ATTEMPTS):
            choose_parents_near(finish, a, source, n_eligible, nearest, few)
            make_candidates(finish, a, w, source, few)


@inner
def n_apart(n_stale: int, steps: StepValues) -> int:
    """Return how many places apart candidates are, after waves without anything nearer.

    Where the trees are known all places are kept: their thresholds and leaves still lead to what
    was not tried, and other moves find no more of the front in these places.
    """
    return 1 if len(steps.trees.roots) > 0 else min(1 + n_stale // STALE, FEWEST)


@part
def next_single(child: Floats, row: Any, lists: Any, w: int, source: FinishSource) -> bool:
    """Make the next single change to an end or the middle of a list; False if there are no more."""
    while row.n_single < 4 * len(child):
        j, which = row.n_single // 4, row.n_single % 4
        row.n_single += 1
        own = lists[j]
        home, last = own.home, own.n_values - 1
        ends = home // 2 if which == 2 else (home + last + 1) // 2
        q = 0 if which == 0 else (last if which == 1 else ends)
        if last >= 0 and not own.is_tried[q]:
            assign(child, source.space.anchor[w])
            child[j] = own.value[q]
            if not is_remembered(source.memory[w], child):
                return True
    return False


@part
def choose_parents_near(
    finish: Finish, a: int, source: FinishSource, n: int, nearest: int, few: int
) -> None:
    """Choose and fetch a parent for each place that has no candidate yet.

    It is the nearest counterfactual, or the best of three members that are about as near.
    Memory is slower than all that is done with a parent. So those of all places are fetched first;
    then all candidates are made; then it is looked up which of them are new.
    """
    archive, predictions, draws = source.archive, source.archive.predictions[a], Draws(finish.state)
    for slot in range(0, finish.parent.shape[1], few):
        finish.words[HASH, slot] = NOTHING
        if finish.parent[a, slot] == NOBODY:
            draws.state[0] = finish.words[STATE, slot]
            parent = nearest
            if n > 0 and draw(draws) >= P_NEAREST:
                parent = best_of_three(finish.eligible, n, predictions, source.goals[a], draws)
            finish.parent[a, slot] = parent
            finish.words[STATE, slot], finish.words[HASH, slot] = draws.state[0], WANTED
            for j in range(0, archive.genomes.shape[2], PER_LINE):
                fetch(archive.genomes[a, parent], j)


@part
def make_candidates(finish: Finish, a: int, w: int, source: FinishSource, few: int) -> None:
    """Make a candidate of each parent that was just chosen; those worth nothing have none again."""
    row, lists, memory = finish.rows[a], finish.lists[a], source.memory[w]
    words, parent, draws = finish.words, finish.parent[a], Draws(finish.state)
    for slot in range(0, len(parent), few):
        if words[HASH, slot] != NOTHING:
            draws.state[0], child = words[STATE, slot], finish.candidate[a, slot]
            parent[slot] = step(child, parent[slot], finish, a, w, source, draws)
            words[STATE, slot], words[HASH, slot] = draws.state[0], NOTHING
            if parent[slot] != NOBODY and is_nearer(child, row, lists, w, source):
                words[HASH, slot] = hash_genome(child)
                fetch_place(memory, words[HASH, slot])
            else:
                parent[slot] = NOBODY
    for slot in range(0, len(parent), few):
        if words[HASH, slot] != NOTHING and has_hash(memory, words[HASH, slot]):
            parent[slot] = NOBODY


@part
def step(
    child: Floats,
    parent: int,
    finish: Finish,
    a: int,
    w: int,
    source: FinishSource,
    draws: Draws,
) -> int:
    """Make a child of a parent, or of the row; return whose it is."""
    anchor, features, steps = source.space.anchor[w], source.space.features[w], source.steps
    assign(child, source.archive.genomes[a, parent])
    n_trees, lot = len(steps.trees.roots), draw(draws)
    if lot < P_TIGHTEN + P_NUDGE and n_trees > 0 and draw(draws) < P_SHIFT:
        shift(child, anchor, features, steps, draws)
    elif lot < P_TIGHTEN:
        return parent if tighten(child, anchor, features, draws) else NOBODY
    elif lot < P_TIGHTEN + P_NUDGE:
        nudge(child, finish.rows[a], finish.lists[a], anchor, features, draws)
        return parent
    elif n_trees > 0 and lot < P_TIGHTEN + P_NUDGE + P_LEAF:
        is_enough = draw(draws) * n_trees < 1.0  # few trees: a leaf of one may be all it needs
        if is_enough:
            assign(child, anchor)
        enter_leaf(child, features, steps.trees, draws)
        if is_enough:
            return ROW
    elif lot > 1.0 - P_ALL:
        assign(child, anchor)
        parent = ROW
    return combine(child, parent, finish, a, w, source, draws)


@part
def combine(
    child: Floats, parent: int, finish: Finish, a: int, w: int, source: FinishSource, draws: Draws
) -> int:
    """Set features free and give them values by a knapsack; what the parent has not stays."""
    anchor, features, is_row = source.space.anchor[w], source.space.features[w], parent == ROW
    row, lists, free, goal = finish.rows[a], finish.lists[a], finish.free, source.goals[a]
    set_free(child, anchor, free, is_row, draws)
    gained = 0.0 if is_row else gain_of(source.archive.predictions[a, parent], goal)
    room, n_free = row.least, 0
    for j in range(len(child)):
        before = anchor[j] if is_row else source.archive.genomes[a, parent, j]
        if child[j] != before:
            free[j].is_free = False
            gained += believed(child[j], lists[j]) - believed(before, lists[j])
        if free[j].is_free:
            gained -= believed(child[j], lists[j])
            free[n_free].feature = j
            n_free += 1
        else:
            room -= cost(child[j], anchor[j], lists[j], row.power)
    if room <= 0.0:
        return NOBODY
    draw_gains(finish, a, n_free, room, draws)
    spare, n_moved = choose_values(finish, a, n_free, goal.needed - gained, room)
    for k in range(n_free):
        child[free[k].feature] = anchor[free[k].feature]
    for k in range(n_moved):
        j = free[k].moved
        child[j] = lists[j].value[finish.work[j].chosen]
    if len(source.steps.trees.roots) == 0 and spare > 0.0 and draw(draws) < P_SHORTEN:
        shorten(child, lists, finish, n_moved, spare, features)
    return parent


@part
def nudge(
    child: Floats, row: Any, lists: Any, anchor: Floats, features: Features, draws: Draws
) -> None:
    """Give a number a value beside the row's, by a step of any magnitude within reach."""
    j = pick(len(child), draws)
    weight = lists[j].weight
    if features[j].is_level or anchor[j] == MISSING or weight <= 0.0:
        return
    reach = row.least ** (1.0 / row.power) / weight * 0.5 ** (5.0 * draw(draws))
    child[j] = snap(anchor[j] + (reach if draw(draws) < 0.5 else -reach), features[j])


@part
def is_nearer(child: Floats, row: Any, lists: Any, w: int, source: FinishSource) -> bool:
    """Whether a candidate is nearer than the nearest counterfactual, and allowed."""
    anchor, n_changed = source.space.anchor[w], 0
    for j in range(len(child)):
        n_changed += child[j] != anchor[j]
    if n_changed == 0 or n_changed > source.space.max_free[w]:
        return False
    return bool(cost_of(child, anchor, lists, row.power) < row.least * (1.0 - 1e-12))
