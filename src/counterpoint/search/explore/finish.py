"""Finish: the nearest counterfactual, by several small steps at once.

Close to the row the best is often a few small steps together, none of which is much alone. Some
features of a good candidate are set free, and get the cheapest values of their lists (see
`small_steps`) that should gain enough together: a knapsack, solved by a price on distance. Gains
are drawn around what is believed of them, so that what is uncertain is tried.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import MISSING, Floats
from counterpoint.kernels import assign, inner, kernel, part
from counterpoint.problem.objectives import DISTANCE, GAP
from counterpoint.search.explore.moves import Draws, draw, move_towards, pick
from counterpoint.search.explore.small_steps import (
    NOBODY,
    ROW,
    Finish,
    FinishSource,
    believe,
    believed,
    cost,
    cost_of,
    gain_of,
    learn,
    list_values,
)
from counterpoint.search.front import LANES
from counterpoint.streams import WHOLE, Stage, word_at
from counterpoint.table.space import Features, is_remembered, snap

FINISH = np.int64(Stage.FINISH)
STALE = 40  # waves without anything nearer after which fewer candidates are made
ATTEMPTS = 4  # tries to make a candidate that is new, and nearer than the nearest
P_NEAREST = 0.25  # share of candidates made of the nearest counterfactual
P_TIGHTEN = 0.15  # share that only moves one number towards the row
P_NUDGE = 0.1  # share that moves one number away from the row's value by any small step
P_ALL = 0.1  # share for which all features are free
P_MORE = 0.75  # chance that another feature is set free
FINER = 0.85  # lists are made anew when the least distance has fallen to this share
TRIED, UNTRIED = 0.3, 0.8  # how uncertain gains are, in units of what is usual
LEAST = 0.05  # gains are at least so uncertain, as a share of what is needed
QUIETEST = 5.0  # noise is less by a factor of up to two to this power, drawn for each candidate
BOLDER, BOLDEST = 0.03, 4.0  # noise grows so with every wave that finds nothing nearer, at most so
CHEAP, DEAR = 1e-3, 1e8  # prices on distance
ROUNDS = 13  # prices tried, between these


@kernel
def finish_wave(finish: Finish, source: FinishSource, wave: int, first: int, every: int) -> None:
    """Learn from the candidates of the last wave, and make those of the next.

    A candidate of the i-th slot was, and is to be, number ``first + i * every`` of its wave.
    """
    for w, a in enumerate(source.places):
        believe(finish, a, source.space.features[w])
        learn(finish, a, w, source, first, every)
        n_eligible, nearest = find_eligible(finish, a, source)
        finish.n_before[a] = source.archive.size[a]
        for slot in range(finish.parent.shape[1]):
            finish.parent[a, slot] = NOBODY
        if nearest < 0 or finish.costs.power[a] == 0.0:
            continue
        genome, anchor = source.archive.genomes[a, nearest], source.space.anchor[w]
        least = cost_of(genome, anchor, a, finish)
        finish.n_stale[a] = 0 if least < finish.least[a] else finish.n_stale[a] + 1
        finish.least[a] = least
        if finish.least[a] < FINER * finish.listed[a]:
            list_values(finish, a, w, source)
        believe(finish, a, source.space.features[w])
        list_costs(finish, a, anchor)
        finish.usual[a] = max(finish.usual[a], LEAST * source.niches.needed[a])
        draws = Draws(finish.state)
        few = 1 + (finish.n_stale[a] > STALE)  # then every other place is left to other moves
        for slot in range(0, finish.parent.shape[1], few):
            draws.state[0] = word_at(source.keys[w], FINISH, wave, slot, WHOLE)
            child = finish.candidate[a, slot]
            if next_single(child, finish, a, w, source):
                finish.parent[a, slot] = ROW
                continue
            for _ in range(ATTEMPTS):
                parent = choose_parent_near(finish, a, source, n_eligible, nearest, draws)
                parent = step(child, parent, finish, a, w, source, draws)
                if parent != NOBODY and is_worth(child, finish, a, w, source):
                    finish.parent[a, slot] = parent
                    break


@part
def list_costs(finish: Finish, a: int, anchor: Floats) -> None:
    """Write what each value costs."""
    for j in range(len(anchor)):
        for q in range(finish.n_values[a, j]):
            finish.paid[j, q] = cost(finish.value[a, j, q], j, anchor[j], a, finish)


@part
def find_eligible(finish: Finish, a: int, source: FinishSource) -> tuple[int, int]:
    """List the members that are about as near as the nearest counterfactual; return it, too."""
    archive = source.archive
    front, nearest, least = archive.front[a], -1, np.inf
    for k in range(archive.n_members[a]):
        block, lane = k // LANES, k % LANES
        if front[block, GAP, lane] <= 0.0 and front[block, DISTANCE, lane] < least:
            nearest, least = archive.members[a, k], front[block, DISTANCE, lane]
    n = 0
    for k in range(archive.n_members[a]):
        if front[k // LANES, DISTANCE, k % LANES] <= 1.1 * least:
            finish.eligible[n] = archive.members[a, k]
            n += 1
    return n, int(nearest)


@part
def next_single(child: Floats, finish: Finish, a: int, w: int, source: FinishSource) -> bool:
    """Make the next single change to an end or the middle of a list; False if there are no more."""
    d = finish.value.shape[1]
    while finish.n_single[a] < 4 * d:
        j, which = finish.n_single[a] // 4, finish.n_single[a] % 4
        finish.n_single[a] += 1
        home, last = finish.home[a, j], finish.n_values[a, j] - 1
        ends = home // 2 if which == 2 else (home + last + 1) // 2
        q = 0 if which == 0 else (last if which == 1 else ends)
        if last >= 0 and not finish.is_tried[a, j, q]:
            assign(child, source.space.anchor[w])
            child[j] = finish.value[a, j, q]
            if not is_remembered(source.memory[w], child):
                return True
    return False


@inner
def choose_parent_near(
    finish: Finish, a: int, source: FinishSource, n: int, nearest: int, draws: Draws
) -> int:
    """Return the nearest counterfactual, or the best of three members that are about as near."""
    if n == 0 or draw(draws) < P_NEAREST:
        return nearest
    best = finish.eligible[pick(n, draws)]
    for _ in range(2):
        other = finish.eligible[pick(n, draws)]
        if gain_of(other, a, source) > gain_of(best, a, source):
            best = other
    return int(best)


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
    anchor, features = source.space.anchor[w], source.space.features[w]
    assign(child, source.archive.genomes[a, parent])
    lot = draw(draws)
    if lot < P_TIGHTEN:
        j = pick_number(child, anchor, features, draws)
        if j < 0:
            return NOBODY
        child[j] = move_towards(child[j], anchor[j], 0.5 ** (6.0 * draw(draws)), features[j])
        return parent
    if lot < P_TIGHTEN + P_NUDGE:
        nudge(child, finish, a, anchor, features, draws)
        return parent
    has_all = lot > 1.0 - P_ALL
    if has_all:
        assign(child, anchor)
    set_free(child, anchor, finish, has_all, draws)
    gained = 0.0 if has_all else gain_of(parent, a, source)
    room = finish.least[a]
    for j in range(len(child)):
        if finish.is_free[j]:
            gained -= believed(child[j], j, a, finish)
        else:
            room -= cost(child[j], j, anchor[j], a, finish)
    if room <= 0.0:
        return NOBODY
    draw_gains(finish, a, room, draws)
    choose_values(finish, a, source.niches.needed[a] - gained, room)
    for j in range(len(child)):
        if finish.is_free[j]:
            child[j] = finish.value[a, j, finish.chosen[j]]
    return ROW if has_all else parent


@inner
def nudge(
    child: Floats, finish: Finish, a: int, anchor: Floats, features: Features, draws: Draws
) -> None:
    """Give a number a value beside the row's, by a step of any magnitude within reach."""
    j = pick(len(child), draws)
    weight = finish.costs.weight[a, j]
    if features[j].is_level or anchor[j] == MISSING or weight <= 0.0:
        return
    reach = finish.least[a] ** (1.0 / finish.costs.power[a]) / weight * 0.5 ** (5.0 * draw(draws))
    child[j] = snap(anchor[j] + (reach if draw(draws) < 0.5 else -reach), features[j])


