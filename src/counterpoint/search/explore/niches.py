"""Niches: sets of up to three features that may be ways, what is known of each, and which is next.

A way is a set of features whose values alone reach the target. Single changes are tried first, at
levels and quantiles of the data. On the straightened scale of predictions gains of different
features nearly add up, so they tell which pairs, and then which triples, are promising. What was
found of a set corrects the sum. A set with a way inside it is left alone, for it cannot be minimal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.kernels import fetch, inner, kernel, part
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP
from counterpoint.search.explore.moves import Draws, pick, straighten
from counterpoint.search.feasibility import SearchSpace
from counterpoint.search.front import LANES

MOST_FEATURES = 3  # in a set that is searched on purpose
MOST_TRIED = 48  # single changes of a feature that are remembered
MOST_PAIRED, MOST_JOINED = 40, 12  # features that pairs, and triples, are made of
N_NICHES = MOST_PAIRED * (MOST_PAIRED - 1) // 2 + 220 + 200
STALE = -np.inf

NICHE = np.dtype(  # in few bytes, and as it is read: memory is slower than all that is done with it
    [
        ("gain", np.float64),  # the most that was gained …
        ("distance", np.float64),  # the least at which it reaches the target …
        ("safe_distance", np.float64),  # … and with the margin that is wanted
        ("best", np.int32),  # the candidate of the archive that gained most …
        ("nearest", np.int32),  # … that reaches the target at the least distance …
        ("safe", np.int32),  # … and with the margin
        ("size", np.int32),  # how many features
        ("n_tries", np.int32),  # candidates made to find out whether it is a way …
        ("n_refined", np.int32),  # … and, since it is one, to find its nearest and safest
        ("n_swept", np.int32),  # grid points of a single feature that were looked at
        ("is_way", np.bool_),
        ("is_shut", np.bool_),  # part of it is a way
    ],
    align=True,
)


NICHE_ROW = np.dtype(  # of one row
    [
        ("n_niches", np.int64),  # how many sets there are …
        ("stage", np.int64),  # … and which sizes were made: 1, 2 or 3
        ("n_plans", np.int64),  # how many plans were made
        ("origin", np.float64),  # the straightened prediction of the row …
        ("towards", np.float64),  # … and 1 if more is wanted, -1 if less is
        ("needed", np.float64),  # the gain at which the target is reached …
        ("safe", np.float64),  # … and that at which it is reached with a margin
        ("is_probability", np.bool_),  # whether predictions are straightened by the logit
        ("has_found", np.bool_),  # the last wave found a way without a smaller one that was known
    ],
    align=True,
)

SINGLES = np.dtype(  # single changes of one feature of a row
    [
        ("value", np.float64, MOST_TRIED),  # those that were evaluated …
        ("gain", np.float64, MOST_TRIED),  # … and what they gained on the straightened scale
        ("n_values", np.int64),  # how many there are …
        ("top", np.int64),  # … and which of them gained most
    ],
    align=True,
)


class NicheTable(NamedTuple):
    """The sets of features of r rows, by their features.

    Attributes
    ----------
    rows : ndarray of records, of shape (r,)
        What is known of each row; see `NICHE_ROW`.
    niche : ndarray of records, of shape (r, n)
        What is known of each set; see `NICHE`.
    late : ndarray of shape (r, n)
        How late its turn is, infinite if it has none; see `urgency`. `STALE` must be found anew.
    features : ndarray of shape (r, n, 3)
        Its features, ascending; -1 fills the rest.
    lookup : ndarray of shape (r, places)
        A table by open addressing that finds the set of some features; -1 where it is empty.
    """

    rows: Any
    niche: Any
    late: Floats
    features: Ints
    lookup: Ints


class Niches(NamedTuple):
    """The sets of features of r rows, the single changes that were evaluated, and what is planned.

    Attributes
    ----------
    table : NicheTable
        What is known of the sets.
    singles : ndarray of records, of shape (r, d)
        The single changes of each feature; see `SINGLES`.
    plan : ndarray of shape (r, slots)
        The sets that the next wave tries; -1 for none.
    candidate : ndarray of shape (r, slots, d)
        The candidates that were made of the planned sets.
    lateness, ranked, ranks, free, different, state : ndarray of shape (slots,), (d,), …, (1,)
        Space for the work on one row.
    """

    table: NicheTable
    singles: Any
    plan: Ints
    candidate: Floats
    lateness: Floats
    ranked: Ints
    ranks: Floats
    free: Ints
    different: Ints
    state: Keys


class TrialValues(NamedTuple):
    """The values of each feature that are tried as single changes: levels and quantiles.

    Attributes
    ----------
    values : ndarray of shape (d, q)
        The values, those that tell most first.
    n_values : ndarray of shape (d,)
        How many there are.
    """

    values: Floats
    n_values: Ints


@inner
def first_place(i: int, j: int, k: int, last: int) -> int:
    """Return where the lookup is entered for the features i < j < k; its last place is `last`."""
    place = ((i * 7919 + j + 1) * 7919 + k + 1) * 40503
    return (place ^ (place >> 13)) & last


@inner
def place_of(table: NicheTable, a: int, i: int, j: int, k: int) -> int:
    """Return the place in the lookup of the features i < j < k; -1 stands for none, at the end."""
    lookup, features = table.lookup[a], table.features[a]
    last = len(lookup) - 1
    place = first_place(i, j, k, last)
    while lookup[place] >= 0:
        own = features[lookup[place]]
        if own[0] == i and own[1] == j and own[2] == k:
            break
        place = (place + 1) & last
    return place


@inner
def niche_of(table: NicheTable, a: int, i: int, j: int, k: int) -> int:
    """Return the niche of a set of features, or -1."""
    return int(table.lookup[a, place_of(table, a, i, j, k)])


@inner
def has_way(table: NicheTable, a: int, i: int, j: int, k: int) -> bool:
    """Whether a proper subset of the features i < j < k (-1 for none) is known to be a way.

    It is one loop, because every call is written into the kernel, which takes time to compile.
    """
    n_parts = 0 if j < 0 else (2 if k < 0 else 6)
    for p in range(n_parts):
        first = i if p in (0, 3, 4) else (j if p in (1, 5) else k)
        second = -1 if p < 3 else (j if p == 3 else k)
        n = niche_of(table, a, first, second, -1)
        if n >= 0 and table.niche[a, n].is_way:
            return True
    return False


@inner
def find_niche(table: NicheTable, a: int, i: int, j: int, k: int, makes: bool) -> int:
    """Return the niche of a set of features; if it is wanted and there is room, made anew."""
    place = place_of(table, a, i, j, k)
    n = int(table.lookup[a, place])
    if n >= 0 or not makes or table.rows[a].n_niches == table.niche.shape[1]:
        return n
    n = int(table.rows[a].n_niches)
    table.rows[a].n_niches += 1
    table.lookup[a, place] = n
    own = table.features[a, n]
    own[0], own[1], own[2] = i, j, k
    niche = table.niche[a, n]
    niche.size = 1 + (j >= 0) + (k >= 0)
    niche.gain, niche.best, niche.distance, niche.nearest = -np.inf, -1, np.inf, -1
    niche.safe_distance, niche.safe = np.inf, -1
    niche.is_shut = has_way(table, a, i, j, k)
    table.late[a, n] = np.inf if niche.is_shut else STALE
    return n


@inner
def find_turn_anew(table: NicheTable, a: int, n: int) -> None:
    """Note that something was learnt of niche n, so that its turn may come sooner or later."""
    if not table.niche[a, n].is_shut:
        table.late[a, n] = STALE


@inner
def shut_larger(table: NicheTable, a: int, n: int) -> None:
    """Shut all sets that contain the features of niche n, which has become a way."""
    own, size = table.features[a, n], table.niche[a, n].size
    for m in range(table.rows[a].n_niches):
        other = table.features[a, m]
        if table.niche[a, m].size > size and not table.niche[a, m].is_shut:
            n_common = 0
            for p in range(size):
                n_common += own[p] == other[0] or own[p] == other[1] or own[p] == other[2]
            if n_common == size:
                table.niche[a, m].is_shut, table.late[a, m] = True, np.inf


class EvaluatedWave(NamedTuple):
    """A wave of candidates (r, n, d) with what is known of them, and where in the archive it is.

    `sets` (n, 3) is space for the features that the candidates of one row change.
    """

    children: Floats
    is_new: Bools
    predictions: Floats
    objectives: Floats
    start: int
    sets: Ints


@inner
def gain_of(prediction: float, row: Any) -> float:
    """Return what a candidate of this prediction gained; `row` is a record, see `NICHE_ROW`."""
    return float((straighten(prediction, row.is_probability) - row.origin) * row.towards)


@part
def list_near(front: Floats, members: Ints, n_members: int, near: Ints) -> tuple[int, int]:
    """List the members that are about as near as the nearest that reaches the target.

    Returned are how many they are, and that nearest one, or -1.
    """
    n, nearest, least, n_blocks = 0, -1, np.inf, (n_members + LANES - 1) // LANES
    for b in range(n_blocks):
        gap, distance = front[b, GAP], front[b, DISTANCE]
        for q in range(LANES):  # places without a member are NaN
            here = distance[q]
            least = min(least, here if gap[q] <= 0.0 else np.inf)
    most = 1.1 * least
    for b in range(n_blocks):
        gap, distance = front[b, GAP], front[b, DISTANCE]
        for q in range(min(LANES, n_members - b * LANES)):  # without a branch
            member = members[b * LANES + q]
            near[n] = member
            n += distance[q] <= most
            if distance[q] == least and gap[q] <= 0.0 and nearest < 0:
                nearest = member
    return n, int(nearest)


@part
def best_of_three(some: Ints, n: int, predictions: Floats, row: Any, draws: Draws) -> int:
    """Return which of three candidates gained most, which are drawn of the n first in a list.

    All are drawn before the first is looked at, so that memory sends them together.
    """
    first, second, third = some[pick(n, draws)], some[pick(n, draws)], some[pick(n, draws)]
    gain, other = gain_of(predictions[first], row), gain_of(predictions[second], row)
    best, most = (second, other) if other > gain else (first, gain)
    return int(third if gain_of(predictions[third], row) > most else best)


@kernel
def learn_niches(
    table: NicheTable,
    singles: Any,
    wave: EvaluatedWave,
    places: Ints,
    space: SearchSpace,
    origin: Floats,
    slopes: Floats,
) -> None:
    """Note what a wave of candidates tells of the sets of features that they change.

    Of `Niches` and of what is known of the rows it is given what it needs. `slopes` (r, 2, d) are
    what single changes of numbers gain per unit, from the predictions of the rows on, `origin`.
    """
    r, size, _ = wave.children.shape
    for w in range(r):
        a, anchor, features, most = places[w], space.anchor[w], space.features[w], MOST_FEATURES
        table.rows[a].has_found = False
        start = straighten(origin[w], table.rows[a].is_probability)
        for j in range(len(features)):
            most += features[j].is_forced  # which all candidates of the row change
        list_sets(table, a, wave, w, anchor, most)
        for c in range(size):
            i, j, k = wave.sets[c, 0], wave.sets[c, 1], wave.sets[c, 2]
            if i < 0:
                continue
            gain = gain_of(wave.predictions[w, c], table.rows[a])
            if j < 0:
                value = wave.children[w, c, i]
                note_single(singles[a, i], value, gain)
                if not (features[i].is_level or value == MISSING or anchor[i] == MISSING):
                    straight = straighten(wave.predictions[w, c], table.rows[a].is_probability)
                    step = value - anchor[i]
                    slopes[w, int(step > 0.0), i] = (straight - start) / step
            reaches = wave.objectives[w, c, GAP] <= 0.0
            # Triples build on what pairs have gained.
            is_pair = k < 0 <= j and wave.children.shape[2] <= MOST_PAIRED
            n = find_niche(table, a, i, j, k, reaches or is_pair)
            if n >= 0:
                note_candidate(table, a, n, wave.start + c, gain, wave.objectives[w, c])


@part
def list_sets(
    table: NicheTable, a: int, wave: EvaluatedWave, w: int, anchor: Floats, most: int
) -> None:
    """Write which features each candidate changes, -1 if too many, and have their niches fetched.

    Memory is slower than all that is done with a niche: those of a wave are fetched together.
    """
    lookup, last = table.lookup[a], table.lookup.shape[1] - 1
    for c in range(wave.children.shape[1]):
        own, n_changed = wave.sets[c], 0
        own[0], own[1], own[2] = -1, -1, -1
        if not wave.is_new[w, c] or wave.objectives[w, c, CHANGES] > most:
            continue
        for q in range(wave.children.shape[2]):
            if wave.children[w, c, q] != anchor[q]:
                if n_changed == MOST_FEATURES:
                    own[0] = -1
                    break
                own[n_changed] = q
                n_changed += 1
        fetch(lookup, first_place(own[0], own[1], own[2], last))
    for c in range(wave.children.shape[1]):
        own = wave.sets[c]
        n = lookup[first_place(own[0], own[1], own[2], last)] if own[0] >= 0 else -1
        if n >= 0:
            fetch(table.niche[a], n)
            fetch(table.features[a, n], 0)


@part
def note_single(singles: Any, value: float, gain: float) -> None:
    """Note what a single change of a feature gained; a record holds so many only."""
    t = singles.n_values
    if t == MOST_TRIED:
        return
    singles.value[t], singles.gain[t] = value, gain
    if t == 0 or gain > singles.gain[singles.top]:
        singles.top = t
    singles.n_values += 1


@part
def note_candidate(
    table: NicheTable, a: int, n: int, at: int, gain: float, objectives: Floats
) -> None:
    """Note what a candidate of set n tells of it; its place in the archive is `at`."""
    niche, row = table.niche[a, n], table.rows[a]
    if gain > niche.gain:
        niche.gain, niche.best = gain, at
        find_turn_anew(table, a, n)
    if objectives[GAP] > 0.0:
        return
    if not niche.is_way:
        niche.is_way = True
        find_turn_anew(table, a, n)
        row.has_found |= not niche.is_shut
        shut_larger(table, a, n)
    if objectives[DISTANCE] < niche.distance:
        niche.distance, niche.nearest = objectives[DISTANCE], at
    if gain >= row.safe and objectives[DISTANCE] < niche.safe_distance:
        niche.safe_distance, niche.safe = objectives[DISTANCE], at
