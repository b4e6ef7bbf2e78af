"""Small steps: values near the row's, and what each gains; lists that `finish` chooses from.

For every feature the values that are cheaper than the nearest counterfactual found so far are
listed, with what each gains on the straightened scale of predictions. Gains are learnt from single
changes, and corrected by what candidates with several of them are then seen to gain. As the nearest
comes nearer, the lists become finer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.kernels import inner, part
from counterpoint.models.additive import AdditiveModel
from counterpoint.models.trees import BY_THRESHOLD, Forest, is_leaf
from counterpoint.neighbours.gower import gower_weights
from counterpoint.problem.observed import Observed, spaced_columns
from counterpoint.problem.own_objectives import Distance
from counterpoint.problem.problem import Problem
from counterpoint.search.explore.moves import ArchiveView, straighten
from counterpoint.search.explore.niches import Niches
from counterpoint.search.feasibility import SearchSpace
from counterpoint.table.space import Features, Space, onto_grid, snap

MOST_STEPS = 512  # distinct values of a feature that lists are made of
N_SIDE = 12  # values on each side of the row's in a list
LEARN = 0.6  # share of what was not expected that is learnt
NOBODY, ROW = -1, -2  # parents: no candidate was made, or it was made of the row itself


class StepCosts(NamedTuple):
    """What steps add to the distance of each of r rows, or to its square.

    Attributes
    ----------
    weight, cap : ndarray of shape (r, d)
        A feature's difference times its weight, at most the cap …
    power : ndarray of shape (r,)
        … to this power is what it adds: 1, or 2 for a distance like Euclid's; 0 if the distance is
        no such sum. Then it is not finished by small steps.
    """

    weight: Floats
    cap: Floats
    power: Floats


def step_costs(problem: Problem) -> StepCosts:
    """Return what steps add to the distance: Gower's, or the caller's if it adds up."""
    weight, cap = gower_weights(problem.rows, problem.space)
    distance, costs, d = problem.observed.aims.distance, problem.limits.costs, weight.shape[1]
    shares = np.full(d, 1.0 / d) if costs is None else costs / costs.sum()
    caps = np.broadcast_to(cap, weight.shape) * np.where(shares > 0.0, shares, 1.0)
    found = StepCosts(weight * shares, caps, np.ones(len(weight)))
    if distance is not None:
        for a in range(len(weight)):
            found.power[a] = 0.0
            for power in (2.0, 1.0):
                own = own_costs(problem, a, distance, power)
                if own is not None:
                    found.weight[a], found.cap[a], found.power[a] = *own, power
    return found


def own_costs(
    problem: Problem, a: int, distance: Distance, power: float
) -> tuple[Floats, Floats] | None:
    """Return weights and caps (d,) of the caller's distance to row a, if its powers add up.

    It is asked about a step of each feature that may change to each end of its box, about half of
    it, and about all steps together.
    """
    row, box, space = problem.rows[a], problem.box, problem.space
    if (row == MISSING).any():
        return None
    ends = np.stack([box.lower[a], box.upper[a]])
    ends = np.where(space.is_level & (ends == row), np.stack([box.upper[a], box.lower[a]]), ends)
    ends = np.where(box.may_change[a], ends, row)
    halves = onto_grid(np.where(space.is_level, ends, row + 0.5 * (ends - row)), space)
    goals = np.concatenate([ends, halves])
    d = len(row)
    single = np.repeat(row[None], 4 * d, axis=0).reshape(4, d, d)
    single[:, np.arange(d), np.arange(d)] = goals
    asked = np.concatenate([single.reshape(-1, d), goals])
    told = distance.ask(asked, row, problem.predictor.encoding) ** power
    alone, joint = told[: 4 * d].reshape(4, d), told[4 * d :]
    steps = np.abs(goals - row)
    shares = np.divide(alone ** (1 / power), steps, out=np.zeros_like(steps), where=steps > 0.0)
    weight = np.where(space.is_level, alone.max(axis=0) ** (1 / power), shares.max(axis=0))
    expected = np.where(space.is_level, steps > 0.0, steps) * weight
    adds_up = np.allclose(joint, alone.sum(axis=1), rtol=1e-6, atol=0.0)
    if not adds_up or not np.allclose(alone, expected**power, rtol=1e-6, atol=1e-12):
        return None
    return weight, np.where(space.is_level, weight, np.inf)


class Finish(NamedTuple):
    """What is known of small steps around each of r rows.

    Attributes
    ----------
    value, gain, is_tried : ndarray of shape (r, d, t)
        The values of each list, ascending if they are numbers, what each gains, and whether a
        candidate with it was evaluated.
    n_values, home : ndarray of shape (r, d)
        How many there are, and which of them is the row's own.
    least, listed : ndarray of shape (r,)
        The distance of the nearest counterfactual, now and when the lists were made.
    usual : ndarray of shape (r,)
        How much values of the lists usually gain.
    n_stale : ndarray of shape (r,)
        Waves since the nearest counterfactual came nearer.
    n_single : ndarray of shape (r,)
        How many single changes were looked at since.
    candidate : ndarray of shape (r, slots, d)
        The candidates of the next wave.
    parent : ndarray of shape (r, slots)
        Who each is made of: a place in the archive, `ROW`, or `NOBODY` if there is none.
    n_before : ndarray of shape (r,)
        How many candidates the archive had before they were evaluated.
    costs : StepCosts
        What steps add to the distance.
    belief, drawn, paid : ndarray of shape (d, t)
        What each value should gain, that with noise, and what it costs; space for the work on one
        row.
    kept, n_kept, eligible, chosen, is_free, state : ndarray
        More such space, of shape (d, t), (d,), (capacity,), (d,), (d,) and (1,).
    """

    value: Floats
    gain: Floats
    is_tried: Bools
    n_values: Ints
    home: Ints
    least: Floats
    listed: Floats
    usual: Floats
    n_stale: Ints
    n_single: Ints
    candidate: Floats
    parent: Ints
    n_before: Ints
    costs: StepCosts
    belief: Floats
    drawn: Floats
    paid: Floats
    kept: Ints
    n_kept: Ints
    eligible: Ints
    chosen: Ints
    is_free: Bools
    state: Keys


class StepValues(NamedTuple):
    """The values of each feature that lists are made of, ascending.

    They are those just across the thresholds of a tree ensemble that is known as data, and observed
    values of other models.

    Attributes
    ----------
    below, above : ndarray of shape (d, s)
        Values for steps down, and for steps up.
    n_values : ndarray of shape (d,)
        How many there are of each.
    """

    below: Floats
    above: Floats
    n_values: Ints


def step_values(observed: Observed, additive: AdditiveModel | None) -> StepValues:
    """Return the values that lists are made of; of long columns evenly spaced ones."""
    columns = observed.once(spaced_columns, MOST_STEPS)
    below, above = columns.copy(), columns.copy()
    if additive is not None and additive.forest is not None:
        for number in np.flatnonzero(~observed.space.is_level).tolist():
            found = across_thresholds(additive.forest, number, observed.space)
            below[number], above[number] = found
    sizes = [min(len(column), MOST_STEPS) for column in below]
    values = np.zeros((2, len(columns), max(1, *sizes)))
    for j, n in enumerate(sizes):
        places = np.linspace(0, len(below[j]) - 1, n).astype(np.int64)
        values[0, j, :n], values[1, j, :n] = below[j][places], above[j][places]
    return StepValues(values[0].copy(), values[1].copy(), np.array(sizes))


def across_thresholds(forest: Forest, j: int, space: Space) -> tuple[Floats, Floats]:
    """Return the grid points of feature j next to each threshold, on both sides of it."""
    is_split = (forest.feature == j) & ~is_leaf(forest) & (forest.category_set == BY_THRESHOLD)
    thresholds = np.unique(forest.threshold[is_split])
    thresholds = thresholds[(thresholds >= space.low[j]) & (thresholds < space.high[j])]
    if space.grid[j] <= 0.0:
        return thresholds, np.nextafter(thresholds, np.inf)
    steps = np.unique(np.floor(thresholds * space.grid[j] + 1e-9))
    return steps / space.grid[j], (steps + 1.0) / space.grid[j]


def empty_finish(costs: StepCosts, slots: int, capacity: int) -> Finish:
    """Return what is known before anything was evaluated: nothing."""
    r, d = costs.weight.shape
    t = 2 * N_SIDE + 1
    return Finish(
        value=np.zeros((r, d, t)),
        gain=np.zeros((r, d, t)),
        is_tried=np.zeros((r, d, t), dtype=np.bool_),
        n_values=np.zeros((r, d), dtype=np.int64),
        home=np.zeros((r, d), dtype=np.int64),
        least=np.full(r, np.inf),
        listed=np.full(r, np.inf),
        usual=np.zeros(r),
        n_stale=np.zeros(r, dtype=np.int64),
        n_single=np.zeros(r, dtype=np.int64),
        candidate=np.empty((r, slots, d)),
        parent=np.full((r, slots), NOBODY, dtype=np.int64),
        n_before=np.zeros(r, dtype=np.int64),
        costs=costs,
        belief=np.zeros((d, t)),
        drawn=np.zeros((d, t)),
        paid=np.zeros((d, t)),
        kept=np.zeros((d, t), dtype=np.int64),
        n_kept=np.zeros(d, dtype=np.int64),
        eligible=np.zeros(capacity, dtype=np.int64),
        chosen=np.zeros(d, dtype=np.int64),
        is_free=np.zeros(d, dtype=np.bool_),
        state=np.empty(1, dtype=np.uint64),
    )


class FinishSource(NamedTuple):
    """What the candidates of r rows are made of.

    Attributes
    ----------
    places : ndarray of shape (r,)
        Which rows of the archive these are.
    keys : ndarray of shape (r, 2)
        The keys of their draws.
    space : SearchSpace
        Where they may be searched.
    steps : StepValues
        Values that lists are made of.
    archive : ArchiveView
        Everything evaluated so far.
    niches : Niches
        What single changes gained, and what is needed.
    memory : ndarray of shape (r, size)
        Which genomes were seen.
    """

    places: Ints
    keys: Keys
    space: SearchSpace
    steps: StepValues
    archive: ArchiveView
    niches: Niches
    memory: Keys


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
            finish.belief[j, q] = finish.gain[a, j, q] if finish.is_tried[a, j, q] else np.nan
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
        recall_gains(finish, a, j, n_old, source.niches)


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
        place = first + (s * (m - 1)) // max(q - 1, 1)
        if q == 1 and sign < 0.0:
            place = last - 1
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
def recall_gains(finish: Finish, a: int, j: int, n_old: int, niches: Niches) -> None:
    """Give the values of a new list what the old one knew of them, or what they gained alone."""
    for q in range(finish.n_values[a, j]):
        finish.gain[a, j, q], finish.is_tried[a, j, q] = 0.0, q == finish.home[a, j]
        for t in range(niches.n_values[a, j]):
            if niches.value[a, j, t] == finish.value[a, j, q]:
                finish.gain[a, j, q], finish.is_tried[a, j, q] = niches.gain[a, j, t], True
        for t in range(n_old):
            if finish.drawn[j, t] == finish.value[a, j, q] and not np.isnan(finish.belief[j, t]):
                finish.gain[a, j, q], finish.is_tried[a, j, q] = finish.belief[j, t], True


@part
def believe(finish: Finish, a: int, features: Features) -> None:
    """Write what each value should gain, between tried ones in proportion, and what is usual."""
    total, n_tried = 0.0, 0
    for j in range(finish.value.shape[1]):
        value, gain, is_tried = finish.value[a, j], finish.gain[a, j], finish.is_tried[a, j]
        n, before = finish.n_values[a, j], -1
        for q in range(n):
            finish.belief[j, q] = gain[q] if is_tried[q] else 0.0
            if is_tried[q] and q != finish.home[a, j]:
                total += gain[q] * gain[q]
                n_tried += 1
            if features[j].is_level or not is_tried[q]:
                continue
            for p in range(before + 1, q):
                share = (
                    1.0 if before < 0 else (value[p] - value[before]) / (value[q] - value[before])
                )
                start = 0.0 if before < 0 else gain[before]
                finish.belief[j, p] = start + share * (gain[q] - start)
            before = q
        if not features[j].is_level and before >= 0:
            for p in range(before + 1, n):
                finish.belief[j, p] = gain[before]
    finish.usual[a] = np.sqrt(total / max(n_tried, 1))


@inner
def believed(value: float, j: int, a: int, finish: Finish) -> float:
    """Return what a value of feature j should gain: that of the nearest in the list."""
    nearest, apart = 0.0, np.inf
    for q in range(finish.n_values[a, j]):
        off = abs(finish.value[a, j, q] - value)
        if off < apart:
            nearest, apart = finish.belief[j, q], off
    return nearest


@part
def learn(finish: Finish, a: int, w: int, source: FinishSource, first: int, every: int) -> None:
    """Correct the gains of the values that the last wave's candidates have and their parents not.

    What a candidate gained more or less than expected is shared among these values.
    """
    archive, anchor = source.archive, source.space.anchor[w]
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


@inner
def correct(finish: Finish, a: int, j: int, value: float, more: float) -> None:
    """Note that a value of the list gains so much more than was believed."""
    for q in range(finish.n_values[a, j]):
        if finish.value[a, j, q] == value and q != finish.home[a, j]:
            finish.gain[a, j, q] = finish.belief[j, q] + more
            finish.is_tried[a, j, q] = True
