"""The paper's search: NSGA-II (Deb et al. 2002) as changed by Dandl et al. (2020), section 4.2.

All rows of a problem are searched side by side: one model call judges the candidates of every row.
The first candidates come by one of the paper's four strategies.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.density.conditional import Trees, grow_trees
from counterpoint.errors import InvalidInput
from counterpoint.kernels import kernel
from counterpoint.neighbours.index import NearRows
from counterpoint.problem.problem import Observed, Problem
from counterpoint.progress import Watch, deadline_of
from counterpoint.search.archive import Archive
from counterpoint.search.explore.knowledge import once
from counterpoint.search.explore.moves import GOES_MISSING
from counterpoint.search.feasibility import Candidates, SearchSpace, feasible, search_space
from counterpoint.search.nsga2.operators import (
    DrawAddress,
    OperatorProbabilities,
    Ranking,
    Turns,
    find_best_of_all,
    mutate_by_steps,
    mutate_conditionally,
    recombine_pairs,
    reset_to_row,
)
from counterpoint.search.settings import NSGA2
from counterpoint.streams import WHOLE, Stage, uniform, uniforms
from counterpoint.table.space import Box, Features, Space, from_uniform, snap

ICE_POINTS = 20  # points of a number's ICE curve; a feature of levels has one per level
MOST_OBSERVED = 200  # observed rows the "observed" start chooses from
FIRST_SURPLUS = np.int64(Stage.FIRST_SURPLUS)
FIRST = np.int64(Stage.TOURNAMENT_FIRST)
SECOND = np.int64(Stage.TOURNAMENT_SECOND)


def evolve(problem: Problem, search: NSGA2, watch: Watch) -> Archive:
    """Search the counterfactuals of every row of `problem`; return all that was evaluated."""
    deadline = deadline_of(search.seconds)
    space, size = problem.space, search.population
    n_mates = size + size % 2
    trees = once(problem.observed, fit_trees) if search.mutation == "conditional" else None

    operators = Operators(search, space, search_space(space, problem.box), trees, problem.keys)
    rows = np.arange(len(problem.rows))  # those still searched
    archive, last, parents = begin(problem, search)

    for generation in count(1):  # until no row may go on, at the latest after its last generation
        going = archive.still_going(
            rows, generation - 1, last, search.patience, deadline, is_stopped=watch.is_stopped
        )
        watch.hear(len(rows) * size, len(rows) - len(going), archive)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem, parents = rows[going], problem.take(going), parents.of_rows(going)
            allowed = search_space(space, problem.box)
            operators = operators._replace(allowed=allowed, keys=problem.keys)

        mates = select_mates(problem.keys, generation, size, n_mates)
        vary_mates = partial(vary, parents, mates, operators)
        try:
            children, counts = feasible(problem, vary_mates, generation)
            judged = problem.evaluate(children.genomes)
        except KeyboardInterrupt:
            archive.stop(rows, "interrupt")
            break
        offspring = Population(*children, judged.objectives)

        parents = select_survivors(
            parents.joined(offspring), size, search.epsilon, problem.near_rows
        )
        archive.add(children.genomes, judged, rows, generation, counts)
    return archive


class Population(NamedTuple):
    """Judged candidates, for r rows at once; after selection the best come first."""

    # (r, n, d): see `Candidates`
    genomes: Floats
    keeps: Bools
    objectives: Floats  # (r, n, m): gap, distance, changes, implausibility

    def joined(self, other: Population) -> Population:
        """Return both populations as one, this one's members first."""
        return Population(
            np.concatenate([self.genomes, other.genomes], axis=1),
            np.concatenate([self.keeps, other.keeps], axis=1),
            np.concatenate([self.objectives, other.objectives], axis=1),
        )

    def of_rows(self, which: Ints) -> Population:
        """Return the populations of some of the rows only."""
        return Population(self.genomes[which], self.keeps[which], self.objectives[which])


def empty_ranking(n: int) -> Ranking:
    """Return room to rank n candidates."""
    return Ranking(*np.empty((3, n), dtype=np.int64), *np.empty((4, n)))


