"""One tree: its cells, its tests, its cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.strategies import generator

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.density import conditional as tree_module
from counterpoint.density.bernstein import Response, nearest_cells, whiten
from counterpoint.density.conditional import (
    Covariates,
    TreeNode,
    association,
    grow,
    log_survival,
)


def covariates_of(genomes: Floats, n_levels: list[int], feature: int = 0) -> Covariates:
    levels = np.array(n_levels, dtype=np.int64)
    found = Covariates(genomes, levels > 0, levels, feature)
    for array in found[:3]:
        array.setflags(write=False)
    return found


def grow_column(genomes: Floats, n_levels: list[int], feature: int = 0) -> list[TreeNode]:
    levels = n_levels[feature]
    response = Response.of(genomes[:, feature], is_integer=False, n_levels=levels)
    return grow(response, covariates_of(genomes, n_levels, feature))


def rows_per_node(nodes: list[TreeNode], genomes: Floats) -> list[tuple[int, int]]:
    """(rows, depth) of each node, by sending the rows down again."""
    found = {0: (np.arange(len(genomes)), 0)}
    for i, node in enumerate(nodes):
        if node.split is not None:
            rows, depth = found[i]
            goes_left = node.split.sends_left(genomes[rows, node.split.feature])
            found[node.left] = (rows[goes_left], depth + 1)
            found[node.left + 1] = (rows[~goes_left], depth + 1)
    return [(len(found[i][0]), found[i][1]) for i in range(len(nodes))]


# --- cells -------------------------------------------------------------------------------------


def test_a_real_feature_has_a_hundred_even_points_from_minimum_to_maximum() -> None:
    values = generator(0).normal(size=50)

    support = Response.of(values, is_integer=False, n_levels=0).support

    np.testing.assert_allclose(support, np.linspace(values.min(), values.max(), 100))


def test_an_integer_of_small_range_has_every_integer() -> None:
    values = np.array([3, 5, 9, 10, 12, 14, 20, 21, 22, 23, 30], dtype=np.float64)

    support = Response.of(values, is_integer=True, n_levels=0).support

    np.testing.assert_array_equal(support, np.arange(3, 31))


def test_an_integer_of_wide_range_has_at_most_a_hundred_integers() -> None:
    values = np.arange(0, 1001, 7, dtype=np.float64)

    support = Response.of(values, is_integer=True, n_levels=0).support

    assert len(support) == 100
    np.testing.assert_array_equal(support, np.rint(support))
    assert (support[0], support[-1]) == (values[0], values[-1])


@pytest.mark.parametrize(("n_distinct", "kind"), [(1, "values"), (10, "values"), (11, "smooth")])
def test_up_to_ten_distinct_values_are_described_by_frequencies(n_distinct: int, kind: str) -> None:
    values = np.tile(np.arange(n_distinct) / 3.0, 5)

    assert Response.of(values, is_integer=False, n_levels=0).kind == kind


def test_levels_never_observed_have_a_cell_and_no_probability() -> None:
    response = Response.of(np.array([0.0, 2.0, 2.0]), is_integer=False, n_levels=4)

    probabilities = response.fit(np.arange(3)).probabilities

    np.testing.assert_allclose(probabilities, [1 / 3, 0, 2 / 3, 0])


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30))
@settings(deadline=None)
def test_every_value_goes_to_a_nearest_cell(values: list[float]) -> None:
    support = np.array([-20.0, -3.0, 0.5, 7.0, 30.0])
    given_values = np.array(values)

    cells = nearest_cells(support, given_values)

    gaps = np.abs(given_values[:, None] - support)
    np.testing.assert_allclose(gaps[np.arange(len(values)), cells], gaps.min(axis=1), atol=1e-12)


# --- tests of association ----------------------------------------------------------------------


def test_whitened_scores_have_no_mean_and_unit_cross_products() -> None:
    scores = generator(2).normal(size=(9, 4)) @ np.diag([1.0, 10.0, 0.1, 1.0])
    scores[:, 3] = scores[:, 0] - scores[:, 2]
    counts = np.arange(9.0)

    whitened = whiten(scores, counts)

    assert whitened.shape == (9, 3)
    np.testing.assert_allclose(counts @ whitened, 0.0, atol=1e-6)
    np.testing.assert_allclose(whitened.T @ (whitened * counts[:, None]), np.eye(3), atol=1e-6)


def test_constant_scores_have_rank_zero() -> None:
    scores = np.full((6, 2), 0.1)
    counts = np.array([0.0, 3.0, 1.0, 7.0, 0.0, 2.0])

    assert whiten(scores, counts).shape == (6, 0)


def strasser_weber_log_p(design: Floats, scores: Floats) -> float:
    """Textbook quadratic form: mean and covariance of sum_i g_i h_i' over permutations."""
    n = len(design)
    centred = scores - scores.mean(axis=0)
    spread = centred.T @ centred / n
    totals = design.sum(axis=0)
    statistic = (design.T @ scores - np.outer(totals, scores.mean(axis=0))).ravel()
    inner = (n * design.T @ design - np.outer(totals, totals)) / (n - 1)
    covariance = np.kron(inner, spread)
    quadratic = statistic @ np.linalg.pinv(covariance, rcond=1e-9) @ statistic
    return float(chi2.logsf(quadratic, np.linalg.matrix_rank(covariance, rtol=1e-9)))


