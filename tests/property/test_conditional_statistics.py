"""The conditional sampler against distributions that are known because we simulated them.

Goodness of fit is judged on the cells the sampler draws from: the true probability of a cell is
the true mass between the middles of neighbouring support points, the outer cells being open.
The trees are fitted to several thousand rows per region and judged on a few hundred draws, so
that the sampling error of the fit is small beside that of the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.kernels import called
from tests.sampler import ConditionalSampler
from tests.strategies import generator

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.density import conditional
from counterpoint.density.conditional import Trees

draw_value = called(conditional.draw_value)
N_ROWS = 6000
N_DRAWS = 400
NUMBER, LEVEL, NORMAL, SKEWED, COUNT, GRADE, CHOICE = range(7)
IS_CATEGORICAL = np.array([False, True, False, False, False, False, True])
IS_INTEGER = np.array([False, False, False, False, True, True, False])
N_LEVELS = np.array([0, 3, 0, 0, 0, 0, 4])

CHOICE_SHARES = np.array([[0.7, 0.2, 0.0, 0.1], [0.1, 0.3, 0.0, 0.6]])
GRADE_SHARES = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.1, 0.3, 0.5]])

Distribution = Callable[[Floats], Floats]  # the distribution function


def frozen(array: Floats) -> Floats:
    kept = np.ascontiguousarray(array)
    kept.setflags(write=False)
    return kept


def simulate(n: int, seed: int) -> Floats:
    """Draw a table whose last five features are independent given (number > 0.5, level == 2)."""
    rng = generator(seed)
    number, level = rng.random(n), rng.integers(0, 3, n)
    high, third = (number > 0.5).astype(np.int64), level == 2
    normal = np.where(high, rng.normal(4.0, 0.6, n), rng.normal(0.0, 1.0, n))
    skewed = np.where(third, 12.0 - rng.gamma(3.0, 1.0, n), rng.gamma(4.0, 0.7, n))
    count = rng.binomial(40, np.where(high, 0.7, 0.3))
    grade = (rng.random(n)[:, None] > np.cumsum(GRADE_SHARES, axis=1)[high]).sum(axis=1)
    choice = (rng.random(n)[:, None] > np.cumsum(CHOICE_SHARES, axis=1)[third * 1]).sum(axis=1)
    return frozen(np.column_stack((number, level, normal, skewed, count, grade, choice)))


def fit(genomes: Floats, columns: Ints | None = None) -> ConditionalSampler:
    kept = np.arange(genomes.shape[1]) if columns is None else columns
    return ConditionalSampler.fit(
        frozen(genomes[:, kept]),
        is_categorical=IS_CATEGORICAL[kept],
        is_integer=IS_INTEGER[kept],
        n_levels=N_LEVELS[kept],
    )


def fit_numbers(genomes: Floats) -> ConditionalSampler:
    d = genomes.shape[1]
    return ConditionalSampler.fit(
        frozen(genomes),
        is_categorical=np.zeros(d, dtype=np.bool_),
        is_integer=np.zeros(d, dtype=np.bool_),
        n_levels=np.zeros(d, dtype=np.int64),
    )


@pytest.fixture(scope="module")
def sampler() -> ConditionalSampler:
    return fit(simulate(N_ROWS, seed=1))


def cell_shares(cdf: Distribution, support: Floats) -> Floats:
    middles = 0.5 * (support[:-1] + support[1:])
    return np.diff(np.concatenate(([0.0], cdf(middles), [1.0])))


def p_value(draws: Floats, support: Floats, shares: Floats) -> float:
    """Pearson's test; neighbouring cells are merged until each group expects ten draws."""
    observed = np.array([(draws == point).sum() for point in support])
    assert observed.sum() == len(draws), "a draw is not a support point"
    ends, waiting = [], 0.0
    for cell, expected in enumerate(shares * len(draws)):
        waiting += expected
        if waiting >= 10.0:
            ends.append(cell)
            waiting = 0.0
    starts = np.array([0, *(end + 1 for end in ends[:-1])])  # the rest joins the last group
    counts, expectations = np.add.reduceat(observed, starts), np.add.reduceat(shares, starts)
    return float(stats.chisquare(counts, expectations * len(draws)).pvalue)


