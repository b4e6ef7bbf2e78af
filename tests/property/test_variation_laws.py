"""Laws of recombination and mutation: where children may be, and where they must be able to go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.kernels import called
from tests.strategies import every_kind, generator, limits_of_every_kind, rows_of_every_kind

import counterpoint as cp
from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.problem.problem import Problem
from counterpoint.search.explore.knowledge import once
from counterpoint.search.feasibility import Candidates, search_space
from counterpoint.search.nsga2 import operators as kernels
from counterpoint.search.nsga2.loop import (
    Operators,
    Population,
    fit_trees,
    mutate,
    random_candidates,
    recombine,
)
from counterpoint.streams import row_keys

cross_numbers = called(kernels.cross_numbers)
mutate_keeps = called(kernels.mutate_keeps)
spread_factor = called(kernels.spread_factor)

COMPILED = settings(deadline=None, max_examples=60)  # the first call compiles
WHOLE, TENTH, REAL, SINGLE, KIND, TWO, GRADE = range(7)
ALWAYS = cp.NSGA2(
    p_recombine=1.0, p_recombine_gene=1.0, p_mutate=1.0, p_mutate_gene=1.0, p_mutate_keep=0.0
)


def frozen(array: Any) -> Any:
    kept = np.ascontiguousarray(array)
    kept.setflags(write=False)
    return kept


EXTREME = [-100.0 - np.pi, 100.0 + np.pi]  # two rows far from all others
DATA = every_kind()
DATA["real"] = [*DATA["real"][:-2], *EXTREME]
EXPLAINER = cp.Explainer(lambda rows: rows["whole"] / 100.0, DATA)


def problem_of(row: dict[str, Any], seed: int = 0, **limits: Any) -> Problem:
    """Set up one row's problem as a search would."""
    settings = cp.Search(population=2, generations=0, initialization="random")
    return EXPLAINER.explain(row, (0.5, 1.0), settings, seed, **limits).problem


def probabilities() -> st.SearchStrategy[cp.NSGA2]:
    share = st.sampled_from([0.0, 0.3, 0.8, 1.0])
    return st.builds(
        cp.NSGA2,
        population=st.sampled_from([5, 8]),
        p_recombine=share,
        p_recombine_gene=share,
        p_recombine_keep=share,
        p_mutate=share,
        p_mutate_gene=share,
        p_mutate_keep=st.sampled_from([0.0, 0.2, 0.5]),
        step=st.sampled_from(["deviation", "deviation_times_range"]),
    )


def parents_of(problem: Problem, n: int) -> Population:
    candidates = random_candidates(problem, problem.box, n, generation=0)
    return Population(*candidates, np.zeros((*candidates.genomes.shape[:2], 4)))


def pairs(n: int) -> Ints:
    """Everybody mates once: i with i + n/2."""
    return np.arange(n + n % 2)[None] % n


def cross(
    problem: Problem, parents: Population, search: cp.NSGA2, generation: int = 1
) -> Candidates:
    return recombine(parents, pairs(search.population), operators(problem, search), generation)


def operators(problem: Problem, search: cp.NSGA2, *, given: bool = False) -> Operators:
    trees = once(problem.observed, fit_trees) if given else None
    allowed = search_space(problem.space, problem.box)
    return Operators(search, problem.space, allowed, trees, problem.keys)


def change(
    problem: Problem,
    children: Candidates,
    search: cp.NSGA2,
    generation: int = 1,
    *,
    given: bool = False,
) -> Candidates:
    return mutate(children, operators(problem, search, given=given), generation)


def assert_obeys(candidates: Candidates, problem: Problem) -> None:
    """In the box, on the grid, within the limits, and kept genes at the anchor."""
    genomes, keeps = candidates.genomes[0], candidates.keeps[0]
    box, space, row = problem.box, problem.space, problem.rows[0]
    is_anchor = genomes == box.anchor[0]
    in_box = (genomes >= box.lower[0] - 1e-6) & (genomes <= box.upper[0] + 1e-6)
    assert (in_box | is_anchor).all()
    grid = np.where(space.grid > 0, space.grid, 1.0)
    nearest = np.rint(genomes * grid) / grid
    nearest = np.where(space.is_single, nearest.astype(np.float32), nearest)
    on_grid = (nearest == genomes) | (space.grid == 0)
    assert (on_grid | is_anchor).all()
    assert (genomes[:, problem.limits.is_fixed] == row[problem.limits.is_fixed]).all()
    assert ((genomes != row).sum(axis=1) <= problem.limits.max_changed).all()
    assert is_anchor[keeps].all()
    encoding = problem.predictor.encoding
    np.testing.assert_array_equal(encoding.encode(encoding.decode(genomes.copy())), genomes)


