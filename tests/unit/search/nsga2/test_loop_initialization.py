from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.strategies import generator

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.problem.problem import Problem
from counterpoint.search.feasibility import Candidates
from counterpoint.search.nsga2.loop import (
    MOST_OBSERVED,
    chance_to_differ,
    ice_curves,
    ice_spread,
    initialize,
)
from counterpoint.search.settings import Initialization

AGE, DEBT, JOB, OWNS, RATE = range(5)
NAMES = ["age", "debt", "job", "owns", "rate"]
ROW = {"age": 30, "debt": 2.5, "job": "b", "owns": False, "rate": 0.4}
SLOPES = {"age": 0.01, "debt": -0.3, "rate": 0.7}
JOBS = {"a": 0.0, "b": 0.05, "c": 0.4}
STRATEGIES: list[Initialization] = ["random", "ice", "deviation", "observed"]


def table(n: int) -> pd.DataFrame:
    rng = generator(2)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 30, n),
            "debt": rng.normal(2.0, 1.0, n).round(1),
            "job": rng.choice(list(JOBS), n),
            "owns": rng.random(n) < 0.5,
            "rate": rng.random(n),
        }
    )


def linear(rows: pd.DataFrame) -> Any:
    numbers = sum(slope * rows[name] for name, slope in SLOPES.items())
    return numbers + rows["job"].map(JOBS) + 0.2 * rows["owns"]


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    return cp.Explainer(linear, table(150))


def problem_of(explainer: cp.Explainer, seed: int = 0, **limits: Any) -> Problem:
    settings = cp.Search(population=2, generations=0, initialization="random")
    return explainer.explain(ROW, (9.0, None), settings, seed, **limits).problem


def start(problem: Problem, search: cp.NSGA2) -> Candidates:
    curves = ice_curves(problem, search.most_ice_points)
    return initialize(problem, search, curves if search.initialization == "ice" else None)


def test_the_spread_of_curves_is_that_computed_by_hand(explainer: cp.Explainer) -> None:
    problem = problem_of(explainer)
    curves = ice_curves(problem)
    assert curves is not None

    spread = ice_spread(curves)

    data = table(150)
    ages = np.arange(data["age"].min(), 31)  # widened to the row's 30; fewer than 20 are distinct
    debts = np.unique(np.linspace(data["debt"].min(), data["debt"].max(), 20).round(1))
    rates = np.linspace(data["rate"].min(), data["rate"].max(), 20)
    expected = [
        0.01 * ages.std(ddof=1),
        0.3 * debts.std(ddof=1),
        np.std(list(JOBS.values()), ddof=1),
        np.std([0.0, 0.2], ddof=1),
        0.7 * rates.std(ddof=1),
    ]
    np.testing.assert_allclose(spread, [expected], rtol=1e-12)


def test_a_curve_moves_one_feature_and_asks_about_each_value_once(explainer: cp.Explainer) -> None:
    problem = problem_of(explainer)

    curves = ice_curves(problem)

    assert curves is not None
    moved = curves.genomes[0] != problem.rows[0]
    for j in range(5):
        points = curves.genomes[0, (curves.feature == j) & curves.is_new[0]]
        assert len(np.unique(points[:, j])) == len(points)
    assert not moved[curves.feature[:, None] != np.arange(5)].any()
    assert not moved[~curves.is_new[0]].any()


def test_curves_are_not_asked_about_features_that_may_not_change(explainer: cp.Explainer) -> None:
    problem = problem_of(explainer, fixed=["age", "job"])
    curves = ice_curves(problem)
    assert curves is not None

    spread = ice_spread(curves)[0]

    assert np.isnan(spread[[AGE, JOB]]).all()
    assert np.isfinite(spread[[DEBT, OWNS, RATE]]).all()


@pytest.mark.parametrize("most", [1, 2])
def test_curves_count_the_feature_that_must_change(explainer: cp.Explainer, most: int) -> None:
    problem = problem_of(explainer, ranges={"age": (18, 25)}, max_changed=most)

    curves = ice_curves(problem)

    assert curves is not None
    n_changed = (curves.genomes != problem.rows[:, None]).sum(axis=2)[curves.is_new]
    assert n_changed.max() == most
    found = explainer.explain(
        ROW, (2.0, 3.0), cp.Search.paper("mocice"), ranges={"age": (18, 25)}, max_changed=most
    )
    assert found.changed.sum(axis=1).max() == most