class Region(NamedTuple):
    """Genes that fix a region, the drawn feature, and its true distribution function there."""

    feature: int
    number: float
    level: int
    cdf: Distribution


def normal(mean: float, deviation: float) -> Distribution:
    return lambda y: np.asarray(stats.norm(mean, deviation).cdf(y))


def binomial(share: float) -> Distribution:
    return lambda y: np.asarray(stats.binom(40, share).cdf(y))


def table(shares: Floats) -> Distribution:
    return lambda y: np.cumsum(shares)[np.floor(y).astype(int)]


REGIONS = {
    "normal low": Region(NORMAL, 0.2, 0, normal(0.0, 1.0)),
    "normal high": Region(NORMAL, 0.8, 1, normal(4.0, 0.6)),
    "skewed right": Region(SKEWED, 0.4, 0, lambda y: np.asarray(stats.gamma(4, scale=0.7).cdf(y))),
    "skewed left": Region(SKEWED, 0.4, 2, lambda y: np.asarray(stats.gamma(3).sf(12.0 - y))),
    "integer low": Region(COUNT, 0.2, 0, binomial(0.3)),
    "integer high": Region(COUNT, 0.9, 2, binomial(0.7)),
    "few values low": Region(GRADE, 0.2, 1, table(GRADE_SHARES[0])),
    "few values high": Region(GRADE, 0.7, 1, table(GRADE_SHARES[1])),
    "categories of two levels": Region(CHOICE, 0.3, 0, table(CHOICE_SHARES[0])),
    "categories of the third level": Region(CHOICE, 0.3, 2, table(CHOICE_SHARES[1])),
}


def genomes_of(region: Region, n: int, seed: int) -> Floats:
    """Rows of the region; their other genes are typical of it, their drawn gene is not used."""
    pool = simulate(40 * n, seed)
    same_side = (pool[:, NUMBER] > 0.5) == (region.number > 0.5)
    genomes = pool[same_side & (pool[:, LEVEL] == region.level)][:n].copy()
    genomes[:, NUMBER] = region.number
    genomes[:, region.feature] = genomes[0, region.feature]
    return frozen(genomes)


@pytest.mark.parametrize("name", REGIONS)
def test_draws_follow_the_true_conditional_distribution(
    name: str, sampler: ConditionalSampler
) -> None:
    region = REGIONS[name]
    genomes = genomes_of(region, N_DRAWS, seed=2)
    assert len(genomes) == N_DRAWS

    draws = sampler.sample(genomes, region.feature, frozen(generator(3).random(N_DRAWS)))

    support = sampler.trees.support[region.feature, : sampler.trees.n_cells[region.feature]]
    shares = cell_shares(region.cdf, support)
    assert p_value(draws, support, shares) > 0.005
    if region.feature in (
        GRADE,
        CHOICE,
    ):  # frequencies: the impossible comes from impure leaves only
        assert np.isin(draws, support[shares < 1e-9]).mean() < 0.01


@pytest.mark.parametrize("name", REGIONS)
def test_draws_do_not_follow_the_distribution_of_the_other_region(
    name: str, sampler: ConditionalSampler
) -> None:
    """The power of the test above."""
    names = list(REGIONS)
    other = REGIONS[names[names.index(name) ^ 1]]
    region = REGIONS[name]
    genomes = genomes_of(region, N_DRAWS, seed=2)

    draws = sampler.sample(genomes, region.feature, frozen(generator(3).random(N_DRAWS)))

    observed = np.sort(draws)
    distance = np.abs(other.cdf(observed) - np.arange(1, N_DRAWS + 1) / N_DRAWS).max()
    assert distance > 0.2


