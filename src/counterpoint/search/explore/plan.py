"""Plan: which sets of features the next wave tries, and the candidates made of them.

Sets of features are tried by what they promise and what was tried. Single changes come first. Then
the gains of single features, which nearly add up, tell which pairs are promising, and those of
pairs which triples. What was seen of a set corrects the sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Floats, Ints, Keys
from counterpoint.kernels import assign, inner, kernel, part
from counterpoint.neighbours.gower import term
from counterpoint.search.explore import moves
from counterpoint.search.explore.moves import Draws, RowSpace, draw, list_free, move_towards, pick
from counterpoint.search.explore.niches import (
    MOST_FEATURES,
    MOST_JOINED,
    MOST_PAIRED,
    STALE,
    Niches,
    NicheTable,
    TrialValues,
    find_niche,
    find_turn_anew,
    niche_of,
)
from counterpoint.search.feasibility import SearchSpace
from counterpoint.streams import WHOLE, Stage, word_at
from counterpoint.table.space import Features, from_uniform, snap

N_FIRST = 8  # single changes of every feature that come before pairs
PLANS = 16  # after so many plans it is computed anew how late each set's turn is
FIRST_SINGLES = -8.0  # how urgent sets are: the least number is tried first
PER_SINGLE, PER_TRY, PER_REFINED = 0.4, 0.1, 0.12
NO_HURRY = 1.0  # a pair that promises less than half of what is needed holds up no triples
OF_THREE = 0.3  # a pair comes before a triple that promises as much
MOST_TRIES = np.array([0, 64, 60, 40])  # to find out whether a set of so many features is a way
MOST_REFINED = np.array([0, 64, 24, 12])  # to find its nearest
WAY = np.int64(Stage.WAY)
MOST_SWEPT = 128.0  # grid points of a feature that are all asked about once it is a way alone


@part
def potential(niches: Niches, a: int, n: int) -> float:
    """Return what a set promises to gain: the sum of its parts, and what was seen of it."""
    table, singles = niches.table, niches.singles[a]
    own, niche = table.features[a, n], table.niche[a, n]
    if niche.size == 2:
        total = top_gain(singles[own[0]]) + top_gain(singles[own[1]])
    else:
        total = -np.inf
        for p in range(3):
            i, j = own[0] if p > 0 else own[1], own[2] if p < 2 else own[1]
            pair = niche_of(table, a, i, j, -1)
            together = top_gain(singles[i]) + top_gain(singles[j])
            if pair >= 0 and table.niche[a, pair].n_tries > 0:
                together = table.niche[a, pair].gain
            total = max(total, together + top_gain(singles[own[p]]))
    if niche.n_tries > 0:
        total = 0.5 * (total + niche.gain)
    return total


@inner
def top_gain(singles: Any) -> float:
    """Return the most a single change of a feature has gained; 0 if none did."""
    return float(singles.gain[singles.top]) if singles.n_values > 0 else 0.0


@part
def urgency(niches: Niches, a: int, n: int, n_designed: int) -> float:
    """Return how late a set's turn is; infinite if there is nothing left to try."""
    niche = niches.table.niche[a, n]
    if niche.is_way:
        late = -1.0 + PER_REFINED * niche.n_refined
        return float(late) if niche.n_refined < MOST_REFINED[niche.size] else np.inf
    if niche.size == 1:
        late = FIRST_SINGLES + PER_SINGLE * niche.n_tries
        return float(late) if niche.n_tries < n_designed else np.inf
    if niche.n_tries >= MOST_TRIES[niche.size]:
        return np.inf
    needed = niches.table.rows[a].needed + 1e-12
    late = 2.0 * (1.0 - potential(niches, a, n) / needed)
    if niche.n_tries > 0:
        seen = min(max(1.0 - niche.gain / needed, 0.0), 1.0)
        late += PER_TRY * niche.n_tries * (0.5 + 2.0 * seen)
    return float(late + OF_THREE * (niche.size == 3))


@kernel
def plan_wave(
    niches: Niches, places: Ints, trials: TrialValues, features: Features, max_free: Ints
) -> None:
    """Write into `plan` which sets the next wave tries, for each of the rows at these places.

    It is a kernel of its own, because it is compiled faster so than as part of a larger one.
    """
    for w, a in enumerate(places):
        n_free = list_free(features[w], niches.free)
        make_plan(niches, a, trials, niches.free[:n_free], max_free[w])