def select_survivors(
    population: Population, size: int, epsilon: float | None, near_rows: NearRows
) -> Population:
    """Return the `size` best candidates of each row, best first (elitist: parents compete too)."""
    limit = np.inf if epsilon is None else float(epsilon)
    weight = near_rows.weight[near_rows.at]
    best = np.empty((len(weight), size), dtype=np.int64)
    ranking = empty_ranking(population.genomes.shape[1])
    find_best_of_all(
        population.objectives, population.genomes, weight, near_rows.cap, limit, ranking, best
    )
    rows = np.arange(len(weight))[:, None]
    genomes, keeps, objectives = population
    return Population(genomes[rows, best], keeps[rows, best], objectives[rows, best])


def select_mates(keys: Keys, generation: int, n_parents: int, n_mates: int) -> Ints:
    """Return the winners (r, n_mates) of binary tournaments among parents kept best first.

    Two different parents are drawn; being sorted, the one with the smaller index is the better.
    """
    mates = np.empty((len(keys), n_mates), dtype=np.int64)
    _hold_tournaments(keys, generation, n_parents, mates)
    return mates


@kernel
def _hold_tournaments(keys: Keys, generation: int, n_parents: int, mates: Ints) -> None:
    """Write the winners of all tournaments."""
    for a in range(mates.shape[0]):
        for i in range(mates.shape[1]):
            first = int(uniform(keys[a], FIRST, generation, i, WHOLE) * n_parents)
            second = int(uniform(keys[a], SECOND, generation, i, WHOLE) * (n_parents - 1))
            second += second >= first
            mates[a, i] = min(first, second)


class Operators(NamedTuple):
    """What recombination and mutation of r rows need besides the parents."""

    search: NSGA2  # the settings
    space: Space  # what is known of the features
    allowed: SearchSpace  # where each row may be searched
    trees: Trees | None  # what conditional mutation draws from; None mutates by steps
    keys: Keys  # (r, 2): the keys of the rows' draws


def vary(parents: Population, mates: Ints, operators: Operators, generation: int) -> Candidates:
    """Return the children of the mates: recombined, then mutated."""
    return mutate(recombine(parents, mates, operators, generation), operators, generation)


def recombine(
    parents: Population, mates: Ints, operators: Operators, generation: int
) -> Candidates:
    """Return two children of each pair of mates (i, i + n/2); see `cross_gene`."""
    search, allowed, keys = operators.search, operators.allowed, operators.keys
    chances = _floats(search.p_recombine, search.p_recombine_gene, search.p_recombine_keep)
    shape = (*mates.shape, parents.genomes.shape[2])
    children = Candidates(np.empty(shape), np.empty(shape, dtype=np.bool_))
    both = Candidates(parents.genomes, parents.keeps)
    recombine_pairs(both, mates, chances, allowed, keys, generation, children)
    size = search.population  # an odd one has a child too many
    return Candidates(children.genomes[:, :size], children.keeps[:, :size])


def mutate(children: Candidates, operators: Operators, generation: int) -> Candidates:
    """Return the children after mutation: conditional where there are trees, else by steps."""
    search, space, allowed, trees, keys = operators
    chances = _floats(search.p_mutate, search.p_mutate_gene, search.p_mutate_keep)
    mutants, d = Candidates(children.genomes.copy(), children.keeps.copy()), len(space.grid)
    if trees is None:
        span = space.high - space.low if search.step == "deviation_times_range" else 1.0
        mutate_by_steps(mutants, chances, space.deviation * span, allowed, keys, generation)
    else:
        turns = Turns(np.empty(d), np.empty(d, dtype=np.int64))
        mutate_conditionally(mutants, chances, trees, allowed, keys, generation, turns)
    return mutants


def _floats(candidate: float, gene: float, keep: float) -> OperatorProbabilities:
    """Return probabilities as floats: for a whole number kernels would be compiled once more."""
    return OperatorProbabilities(float(candidate), float(gene), float(keep))


