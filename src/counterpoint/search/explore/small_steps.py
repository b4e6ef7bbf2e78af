"""Small steps: values near the row's, and what each gains; lists that `finish` chooses from.

For every feature the values that are cheaper than the nearest counterfactual found so far are
listed, with what each gains on the straightened scale of predictions. Gains are learnt from single
changes, and corrected by what candidates with several of them are then seen to gain. As the nearest
comes nearer, the lists become finer.

Where the trees are known a candidate may also be led into a leaf: several values are moved at once
across the thresholds on the way to it, which single steps cannot tell the worth of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.kernels import fetch, inner, part
from counterpoint.models.trees import BY_THRESHOLD
from counterpoint.search.explore.moves import (
    ArchiveView,
    Draws,
    draw,
    pick,
)
from counterpoint.search.explore.niches import gain_of
from counterpoint.search.feasibility import SearchSpace
from counterpoint.table.space import Features, from_uniform, snap

N_SIDE = 12  # values on each side of the row's in a list …
N_LISTED = 2 * N_SIDE + 1  # … and the row's own
PER_PEAK = 16  # features of which the steepest is known
PER_LINE = 8  # numbers that memory sends together
LEARN = 0.6  # share of what was not expected that is learnt
NOBODY, ROW = -1, -2  # parents: no candidate was made, or it was made of the row itself
MOST_SHIFTED = 6  # thresholds that are crossed at once
P_CROSS = 0.4  # chance that a threshold on the way to a leaf is crossed


STEP_NODE = np.dtype(  # a node of a known tree, as `Forest` has it; all of it comes at once
    [
        ("threshold", np.float64),
        ("left", np.int32),
        ("right", np.int32),
        ("feature", np.int32),
        ("category_set", np.int32),
        ("missing_left", np.bool_),
    ],
    align=True,
)


class StepTrees(NamedTuple):
    """The nodes of known trees; none if the model's trees are not known."""

    roots: Ints
    nodes: Any  # (nodes,): see `STEP_NODE`
    goes_left: Bools  # (sets, categories): see `Forest`


class StepValues(NamedTuple):
    """The values of each feature that lists are made of, ascending.

    They are those just across the thresholds of a tree ensemble that is known as data, and observed
    values of other models.
    """

    # (d, s): values for steps down, and for steps up
    below: Floats
    above: Floats
    n_values: Ints  # (d,): how many there are of each
    trees: StepTrees  # the trees, if they are known


class StepCosts(NamedTuple):
    """What steps add to the distance of each of r rows, or to its square."""

    # (r, d): a feature's difference times its weight, at most the cap …
    weight: Floats
    cap: Floats
    # (r,): … to this power is what it adds: 1, or 2 for a distance like Euclid's; 0 if the distance
    # is no such sum. Then it is not finished by small steps.
    power: Floats


STEP_ROW = np.dtype(  # of one row
    [
        ("least", np.float64),  # the distance of the nearest counterfactual, now …
        ("listed", np.float64),  # … and when the lists were made
        ("usual", np.float64),  # how much values of the lists usually gain
        ("power", np.float64),  # see `StepCosts`
        ("n_stale", np.int64),  # waves since the nearest counterfactual came nearer
        ("n_single", np.int64),  # how many single changes were looked at since
        ("n_before", np.int64),  # candidates in the archive before the last ones were evaluated
    ],
    align=True,
)

STEP_LIST = np.dtype(  # of one feature of a row
    [
        ("value", np.float64, N_LISTED),  # the values, ascending if they are numbers …
        ("gain", np.float64, N_LISTED),  # … what each gains …
        ("belief", np.float64, N_LISTED),  # … what it should gain …
        ("paid", np.float64, N_LISTED),  # … what it costs …
        # … and 1 if a candidate with it was evaluated, or 0: kernels read no lists of booleans here
        ("is_tried", np.int8, N_LISTED),
        ("n_values", np.int64),  # how many there are …
        ("home", np.int64),  # … and which of them is the row's own
        ("squares", np.float64),  # the sum of the squares of what tried values gain …
        ("n_tried", np.int64),  # … and how many there are
        ("weight", np.float64),  # what steps cost; see `StepCosts`
        ("cap", np.float64),
    ],
    align=True,
)