@part
def make_plan(niches: Niches, a: int, trials: TrialValues, free: Ints, max_free: int) -> None:
    """Write into `plan` which sets the next wave tries, the most urgent first."""
    grow(niches, a, trials, free, max_free)
    table, row = niches.table, niches.table.rows[a]
    plan, lateness = niches.plan[a], niches.lateness
    plan[:] = -1
    lateness[:] = np.inf
    row.n_plans += 1
    is_anew = row.n_plans % PLANS == 0
    for n in range(row.n_niches):
        late, m = table.late[a, n], len(plan) - 1
        if late == STALE or (is_anew and late < np.inf):
            late = urgency(niches, a, n, trials.n_values[table.features[a, n, 0]])
            table.late[a, n] = late
        if late >= lateness[m]:
            continue
        while m > 0 and lateness[m - 1] > late:
            lateness[m], plan[m] = lateness[m - 1], plan[m - 1]
            m -= 1
        lateness[m], plan[m] = late, n


@part
def grow(niches: Niches, a: int, trials: TrialValues, free: Ints, max_free: int) -> None:
    """Make the sets of the next size as soon as those before it were tried."""
    size = niches.table.rows[a].stage + 1
    if size > min(MOST_FEATURES, max_free) or (size > 1 and is_untried(niches.table, a, trials)):
        return
    n_top = len(free)
    if size > 1:
        n_top = promising(niches, a, free, MOST_PAIRED if size == 2 else MOST_JOINED)
    for p in range(n_top):
        for q in range(p if size > 1 else 1):
            for s in range(q if size > 2 else 1):
                i = niches.ranked[p] if size > 1 else free[p]
                j = niches.ranked[q] if size > 1 else i
                k = niches.ranked[s] if size > 2 else j
                low, high = min(i, j, k), max(i, j, k)
                mid = i + j + k - low - high if size > 2 else (high if size == 2 else -1)
                find_niche(niches.table, a, low, mid, high if size > 2 else -1, True)
    niches.table.rows[a].stage = size


@part
def is_untried(table: NicheTable, a: int, trials: TrialValues) -> bool:
    """Whether some set of the size made last still waits for its first tries, and should not.

    A set that promises little waits until all others were tried often. If it held up larger sets,
    these would never be tried in a table of many features.
    """
    size = table.rows[a].stage
    for n in range(table.rows[a].n_niches):
        niche = table.niche[a, n]
        is_due = table.late[a, n] < NO_HURRY and not niche.is_shut
        if niche.size == size and is_due and not niche.is_way:
            least = min(N_FIRST, trials.n_values[table.features[a, n, 0]]) if size == 1 else 1
            if niche.n_tries < least:
                return True
    return False


@part
def promising(niches: Niches, a: int, free: Ints, most: int) -> int:
    """Write the features that are no way and gained most alone into `ranked`; return how many."""
    ranked, n = niches.ranked, 0
    for j in free:
        alone = niche_of(niches.table, a, j, -1, -1)
        if niches.table.niche[a, alone].is_way or niches.singles[a, j].n_values == 0:
            continue
        gain, m = niches.table.niche[a, alone].gain, n
        while m > 0 and niches.ranks[m - 1] < gain:
            if m < most:
                ranked[m], niches.ranks[m] = ranked[m - 1], niches.ranks[m - 1]
            m -= 1
        if m < most:
            ranked[m], niches.ranks[m] = j, gain
            n = min(n + 1, most)
    return n


class WaySpace(NamedTuple):
    """What moves within sets of features of one row work with."""

    space: RowSpace  # what they may do
    trials: TrialValues  # values of single changes
    genomes: Floats  # (capacity, d): all candidates of the row
    # (d,): of Gower's distance
    weight: Floats
    cap: Floats


class WaySource(NamedTuple):
    """What candidates of the planned sets of r rows are made of."""

    places: Ints  # (r,): which rows of the archive these are
    keys: Keys  # (r, 2): the keys of their draws
    space: SearchSpace  # where they may be searched
    trials: TrialValues  # values of single changes
    genomes: Floats  # (rows, capacity, d): all candidates
    # (…, d): of Gower's distance, and which weight is each row's
    weight: Floats
    cap: Floats
    at: Ints


