"""Knapsack: the cheapest values of several features that should gain enough together.

What each value of the free features' lists gains is drawn around what is believed. Of each
feature's values those on the hull of gain over cost are taken, the steepest first, until the gains
suffice; then values are made cheaper as long as the gains still do.

A feature's hull is looked for only when the most that any of its values gains by its cost is the
most of all features: its first step gains no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import inner, part
from counterpoint.search.explore.moves import Draws, draw
from counterpoint.search.explore.small_steps import N_LISTED, PER_PEAK, Finish
from counterpoint.streams import difference_at, skip
from counterpoint.table.space import Features, snap

TRIED, UNTRIED = 0.3, 0.8  # how uncertain gains are, in units of what is usual
QUIETEST = 5.0  # noise is less by a factor of up to two to this power, drawn for each candidate
BOLDER, BOLDEST = 0.03, 4.0  # noise grows so with every wave that finds nothing nearer, at most so
TINY = 1e-300  # what costs nothing costs so much
HIGHEST = np.float64(np.inf).view(np.int64)

STEP_WORK = np.dtype(  # space for the work on one feature
    [
        ("drawn", np.float64, N_LISTED),  # what values gain with noise
        ("aside", np.float64, N_LISTED),  # what is kept aside
        ("kept", np.int64, N_LISTED + 1),  # which values gain more than all cheaper ones …
        ("hull", np.int64, N_LISTED),  # … and which are on the hull
        ("first", np.int64),  # the first value within the room …
        ("last", np.int64),  # … and the last
        ("n_kept", np.int64),
        ("middle", np.int64),  # the first of those kept that is above the row's own value
        ("n_hull", np.int64),
        ("chosen", np.int64),  # which value it gets
    ],
    align=True,
)

STEP_FREE = np.dtype(  # of one feature; apart and small, since all are looked at again and again
    [
        ("is_free", np.bool_),  # whether it may get another value
        # of the features that are free, one after the other: which it is, and how far on its hull
        # it has come; -1 before there is one
        ("feature", np.int64),
        ("at", np.int64),
        ("moved", np.int64),  # which features have left the row's value, one after the other
    ],
    align=True,
)


@part
def draw_gains(finish: Finish, a: int, n_free: int, room: float, draws: Draws) -> None:
    """Draw what each value of the free features gains, around what is believed."""
    row, free, steep = finish.rows[a], finish.free, finish.steep
    n_blocks = (n_free + PER_PEAK - 1) // PER_PEAK
    scale = row.usual * min(1.0 + BOLDER * row.n_stale, BOLDEST)
    scale *= 2.45 * 0.5 ** (QUIETEST * draw(draws))  # the difference of two draws times 2.45 …
    for k in range(n_free):  # … has variance 1
        own, at = finish.lists[a, free[k].feature], finish.work[free[k].feature]
        draw_list(own, at, room, scale, draws)
        free[k].at, steep[k // PER_PEAK, k % PER_PEAK] = -1, steepest(own, at)
    for k in range(n_free, n_blocks * PER_PEAK):
        steep[k // PER_PEAK, k % PER_PEAK] = 0.0
    for block in range(n_blocks):
        finish.peak[block] = peak_of(steep[block])


@inner
def draw_list(own: Any, work: Any, room: float, scale: float, draws: Draws) -> None:
    """Draw what the values of a list gain that cost less than the room.

    The sequence of draws goes down from the row's own value, and then up.
    """
    home, n, paid = own.home, own.n_values, own.paid
    belief, is_tried, drawn = own.belief, own.is_tried, work.drawn
    first, last = home, home
    for q in range(n):  # values cost more the farther they are: those within the room are counted
        is_within = paid[q] < room
        first -= is_within and q < home
        last += is_within and q > home
    start = draws.state[0]
    for q in range(first, last + 1):
        step = home - q if q < home else q - first
        spread = TRIED if is_tried[q] else UNTRIED
        drawn[q] = belief[q] + difference_at(start, step) * scale * spread
    drawn[home] = 0.0
    skip(draws.state, last - first)
    work.first, work.last, work.chosen = first, last, home


@inner
def steepest(own: Any, work: Any) -> float:
    """Return the most that a value gains by its cost, where the row's own has neither.

    The first step on the hull gains just that: no other value can be its first. As whole numbers,
    bits of floats above 0 are ordered as they are, and vector instructions find their most.
    """
    drawn, paid, most = work.drawn, own.paid, np.int64(0)
    for q in range(work.first, work.last + 1):
        most = max(most, np.float64(drawn[q] / (paid[q] + TINY)).view(np.int64))
    return float(np.int64(min(most, HIGHEST)).view(np.float64))


@inner
def find_hull(own: Any, work: Any) -> None:
    """Find the values on the hull of a feature, of those that gain more than all cheaper ones.

    The latter are kept: no other can be best.
    """
    work.kept[0], work.n_kept = own.home, 1
    keep_better(work, range(own.home - 1, work.first - 1, -1))
    work.middle = work.n_kept
    keep_better(work, range(own.home + 1, work.last + 1))
    keep_hull(own, work)


@inner
def keep_better(work: Any, places: range) -> None:
    """Keep the values at these places, cheapest first, that gain more than those before them.

    They are kept without a branch, which nobody could guess: each is written, and stays if the next
    place is taken then.
    """
    most, n = 0.0, work.n_kept
    kept, drawn = work.kept, work.drawn
    for q in places:
        kept[n] = q
        n += drawn[q] > most
        most = max(most, drawn[q])
    work.n_kept = n


@part
def keep_hull(own: Any, work: Any) -> None:
    """Write which of the kept values, those before the middle and the others, are on the hull."""
    kept, hull, paid, drawn = work.kept, work.hull, own.paid, work.drawn
    middle, end = work.middle, work.n_kept
    down, up, n = 1, middle, 1
    hull[0] = kept[0]
    for _ in range(1, end):  # the cheaper of both sides comes next; no branch to guess
        is_cheaper = paid[kept[down]] <= paid[kept[up]]
        goes_down = (up == end) | ((down < middle) & is_cheaper)
        q = kept[down] if goes_down else kept[up]
        down += goes_down
        up += not goes_down
        if drawn[q] <= drawn[hull[n - 1]]:
            continue
        while n > 1:
            last, before = hull[n - 1], hull[n - 2]
            more, dearer = drawn[q] - drawn[before], paid[q] - paid[before]
            if more * (paid[last] - paid[before]) < (drawn[last] - drawn[before]) * dearer:
                break
            n -= 1
        hull[n] = q
        n += 1
    work.n_hull = n


@part
def choose_values(
    finish: Finish, a: int, n_free: int, needed: float, room: float
) -> tuple[float, int]:
    """Give the free features the cheapest values that should gain enough, within the room.

    What they gain more than is needed is returned, and how many have left the row's value.
    """
    lists, work, free, total, spent = finish.lists[a], finish.work, finish.free, 0.0, 0.0
    steep, peak, n_blocks = finish.steep, finish.peak, (n_free + PER_PEAK - 1) // PER_PEAK
    while total < needed and spent < room:
        best = first_steepest(steep, peak, n_blocks)
        if best < 0:
            break
        j = free[best].feature
        own, at, now = lists[j], work[j], work[j].chosen
        if free[best].at < 0:
            find_hull(own, at)
        else:
            value = at.hull[free[best].at + 1]
            at.chosen = value
            total += at.drawn[value] - at.drawn[now]
            spent += own.paid[value] - own.paid[now]
        free[best].at += 1
        block = best // PER_PEAK
        steep[block, best % PER_PEAK] = steepness(own, at, free[best].at)
        peak[block] = peak_of(steep[block])
    n_moved = 0
    for k in range(n_free):
        free[n_moved].moved = free[k].feature
        n_moved += free[k].at > 0
    return make_cheaper(finish, a, n_free, n_moved, total - needed, spent - room), n_moved


@inner
def peak_of(steep: Floats) -> np.int64:
    """Return the bits of the most that features of a block gain by their cost; 0 is nothing."""
    most = np.int64(0)
    for q in range(PER_PEAK):
        most = max(most, np.float64(steep[q]).view(np.int64))
    return most


@inner
def first_steepest(steep: Floats, peak: Ints, n_blocks: int) -> int:
    """Return which feature's next step gains the most by its cost, the first of several; or -1.

    Only the peaks of all blocks are looked at, and the one block that has the most.
    """
    most, block, q = np.int64(0), 0, 0
    for each in range(n_blocks):
        most = max(most, peak[each])
    if most == 0:
        return -1
    while peak[block] != most:
        block += 1
    while np.float64(steep[block, q]).view(np.int64) != most:
        q += 1
    return block * PER_PEAK + q


@inner
def steepness(own: Any, work: Any, at: int) -> float:
    """Return what the step to the next value on the hull gains by its cost; 0 if there is none."""
    if at + 1 >= work.n_hull:
        return 0.0
    now, other = work.hull[at], work.hull[at + 1]
    dearer = own.paid[other] - own.paid[now]
    return float((work.drawn[other] - work.drawn[now]) / (dearer + TINY))


@part
def make_cheaper(
    finish: Finish, a: int, n_free: int, n_moved: int, spare: float, excess: float
) -> float:
    """Save as much distance as the gains to spare allow, one value at a time, the most first."""
    lists, work = finish.lists[a], finish.work
    for _ in range(n_free):
        most, feature, value, lost = 1e-12, -1, 0, 0.0
        for k in range(n_moved):
            j = finish.free[k].moved
            own, at = lists[j], work[j]
            if at.chosen == own.home:
                continue
            paid, gain = own.paid[at.chosen], at.drawn[at.chosen]
            for start, stop in ((0, at.middle), (at.middle, at.n_kept)):
                for place in range(start, stop):  # what comes later costs more, and gains more
                    q = at.kept[place]
                    loses = gain - at.drawn[q]
                    if loses <= spare or excess >= 0.0:
                        saved = paid - own.paid[q]
                        if saved > most:
                            most, feature, value, lost = saved, j, q, loses
                        break
        if feature < 0:
            break
        work[feature].chosen = value
        spare -= lost
        excess -= most
    return spare


@part
def shorten(
    child: Floats, lists: Any, finish: Finish, n_moved: int, spare: float, features: Features
) -> None:
    """Move one number towards the row between values of its list, as far as the gains allow."""
    work, most, feature, share = finish.work, 0.0, -1, 0.0
    for k in range(n_moved):
        j = finish.free[k].moved
        now, home, drawn, paid = work[j].chosen, lists[j].home, work[j].drawn, lists[j].paid
        if now == home or features[j].is_level:
            continue
        inside = now - 1 if now > home else now + 1
        lost = drawn[now] - drawn[inside]
        if lost <= spare:
            continue
        saved = spare / lost * (paid[now] - paid[inside])
        if saved > most:
            most, feature, share = saved, j, spare / lost
    if feature >= 0:
        now, home, value = work[feature].chosen, lists[feature].home, lists[feature].value
        inside = now - 1 if now > home else now + 1
        start, end = value[now], value[inside]
        child[feature] = snap(start + share * (end - start), features[feature])