def test_smooth_draws_are_uniform_after_the_true_distribution_function(
    sampler: ConditionalSampler,
) -> None:
    """Kolmogorov and Smirnov's test; draws are spread over their cell to undo the cells."""
    region = REGIONS["normal low"]
    support = sampler.trees.support[NORMAL]
    rng = generator(4)
    draws = sampler.sample(genomes_of(region, N_DRAWS, seed=5), NORMAL, rng.random(N_DRAWS))

    spread = draws + (rng.random(N_DRAWS) - 0.5) * (support[1] - support[0])

    assert stats.kstest(region.cdf(spread), "uniform").pvalue > 0.01


@pytest.mark.parametrize("feature", [NORMAL, SKEWED, COUNT, GRADE, CHOICE])
def test_unseen_rows_are_more_likely_than_under_a_tree_without_splits(
    feature: int, sampler: ConditionalSampler
) -> None:
    unseen = simulate(1500, seed=6)
    marginal = fit(simulate(N_ROWS, seed=1), columns=np.array([feature]))

    gain = sampler.log_likelihood(unseen, feature) - marginal.log_likelihood(
        frozen(unseen[:, [feature]]), 0
    )

    assert len(marginal.trees.cumulative) == 1
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


def test_the_held_out_likelihood_comes_close_to_that_of_the_truth(
    sampler: ConditionalSampler,
) -> None:
    unseen = simulate(1500, seed=7)
    low = frozen(unseen[unseen[:, NUMBER] < 0.5])
    support = sampler.trees.support[NORMAL]
    shares = cell_shares(normal(0.0, 1.0), support)

    found = sampler.log_likelihood(low, NORMAL).mean()

    truth = np.log(shares[np.abs(low[:, [NORMAL]] - support).argmin(axis=1)]).mean()
    assert found == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize("kind", ["smooth", "skewed", "few values", "categories"])
def test_independent_features_are_split_in_at_most_one_table_of_twenty(kind: str) -> None:
    """Of 60 tables, binomial(60, 0.05) exceeds 8 with probability 0.002."""
    n_split = 0
    for seed in range(60):
        rng = generator(1000 + seed)
        response = {
            "smooth": rng.normal(size=150),
            "skewed": rng.lognormal(size=150),
            "few values": rng.integers(0, 5, 150).astype(np.float64),
            "categories": rng.integers(0, 3, 150).astype(np.float64),
        }[kind]
        others = np.column_stack((rng.normal(size=(150, 2)), rng.integers(0, 3, 150)))
        levels = np.array([3 if kind == "categories" else 0, 0, 0, 3])
        found = ConditionalSampler.fit(
            frozen(np.column_stack((response, others))),
            is_categorical=levels > 0,
            is_integer=np.zeros(4, dtype=np.bool_),
            n_levels=levels,
        )
        n_split += found.trees.split_feature[0] >= 0
    assert n_split <= 8


def test_a_redrawn_feature_keeps_its_correlation_with_the_others() -> None:
    rng = generator(8)
    first = rng.normal(size=3000)
    second = 0.8 * first + 0.6 * rng.normal(size=3000)
    genomes = frozen(np.column_stack((first, second)))

    redrawn = fit_numbers(genomes).sample(genomes, 1, rng.random(3000))

    assert np.corrcoef(first, redrawn)[0, 1] == pytest.approx(0.8, abs=0.06)


# --- the kernel --------------------------------------------------------------------------------


def plain_draw(trees: Trees, feature: int, genome: Floats, u: float) -> float:
    node = trees.root[feature]
    while trees.leaf[node] < 0:
        value = genome[trees.split_feature[node]]
        left = value <= trees.threshold[node]
        if trees.is_level_split[node]:
            left = trees.goes_left[node, int(value)]
        node = (trees.left if left else trees.right)[node]
    cumulative = trees.cumulative[trees.leaf[node], : trees.n_cells[feature]]
    return float(trees.support[feature, np.flatnonzero(cumulative > u)[0]])


@pytest.mark.parametrize("feature", range(7))
def test_the_kernel_equals_a_plain_descent(feature: int, sampler: ConditionalSampler) -> None:
    genomes = simulate(300, seed=9)
    uniforms = generator(10).random(300)
    uniforms[:2] = 0.0, np.nextafter(1.0, 0.0)

    draws = sampler.sample(genomes, feature, uniforms)

    trees = sampler.trees
    pairs = list(zip(genomes, uniforms, strict=True))
    np.testing.assert_array_equal(draws, [plain_draw(trees, feature, g, u) for g, u in pairs])
    np.testing.assert_array_equal(draws, [draw_value(trees, feature, g, u) for g, u in pairs])