def begin(problem: Problem, search: NSGA2) -> tuple[Archive, Ints, Population]:
    """Return an archive of the first candidates, each row's last generation, and first parents."""
    curves = ice_curves(problem, search.most_ice_points) if search.initialization == "ice" else None
    draw = partial(draw_first, problem, initialize(problem, search, curves))
    first, counts = feasible(problem, draw, generation=0)
    judged = problem.evaluate(first.genomes)
    archive, last = start_archive(problem, search, first, curves)
    archive.add(first.genomes, judged, np.arange(len(problem.rows)), generation=0, counts=counts)
    population = Population(*first, judged.objectives)
    n, near_rows = search.population, problem.near_rows
    return archive, last, select_survivors(population, n, search.epsilon, near_rows)


def draw_first(problem: Problem, first: Candidates, generation: int) -> Candidates:
    """Return the first candidates; in place of those that are not feasible, random ones."""
    if generation == 0:
        return first
    return random_candidates(problem, problem.box, first.genomes.shape[1], generation)


def start_archive(
    problem: Problem, search: NSGA2, first: Candidates, curves: Curves | None
) -> tuple[Archive, Ints]:
    """Return an archive that knows the ICE curves, and the last generation each row can afford."""
    r, n_first, _ = first.genomes.shape
    n_points = 0 if curves is None else curves.genomes.shape[1]
    n_new = np.zeros(r, dtype=np.int64) if curves is None else curves.is_new.sum(axis=1)
    last = search.last_generation(1 + n_new + n_first)
    archive = Archive(problem, n_points + n_first + int(last.max()) * search.population)
    if curves is not None:  # the model was asked about them, so they count as candidates
        judged = problem.judge(curves.genomes, curves.predictions)
        archive.add(curves.genomes, judged, np.arange(r), generation=0, counts=curves.is_new)
    return archive, last


class Curves(NamedTuple):
    """The ICE curves of r rows: the row with one feature moved along a grid."""

    genomes: Floats  # (r, g, d): the points of all features' curves, one after the other
    predictions: Floats  # (r, g): what the model says of them
    feature: Ints  # (g,): the feature each point moves
    # (r, g): False where a point repeats its neighbour, its feature may not change, or the row's
    # curves cost too much: the place is then filled with the row itself, which is no new question
    is_new: Bools


def initialize(problem: Problem, search: NSGA2, curves: Curves | None) -> Candidates:
    """Return the first candidates of every row, (r, n, d); survival may have to cut them."""
    if search.initialization == "observed":
        return _from_observed(problem, search)
    if search.initialization == "deviation":
        return random_candidates(problem, _near_the_row(problem), search.population, generation=0)
    if search.initialization == "random":
        return random_candidates(problem, problem.box, search.population, generation=0)
    spread = np.full(problem.rows.shape, np.nan) if curves is None else ice_spread(curves)
    genomes = _random_genomes(problem, problem.box, search.population, generation=0)
    return _reset(problem, genomes, _keeps_by_spread(problem, spread, search), 0)


def random_candidates(problem: Problem, box: Box, n: int, generation: int) -> Candidates:
    """Return candidates (r, n, d) drawn from the box, each feature kept with probability 1/2."""
    genomes = _random_genomes(problem, box, n, generation)
    draws = uniforms(problem.keys, int(Stage.FIRST_KEEP), generation, *genomes.shape[1:])
    return _reset(problem, genomes, draws < 0.5, generation)


def _random_genomes(problem: Problem, box: Box, n: int, generation: int) -> Floats:
    """Return genomes (r, n, d) drawn uniformly from the box."""
    d = problem.rows.shape[1]
    genomes = uniforms(problem.keys, int(Stage.FIRST_VALUE), generation, n, d)
    _place(genomes, search_space(problem.space, box).features)
    if problem.space.may_miss.any():
        lots = uniforms(problem.keys, int(Stage.FIRST_MISS), generation, n, d)
        genomes = np.where((lots < GOES_MISSING) & problem.space.may_miss, MISSING, genomes)
    return genomes


@kernel
def _place(shares: Floats, features: Features) -> None:
    """Turn shares (r, n, d) of each row's box into the values there, in place."""
    for a in range(shares.shape[0]):
        for i in range(shares.shape[1]):
            for j in range(shares.shape[2]):
                shares[a, i, j] = from_uniform(shares[a, i, j], features[a, j])


