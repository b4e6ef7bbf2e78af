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
from counterpoint.kernels import inner, part
from counterpoint.models.trees import BY_THRESHOLD
from counterpoint.search.explore.moves import (
    ArchiveView,
    Draws,
    draw,
    move_towards,
    pick,
    straighten,
)
from counterpoint.search.explore.niches import Niches
from counterpoint.search.feasibility import SearchSpace
from counterpoint.table.space import Features, from_uniform, snap

N_SIDE = 12  # values on each side of the row's in a list
LEARN = 0.6  # share of what was not expected that is learnt
NOBODY, ROW = -1, -2  # parents: no candidate was made, or it was made of the row itself
MOST_SHIFTED = 6  # thresholds that are crossed at once
P_CROSS = 0.4  # chance that a threshold on the way to a leaf is crossed


class StepTrees(NamedTuple):
    """The nodes of known trees, as `Forest` has them; none if the model's trees are not known."""

    roots: Ints
    children: Ints
    feature: Ints
    threshold: Floats
    category_set: Ints
    missing_left: Bools
    goes_left: Bools


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


class Finish(NamedTuple):
    """What is known of small steps around each of r rows."""

    # (r, d, t): the values of each list, ascending if they are numbers, what each gains, and
    # whether a candidate with it was evaluated
    value: Floats
    gain: Floats
    is_tried: Bools
    # (r, d): how many there are, and which of them is the row's own
    n_values: Ints
    home: Ints
    # (r,): the distance of the nearest counterfactual, now and when the lists were made
    least: Floats
    listed: Floats
    usual: Floats  # (r,): how much values of the lists usually gain
    n_stale: Ints  # (r,): waves since the nearest counterfactual came nearer
    n_single: Ints  # (r,): how many single changes were looked at since
    candidate: Floats  # (r, slots, d): the candidates of the next wave
    # (r, slots): who each is made of: a place in the archive, `ROW`, or `NOBODY` if there is none
    parent: Ints
    n_before: Ints  # (r,): how many candidates the archive had before they were evaluated
    costs: StepCosts  # what steps add to the distance
    # (r, d, t): what each value should gain, and what it costs
    belief: Floats
    paid: Floats
    # (r, d): the sum of the squares of what tried values gain, and how many there are
    squares: Floats
    n_tried: Ints
    # (d, t): what values gain with noise, and what is kept aside; space for the work on one row
    drawn: Floats
    aside: Floats
    # more such space, of shape (d, t) twice, (d,) eight times, (capacity,) and (1,)
    kept: Ints
    hull: Ints
    n_kept: Ints
    middle: Ints
    n_hull: Ints
    free: Ints
    at: Ints
    chosen: Ints
    steep: Floats
    is_free: Bools
    eligible: Ints
    state: Keys


class FinishSource(NamedTuple):
    """What the candidates of r rows are made of."""

    places: Ints  # (r,): which rows of the archive these are
    keys: Keys  # (r, 2): the keys of their draws
    space: SearchSpace  # where they may be searched
    steps: StepValues  # values that lists are made of
    archive: ArchiveView  # everything evaluated so far
    niches: Niches  # what single changes gained, and what is needed
    memory: Keys  # (r, size): which genomes were seen


@inner
def cost(value: float, j: int, anchor: float, a: int, finish: Finish) -> float:
    """Return what a value of feature j adds to the distance; what is filled in, half of the cap."""
    if value == anchor:
        return 0.0
    costs = finish.costs
    if value == MISSING or anchor == MISSING:
        return float(0.5 * min(costs.cap[a, j], 1.0))
    paid = min(abs(value - anchor) * costs.weight[a, j], costs.cap[a, j])
    return float(paid if costs.power[a] == 1.0 else paid * paid)


@inner
def cost_of(genome: Floats, anchor: Floats, a: int, finish: Finish) -> float:
    """Return the distance of a genome, up to round-off."""
    total = 0.0
    for j in range(len(genome)):
        total += cost(genome[j], j, anchor[j], a, finish)
    return total


@inner
def gain_of(i: int, a: int, source: FinishSource) -> float:
    """Return what a candidate of the archive gained."""
    niches = source.niches
    now = straighten(source.archive.predictions[a, i], niches.is_probability)
    return float((now - niches.origin[a]) * niches.towards[a])


