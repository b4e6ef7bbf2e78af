"""Values that small steps lead to, observed or across thresholds of known trees, and their costs.

Where the trees are known a candidate may also be led into a leaf: several values are moved at once
across the thresholds on the way to it, which single steps cannot tell the worth of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.kernels import inner, part
from counterpoint.models.additive import AdditiveModel
from counterpoint.models.trees import BY_THRESHOLD, Forest, is_leaf
from counterpoint.neighbours.gower import gower_weights
from counterpoint.problem.own_objectives import Distance
from counterpoint.problem.problem import Observed, Problem
from counterpoint.search.explore.moves import Draws, draw, move_towards, pick
from counterpoint.table.space import Features, Space, from_uniform, onto_grid, snap

MOST_STEPS = 512  # distinct values of a feature that lists are made of
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


def step_values(observed: Observed, additive: AdditiveModel | None) -> StepValues:
    """Return the values that lists are made of; of long columns evenly spaced ones."""
    columns = observed.once(spaced_columns, MOST_STEPS)
    below, above = columns.copy(), columns.copy()
    forest = None if additive is None else additive.forest
    if forest is not None:
        for number in np.flatnonzero(~observed.space.is_level).tolist():
            below[number], above[number] = across_thresholds(forest, number, observed.space)
    sizes = [min(len(column), MOST_STEPS) for column in below]
    values = np.zeros((2, len(columns), max(1, *sizes)))
    for j, n in enumerate(sizes):
        places = np.linspace(0, len(below[j]) - 1, n).astype(np.int64)
        values[0, j, :n], values[1, j, :n] = below[j][places], above[j][places]
    return StepValues(values[0].copy(), values[1].copy(), np.array(sizes), trees_of(forest))


def spaced_columns(observed: Observed, most: int) -> list[Floats]:
    """Return the observed values of each feature, ascending; evenly spaced ones if they are many.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> table: Any = SimpleNamespace(genomes=np.array([[3.0], [1.0], [2.0], [2.0], [5.0]]))
    >>> spaced_columns(table, 3)
    [array([1., 2., 5.])]
    """
    columns = [np.unique(genes[genes != MISSING]) for genes in observed.genomes.T]
    places = [np.linspace(0, len(c) - 1, min(len(c), most)).astype(np.int64) for c in columns]
    return [column[some] for column, some in zip(columns, places, strict=True)]


def trees_of(forest: Forest | None) -> StepTrees:
    """Return the nodes of a forest; a kernel gets arrays of the same types, whoever made them."""
    if forest is None:
        none = np.zeros(0, dtype=np.int64)
        no_bools, no_pairs = none.astype(np.bool_), none.reshape(0, 2)
        no_floats = none.astype(np.float64)
        return StepTrees(none, no_pairs, none, no_floats, none, no_bools, no_bools[None])
    return StepTrees(
        forest.roots.astype(np.int64),
        forest.children.astype(np.int64),
        forest.feature.astype(np.int64),
        forest.threshold.astype(np.float64),
        forest.category_set.astype(np.int64),
        forest.missing_left.astype(np.bool_),
        forest.goes_left.astype(np.bool_),
    )


def across_thresholds(forest: Forest, j: int, space: Space) -> tuple[Floats, Floats]:
    """Return the grid points of feature j next to each threshold, on both sides of it."""
    is_split = (forest.feature == j) & ~is_leaf(forest) & (forest.category_set == BY_THRESHOLD)
    thresholds = np.unique(forest.threshold[is_split])
    thresholds = thresholds[(thresholds >= space.low[j]) & (thresholds < space.high[j])]
    if space.grid[j] <= 0.0:
        return thresholds, np.nextafter(thresholds, np.inf)
    steps = np.unique(np.floor(thresholds * space.grid[j] + 1e-9))
    return steps / space.grid[j], (steps + 1.0) / space.grid[j]


class StepCosts(NamedTuple):
    """What steps add to the distance of each of r rows, or to its square."""

    # (r, d): a feature's difference times its weight, at most the cap …
    weight: Floats
    cap: Floats
    # (r,): … to this power is what it adds: 1, or 2 for a distance like Euclid's; 0 if the distance
    # is no such sum. Then it is not finished by small steps.
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