def test_places_a_curve_does_not_need_hold_the_row_even_if_a_range_excludes_it(
    explainer: cp.Explainer,
) -> None:
    """They are no new question then: the row was asked before."""
    problem = problem_of(explainer, ranges={"age": (20, 20), "debt": (0.0, 1.0)})

    curves = ice_curves(problem)

    assert curves is not None
    filled = curves.genomes[0, ~curves.is_new[0]]
    assert len(filled) > 0
    assert (filled == problem.rows[0]).all()


def test_curves_that_cost_too_much_are_not_asked(explainer: cp.Explainer) -> None:
    problem = problem_of(explainer)
    every = ice_curves(problem)
    assert every is not None
    n_points = int(every.is_new.sum())

    assert ice_curves(problem, n_points - 1) is None
    assert ice_curves(problem, n_points) is not None


spreads = st.lists(
    st.lists(st.one_of(st.floats(0.0, 100.0), st.just(np.nan)), min_size=3, max_size=3),
    min_size=1,
    max_size=4,
).map(np.array)


@given(spreads, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_chance_to_differ_lies_between_its_ends(spread: Floats, one: float, two: float) -> None:
    p_min, p_max = min(one, two), max(one, two)

    chance = chance_to_differ(spread, p_min, p_max)

    assert (chance >= p_min - 1e-12).all()
    assert (chance <= p_max + 1e-12).all()


@given(spreads)
def test_the_chance_to_differ_is_linear_in_the_spread(spread: Floats) -> None:
    chance = chance_to_differ(spread, 0.01, 0.99)

    for told, given_chance in zip(spread, chance, strict=True):
        known = told[~np.isnan(told)]
        if len(known) == 0 or known.min() == known.max():
            expected = np.full(3, 0.5)
        else:
            share = (told - known.min()) / (known.max() - known.min())
            expected = 0.01 + 0.98 * np.nan_to_num(share, nan=0.0)
        is_known = ~np.isnan(told) | (len(known) == 0)
        np.testing.assert_allclose(given_chance[is_known], expected[is_known], atol=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("population", [2, 7, 20])
def test_a_start_has_the_size_of_the_population_or_more(
    explainer: cp.Explainer, strategy: Initialization, population: int
) -> None:
    search = cp.NSGA2(initialization=strategy, population=population)

    genomes, keeps = start(problem_of(explainer), search)

    assert genomes.shape == keeps.shape
    n = 150 if strategy == "observed" else population
    assert genomes.shape == (1, n, 5)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "limits",
    [
        {"max_changed": 1},
        {"max_changed": 3, "fixed": ["job"]},
        {"ranges": {"age": (18, 22), "rate": (0.5, 0.6)}, "max_changed": 2},
        {"fixed": ["age", "debt", "owns", "rate"]},
    ],
)
def test_a_start_obeys_the_limits(
    explainer: cp.Explainer, strategy: Initialization, limits: dict[str, Any]
) -> None:
    problem = problem_of(explainer, **limits)

    candidates = start(problem, cp.NSGA2(initialization=strategy, population=60))

    genomes, row, box = candidates.genomes[0], problem.rows[0], problem.box
    assert ((genomes != row).sum(axis=1) <= limits.get("max_changed", 5)).all()
    assert (genomes[:, problem.limits.is_fixed] == row[problem.limits.is_fixed]).all()
    assert ((genomes >= box.lower[0]) & (genomes <= box.upper[0])).all()
    assert (candidates.keeps[0] <= (genomes == box.anchor[0])).all()


def test_the_random_start_keeps_half_and_draws_the_rest_evenly(explainer: cp.Explainer) -> None:
    search = cp.NSGA2(initialization="random", population=4000)
    problem = problem_of(explainer)

    genomes, keeps = start(problem, search)

    np.testing.assert_allclose(keeps[0].mean(axis=0), 0.5, atol=0.03)
    free = [genomes[0, ~keeps[0, :, j], j] for j in range(5)]
    low, span = problem.box.lower[0, RATE], problem.box.upper[0, RATE] - problem.box.lower[0, RATE]
    assert stats.kstest(free[RATE], stats.uniform(low, span).cdf).pvalue > 1e-3
    for j in (AGE, JOB, OWNS):
        counts = np.bincount((free[j] - problem.box.lower[0, j]).astype(np.int64))
        assert len(counts) == problem.box.upper[0, j] - problem.box.lower[0, j] + 1
        assert stats.chisquare(counts).pvalue > 1e-3
    tenths = np.rint(10 * (free[DEBT] - problem.box.lower[0, DEBT])).astype(np.int64)
    assert stats.chisquare(np.bincount(tenths)).pvalue > 1e-3


def test_the_ice_start_frees_features_by_their_spread(explainer: cp.Explainer) -> None:
    search = cp.NSGA2(initialization="ice", population=4000, p_min=0.1, p_max=0.8)
    problem = problem_of(explainer)

    _, keeps = start(problem, search)

    curves = ice_curves(problem)
    assert curves is not None
    chance = chance_to_differ(ice_spread(curves), 0.1, 0.8)[0]
    np.testing.assert_allclose(1.0 - keeps[0].mean(axis=0), chance, atol=0.03)


def test_the_ice_start_keeps_at_least_one_feature(explainer: cp.Explainer) -> None:
    search = cp.NSGA2(initialization="ice", population=500, p_min=0.99, p_max=0.99)

    _, keeps = start(problem_of(explainer), search)

    assert keeps[0].any(axis=1).all()


def test_the_ice_start_may_change_an_only_feature() -> None:
    explainer = cp.Explainer(lambda rows: rows["a"] / 9.0, pd.DataFrame({"a": np.arange(9)}))
    settings = cp.Search(population=2, generations=0)
    problem = explainer.explain({"a": 0}, (0.5, None), settings).problem

    _, keeps = start(problem, cp.NSGA2(initialization="ice", population=500))

    assert 0.4 < keeps.mean() < 0.6


def test_the_deviation_start_stays_within_one_standard_deviation(explainer: cp.Explainer) -> None:
    problem = problem_of(explainer)
    search = cp.NSGA2(initialization="deviation", population=2000)

    genomes, keeps = start(problem, search)

    deviation = table(150)[["age", "debt", "rate"]].std(ddof=1).to_numpy()
    numbers = [AGE, DEBT, RATE]
    away = np.abs(genomes[0][:, numbers] - problem.rows[0, numbers])
    assert (away <= deviation + 1e-9).all()
    assert (away.max(axis=0) > 0.8 * deviation).all()
    assert set(genomes[0, :, JOB]) == {0.0, 1.0, 2.0}
    np.testing.assert_allclose(keeps[0].mean(axis=0), 0.5, atol=0.04)


def test_the_observed_start_mixes_observed_values_with_the_rows(explainer: cp.Explainer) -> None:
    """Every gene is the row's or that of one and the same observed row."""
    problem = problem_of(explainer)
    rows = problem.observed.genomes

    genomes, keeps = start(problem, cp.NSGA2(initialization="observed"))

    own = genomes[0] == problem.rows[0]
    from_one_row = (own[:, None] | (genomes[0][:, None] == rows)).all(axis=2).any(axis=1)
    assert from_one_row.all()
    np.testing.assert_array_equal(keeps[0], own)


def test_the_observed_start_puts_back_any_number_of_features_but_all(
    explainer: cp.Explainer,
) -> None:
    problem = problem_of(explainer)

    genomes, _ = start(problem, cp.NSGA2(initialization="observed", population=3000))

    n_changed = (genomes[0] != problem.rows[0]).sum(axis=1)
    assert set(n_changed) == {0, 1, 2, 3, 4, 5}
    # Nobody shares the row's rate, so it differs unless it went back: 0 to 4 of 5 features do.
    assert (genomes[0, :, RATE] != problem.rows[0, RATE]).mean() == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize(
    ("n_rows", "search", "n_expected"),
    [
        (400, cp.NSGA2(initialization="observed"), MOST_OBSERVED),
        (90, cp.NSGA2(initialization="observed"), 90),
        (90, cp.NSGA2(initialization="observed", population=120), 120),
        (400, cp.NSGA2(initialization="observed", evaluations=101), 50),
        (400, cp.NSGA2(initialization="observed", evaluations=21), 20),
    ],
)
def test_the_observed_start_chooses_from_as_many_rows_as_it_may(
    n_rows: int, search: cp.NSGA2, n_expected: int
) -> None:
    problem = problem_of(cp.Explainer(linear, table(n_rows)))

    genomes, _ = start(problem, search)

    assert genomes.shape[1] == n_expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_seed_starts_elsewhere(explainer: cp.Explainer, strategy: Initialization) -> None:
    search = cp.NSGA2(initialization=strategy)

    first, second = (start(problem_of(explainer, seed), search).genomes for seed in (0, 1))

    assert not np.array_equal(first, second)
