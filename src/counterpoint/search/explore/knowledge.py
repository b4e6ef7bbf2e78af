"""Knowledge: what is known of rows before the first wave, and room for what the search learns.

Nothing here asks the model. The values that are tried as single changes, and those that small steps
lead to, come from the data, or from the thresholds of trees that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

import numpy as np

from counterpoint.arrays import MISSING, Floats, Ints, Keys
from counterpoint.models.additive import AdditiveModel
from counterpoint.models.trees import BY_THRESHOLD, Forest, is_leaf
from counterpoint.neighbours.index import NearRows, empty_neighbours, gower_weights
from counterpoint.problem.own_objectives import Distance
from counterpoint.problem.problem import Observed, Problem, Recalled
from counterpoint.search.archive import Archive
from counterpoint.search.explore.knapsack import STEP_FREE, STEP_WORK
from counterpoint.search.explore.moves import N_PARTS, ParentClasses
from counterpoint.search.explore.niches import (
    MOST_FEATURES,
    MOST_PAIRED,
    N_NICHES,
    NICHE,
    NICHE_ROW,
    SINGLES,
    Niches,
    NicheTable,
    TrialValues,
)
from counterpoint.search.explore.offspring import (
    N_MOVES,
    N_NEIGHBOURS,
    FirstCandidates,
    Knowledge,
    MoveProbabilities,
    OffspringScratch,
)
from counterpoint.search.explore.small_steps import (
    NOBODY,
    PER_PEAK,
    STEP_LIST,
    STEP_NODE,
    STEP_ROW,
    Finish,
    StepCosts,
    StepTrees,
    StepValues,
)
from counterpoint.search.feasibility import RETRIES, is_allowed, nearest_wanted
from counterpoint.search.front import LANES
from counterpoint.table.space import Space, empty_memory, onto_grid, remember_all

T = TypeVar("T")
N_WANTED = 20  # nearest observed rows with the wanted outcome that a search starts from
MOST_LEVELS = 20  # levels of one feature tried as first candidates
N_COPIED = 1  # wanted observed rows whose values are tried as first candidates
N_QUANTILES = 24  # of a number, tried as single changes
MOST_TRIED_LEVELS = 48  # of a level
MOST_STEPS = 512  # distinct values of a feature that lists are made of


def know(problem: Problem) -> Knowledge:
    """Return what is known of each row without asking the model."""
    wanted, n_wanted = nearest_wanted(problem, N_WANTED)
    ends = [
        target.low if now < target.low else target.high
        for target, now in zip(problem.targets, problem.row_scores, strict=True)
    ]
    return Knowledge(
        observed=problem.observed.genomes,
        wanted=wanted,
        n_wanted=n_wanted,
        origin=problem.row_scores,
        boundary=np.array(ends),
        safe=np.array(ends) + np.sign(np.array(ends) - problem.row_scores) * problem.margins,
        slopes=np.zeros((len(problem.rows), 2, problem.rows.shape[1])),
        is_probability=problem.observed.are_probabilities,
    )


def first_candidates(problem: Problem, knowledge: Knowledge) -> FirstCandidates:
    """Return single changes to try first: values of wanted rows, bounds and levels."""
    anchor, d = problem.box.anchor, problem.rows.shape[1]
    wanted, n_wanted = knowledge.wanted, knowledge.n_wanted
    copied = [
        (j, np.where(n_wanted > i, knowledge.observed[wanted[:, i], j], anchor[:, j]))
        for i in range(min(N_COPIED, wanted.shape[1]))
        for j in range(d)
    ]
    changes = copied + [(j, column) for j in range(d) for column in _first_values(problem, j)]
    feature, values = zip(*changes, strict=True)
    return FirstCandidates(np.array(feature), np.ascontiguousarray(np.transpose(values)), 0)


def _first_values(problem: Problem, j: int) -> list[Floats]:
    """Return the values (r,) of feature j to try first: its levels, or both bounds."""
    n_levels = min(int(problem.space.n_levels[j]), MOST_LEVELS)
    values = [np.full(len(problem.rows), float(level)) for level in range(n_levels)]
    if not n_levels:
        values = [problem.box.lower[:, j], problem.box.upper[:, j]]
    if problem.space.may_miss[j]:
        values.append(np.full(len(problem.rows), MISSING))
    return values


def recalled_of(problem: Problem, knowledge: Knowledge) -> Recalled:
    """Return what is recalled of an earlier search and allowed in this one; mostly nothing."""
    recalled = problem.recalled
    if recalled is None:
        return Recalled(np.empty((0, problem.rows.shape[1])), np.empty(0))
    known = {knowledge.observed[i].tobytes() for i in knowledge.wanted[0, : knowledge.n_wanted[0]]}
    is_new = np.array([genome.tobytes() not in known for genome in recalled.genomes], dtype=bool)
    kept = np.flatnonzero(is_new & is_allowed(problem, 0, recalled.genomes))
    return Recalled(np.ascontiguousarray(recalled.genomes[kept]), recalled.predictions[kept])


def memory_of(problem: Problem, knowledge: Knowledge, recalled: Recalled, capacity: int) -> Keys:
    """Return which genomes were seen: the row, and what is in the archive beforehand."""
    rows, n = problem.rows, len(recalled.genomes)
    memory = empty_memory(len(rows), most_seen(problem, capacity))
    remember_all(memory, rows, knowledge.observed, knowledge.wanted, knowledge.n_wanted)
    if n:
        remember_all(memory, rows, recalled.genomes, np.arange(n)[None], np.array([n]))
    return memory


def most_seen(problem: Problem, capacity: int) -> int:
    """Return how many genomes a search can see: functions refuse some that are not evaluated."""
    has_functions = problem.row_rules is not None and bool(problem.row_rules.rules.functions)
    return 2 + capacity * (1 + (1 + RETRIES) * has_functions)


class Plans(NamedTuple):
    """What candidates with a purpose of their own are planned by."""

    niches: Niches  # the sets of features that may be ways
    trials: TrialValues  # values that are tried to find ways
    finish: Finish  # what is known of small steps around the rows
    steps: StepValues  # values that such steps lead to


def plans_of(problem: Problem, knowledge: Knowledge, archive: Archive, slots: int) -> Plans:
    """Return what candidates are planned by, of which each wave has so many of a sort."""
    return Plans(
        empty_niches(knowledge, problem.rows.shape[1], slots),
        once(problem.observed, trial_values),
        empty_finish(step_costs(problem), slots, archive.members.shape[1]),
        step_values(problem.observed, problem.predictor.additive),
    )


class MoveWeights(NamedTuple):
    """How often the search does what; tuned on six datasets (docs/explain/search.md)."""

    put_back: float = 2.0  # relative frequency of each move
    rescale: float = 2.0
    step_to_boundary: float = 2.0
    follow: float = 3.0
    mix: float = 2.0
    redraw: float = 3.0
    p_valid: float = 0.4  # share of parents that reach the target, where both sorts are there
    sparse: float = 1.0  # parents with few changes c are preferred: they have odds c ** -sparse


def probabilities_of(weights: MoveWeights, d: int) -> MoveProbabilities:
    """Return the probabilities for rows with d features."""
    odds = np.array([float(max(changes, 1)) ** -weights.sparse for changes in range(d + 1)])
    return MoveProbabilities(np.cumsum(weights[:N_MOVES]), odds, float(weights.p_valid))


def empty_scratch(near_rows: NearRows, n_members: int) -> OffspringScratch:
    """Return scratch for rows with these near rows and at most so many members."""
    d = len(near_rows.cap)
    return OffspringScratch(
        empty_neighbours(d, min(N_NEIGHBOURS, near_rows.n_near)),
        np.empty(d),
        np.empty(d, dtype=np.int64),
        np.empty(d, dtype=np.int64),
        np.empty(1, dtype=np.uint64),
        empty_classes(n_members, d),
    )


def empty_classes(n_members: int, d: int) -> ParentClasses:
    """Return room for the classes of at most so many members with d features."""
    start, size = np.zeros((2, 2 * (d + 1)), dtype=np.int64)
    kind = np.empty(-(-n_members // LANES) * LANES, dtype=np.int32)
    at, member = np.zeros((N_PARTS, len(size)), np.int64), np.empty(n_members, np.int64)
    return ParentClasses(member, start, size, kind, at, np.empty(2))


def once(observed: Observed, make: Callable[..., T], *arguments: Hashable) -> T:
    """Return what a function makes of the data; it is called once, for all searches.

    Sorting the columns of a million rows takes longer than the search of a row.
    """
    key = (make, *arguments)
    if key not in observed.made:
        observed.made[key] = make(observed, *arguments)
    made: T = observed.made[key]
    return made


def trial_values(observed: Observed) -> TrialValues:
    """Return levels by frequency, and quantiles of numbers from coarse to fine."""
    columns = [
        _values_to_try(genes[genes != MISSING], is_level)
        for genes, is_level in zip(observed.genomes.T, observed.space.is_level, strict=True)
    ]
    values = np.zeros((len(columns), max(1, *(len(column) for column in columns))))
    for j, column in enumerate(columns):
        values[j, : len(column)] = column
    return TrialValues(values, np.array([len(column) for column in columns]))


def _values_to_try(genes: Floats, is_level: bool) -> Floats:
    """Return the values of one feature to try."""
    known, counts = np.unique(genes, return_counts=True)
    if is_level:
        return known[np.argsort(-counts, kind="stable")][:MOST_TRIED_LEVELS]
    if len(known) > N_QUANTILES:
        shares = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
        known = np.unique(np.quantile(genes, shares, method="nearest"))
    return known[_coarse_to_fine(len(known))]


def _coarse_to_fine(n: int) -> Ints:
    """Return 0 … n - 1 so that every beginning is spread evenly: van der Corput's order.

    Examples
    --------
    >>> _coarse_to_fine(5).tolist()
    [0, 4, 2, 1, 3]
    """
    n_bits = max(n - 1, 1).bit_length()
    reverse = [int(format(i, f"0{n_bits}b")[::-1], 2) for i in range(2**n_bits)]
    spread = [i for i in reverse if i < n]
    return np.array(list(dict.fromkeys([0, n - 1, *spread]))[: max(n, 1)])[:n]


def straightened(predictions: Floats, is_probability: bool) -> Floats:
    """Return predictions as `moves.straighten` does, which only kernels can call."""
    inside = np.clip(predictions, 1e-9, 1.0 - 1e-9)
    return np.log(inside / (1.0 - inside)) if is_probability else predictions.copy()


def empty_niches(knowledge: Knowledge, d: int, slots: int) -> Niches:
    """Return the niches of rows with d features, of which nothing is known yet."""
    r = len(knowledge.origin)
    ends = knowledge.origin, knowledge.boundary, knowledge.safe
    origin, boundary, safe = (straightened(end, knowledge.is_probability) for end in ends)
    needed = np.abs(boundary - origin)
    size = min(N_NICHES, d + d * (d - 1) // 2 + 420)
    n_places = 1 << (2 * size - 1).bit_length()
    rows, singles = np.zeros(r, NICHE_ROW), np.zeros((r, d), SINGLES)
    rows["origin"], rows["needed"] = origin, needed
    rows["towards"] = np.where(knowledge.boundary >= knowledge.origin, 1.0, -1.0)
    rows["safe"] = np.maximum(needed, np.abs(safe - origin))
    rows["is_probability"] = knowledge.is_probability
    return Niches(
        NicheTable(
            rows=rows,
            niche=np.zeros((r, size), NICHE),
            late=np.zeros((r, size)),
            features=np.full((r, size, MOST_FEATURES), -1, dtype=np.int64),
            lookup=np.full((r, n_places), -1, dtype=np.int64),
        ),
        singles=singles,
        plan=np.full((r, slots), -1, dtype=np.int64),
        candidate=np.empty((r, slots, d)),
        lateness=np.empty(slots),
        ranked=np.empty(max(d, MOST_PAIRED), dtype=np.int64),
        ranks=np.empty(max(d, MOST_PAIRED)),
        free=np.empty(d, dtype=np.int64),
        different=np.empty(d, dtype=np.int64),
        state=np.empty(1, dtype=np.uint64),
    )


def empty_finish(costs: StepCosts, slots: int, capacity: int) -> Finish:
    """Return what is known before anything was evaluated: nothing."""
    r, d = costs.weight.shape
    rows, lists = np.zeros(r, STEP_ROW), np.zeros((r, d), STEP_LIST)
    rows["least"], rows["listed"], rows["power"] = np.inf, np.inf, costs.power
    lists["weight"], lists["cap"] = costs.weight, costs.cap
    return Finish(
        rows=rows,
        lists=lists,
        candidate=np.empty((r, slots, d)),
        parent=np.full((r, slots), NOBODY, dtype=np.int64),
        work=np.zeros(d, STEP_WORK),
        free=np.zeros(d, STEP_FREE),
        steep=np.zeros((-(-d // PER_PEAK), PER_PEAK)),
        peak=np.zeros(-(-d // PER_PEAK), dtype=np.int64),
        eligible=np.zeros(capacity, dtype=np.int64),
        state=np.empty(1, dtype=np.uint64),
        words=np.empty((2, slots), dtype=np.uint64),
    )


def step_values(observed: Observed, additive: AdditiveModel | None) -> StepValues:
    """Return the values that lists are made of; of long columns evenly spaced ones."""
    columns = once(observed, spaced_columns, MOST_STEPS)
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
    nodes = np.zeros(0 if forest is None else len(forest.children), dtype=STEP_NODE)
    if forest is None:
        return StepTrees(np.zeros(0, dtype=np.int64), nodes, np.zeros((1, 0), dtype=np.bool_))
    nodes["left"], nodes["right"] = forest.children.T
    for name in ("threshold", "feature", "category_set", "missing_left"):
        nodes[name] = getattr(forest, name)
    return StepTrees(forest.roots.astype(np.int64), nodes, forest.goes_left.astype(np.bool_))


def across_thresholds(forest: Forest, j: int, space: Space) -> tuple[Floats, Floats]:
    """Return the grid points of feature j next to each threshold, on both sides of it."""
    is_split = (forest.feature == j) & ~is_leaf(forest) & (forest.category_set == BY_THRESHOLD)
    thresholds = np.unique(forest.threshold[is_split])
    thresholds = thresholds[(thresholds >= space.low[j]) & (thresholds < space.high[j])]
    if space.grid[j] <= 0.0:
        return thresholds, np.nextafter(thresholds, np.inf)
    steps = np.unique(np.floor(thresholds * space.grid[j] + 1e-9))
    return steps / space.grid[j], (steps + 1.0) / space.grid[j]


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