@COMPILED
@given(
    row=rows_of_every_kind(200.0),
    limit=limits_of_every_kind(),
    search=probabilities(),
    seed=st.integers(0, 999),
)
def test_children_of_recombination_obey_every_limit(
    row: dict[str, Any], limit: dict[str, Any], search: cp.NSGA2, seed: int
) -> None:
    problem = problem_of(row, seed, **limit)
    parents = parents_of(problem, search.population)
    assert_obeys(Candidates(parents.genomes, parents.keeps), problem)

    children = cross(problem, parents, search)

    assert children.genomes.shape == parents.genomes.shape
    assert_obeys(children, problem)


@COMPILED
@given(
    row=rows_of_every_kind(200.0),
    limit=limits_of_every_kind(),
    search=probabilities(),
    seed=st.integers(0, 999),
    conditional=st.booleans(),
)
def test_mutants_obey_every_limit(
    row: dict[str, Any], limit: dict[str, Any], search: cp.NSGA2, seed: int, conditional: bool
) -> None:
    problem = problem_of(row, seed, **limit)
    parents = parents_of(problem, search.population)

    mutants = change(problem, Candidates(parents.genomes, parents.keeps), search, given=conditional)

    assert_obeys(mutants, problem)


@COMPILED
@given(
    row=rows_of_every_kind(200.0),
    limit=limits_of_every_kind(),
    seed=st.integers(0, 999),
    search=probabilities(),
)
def test_without_any_chance_to_change_children_are_their_parents(
    row: dict[str, Any], limit: dict[str, Any], seed: int, search: cp.NSGA2
) -> None:
    problem = problem_of(row, seed, **limit)
    parents = parents_of(problem, search.population)
    still = replace(search, p_recombine=0.0, p_mutate=0.0)
    idle = replace(
        search, p_recombine_gene=0.0, p_recombine_keep=0.0, p_mutate_gene=0.0, p_mutate_keep=0.0
    )

    for search in (still, idle):
        children = cross(problem, parents, search)
        for conditional in (False, True):
            mutants = change(problem, children, search, given=conditional)

            np.testing.assert_array_equal(mutants.genomes, parents.genomes)
            np.testing.assert_array_equal(mutants.keeps, parents.keeps)


@COMPILED
@given(row=rows_of_every_kind(200.0), seed=st.integers(0, 999), search=probabilities())
def test_variation_writes_to_nothing_it_is_given(
    row: dict[str, Any], seed: int, search: cp.NSGA2
) -> None:
    problem = problem_of(row, seed)
    parents = parents_of(problem, search.population)
    before = parents.genomes.copy(), parents.keeps.copy()

    children = cross(problem, parents, search)
    kept = children.genomes.copy(), children.keeps.copy()
    change(problem, children, search)
    change(problem, children, search, given=True)

    np.testing.assert_array_equal(parents.genomes, before[0])
    np.testing.assert_array_equal(parents.keeps, before[1])
    np.testing.assert_array_equal(children.genomes, kept[0])
    np.testing.assert_array_equal(children.keeps, kept[1])


@COMPILED
@given(row=rows_of_every_kind(200.0), seed=st.integers(0, 999), search=probabilities())
def test_levels_of_a_pair_are_swapped_and_never_made(
    row: dict[str, Any], seed: int, search: cp.NSGA2
) -> None:
    problem = problem_of(row, seed)
    parents = parents_of(problem, 8)
    free = parents._replace(keeps=np.zeros_like(parents.keeps))
    unkept = replace(search, population=8, p_recombine_keep=0.0)

    children = cross(problem, free, unkept).genomes[0]

    for i in range(4):
        for j in (KIND, TWO):
            born = sorted(children[[i, i + 4], j])
            assert born == sorted(parents.genomes[0, [i, i + 4], j])