def test_every_leaf_ends_at_exactly_one(sampler: ConditionalSampler) -> None:
    cumulative = sampler.trees.cumulative

    assert np.all(np.diff(cumulative, axis=1) >= 0.0)
    assert np.all(cumulative[:, -1] == 1.0)
    for feature in range(7):
        root = sampler.trees.root[feature]
        following = np.append(sampler.trees.root, len(sampler.trees.leaf))[feature + 1]
        leaves = sampler.trees.leaf[root:following]
        last = sampler.trees.n_cells[feature] - 1
        assert np.all(cumulative[leaves[leaves >= 0], last] == 1.0)


@pytest.mark.parametrize("feature", range(7))
def test_the_drawn_genes_own_value_is_not_looked_at(
    feature: int, sampler: ConditionalSampler
) -> None:
    genomes = simulate(100, seed=11)
    uniforms = frozen(generator(12).random(100))
    changed = genomes.copy()
    changed[:, feature] = genomes[0, feature]

    np.testing.assert_array_equal(
        sampler.sample(genomes, feature, uniforms), sampler.sample(changed, feature, uniforms)
    )


def test_log_likelihood_is_the_frequency_with_which_a_value_is_drawn(
    sampler: ConditionalSampler,
) -> None:
    genomes = np.repeat(simulate(1, seed=13), 4, axis=0)
    genomes[:, CHOICE] = range(4)
    even = (np.arange(20_000) + 0.5) / 20_000

    shares = np.exp(sampler.log_likelihood(frozen(genomes), CHOICE))

    draws = sampler.sample(frozen(np.repeat(genomes[:1], 20_000, axis=0)), CHOICE, even)
    np.testing.assert_allclose(np.bincount(draws.astype(int), minlength=4) / 2e4, shares, atol=1e-4)


def test_the_same_table_gives_the_same_trees() -> None:
    genomes = simulate(400, seed=14)

    first, second = fit(genomes), fit(genomes.copy())

    for one, other in zip(first.trees, second.trees, strict=True):
        np.testing.assert_array_equal(one, other)


# --- small and degenerate tables ---------------------------------------------------------------


@given(
    n=st.integers(1, 40),
    columns=st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_any_small_table_can_be_fitted_and_only_observed_ranges_are_drawn(
    n: int, columns: list[int], seed: int
) -> None:
    kept = np.array(columns)
    genomes = frozen(simulate(n, seed)[:, kept])

    found = fit(simulate(n, seed), kept)

    for j, feature in enumerate(kept):
        draws = found.sample(genomes, j, frozen(generator(seed).random(n)))
        assert np.all((draws >= genomes[:, j].min()) & (draws <= genomes[:, j].max()))
        assert np.all(np.isfinite(found.log_likelihood(genomes, j)))
        if IS_CATEGORICAL[feature]:
            assert set(draws) <= set(genomes[:, j])
        if IS_INTEGER[feature]:
            np.testing.assert_array_equal(draws, np.rint(draws))


def test_a_constant_feature_is_always_drawn_as_it_is() -> None:
    genomes = np.column_stack((np.full(50, 3.25), np.arange(50.0)))

    found = fit_numbers(genomes)

    assert found.trees.n_cells[0] == 1
    np.testing.assert_array_equal(found.sample(genomes, 0, generator(15).random(50)), 3.25)


def test_impossible_values_have_a_floor_instead_of_minus_infinity() -> None:
    levels: Bools = np.array([True])
    found = ConditionalSampler.fit(
        np.array([[0.0], [2.0]]),
        is_categorical=levels,
        is_integer=~levels,
        n_levels=np.array([3]),
    )

    log_likelihood = found.log_likelihood(np.array([[1.0], [2.0]]), 0)

    np.testing.assert_allclose(log_likelihood, np.log([1e-12, 0.5]))