@part
def list_values(finish: Finish, a: int, w: int, source: FinishSource) -> None:
    """List the values of every feature that cost less than the nearest counterfactual."""
    space, steps = source.space, source.steps
    finish.listed[a], finish.n_single[a] = finish.least[a], 0
    for j in range(finish.value.shape[1]):
        feature, anchor, n = space.features[w, j], space.anchor[w, j], 0
        n_old = finish.n_values[a, j]
        for q in range(n_old):  # kept aside
            finish.drawn[j, q] = finish.value[a, j, q]
            finish.aside[q] = finish.gain[a, j, q] if finish.is_tried[a, j, q] else np.nan
        known = steps.n_values[j] if feature.may_change and anchor != MISSING else 0
        is_level = feature.is_level
        finish.home[a, j] = len(finish.value[a, j])
        if not is_level:
            n = list_side(finish, a, j, n, steps.below[j, :known], feature)
        finish.home[a, j] = n
        n = put_value(finish, a, j, n, anchor)
        if not is_level:
            n = list_side(finish, a, j, n, steps.above[j, :known], feature)
        elif finish.costs.cap[a, j] ** finish.costs.power[a] < finish.least[a]:
            for place in range(known):
                if steps.below[j, place] != anchor:
                    n = put_value(finish, a, j, n, snap(steps.below[j, place], feature))
        finish.n_values[a, j] = n
        recall_gains(finish, a, j, n_old, source.niches, feature)
        for q in range(n):
            finish.paid[a, j, q] = cost(finish.value[a, j, q], j, anchor, a, finish)
        believe(finish, a, j, feature)