@inner
def pick_number(child: Floats, anchor: Floats, features: Features, draws: Draws) -> int:
    """Return a changed number, or -1."""
    n = 0
    for j in range(len(child)):
        n += child[j] != anchor[j] and not features[j].is_level and anchor[j] != MISSING
    rest = pick(n, draws)
    for j in range(len(child)):
        if child[j] != anchor[j] and not features[j].is_level and anchor[j] != MISSING:
            if rest == 0 and child[j] != MISSING:
                return j
            rest -= 1
    return -1


@part
def set_free(child: Floats, anchor: Floats, finish: Finish, has_all: bool, draws: Draws) -> None:
    """Set some features free: half of them changed ones; or all."""
    d, n_changed = len(child), 0
    for j in range(d):
        finish.is_free[j] = has_all
        n_changed += child[j] != anchor[j]
    n = 1
    while n < d and draw(draws) < P_MORE:
        n += 1
    for _ in range(n):
        if n_changed > 0 and draw(draws) < 0.5:
            rest = pick(n_changed, draws)
            for j in range(d):
                if child[j] != anchor[j]:
                    if rest == 0:
                        finish.is_free[j] = True
                    rest -= 1
        else:
            finish.is_free[pick(d, draws)] = True


@part
def draw_gains(finish: Finish, a: int, room: float, draws: Draws) -> None:
    """Draw what each value of the free features gains, around what is believed.

    Kept are the values within the room that gain more than all cheaper ones: no other can be best.
    """
    scale = finish.usual[a] * min(1.0 + BOLDER * finish.n_stale[a], BOLDEST)
    scale *= 0.5 ** (QUIETEST * draw(draws))
    for j in range(len(finish.is_free)):
        if finish.is_free[j]:
            home, n = finish.home[a, j], finish.n_values[a, j]
            for q in range(n):
                noise = 2.45 * (draw(draws) - draw(draws)) * scale  # of variance 1 times the scale
                spread = TRIED if finish.is_tried[a, j, q] else UNTRIED
                finish.drawn[j, q] = finish.belief[j, q] + noise * spread
            finish.drawn[j, home] = 0.0
            finish.kept[j, 0], finish.n_kept[j] = home, 1
            keep_better(finish, j, range(home - 1, -1, -1), room)
            keep_better(finish, j, range(home + 1, n), room)