@pytest.mark.parametrize("response_levels", [0, 3])
def test_association_is_the_quadratic_form_of_strasser_and_weber(response_levels: int) -> None:
    rng = generator(3)
    level = rng.integers(0, 3, 80).astype(np.float64)
    number = np.round(rng.exponential(size=80), 1)
    response = level * (rng.random(80) < 0.4) if response_levels else level + rng.normal(size=80)
    genomes = np.column_stack((response, number, level))
    fitted = Response.of(response, is_integer=False, n_levels=response_levels)
    rows: Ints = np.arange(10, 80)
    scores = fitted.fit(rows).scores

    log_p = association(
        fitted.cells[rows], covariates_of(genomes, [response_levels, 0, 3]), rows, scores
    )

    observed = scores[fitted.cells[rows]]
    assert log_p[0] == np.inf
    assert log_p[1] == pytest.approx(strasser_weber_log_p(genomes[rows, 1:2], observed), rel=1e-6)
    indicators = np.eye(3)[level[rows].astype(int)]
    assert log_p[2] == pytest.approx(strasser_weber_log_p(indicators, observed), rel=1e-6)


@pytest.mark.parametrize("freedom", [1.0, 2.0, 6.0, 45.0])
def test_log_survival_is_that_of_scipy_where_scipy_does_not_underflow(freedom: float) -> None:
    statistic = np.array([0.0, 0.3, 8.0, 90.0, 1200.0])

    found = log_survival(statistic, np.full(5, freedom))

    np.testing.assert_allclose(found, chi2.logsf(statistic, freedom), rtol=1e-9, atol=1e-12)


def test_log_survival_goes_on_where_the_probability_underflows() -> None:
    statistic = np.array([1e3, 1e4, 1e6])

    np.testing.assert_allclose(log_survival(statistic, np.full(3, 2.0)), -statistic / 2)
    for freedom in (1.0, 6.0, 45.0):
        nearby = log_survival(np.linspace(1250.0, 1400.0, 200), np.full(200, freedom))
        np.testing.assert_allclose(np.diff(nearby, 2), 0.0, atol=1e-4)  # no jump at the switch


# --- cuts --------------------------------------------------------------------------------------


def best_cut_by_brute_force(column: Floats, scores: Floats, bucket: int) -> float:
    best, threshold = 0.0, np.nan
    for value in np.unique(column)[:-1]:
        left: Bools = column <= value
        if min(left.sum(), (~left).sum()) >= bucket:
            length = np.sum(scores[left].sum(axis=0) ** 2)
            statistic = length * (1 / left.sum() + 1 / (~left).sum())
            if statistic > best:
                best, threshold = statistic, value
    return float(threshold)


@pytest.mark.parametrize("seed", range(5))
def test_the_cut_is_the_best_of_all_admissible_cuts(seed: int) -> None:
    rng = generator(seed)
    number = np.round(rng.normal(size=60), 1)
    response = number + rng.normal(size=60)
    genomes = np.column_stack((response, number))
    fitted = Response.of(response, is_integer=False, n_levels=0)

    root = grow(fitted, covariates_of(genomes, [0, 0]))[0]

    scores = fitted.fit(np.arange(60)).scores[fitted.cells]
    assert root.split is not None
    assert root.split.threshold == best_cut_by_brute_force(number, scores, bucket=7)


def test_a_planted_threshold_is_found() -> None:
    rng = generator(5)
    genomes = rng.random((600, 4))
    genomes[:, 0] = rng.normal(size=600) + 3.0 * (genomes[:, 2] > 0.3)

    root = grow_column(genomes, [0, 0, 0, 0])[0]

    assert root.split is not None
    assert root.split.feature == 2
    assert root.split.threshold == pytest.approx(0.3, abs=0.01)


