"""Plan: which candidates of the next wave have a purpose of their own, ways or the nearest.

Sets of features are tried by what they promise and what was tried.
Single changes come first. Then the gains of single features, which nearly add up, tell which pairs
are promising, and those of pairs which triples. What was seen of a set corrects the sum.

Moves are drawn at random. A wave of them that makes nothing new may have had bad luck, so the rows
of a small space that are left are listed then, where all of them can be, and fill this wave and
those after it. Only when none is left was everything tried.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.kernels import inner, kernel, part
from counterpoint.problem.problem import Problem
from counterpoint.search.explore.finish import finish_wave
from counterpoint.search.explore.niches import (
    MOST_FEATURES,
    MOST_JOINED,
    MOST_PAIRED,
    STALE,
    Niches,
    TrialValues,
    find_niche,
    niche_of,
)
from counterpoint.search.explore.offspring import (
    FIRST_FINISH,
    FIRST_WAYS,
    NEAR,
    SHARE,
    OffspringSource,
)
from counterpoint.search.explore.small_steps import Finish, FinishSource
from counterpoint.search.explore.step_values import StepValues
from counterpoint.search.explore.way_moves import WaySource, try_planned
from counterpoint.search.feasibility import SearchSpace
from counterpoint.table.space import hash_all, remember_all

N_FIRST = 8  # single changes of every feature that come before pairs
PLANS = 16  # after so many plans it is computed anew how late each set's turn is
FIRST_SINGLES = -8.0  # how urgent sets are: the least number is tried first
PER_SINGLE, PER_TRY, PER_REFINED = 0.4, 0.1, 0.12
NO_HURRY = 1.0  # a pair that promises less than half of what is needed holds up no triples
OF_THREE = 0.3  # a pair comes before a triple that promises as much
MOST_TRIES = np.array([0, 64, 60, 40])  # to find out whether a set of so many features is a way
MOST_REFINED = np.array([0, 64, 24, 12])  # to find its nearest
MOST_POINTS = 20_000  # of a space that is tried to the end
MOST_NUMBERS = 2_000_000  # in all of its points together
MOST_EMPTY = 10  # waves in a row that make nothing new of a space that is too large for that


class Plans(NamedTuple):
    """What candidates with a purpose of their own are planned by."""

    niches: Niches  # the sets of features that may be ways
    trials: TrialValues  # values that are tried to find ways
    finish: Finish  # what is known of small steps around the rows
    steps: StepValues  # values that such steps lead to


def plan_candidates(source: OffspringSource, plans: Plans, wave: int) -> None:
    """Plan the candidates of a wave that look for ways and for the nearest counterfactual."""
    if wave >= FIRST_WAYS:
        look_for_ways(source, plans, wave)
    if wave >= FIRST_FINISH:
        archive, niches, memory = source.archive, plans.niches, source.memory
        given = FinishSource(
            source.places, source.keys, source.space, plans.steps, archive, niches, memory
        )
        finish_wave(plans.finish, given, wave, NEAR, SHARE)


def look_for_ways(source: OffspringSource, plans: Plans, wave: int) -> None:
    """Plan which sets of features the wave tries, and make a candidate of each."""
    space, near = source.space, source.near_rows
    may_change = np.ascontiguousarray(space.features["may_change"])
    plan_wave(plans.niches, source.places, plans.trials, may_change, space.max_free)
    given = WaySource(
        source.places,
        source.keys,
        space,
        plans.trials,
        source.archive.genomes,
        near.weight,
        near.cap,
        near.at,
    )
    try_planned(plans.niches, given, wave)


@part
def potential(niches: Niches, a: int, n: int) -> float:
    """Return what a set promises to gain: the sum of its parts, and what was seen of it."""
    own, niche = niches.features[a, n], niches.niche[a, n]
    if niche.size == 2:
        total = top_gain(niches, a, own[0]) + top_gain(niches, a, own[1])
    else:
        total = -np.inf
        for p in range(3):
            i, j = own[0] if p > 0 else own[1], own[2] if p < 2 else own[1]
            pair = niche_of(niches, a, i, j, -1)
            together = top_gain(niches, a, i) + top_gain(niches, a, j)
            if pair >= 0 and niches.niche[a, pair].n_tries > 0:
                together = niches.niche[a, pair].gain
            total = max(total, together + top_gain(niches, a, own[p]))
    if niche.n_tries > 0:
        total = 0.5 * (total + niche.gain)
    return total


@inner
def top_gain(niches: Niches, a: int, j: int) -> float:
    """Return the most a single change of feature j has gained; 0 if none did."""
    if niches.n_values[a, j] == 0:
        return 0.0
    return float(niches.gain[a, j, niches.top[a, j]])


@part
def urgency(niches: Niches, a: int, n: int, n_designed: int) -> float:
    """Return how late a set's turn is; infinite if there is nothing left to try."""
    niche = niches.niche[a, n]
    if niche.is_way:
        late = -1.0 + PER_REFINED * niche.n_refined
        return float(late) if niche.n_refined < MOST_REFINED[niche.size] else np.inf
    if niche.size == 1:
        late = FIRST_SINGLES + PER_SINGLE * niche.n_tries
        return float(late) if niche.n_tries < n_designed else np.inf
    if niche.n_tries >= MOST_TRIES[niche.size]:
        return np.inf
    needed = niches.needed[a] + 1e-12
    late = 2.0 * (1.0 - potential(niches, a, n) / needed)
    if niche.n_tries > 0:
        seen = min(max(1.0 - niche.gain / needed, 0.0), 1.0)
        late += PER_TRY * niche.n_tries * (0.5 + 2.0 * seen)
    return float(late + OF_THREE * (niche.size == 3))