@inner
def keep_better(finish: Finish, j: int, places: range, room: float) -> None:
    """Keep the values at these places that gain more than those before them."""
    most = 0.0
    for q in places:
        if finish.drawn[j, q] > most and finish.paid[j, q] < room:
            most = finish.drawn[j, q]
            finish.kept[j, finish.n_kept[j]] = q
            finish.n_kept[j] += 1


@part
def choose_values(finish: Finish, a: int, needed: float, room: float) -> None:
    """Give the free features the cheapest values that should gain enough, within the room.

    A price on distance decides: the highest at which the gains still suffice. Then each value is
    made cheaper as long as they do.
    """
    low, high = CHEAP, DEAR
    for round_ in range(ROUNDS):
        price = low if round_ == ROUNDS - 1 else np.sqrt(low * high)
        total, spent = 0.0, 0.0
        for j in range(len(finish.is_free)):
            if finish.is_free[j]:
                best, most = finish.home[a, j], 0.0
                for q in finish.kept[j, 1 : finish.n_kept[j]]:
                    left = finish.drawn[j, q] - price * finish.paid[j, q]
                    if left > most:
                        best, most = q, left
                finish.chosen[j] = best
                total += finish.drawn[j, best]
                spent += finish.paid[j, best]
        if round_ == ROUNDS - 1:
            break
        if total >= needed or spent >= room:
            low = price
        else:
            high = price
    make_cheaper(finish, a, total - needed, spent - room)


@part
def make_cheaper(finish: Finish, a: int, spare: float, excess: float) -> None:
    """Save as much distance as the gains to spare allow, one value at a time, the most first."""
    for _ in range(len(finish.is_free)):
        most, feature, value, lost = 1e-12, -1, 0, 0.0
        for j in range(len(finish.is_free)):
            if not finish.is_free[j] or finish.chosen[j] == finish.home[a, j]:
                continue
            now = finish.chosen[j]
            paid = finish.paid[j, now]
            for q in finish.kept[j, : finish.n_kept[j]]:
                saved = paid - finish.paid[j, q]
                loses = finish.drawn[j, now] - finish.drawn[j, q]
                if saved > most and (loses <= spare or excess >= 0.0):
                    most, feature, value, lost = saved, j, q, loses
        if feature < 0:
            return
        finish.chosen[feature] = value
        spare -= lost
        excess -= most


@inner
def is_worth(child: Floats, finish: Finish, a: int, w: int, source: FinishSource) -> bool:
    """Whether a candidate is nearer than the nearest counterfactual, allowed, and new."""
    anchor, n_changed = source.space.anchor[w], 0
    for j in range(len(child)):
        n_changed += child[j] != anchor[j]
    if n_changed == 0 or n_changed > source.space.max_free[w]:
        return False
    is_nearer = cost_of(child, anchor, a, finish) < finish.least[a] * (1.0 - 1e-12)
    return is_nearer and not is_remembered(source.memory[w], child)