@pytest.fixture(scope="module")
def middle() -> Problem:
    """Give a row in the middle of everything, with nothing kept and nothing limited."""
    row = {"whole": 5, "tenth": 0.0, "real": 0.0, "single": 0.5}
    return problem_of(row | {"kind": "b", "two": "no", "grade": "mid"})


def free_copies(problem: Problem, n: int) -> Candidates:
    genomes = np.repeat(problem.rows[:, None], n, axis=1)
    return Candidates(frozen(genomes), frozen(np.zeros(genomes.shape, dtype=np.bool_)))


def test_every_level_and_both_bounds_are_reached_by_steps(middle: Problem) -> None:
    wide = replace(ALWAYS, step="deviation_times_range")
    candidates, broods = free_copies(middle, 2000), []

    for generation in range(1, 6):
        candidates = change(middle, candidates, wide, generation)
        broods.append(candidates.genomes[0])

    genomes = np.concatenate(broods)
    for j in range(7):
        seen = set(genomes[:, j])
        assert {middle.space.low[j], middle.space.high[j]} <= seen
        if j in (WHOLE, KIND, TWO, GRADE):
            assert seen == set(np.arange(middle.space.low[j], middle.space.high[j] + 1))


def test_every_level_and_number_is_reached_by_small_steps(middle: Problem) -> None:
    mutants = change(middle, free_copies(middle, 4000), ALWAYS).genomes[0]

    assert set(mutants[:, WHOLE]) == set(range(10))
    assert set(mutants[:, KIND]) == set(range(4))
    assert set(mutants[:, GRADE]) == set(range(3))
    tenths = np.arange(np.rint(10 * middle.space.low[TENTH]), 10 * middle.space.high[TENTH] + 0.5)
    assert set(np.rint(10 * mutants[:, TENTH])) == set(tenths)


def test_every_observed_level_is_reached_conditionally(middle: Problem) -> None:
    mutants = change(middle, free_copies(middle, 3000), ALWAYS, given=True).genomes[0]

    for j in (WHOLE, KIND, TWO, GRADE):
        assert set(mutants[:, j]) == set(np.arange(middle.space.low[j], middle.space.high[j] + 1))
    for j in (TENTH, REAL, SINGLE):
        low, high = middle.space.low[j], middle.space.high[j]
        assert len(set(mutants[:, j])) > 20 or j == REAL
        assert low <= mutants[:, j].min() < mutants[:, j].max() <= high


def test_two_levels_are_flipped(middle: Problem) -> None:
    mutants = change(middle, free_copies(middle, 50), ALWAYS).genomes[0]

    assert (mutants[:, TWO] == 1.0 - middle.rows[0, TWO]).all()


def test_many_levels_are_redrawn_evenly(middle: Problem) -> None:
    mutants = change(middle, free_copies(middle, 4000), ALWAYS).genomes[0]

    counts = np.bincount(mutants[:, KIND].astype(np.int64))
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_step_is_gaussian_with_the_deviation_of_the_data(middle: Problem) -> None:
    mutants = change(middle, free_copies(middle, 4000), ALWAYS).genomes[0, :, REAL]

    deviation = DATA["real"].std(ddof=1)
    assert middle.space.deviation[REAL] == pytest.approx(deviation)
    assert stats.kstest(mutants, stats.norm(0.0, deviation).cdf).pvalue > 1e-3


def test_the_authors_step_is_wider_by_the_range(middle: Problem) -> None:
    """The same draws, so steps that hit no bound are exactly that much longer."""
    many = free_copies(middle, 4000)
    wide = change(middle, many, replace(ALWAYS, step="deviation_times_range")).genomes[0, :, SINGLE]

    short = change(middle, many, ALWAYS).genomes[0, :, SINGLE]

    inside = (wide > 0.01) & (wide < 0.99) & (short > 0.01) & (short < 0.99)
    span = middle.space.high[SINGLE] - middle.space.low[SINGLE]
    np.testing.assert_allclose(wide[inside] - 0.5, span * (short[inside] - 0.5), atol=1e-6)
    assert inside.sum() > 1000