@kernel
def plan_wave(
    niches: Niches, places: Ints, trials: TrialValues, may_change: Bools, max_free: Ints
) -> None:
    """Write into `plan` which sets the next wave tries, for each of the rows at these places.

    It is a kernel of its own, because it is compiled faster so than as part of a larger one.
    """
    for w, a in enumerate(places):
        n_free = 0
        for j in range(may_change.shape[1]):
            if may_change[w, j]:
                niches.free[n_free] = j
                n_free += 1
        make_plan(niches, a, trials, niches.free[:n_free], max_free[w])


@part
def make_plan(niches: Niches, a: int, trials: TrialValues, free: Ints, max_free: int) -> None:
    """Write into `plan` which sets the next wave tries, the most urgent first."""
    grow(niches, a, trials, free, max_free)
    plan = niches.plan[a]
    lateness = niches.lateness
    plan[:] = -1
    lateness[:] = np.inf
    niches.n_plans[a] += 1
    is_anew = niches.n_plans[a] % PLANS == 0
    for n in range(niches.n_niches[a]):
        late, m = niches.late[a, n], len(plan) - 1
        if late == STALE or (is_anew and late < np.inf):
            late = urgency(niches, a, n, trials.n_values[niches.features[a, n, 0]])
            niches.late[a, n] = late
        if late >= lateness[m]:
            continue
        while m > 0 and lateness[m - 1] > late:
            lateness[m], plan[m] = lateness[m - 1], plan[m - 1]
            m -= 1
        lateness[m], plan[m] = late, n


@part
def grow(niches: Niches, a: int, trials: TrialValues, free: Ints, max_free: int) -> None:
    """Make the sets of the next size as soon as those before it were tried."""
    size = niches.stage[a] + 1
    if size > min(MOST_FEATURES, max_free) or (size > 1 and is_untried(niches, a, trials)):
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
                find_niche(niches, a, low, mid, high if size > 2 else -1, True)
    niches.stage[a] = size


@part
def is_untried(niches: Niches, a: int, trials: TrialValues) -> bool:
    """Whether some set of the size made last still waits for its first tries, and should not.

    A set that promises little waits until all others were tried often. If it held up larger sets,
    these would never be tried in a table of many features.
    """
    size = niches.stage[a]
    for n in range(niches.n_niches[a]):
        niche = niches.niche[a, n]
        is_due = niches.late[a, n] < NO_HURRY and not niche.is_shut
        if niche.size == size and is_due and not niche.is_way:
            least = min(N_FIRST, trials.n_values[niches.features[a, n, 0]]) if size == 1 else 1
            if niche.n_tries < least:
                return True
    return False


@part
def promising(niches: Niches, a: int, free: Ints, most: int) -> int:
    """Write the features that are no way and gained most alone into `ranked`; return how many."""
    ranked, n = niches.ranked, 0
    for j in free:
        alone = niche_of(niches, a, j, -1, -1)
        if niches.niche[a, alone].is_way or niches.n_values[a, j] == 0:
            continue
        gain, m = niches.niche[a, alone].gain, n
        while m > 0 and niches.ranks[m - 1] < gain:
            if m < most:
                ranked[m], niches.ranks[m] = ranked[m - 1], niches.ranks[m - 1]
            m -= 1
        if m < most:
            ranked[m], niches.ranks[m] = j, gain
            n = min(n + 1, most)
    return n