def _reset(problem: Problem, genomes: Floats, keeps: Bools, generation: int) -> Candidates:
    """Return candidates after the reset to the row."""
    genomes, keeps = genomes.copy(), keeps.copy()
    allowed = search_space(problem.space, problem.box)
    _reset_all(genomes, keeps, allowed, problem.keys, generation)
    return Candidates(genomes, keeps)


@kernel
def _reset_all(
    genomes: Floats, keeps: Bools, allowed: SearchSpace, keys: Keys, generation: int
) -> None:
    """Reset every candidate of every row in place."""
    for a in range(genomes.shape[0]):
        key, features, max_free = keys[a], allowed.features[a], allowed.max_free[a]
        for i in range(genomes.shape[1]):
            address = DrawAddress(key, FIRST_SURPLUS, generation, i)
            reset_to_row(genomes[a, i], keeps[a, i], features, max_free, address)


def _near_the_row(problem: Problem) -> Box:
    """Return the box cut to one standard deviation around the row; levels stay free."""
    space, box = problem.space, problem.box
    reach = np.where(space.is_level | (box.anchor == MISSING), np.inf, space.deviation)
    lower = np.clip(box.anchor - reach, box.lower, box.upper)
    upper = np.clip(box.anchor + reach, box.lower, box.upper)
    step = np.where(space.grid > 0, space.grid, 1.0)
    on_grid = space.grid > 0
    lower = np.where(on_grid, np.ceil(lower * step - 1e-6) / step, lower)
    upper = np.where(on_grid, np.floor(upper * step + 1e-6) / step, upper)
    return box._replace(lower=np.minimum(lower, upper), upper=upper)


def ice_curves(problem: Problem, most: int | None = None) -> Curves | None:
    """Return the ICE curves of every row: each feature moved, the others at the row's values.

    Features that may not change are not asked about; nor is a whole row whose curves would ask
    more than `most` rows. If no row asks, there are no curves.
    """
    anchor = problem.box.anchor
    sizes = np.where(problem.space.is_level, problem.space.n_levels, ICE_POINTS)
    feature = np.repeat(np.arange(anchor.shape[1]), sizes)
    values, is_new = _ice_grid(problem, feature, sizes)
    if most is not None:
        is_new &= is_new.sum(axis=1, keepdims=True) <= most
    genomes = np.repeat(anchor[:, None, :], len(feature), axis=1)
    genomes[:, np.arange(len(feature)), feature] = values
    box = problem.box  # a feature that must change leaves the others less
    most_changed = box.max_free + box.is_forced.sum(axis=1)
    is_new &= (genomes != problem.rows[:, None]).sum(axis=2) <= most_changed[:, None]
    if problem.row_rules is not None:  # the curves end where the rules do
        is_new &= problem.obeys(genomes)
    if not is_new.any():
        return None
    genomes = np.where(is_new[..., None], genomes, problem.rows[:, None])
    return Curves(genomes, problem.predict(genomes), feature, is_new)


def ice_spread(curves: Curves) -> Floats:
    """Return the standard deviation (r, d) of each feature's ICE curve, NaN where none was asked.

    An ICE curve is the prediction along one feature (Goldstein et al. 2015); its spread tells how
    much the feature matters for this row.
    """
    (r, _, d), feature = curves.genomes.shape, curves.feature
    spread = np.full((r, d), np.nan)
    for a in range(r):
        for j in range(d):
            curve = curves.predictions[a, (feature == j) & curves.is_new[a]]
            if len(curve):
                spread[a, j] = curve.std(ddof=1) if len(curve) > 1 else 0.0
    return spread


def _ice_grid(problem: Problem, feature: Ints, sizes: Ints) -> tuple[Floats, Bools]:
    """Return the grid values (r, g) of all curves in a row, and which of them are distinct."""
    box, space = problem.box, problem.space
    share = np.concatenate([np.linspace(0.0, 1.0, size) for size in sizes])
    lower, upper = box.lower[:, feature], box.upper[:, feature]
    values = np.ascontiguousarray(lower + share * (upper - lower))
    _snap_all(values, feature, search_space(space, box).features)
    is_first = np.concatenate([[True], feature[1:] != feature[:-1]])
    is_new = is_first | (values != np.roll(values, 1, axis=1))
    return values, is_new & box.may_change[:, feature]