def test_about_p_of_the_children_and_p_of_their_genes_mutate(middle: Problem) -> None:
    search = replace(ALWAYS, p_mutate=0.3, p_mutate_gene=0.6)

    mutants = change(middle, free_copies(middle, 4000), search).genomes[0]

    is_flipped = mutants[:, TWO] != middle.rows[0, TWO]
    is_moved = mutants[:, REAL] != middle.rows[0, REAL]
    assert is_flipped.mean() == pytest.approx(0.18, abs=0.02)
    assert (is_flipped & is_moved).mean() == pytest.approx(0.3 * 0.36, abs=0.02)


@pytest.mark.parametrize("p_keep", [0.1, 0.317, 0.5])
@pytest.mark.parametrize("n_kept", [0, 3, 10])
def test_indicators_are_redrawn_around_their_own_number(p_keep: float, n_kept: int) -> None:
    """Each of d is redrawn with probability 2 p, and is then set with (m + 1) / (d + 2)."""
    d, n = 10, 3000
    keys = row_keys(0, np.array([[1.0]]))
    keeps = np.tile(np.arange(d) < n_kept, (n, 1))

    for i in range(n):
        mutate_keeps(keeps[i], p_keep, keys[0], 1, i)

    share = (n_kept + 1) / (d + 2)
    kept, free = keeps[:, :n_kept], keeps[:, n_kept:]
    if n_kept:
        assert kept.mean() == pytest.approx(1 - 2 * p_keep * (1 - share), abs=0.02)
    if n_kept < d:
        assert free.mean() == pytest.approx(2 * p_keep * share, abs=0.02)


def reference_sbx(
    x: Floats, y: Floats, bounds: tuple[float, float], u: Floats, v: Floats
) -> tuple[Floats, Floats]:
    """Bounded SBX with eta 5, section 5 of the reference, written again with NumPy."""

    def factor(beta: Floats, draw: Floats) -> Floats:
        alpha = 2.0 - beta**-6.0
        inner = (draw * alpha) ** (1 / 6)
        with np.errstate(divide="ignore"):
            outer = (1.0 / (2.0 - draw * alpha)) ** (1 / 6)
        return np.where(draw <= 1.0 / alpha, inner, outer)

    low, high = np.minimum(x, y), np.maximum(x, y)
    below = factor(1.0 + 2.0 * (low - bounds[0]) / (high - low), u)
    above = factor(1.0 + 2.0 * (bounds[1] - high) / (high - low), v)
    first = 0.5 * ((low + high) - below * (high - low))
    second = 0.5 * ((low + high) + above * (high - low))
    return first.clip(*bounds), second.clip(*bounds)


def cross_in_unit_interval(x: Floats, y: Floats, u: Floats, v: Floats) -> Floats:
    return np.array([cross_numbers(x[i], y[i], 0.0, 1.0, u[i], v[i]) for i in range(len(x))])


def test_a_crossover_of_numbers_is_the_bounded_sbx_of_the_reference() -> None:
    rng = generator(3)
    x, y, u, v = rng.random((4, 500))

    children = cross_in_unit_interval(x, y, u, v)

    expected = reference_sbx(x, y, (0.0, 1.0), u, v)
    np.testing.assert_allclose(children.T, expected, rtol=1e-12, atol=1e-14)


def test_a_crossover_of_numbers_stays_between_its_bounds() -> None:
    rng = generator(4)
    x, y, u, v = rng.random((4, 2000))
    u[:100], v[100:200] = 0.0, np.nextafter(1.0, 0.0)

    children = cross_in_unit_interval(x, y, u, v)

    assert (children[:, 0] >= -1e-12).all()
    assert (children[:, 1] <= 1.0 + 1e-12).all()


def test_the_spread_is_symmetric_around_one_without_bounds() -> None:
    """A contraction by beta is as likely as an expansion by 1 / beta."""
    draws = np.linspace(0.001, 0.499, 200)

    contracted = np.array([spread_factor(u, 1e9) for u in draws])

    expanded = np.array([spread_factor(1.0 - u, 1e9) for u in draws])
    np.testing.assert_allclose(contracted * expanded, 1.0, rtol=1e-12)