class Finish(NamedTuple):
    """What is known of small steps around each of r rows."""

    rows: Any  # (r,): of each row; see `STEP_ROW`
    lists: Any  # (r, d): the list of each feature; see `STEP_LIST`
    candidate: Floats  # (r, slots, d): the candidates of the next wave
    # (r, slots): who each is made of: a place in the archive, `ROW`, or `NOBODY` if there is none
    parent: Ints
    # space for the work on one row
    work: Any  # (d,): see `STEP_WORK`
    free: Any  # (d,): see `STEP_FREE`
    # what the next step of each of these gains by its cost, at most: (blocks, PER_PEAK), and
    # (blocks,) the bits of the most in each
    steep: Floats
    peak: Ints
    eligible: Ints  # (capacity,): the members that are about as near as the nearest
    state: Keys  # (1,): of the candidate's draws
    words: Keys  # (2, slots): how far the draws of each candidate are, and its hash


class FinishSource(NamedTuple):
    """What the candidates of r rows are made of."""

    places: Ints  # (r,): which rows of the archive these are
    keys: Keys  # (r, 2): the keys of their draws
    space: SearchSpace  # where they may be searched
    steps: StepValues  # values that lists are made of
    archive: ArchiveView  # everything evaluated so far
    goals: Any  # (rows,): what must be gained; see `NICHE_ROW`
    singles: Any  # (rows, d): what single changes gained; see `SINGLES`
    memory: Keys  # (r, size): which genomes were seen


@inner
def cost(value: float, anchor: float, own: Any, power: float) -> float:
    """Return what a value of a feature adds to the distance; what is filled in, half of the cap.

    `own` is the feature's list, see `STEP_LIST`.
    """
    if value == anchor:
        return 0.0
    if value == MISSING or anchor == MISSING:
        return float(0.5 * min(own.cap, 1.0))
    paid = min(abs(value - anchor) * own.weight, own.cap)
    return float(paid if power == 1.0 else paid * paid)


@inner
def cost_of(genome: Floats, anchor: Floats, lists: Any, power: float) -> float:
    """Return the distance of a genome, up to round-off."""
    total = 0.0
    for j in range(len(genome)):
        total += cost(genome[j], anchor[j], lists[j], power)
    return total


@part
def list_values(finish: Finish, a: int, w: int, source: FinishSource) -> None:
    """List the values of every feature that cost less than the nearest counterfactual."""
    space, steps, row = source.space, source.steps, finish.rows[a]
    row.listed, row.n_single = row.least, 0
    for j in range(finish.lists.shape[1]):
        feature, anchor = space.features[w, j], space.anchor[w, j]
        own, work = finish.lists[a, j], finish.work[j]
        n_old = own.n_values
        for q in range(n_old):  # kept aside
            work.drawn[q] = own.value[q]
            work.aside[q] = own.gain[q] if own.is_tried[q] else np.nan
        known = steps.n_values[j] if feature.may_change and anchor != MISSING else 0
        is_level = feature.is_level
        own.home, own.n_values = N_LISTED, 0
        if not is_level:
            list_side(own, steps.below[j, :known], feature, row)
        own.home = own.n_values
        put_value(own, anchor)
        if not is_level:
            list_side(own, steps.above[j, :known], feature, row)
        elif own.cap**row.power < row.least:
            for place in range(known):
                if steps.below[j, place] != anchor:
                    put_value(own, snap(steps.below[j, place], feature))
        recall_gains(own, work, n_old, source.singles[a, j], feature)
        for q in range(own.n_values):
            own.paid[q] = cost(own.value[q], anchor, own, row.power)
        believe(own, feature)