@kernel
def try_planned(niches: Niches, source: WaySource, wave: int) -> None:
    """Make a candidate of each planned set; see `Niches.candidate`.

    It is a kernel of its own, because it is compiled faster so than as part of a larger one.
    """
    draws = Draws(niches.state)
    for w, a in enumerate(source.places):
        anchor, features = source.space.anchor[w], source.space.features[w]
        free, different = niches.free[: list_free(features, niches.free)], niches.different
        space = RowSpace(anchor, features, free, source.space.max_free[w], different)
        weight = source.weight[source.at[w]]
        ways = WaySpace(space, source.trials, source.genomes[a], weight, source.cap)
        for slot in range(niches.plan.shape[1]):
            if niches.plan[a, slot] >= 0:
                draws.state[0] = word_at(source.keys[w], WAY, wave, slot, WHOLE)
                child = niches.candidate[a, slot]
                assign(child, anchor)
                try_niche(child, a, niches.plan[a, slot], niches, ways, draws)


@part
def try_niche(child: Floats, a: int, n: int, niches: Niches, ways: WaySpace, draws: Draws) -> None:
    """Make a candidate of a set of features, a copy of the anchor so far; see the module."""
    niche = niches.table.niche[a, n]
    find_turn_anew(niches.table, a, n)
    if niche.is_way:
        niche.n_refined += 1
        if niche.size == 1:
            refine_single(child, a, n, niches, ways)
        else:
            refine(child, a, n, niches, ways, draws)
        return
    niche.n_tries += 1
    own = niches.table.features[a, n]
    if niche.size == 1:
        j = own[0]
        child[j] = snap(ways.trials.values[j, niche.n_tries - 1], ways.space.features[j])
    elif niche.n_tries == 1:
        join_best(child, a, n, niches, ways)
    else:
        is_one = niche.best >= 0 and draw(draws) < 0.7
        if is_one:
            assign(child, ways.genomes[niche.best])
        chosen, is_near = pick(niche.size, draws), draw(draws) < 0.5
        for p in range(niche.size):
            j = own[p]
            is_level = ways.space.features[j].is_level or child[j] == MISSING
            if is_one and p == chosen and is_near and not is_level:
                child[j] = near_value(child[j], j, ways, draws)
            elif p == chosen or not is_one:
                child[j] = other_value(j, niches.singles[a, j], ways, draws)


@inner
def other_value(j: int, singles: Any, ways: WaySpace, draws: Draws) -> float:
    """Return a value of feature j: the best of three that were tried alone, or an observed one."""
    n = singles.n_values
    if n > 0 and draw(draws) < 0.6:
        best = pick(n, draws)
        for _ in range(2):
            t = pick(n, draws)
            if singles.gain[t] > singles.gain[best]:
                best = t
        return float(singles.value[best])
    if draw(draws) < 0.7:
        value = ways.trials.values[j, pick(ways.trials.n_values[j], draws)]
        return float(snap(value, ways.space.features[j]))
    return float(from_uniform(draw(draws), ways.space.features[j]))


@inner
def near_value(value: float, j: int, ways: WaySpace, draws: Draws) -> float:
    """Return a number of feature j near another one, at any scale."""
    feature = ways.space.features[j]
    step = (feature.upper - feature.lower) * 0.3 * 0.5 ** (6.0 * draw(draws))
    return float(snap(value + (step if draw(draws) < 0.5 else -step), feature))


@part
def join_best(child: Floats, a: int, n: int, niches: Niches, ways: WaySpace) -> None:
    """Join the values that gained most: of each feature, or of a pair and the third."""
    table = niches.table
    own, size = table.features[a, n], table.niche[a, n].size
    most, best, third = -np.inf, -1, -1
    for p in range(size):
        j = own[p]
        singles = niches.singles[a, j]
        child[j] = singles.value[singles.top]
        if size == 3:
            i, k = own[0] if p > 0 else own[1], own[2] if p < 2 else own[1]
            pair = niche_of(table, a, i, k, -1)
            if pair >= 0 and table.niche[a, pair].best >= 0:
                gain = table.niche[a, pair].gain + singles.gain[singles.top]
                if gain > most:
                    most, best, third = gain, table.niche[a, pair].best, p
    if best >= 0:
        for p in range(size):
            if p != third:
                child[own[p]] = ways.genomes[best, own[p]]