class Untried:
    """What is left to try for each of r rows, where the moves have made nothing new.

    `points` are by row what was left when all of its space was listed, less what was tried since;
    `is_listed` tells whose was, and `n_empty` counts waves in a row that made nothing new.
    """

    def __init__(self, r: int) -> None:
        self.points: dict[int, Floats] = {}
        self.is_listed: Bools = np.zeros(r, dtype=np.bool_)
        self.n_empty: Ints = np.zeros(r, dtype=np.int64)

    def fill(
        self,
        children: Floats,
        is_new: Bools,
        has_new: Bools,
        source: OffspringSource,
        problem: Problem,
    ) -> dict[str, Bools]:
        """Fill vacant places of a wave with what is left to try, in place; tell whose search ends.

        Rows that are "exhausted" have tried all they may become. Those that end by "repeats" have a
        space too large to be listed, and several waves in a row made only what was there before.
        """
        rows = source.places
        self.n_empty[rows] = np.where(has_new, 0, self.n_empty[rows] + 1)
        is_exhausted = np.zeros(len(rows), dtype=np.bool_)
        if has_new.all() and not self.points:  # mostly
            return {"exhausted": is_exhausted, "repeats": is_exhausted}
        for w in np.flatnonzero(~has_new | self.is_listed[rows]).tolist():
            a, memory = int(rows[w]), source.memory[w : w + 1]
            if not self.is_listed[a]:
                if (everything := all_points(source.space, w)) is None:
                    continue
                left = everything[~np.isin(hash_all(everything), memory)]
                self.points[a] = left[problem.alone(np.array([w])).obeys(left[None])[0]]
                self.is_listed[a] = True
            left = self.points[a]
            left = left[~np.isin(hash_all(left), memory)]
            vacant = np.flatnonzero(~is_new[w])[: len(left)]
            taken, self.points[a] = left[: len(vacant)].copy(), left[len(vacant) :]
            children[w, vacant], is_new[w, vacant] = taken, True
            taken.flags.writeable = source.knowledge.observed.flags.writeable  # the kernel's type
            every, n = np.arange(len(taken))[None], np.array([len(taken)])
            remember_all(memory, source.rows[w : w + 1], taken, every, n)
            is_exhausted[w] = len(self.points[a]) == 0
        is_stuck = ~self.is_listed[rows] & (self.n_empty[rows] >= MOST_EMPTY)
        return {"exhausted": is_exhausted, "repeats": is_stuck}


def all_points(space: SearchSpace, w: int) -> Floats | None:
    """Return all that row w may become by its box, fewest changes first; None if it is too much.

    The row itself is among them, and so is what rules forbid.
    """
    features, max_free = space.features[w], int(space.max_free[w])
    values = []
    for feature in features:
        if (own := values_of(feature)) is None:
            return None
        values.append(own)
    sizes = [len(own) for own in values]
    most = min(MOST_POINTS, MOST_NUMBERS // len(sizes))
    if not has_few_points(sizes, features["is_forced"].tolist(), max_free, most):
        return None
    points, n_free = space.anchor[[w]], np.zeros(1, dtype=np.int64)
    for j in np.flatnonzero(np.array(sizes) > 1).tolist():
        points, n_free = np.repeat(points, sizes[j], axis=0), np.repeat(n_free, sizes[j])
        points[:, j] = np.tile(values[j], len(points) // sizes[j])
        n_free += (points[:, j] != values[j][0]) & ~features["is_forced"][j]
        points, n_free = points[n_free <= max_free], n_free[n_free <= max_free]
    return np.ascontiguousarray(points[np.argsort(n_free, kind="stable")])


def values_of(feature: Any) -> Floats | None:
    """Return the values of one feature by their distance to its anchor; None if there are too many.

    `feature` is a record; see `FEATURE`. The values are those that moves make, bit for bit.
    """
    anchor, grid = float(feature["anchor"]), float(feature["grid"])
    lower, upper = float(feature["lower"]), float(feature["upper"])
    if not feature["may_change"]:
        return np.array([anchor])
    if lower < upper and (grid == 0.0 or (upper - lower) * grid > MOST_POINTS):
        return None
    values = np.array([lower, upper])
    if grid > 0.0:
        first = np.rint(lower * grid)
        steps = first + np.arange(np.rint(upper * grid) - first + 1.0)
        values = np.clip(steps / grid + 0.0, lower, upper)
    if feature["is_single"]:
        values = values.astype(np.float32).astype(np.float64)
    missing = [MISSING] if feature["may_miss"] else []
    distinct = {anchor, *values.tolist(), *missing}
    return np.array(sorted(distinct, key=lambda value: (abs(value - anchor), value)))


def has_few_points(sizes: list[int], is_forced: list[bool], max_free: int, most: int) -> bool:
    """Whether features of so many values, at most `max_free` of them changed, have few points.

    What is forced changes besides.

    Examples
    --------
    >>> has_few_points([3, 4], [False, False], 1, most=6)  # the row, two and three changes
    True
    >>> has_few_points([3, 4], [False, False], 2, most=11), 3 * 4
    (False, 12)
    """
    n_points = [1] + [0] * min(max_free, sum(size > 1 for size in sizes))  # by number of changes
    for size, forced in zip(sizes, is_forced, strict=True):
        if forced:
            n_points = [n * size for n in n_points]
        elif size > 1:
            fewer = [0, *n_points[:-1]]
            n_points = [n + (size - 1) * m for n, m in zip(n_points, fewer, strict=True)]
        if sum(n_points) > most:
            return False
    return True