@inner
def list_side(own: Any, known: Floats, feature: Any, row: Any) -> None:
    """Append the known values on one side of the row's that are in reach, some if there are many.

    It is the upper side if the row's own value is in the list.
    """
    anchor, sign = feature.anchor, 1.0 if own.n_values > own.home else -1.0
    first, last = 0, len(known)
    while first < last and not is_in_reach(known[first], anchor, sign, own, row):
        first += 1
    while first < last and not is_in_reach(known[last - 1], anchor, sign, own, row):
        last -= 1
    m = last - first
    q = min(m, N_SIDE)
    for s in range(q):
        near = q - 1 - s if sign < 0.0 else s  # of values on this side, counted from the row's
        off = near if m == q else (near * near * (m - q) // ((q - 1) * (q - 1))) + near
        place = last - 1 - off if sign < 0.0 else first + off
        value = snap(known[place], feature)
        if is_in_reach(value, anchor, sign, own, row):
            put_value(own, value)


@inner
def is_in_reach(value: float, anchor: float, sign: float, own: Any, row: Any) -> bool:
    """Whether a value lies on that side of the row's and costs less than the nearest."""
    is_there = (value - anchor) * sign > 0.0
    return is_there and cost(value, anchor, own, row.power) < row.least


@inner
def put_value(own: Any, value: float) -> None:
    """Append a value to a list, if it has room and its last one is another."""
    n = own.n_values
    if n < N_LISTED and (n == 0 or own.value[n - 1] != value):
        own.value[n] = value
        own.n_values = n + 1


@part
def recall_gains(own: Any, work: Any, n_old: int, singles: Any, feature: Any) -> None:
    """Give the values of a new list what the old one knew of them, or what they gained alone.

    Between two numbers of which that is known, it is taken in proportion: asking again would cost
    wide tables most of their candidates.
    """
    for q in range(own.n_values):
        value = own.value[q]
        low, high, below, above = -np.inf, np.inf, 0.0, 0.0
        if not feature.is_level:
            low = feature.anchor if value >= feature.anchor else low
            high = feature.anchor if value <= feature.anchor else high
        for t in range(singles.n_values + n_old):
            old = t - singles.n_values  # what the old list knew comes last, and counts
            known = work.drawn[old] if old >= 0 else singles.value[t]
            gain = work.aside[old] if old >= 0 else singles.gain[t]
            if np.isnan(gain):
                continue
            if low <= known <= value:
                low, below = known, gain
            if value <= known <= high:
                high, above = known, gain
        is_known = low == value or (not feature.is_level and low > -np.inf and high < np.inf)
        share = (value - low) / (high - low) if is_known and high > low else 0.0
        own.gain[q] = below + share * (above - below) if is_known else 0.0
        own.is_tried[q] = is_known or q == own.home


@inner
def believe(own: Any, feature: Any) -> None:
    """Write what each value of a list should gain, between tried ones in proportion."""
    value, gain, is_tried, belief = own.value, own.gain, own.is_tried, own.belief
    n, before, total, n_tried = own.n_values, -1, 0.0, 0
    for q in range(n):
        belief[q] = gain[q] if is_tried[q] else 0.0
        if not is_tried[q]:
            continue
        if q != own.home:
            total += gain[q] * gain[q]
            n_tried += 1
        if feature.is_level:
            continue
        for p in range(before + 1, q):
            share = 1.0 if before < 0 else (value[p] - value[before]) / (value[q] - value[before])
            start = 0.0 if before < 0 else gain[before]
            belief[p] = start + share * (gain[q] - start)
        before = q
    if not feature.is_level and before >= 0:
        for p in range(before + 1, n):
            belief[p] = gain[before]
    own.squares, own.n_tried = total, n_tried


@inner
def usual_gain(lists: Any) -> float:
    """Return how much the tried values of the lists usually gain."""
    total, n_tried = 0.0, 0
    for j in range(len(lists)):
        total += lists[j].squares
        n_tried += lists[j].n_tried
    return float(np.sqrt(total / max(n_tried, 1)))


@inner
def believed(value: float, own: Any) -> float:
    """Return what a value of a feature should gain: that of the nearest in its list."""
    home = own.home
    if value == own.value[home]:  # most often
        return float(own.belief[home])
    nearest, apart = 0, np.inf
    for q in range(own.n_values):
        off = abs(own.value[q] - value)
        nearest, apart = q if off < apart else nearest, min(off, apart)
    return float(own.belief[nearest])


@part
def learn(finish: Finish, a: int, w: int, source: FinishSource, first: int, every: int) -> None:
    """Correct the gains of the values that the last wave's candidates have and their parents not.

    What a candidate gained more or less than expected is shared among these values.
    """
    archive, anchor, features = source.archive, source.space.anchor[w], source.space.features[w]
    lists, free, goal = finish.lists[a], finish.free, source.goals[a]
    for j in range(len(anchor)):
        free[j].is_free = False  # here it says which lists are corrected
    for slot in range(finish.parent.shape[1]):
        if finish.parent[a, slot] >= 0:
            fetch(archive.predictions[a], finish.parent[a, slot])
            for j in range(0, len(anchor), PER_LINE):
                fetch(archive.genomes[a, finish.parent[a, slot]], j)
    for slot in range(finish.parent.shape[1]):
        parent, at = finish.parent[a, slot], finish.rows[a].n_before + first + slot * every
        if parent == NOBODY or at >= archive.size[a]:
            continue
        child, other = archive.genomes[a, at], anchor
        if parent >= 0:
            other = archive.genomes[a, parent]
        rest = gain_of(archive.predictions[a, at], goal)
        rest -= gain_of(archive.predictions[a, parent], goal) if parent >= 0 else 0.0
        n_moved = 0
        for j in range(len(child)):
            if child[j] != finish.candidate[a, slot, j]:
                n_moved = -len(child)  # another one was made in its place
            elif child[j] != other[j]:
                rest -= believed(child[j], lists[j]) - believed(other[j], lists[j])
                n_moved += child[j] != anchor[j]
        if n_moved <= 0:
            continue
        for j in range(len(child)):
            if child[j] != other[j] and child[j] != anchor[j]:
                correct(lists[j], child[j], LEARN * rest / n_moved)
                free[j].is_free = True
    for j in range(len(anchor)):
        if free[j].is_free:
            believe(lists[j], features[j])


@inner
def correct(own: Any, value: float, more: float) -> None:
    """Note that a value of a list gains so much more than was believed."""
    for q in range(own.n_values):
        if own.value[q] == value and q != own.home:
            own.gain[q] = own.belief[q] + more
            own.is_tried[q] = True


@inner
def shift(
    child: Floats, anchor: Floats, features: Features, steps: StepValues, draws: Draws
) -> None:
    """Move any number across the next threshold, or some more, in any direction."""
    j = pick(len(child), draws)
    if features[j].is_level or not features[j].may_change or child[j] == MISSING:
        return
    is_up = draw(draws) < 0.5
    is_above = child[j] > anchor[j] or (child[j] == anchor[j] and is_up)
    known = steps.above[j] if is_above else steps.below[j]
    low, high = 0, steps.n_values[j]
    while low < high:  # the first that is not below
        middle = (low + high) // 2
        if known[middle] < child[j]:
            low = middle + 1
        else:
            high = middle
    more = 1
    while more < MOST_SHIFTED and draw(draws) < 0.5:
        more += 1
    if is_up:
        is_on = low < steps.n_values[j] and known[low] == child[j]
        place = low + more - (0 if is_on else 1)
    else:
        place = low - more
    if 0 <= place < steps.n_values[j]:
        value = snap(known[place], features[j])
        child[j] = value if (value > anchor[j]) == is_above else anchor[j]


@inner
def enter_leaf(child: Floats, features: Features, trees: StepTrees, draws: Draws) -> None:
    """Lead a candidate into a leaf of any tree, by the least moves across thresholds on the way."""
    node = trees.roots[pick(len(trees.roots), draws)]
    while trees.nodes[node].left != node:
        at = trees.nodes[node]
        j = at.feature
        is_left = goes_left(child[j], at, trees)
        if features[j].may_change and child[j] != MISSING and draw(draws) < P_CROSS:
            other = across(at, is_left, features[j], draws)
            if goes_left(other, at, trees) != is_left:
                child[j], is_left = other, not is_left
        node = np.int64(at.left if is_left else at.right)


@inner
def goes_left(value: float, at: Any, trees: StepTrees) -> bool:
    """Whether a value goes left at a node."""
    if at.category_set == BY_THRESHOLD:
        return bool(value <= at.threshold if value != MISSING else at.missing_left)
    if value < 0.0 or value >= trees.goes_left.shape[1]:
        return bool(at.missing_left)
    return bool(trees.goes_left[at.category_set, int(value)])


@inner
def across(at: Any, is_left: bool, feature: Any, draws: Draws) -> float:
    """Return the value just across a node's threshold, or any level."""
    if at.category_set != BY_THRESHOLD or feature.is_level:
        return from_uniform(draw(draws), feature)
    threshold = at.threshold
    if feature.grid > 0.0:
        step = np.floor(threshold * feature.grid + 1e-9)
        return snap((step + 1.0 if is_left else step) / feature.grid, feature)
    return snap(np.nextafter(threshold, np.inf) if is_left else threshold, feature)