def crossed(problem: Problem, n: int, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the REAL genes of both children of n pairs with parents at low and high."""
    genomes = np.repeat(problem.rows[:, None], 2, axis=1)
    genomes[0, :, REAL] = low, high
    keeps = np.zeros(genomes.shape, dtype=np.bool_)
    parents = Population(frozen(genomes), frozen(keeps), frozen(np.zeros((1, 2, 4))))
    mates = np.repeat([[0, 1]], n, axis=1)
    search = replace(ALWAYS, population=2 * n, p_recombine_keep=0.0)
    children = recombine(parents, mates, operators(problem, search), 1)
    return children.genomes[0, :n, REAL], children.genomes[0, n:, REAL]


def test_children_far_from_the_bounds_have_their_parents_mean(middle: Problem) -> None:
    first, second = crossed(middle, 4000, -1.0, 2.0)

    middles = (first + second) / 2
    assert stats.ttest_1samp(middles, 0.5).pvalue > 1e-3


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (-103.0, 50.0), (90.0, 103.1)])
def test_children_are_spread_as_those_of_the_reference(
    middle: Problem, low: float, high: float
) -> None:
    n, rng = 4000, generator(5)
    bounds = middle.space.low[REAL], middle.space.high[REAL]
    expected = reference_sbx(
        np.full(n, low), np.full(n, high), bounds, rng.random(n), rng.random(n)
    )

    first, second = crossed(middle, n, low, high)

    assert stats.ks_2samp(np.minimum(first, second), np.minimum(*expected)).pvalue > 1e-3
    assert stats.ks_2samp(np.maximum(first, second), np.maximum(*expected)).pvalue > 1e-3
    assert (first < second).mean() == pytest.approx(0.5, abs=0.03)


def test_crossover_of_whole_numbers_reaches_both_ends(middle: Problem) -> None:
    genomes = np.repeat(middle.rows[:, None], 2, axis=1)
    genomes[0, :, WHOLE] = 2.0, 7.0
    keeps = np.zeros(genomes.shape, dtype=np.bool_)
    mates = np.repeat([[0, 1]], 4000, axis=1)

    children = recombine(
        Population(genomes, keeps, np.zeros((1, 2, 4))),
        mates,
        operators(middle, replace(ALWAYS, population=8000)),
        1,
    ).genomes[0, :, WHOLE]

    assert set(children) == set(range(10))


@pytest.fixture(scope="module")
def twins() -> Problem:
    """Give two levels and two numbers that are always equal in the data."""
    rng, n = generator(6), 300
    level, number = rng.choice(list("abcd"), n), rng.choice([0.0, 1.0, 2.0, 3.0], n)
    data = pd.DataFrame({"a": level, "b": level, "x": number, "y": number})
    explainer = cp.Explainer(lambda rows: rows["x"] / 100.0, data)
    row = {"a": "a", "b": "c", "x": 0.0, "y": 3.0}
    return explainer.explain(row, (0.5, 1.0), cp.Search(population=2, generations=0)).problem


def test_a_later_gene_is_drawn_given_an_earlier_draw(twins: Problem) -> None:
    """From a != b a frozen row would make both swap and differ; in sequence they agree."""
    mutants = change(twins, free_copies(twins, 600), ALWAYS, given=True).genomes[0]

    assert (mutants[:, 0] == mutants[:, 1]).mean() > 0.95
    assert (mutants[:, 2] == mutants[:, 3]).mean() > 0.95


def test_the_order_of_the_genes_is_random(twins: Problem) -> None:
    """Whichever twin is drawn first takes the other's old value."""
    mutants = change(twins, free_copies(twins, 600), ALWAYS, given=True).genomes[0]

    a_first = (mutants[:, 0] == twins.rows[0, 1]).mean()
    b_first = (mutants[:, 0] == twins.rows[0, 0]).mean()
    assert a_first == pytest.approx(0.5, abs=0.07)
    assert b_first == pytest.approx(0.5, abs=0.07)


def test_a_kept_gene_is_not_drawn(twins: Problem) -> None:
    candidates = free_copies(twins, 200)
    keeps: Bools = np.tile([True, False, True, False], (1, 200, 1))

    mutants = change(twins, Candidates(candidates.genomes, keeps), ALWAYS, given=True).genomes[0]

    assert (mutants[:, [0, 2]] == twins.rows[0, [0, 2]]).all()
    assert (mutants[:, 1] == twins.rows[0, 0]).mean() > 0.95


def test_draws_of_another_generation_are_others(middle: Problem) -> None:
    many = free_copies(middle, 20)

    first, second = (change(middle, many, ALWAYS, generation).genomes for generation in (1, 2))

    assert not np.array_equal(first, second)