@inner
def list_side(finish: Finish, a: int, j: int, n: int, known: Floats, feature: Any) -> int:
    """Append the known values on one side of the row's that are in reach, some if there are many.

    The list has n so far; it is the upper side if the row's own value is among them.
    """
    anchor, sign = feature.anchor, 1.0 if n > finish.home[a, j] else -1.0
    first, last = 0, len(known)
    while first < last and not is_in_reach(known[first], j, anchor, sign, a, finish):
        first += 1
    while first < last and not is_in_reach(known[last - 1], j, anchor, sign, a, finish):
        last -= 1
    m = last - first
    q = min(m, N_SIDE)
    for s in range(q):
        near = q - 1 - s if sign < 0.0 else s  # of values on this side, counted from the row's
        off = near if m == q else (near * near * (m - q) // ((q - 1) * (q - 1))) + near
        place = last - 1 - off if sign < 0.0 else first + off
        value = snap(known[place], feature)
        if is_in_reach(value, j, anchor, sign, a, finish):
            n = put_value(finish, a, j, n, value)
    return n


@inner
def is_in_reach(value: float, j: int, anchor: float, sign: float, a: int, finish: Finish) -> bool:
    """Whether a value lies on that side of the row's and costs less than the nearest."""
    is_there = (value - anchor) * sign > 0.0
    return is_there and cost(value, j, anchor, a, finish) < finish.least[a]


@inner
def put_value(finish: Finish, a: int, j: int, n: int, value: float) -> int:
    """Append a value to a list that has n, if it has room and other values; return how many."""
    if n == finish.value.shape[2] or (n > 0 and finish.value[a, j, n - 1] == value):
        return n
    finish.value[a, j, n] = value
    return n + 1


@part
def recall_gains(finish: Finish, a: int, j: int, n_old: int, niches: Niches, feature: Any) -> None:
    """Give the values of a new list what the old one knew of them, or what they gained alone.

    Between two numbers of which that is known, it is taken in proportion: asking again would cost
    wide tables most of their candidates.
    """
    for q in range(finish.n_values[a, j]):
        value = finish.value[a, j, q]
        low, high, below, above = -np.inf, np.inf, 0.0, 0.0
        if not feature.is_level:
            low = feature.anchor if value >= feature.anchor else low
            high = feature.anchor if value <= feature.anchor else high
        for t in range(niches.n_values[a, j] + n_old):
            old = t - niches.n_values[a, j]  # what the old list knew comes last, and counts
            known = finish.drawn[j, old] if old >= 0 else niches.value[a, j, t]
            gain = finish.aside[old] if old >= 0 else niches.gain[a, j, t]
            if np.isnan(gain):
                continue
            if low <= known <= value:
                low, below = known, gain
            if value <= known <= high:
                high, above = known, gain
        is_known = low == value or (not feature.is_level and low > -np.inf and high < np.inf)
        share = (value - low) / (high - low) if is_known and high > low else 0.0
        finish.gain[a, j, q] = below + share * (above - below) if is_known else 0.0
        finish.is_tried[a, j, q] = is_known or q == finish.home[a, j]


@inner
def believe(finish: Finish, a: int, j: int, feature: Any) -> None:
    """Write what each value of a list should gain, between tried ones in proportion."""
    value, gain, is_tried = finish.value[a, j], finish.gain[a, j], finish.is_tried[a, j]
    belief, n, before = finish.belief[a, j], finish.n_values[a, j], -1
    total, n_tried = 0.0, 0
    for q in range(n):
        belief[q] = gain[q] if is_tried[q] else 0.0
        if not is_tried[q]:
            continue
        if q != finish.home[a, j]:
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
    finish.squares[a, j], finish.n_tried[a, j] = total, n_tried


@inner
def usual_gain(finish: Finish, a: int) -> float:
    """Return how much the tried values of the lists usually gain."""
    total, n_tried = 0.0, 0
    for j in range(finish.squares.shape[1]):
        total += finish.squares[a, j]
        n_tried += finish.n_tried[a, j]
    return float(np.sqrt(total / max(n_tried, 1)))


@inner
def believed(value: float, j: int, a: int, finish: Finish) -> float:
    """Return what a value of feature j should gain: that of the nearest in the list."""
    home = finish.home[a, j]
    if value == finish.value[a, j, home]:  # most often
        return float(finish.belief[a, j, home])
    nearest, apart = 0, np.inf
    for q in range(finish.n_values[a, j]):
        off = abs(finish.value[a, j, q] - value)
        nearest, apart = q if off < apart else nearest, min(off, apart)
    return float(finish.belief[a, j, nearest])


@part
def learn(finish: Finish, a: int, w: int, source: FinishSource, first: int, every: int) -> None:
    """Correct the gains of the values that the last wave's candidates have and their parents not.

    What a candidate gained more or less than expected is shared among these values.
    """
    archive, anchor, features = source.archive, source.space.anchor[w], source.space.features[w]
    is_corrected = finish.is_free
    is_corrected[:] = False
    for slot in range(finish.parent.shape[1]):
        parent, at = finish.parent[a, slot], finish.n_before[a] + first + slot * every
        if parent == NOBODY or at >= archive.size[a]:
            continue
        child, other = archive.genomes[a, at], anchor
        if parent >= 0:
            other = archive.genomes[a, parent]
        rest = gain_of(at, a, source)
        rest -= gain_of(parent, a, source) if parent >= 0 else 0.0
        n_moved = 0
        for j in range(len(child)):
            if child[j] != finish.candidate[a, slot, j]:
                n_moved = -len(child)  # another one was made in its place
            elif child[j] != other[j]:
                rest -= believed(child[j], j, a, finish) - believed(other[j], j, a, finish)
                n_moved += child[j] != anchor[j]
        if n_moved <= 0:
            continue
        for j in range(len(child)):
            if child[j] != other[j] and child[j] != anchor[j]:
                correct(finish, a, j, child[j], LEARN * rest / n_moved)
                is_corrected[j] = True
    for j in range(len(anchor)):
        if is_corrected[j]:
            believe(finish, a, j, features[j])


@inner
def correct(finish: Finish, a: int, j: int, value: float, more: float) -> None:
    """Note that a value of the list gains so much more than was believed."""
    for q in range(finish.n_values[a, j]):
        if finish.value[a, j, q] == value and q != finish.home[a, j]:
            finish.gain[a, j, q] = finish.belief[a, j, q] + more
            finish.is_tried[a, j, q] = True


@part
def tighten(child: Floats, anchor: Floats, features: Features, draws: Draws) -> bool:
    """Move one changed number towards the row's value; False if there is none."""
    j = pick_number(child, anchor, features, draws)
    if j >= 0:
        child[j] = move_towards(child[j], anchor[j], 0.5 ** (6.0 * draw(draws)), features[j])
    return j >= 0


@part
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
    while trees.children[node, 0] != node:
        j = trees.feature[node]
        is_left = goes_left(child[j], node, trees)
        if features[j].may_change and child[j] != MISSING and draw(draws) < P_CROSS:
            other = across(node, is_left, features[j], trees, draws)
            if goes_left(other, node, trees) != is_left:
                child[j], is_left = other, not is_left
        node = trees.children[node, 0 if is_left else 1]


@inner
def goes_left(value: float, node: int, trees: StepTrees) -> bool:
    """Whether a value goes left at a node."""
    if trees.category_set[node] == BY_THRESHOLD:
        left = value <= trees.threshold[node] if value != MISSING else trees.missing_left[node]
        return bool(left)
    if value < 0.0 or value >= trees.goes_left.shape[1]:
        return bool(trees.missing_left[node])
    return bool(trees.goes_left[trees.category_set[node], int(value)])


@inner
def across(node: int, is_left: bool, feature: Any, trees: StepTrees, draws: Draws) -> float:
    """Return the value just across a node's threshold, or any level."""
    if trees.category_set[node] != BY_THRESHOLD:
        return from_uniform(draw(draws), feature)
    threshold = trees.threshold[node]
    if feature.is_level:
        return from_uniform(draw(draws), feature)
    if feature.grid > 0.0:
        step = np.floor(threshold * feature.grid + 1e-9)
        return snap((step + 1.0 if is_left else step) / feature.grid, feature)
    return snap(np.nextafter(threshold, np.inf) if is_left else threshold, feature)