def test_a_change_of_spread_alone_is_found() -> None:
    """What distinguishes a transformation tree from a regression tree."""
    rng = generator(6)
    genomes = rng.random((600, 3))
    genomes[:, 0] = rng.normal(size=600) * np.where(genomes[:, 1] > 0.5, 4.0, 1.0)

    root = grow_column(genomes, [0, 0, 0])[0]

    assert root.split is not None
    assert root.split.feature == 1
    assert root.split.threshold == pytest.approx(0.5, abs=0.05)


def test_planted_groups_of_levels_are_separated() -> None:
    rng = generator(7)
    level = rng.integers(0, 6, 800).astype(np.float64)
    genomes = np.column_stack((rng.normal(size=800) + 4 * np.isin(level, [0, 3, 4]), level))

    nodes = grow_column(genomes, [0, 6])

    split = nodes[0].split
    assert split is not None
    assert split.left_levels is not None
    groups = {tuple(split.left_levels[[0, 3, 4]]), tuple(split.left_levels[[1, 2, 5]])}
    assert groups == {(True, True, True), (False, False, False)}


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_a_level_not_seen_in_the_node_goes_to_the_larger_child(share: float) -> None:
    rng = generator(8)
    level = (rng.random(400) < share).astype(np.float64)
    genomes = np.column_stack((rng.normal(size=400) + 5 * level, level))

    split = grow_column(genomes, [0, 3])[0].split

    assert split is not None
    assert split.left_levels is not None
    larger = 1 if share > 0.5 else 0
    assert split.left_levels[2] == split.left_levels[larger]


def test_leaves_and_depth_keep_the_limits_of_the_authors_trees() -> None:
    rng = generator(9)
    genomes = rng.random((3000, 3))
    genomes[:, 0] += np.sin(8 * genomes[:, 1]) + 2 * genomes[:, 2]

    nodes = grow_column(genomes, [0, 0, 0])
    sizes = rows_per_node(nodes, genomes)

    assert max(depth for _, depth in sizes) == tree_module.MAX_DEPTH
    assert min(size for size, _ in sizes) >= tree_module.MIN_BUCKET
    assert sum(size for (size, _), n in zip(sizes, nodes, strict=True) if n.split is None) == 3000
    for node, (size, depth) in zip(nodes, sizes, strict=True):
        if node.split is None:
            continue
        assert size >= tree_module.MIN_SPLIT
        assert depth < tree_module.MAX_DEPTH
        assert min(sizes[node.left][0], sizes[node.left + 1][0]) >= 0.01 * size


def test_fewer_than_twenty_rows_are_never_split() -> None:
    column = np.repeat([0.0, 1.0], [9, 10])
    genomes = np.column_stack((column, column))

    assert len(grow_column(genomes, [2, 2])) == 1


def test_a_constant_covariate_is_neither_tested_nor_split_on() -> None:
    rng = generator(10)
    number = rng.random(100)
    genomes = np.column_stack((number + rng.normal(size=100), np.full(100, 0.1), number))
    fitted = Response.of(genomes[:, 0], is_integer=False, n_levels=0)
    rows = np.arange(100)

    log_p = association(
        fitted.cells, covariates_of(genomes, [0, 0, 0]), rows, fitted.fit(rows).scores
    )

    np.testing.assert_array_equal(np.isfinite(log_p), [False, False, True])


def test_equal_columns_are_resolved_by_index() -> None:
    rng = generator(11)
    number = rng.random(3000)
    genomes = np.column_stack((number + 1e-3 * rng.random(3000), number, number))

    root = grow_column(genomes, [0, 0, 0])[0]

    assert root.split is not None
    assert root.split.feature == 1


def test_the_unit_of_a_covariate_moves_no_row_to_another_leaf() -> None:
    rng = generator(12)
    genomes = rng.normal(size=(500, 2))
    genomes[:, 0] += genomes[:, 1]
    mapped = np.column_stack((genomes[:, 0], 1000.0 * genomes[:, 1] - 7.0))

    nodes, mapped_nodes = grow_column(genomes, [0, 0]), grow_column(mapped, [0, 0])

    assert rows_per_node(nodes, genomes) == rows_per_node(mapped_nodes, mapped)


def test_the_order_of_rows_does_not_change_the_tree() -> None:
    rng = generator(13)
    genomes = rng.normal(size=(400, 3))
    genomes[:, 0] += genomes[:, 1] ** 2
    shuffled = genomes[rng.permutation(400)]

    nodes, shuffled_nodes = grow_column(genomes, [0, 0, 0]), grow_column(shuffled, [0, 0, 0])

    assert [node.split for node in nodes] == [node.split for node in shuffled_nodes]