@part
def refine_single(child: Floats, a: int, n: int, niches: Niches, ways: WaySpace) -> None:
    """Halve the way to the nearest value that reaches the target, or ask about the next on a grid.

    Every third time it is the nearest one with the margin that is wanted.
    """
    niche, j = niches.table.niche[a, n], niches.table.features[a, n, 0]
    feature, anchor = ways.space.features[j], ways.space.anchor[j]
    n_points = (feature.upper - feature.lower) * feature.grid
    is_swept = 0.0 < n_points <= MOST_SWEPT
    if feature.is_level or anchor == MISSING or (is_swept and niche.n_refined % 2 == 0):
        child[j] = snap(feature.lower + niche.n_swept / max(feature.grid, 1.0), feature)
        niche.n_swept += 1
        return
    goal, wanted = niche.nearest, niches.table.rows[a].needed
    if niche.n_refined % 3 == 0:
        goal, wanted = niche.safe, niches.table.rows[a].safe
    if goal < 0:  # none is safe yet: farther out
        value = ways.genomes[niche.best, j]
        child[j] = snap(value + 0.5 * (value - anchor), feature)
        return
    value = ways.genomes[goal, j]
    before = anchor  # the nearest tried value before it that does not gain enough
    singles = niches.singles[a, j]
    for t in range(singles.n_values):
        other = singles.value[t]
        is_between = (other - before) * (value - other) > 0.0
        if is_between and singles.gain[t] < wanted:
            before = other
    child[j] = snap(0.5 * (before + value), feature)


@part
def refine(child: Floats, a: int, n: int, niches: Niches, ways: WaySpace, draws: Draws) -> None:
    """Make a nearer candidate of a way of several features, or one with fewer of them."""
    niche, own, row = niches.table.niche[a, n], niches.table.features[a, n], niches.table.rows[a]
    is_safe = niche.n_refined % 3 == 0
    goal = niche.nearest if not is_safe else (niche.safe if niche.safe >= 0 else niche.best)
    assign(child, ways.genomes[goal])
    if niche.n_refined <= niche.size:  # is it minimal?
        j = own[niche.n_refined - 1]
        child[j] = ways.space.anchor[j]
        return
    first = pick(niche.size, draws)
    j, lot = own[first], draw(draws)
    if lot < 0.5:
        second = (first + 1 + pick(niche.size - 1, draws)) % niche.size
        extra = row.safe - row.needed if is_safe and niche.safe < 0 else 0.0
        slack = 0.25 * (draw(draws) - 0.25) * row.needed - extra
        is_strict = slack > -0.25 * row.needed
        if not join_cheapest(child, j, own[second], slack, is_strict, niches.singles[a], ways):
            moves.rescale(child, ways.space, draws)
    elif lot < 0.9 and not (ways.space.features[j].is_level or ways.space.anchor[j] == MISSING):
        step = 0.5 ** (1.0 + 5.0 * draw(draws))
        child[j] = move_towards(child[j], ways.space.anchor[j], step, ways.space.features[j])
    else:
        child[j] = other_value(j, niches.singles[a, j], ways, draws)


@part
def join_cheapest(
    child: Floats, i: int, j: int, slack: float, is_strict: bool, singles: Any, ways: WaySpace
) -> bool:
    """Give two features the cheapest pair of tried values that should gain enough, if there is one.

    Gains are taken to add up: the pair must gain alone what the child's own values gain alone, less
    the slack, which is negative if more is wanted; otherwise it must be cheaper than they are.
    """
    first, second = singles[i], singles[j]
    wanted = known_gain(child[i], first) + known_gain(child[j], second) - slack
    best_i, best_j, least = -1, -1, np.inf
    if is_strict:
        least = cost(child[i], i, ways) + cost(child[j], j, ways)
    for p in range(first.n_values):
        cost_i, gain_i = cost(first.value[p], i, ways), first.gain[p]
        if cost_i >= least:
            continue
        for q in range(second.n_values):
            if gain_i + second.gain[q] < wanted:
                continue
            total = cost_i + cost(second.value[q], j, ways)
            if total < least:
                best_i, best_j, least = p, q, total
    if best_i < 0:
        return False
    child[i], child[j] = first.value[best_i], second.value[best_j]
    return True


@inner
def cost(value: float, j: int, ways: WaySpace) -> float:
    """Return what feature j adds to the distance, up to a factor that all share."""
    return float(term((value - ways.space.anchor[j]) * ways.weight[j], ways.cap[j]))


@inner
def known_gain(value: float, singles: Any) -> float:
    """Return what a feature gains alone at a value: that of the nearest value that was tried."""
    nearest, apart = 0.0, np.inf
    for t in range(singles.n_values):
        off = abs(singles.value[t] - value)
        if off < apart:
            nearest, apart = singles.gain[t], off
    return nearest