@kernel
def _snap_all(values: Floats, which: Ints, features: Features) -> None:
    """Put values (r, g) of the given features (g,) on their grids, in place."""
    for a in range(values.shape[0]):
        for g in range(values.shape[1]):
            values[a, g] = snap(values[a, g], features[a, which[g]])


def chance_to_differ(spread: Floats, p_min: float, p_max: float) -> Floats:
    """Return P(value differs) from ICE spreads (r, d), scaled to [p_min, p_max] in each row.

    Where all spreads of a row are equal, or unknown, they tell nothing: each gets the middle.

    Examples
    --------
    >>> chance_to_differ(np.array([[0.0, 1.0, 3.0]]), 0.0, 0.9)
    array([[0. , 0.3, 0.9]])
    """
    largest = np.where(np.isnan(spread), -np.inf, spread).max(axis=1, keepdims=True)
    smallest = np.where(np.isnan(spread), np.inf, spread).min(axis=1, keepdims=True)
    is_told = largest > smallest
    width = np.where(is_told, largest - smallest, 1.0)
    share = np.where(is_told, (spread - np.where(is_told, smallest, 0.0)) / width, 0.5)
    return np.nan_to_num(share, nan=0.0) * (p_max - p_min) + p_min


def _keeps_by_spread(problem: Problem, spread: Floats, search: NSGA2) -> Bools:
    """Return use-original indicators (r, n, d) by ICE spread, at least one True in each."""
    differs = chance_to_differ(spread, search.p_min, search.p_max)[:, None, :]
    d = problem.rows.shape[1]
    draws = uniforms(problem.keys, int(Stage.FIRST_KEEP), 0, search.population, d)
    keeps: Bools = draws >= differs
    if d > 1:  # a candidate that changes everything keeps the feature nearest to being kept
        nearest = np.argmax(draws - differs, axis=2)
        keeps |= ~keeps.any(axis=2, keepdims=True) & (np.arange(d) == nearest[..., None])
    return keeps


def _from_observed(problem: Problem, search: NSGA2) -> Candidates:
    """Return observed rows with some features put back to the row's values."""
    observed, d = problem.observed.genomes, problem.rows.shape[1]
    n = min(MOST_OBSERVED, len(observed))
    if search.evaluations is not None:
        n = min(n, search.evaluations // 2)
    n = max(n, search.population)
    lots = uniforms(problem.keys, int(Stage.OBSERVED_ROW), 0, len(observed), 1)[..., 0]
    drawn = np.argsort(lots, axis=1, kind="stable")[:, np.arange(n) % len(observed)]
    box = problem.box
    genomes = np.clip(observed[drawn], box.lower[:, None], box.upper[:, None])
    lacking = np.where(problem.space.may_miss, MISSING, box.anchor[:, None])
    genomes = np.where(observed[drawn] == MISSING, lacking, genomes)
    n_back = np.floor(uniforms(problem.keys, int(Stage.OBSERVED_COUNT), 0, n, 1) * d)
    turns = uniforms(problem.keys, int(Stage.OBSERVED_KEEP), 0, n, d)
    goes_back = np.argsort(np.argsort(turns, axis=2), axis=2) < n_back
    keeps = goes_back | (genomes == box.anchor[:, None])
    return _reset(problem, genomes, keeps, 0)


def fit_trees(observed: Observed) -> Trees:
    """Return the conditional distribution of each feature given the others."""
    if observed.has_missing:
        raise InvalidInput(
            "mutation='conditional' cannot learn from data with missing values; use "
            "mutation='gaussian', or the default search."
        )
    space = observed.space
    return grow_trees(
        observed.genomes,
        is_categorical=space.is_level,
        is_integer=(space.grid == 1.0) & ~space.is_level,
        n_levels=np.where(space.is_level, space.n_levels, 0),
    )
