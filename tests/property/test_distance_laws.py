"""Gower's distance is a metric, and the nearest observed rows are found without missing one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels import called
from tests.strategies import generator

from counterpoint.arrays import Floats
from counterpoint.neighbours import gower as distance
from counterpoint.neighbours.gower import LANES, Gower, Scale
from counterpoint.neighbours.index import (
    NearRows,
    find_near_rows,
    gower_to_all,
    gower_weights,
    index_rows,
    nearest_first,
    rough_distances,
    single_slack,
)
from counterpoint.neighbours.nearest import NEAR
from counterpoint.neighbours.tree import RowTree, grow_tree
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP, IMPLAUSIBILITY
from counterpoint.problem.problem import closeness
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Space, describe_space

EXACT = 1e-12
gower = called(distance.gower)


class Case(NamedTuple):
    """Observed genomes (n, d), their space, rows to explain (r, d), candidates (r, m, d)."""

    observed: Floats
    space: Space
    rows: Floats
    candidates: Floats
    scale: Scale = "range"


def table(n: int, seed: int, offset: float = 0.0) -> pd.DataFrame:
    """Draw a table with numbers of every scale, levels, ties and constant columns."""
    rng = generator(seed)
    return pd.DataFrame(
        {
            "count": rng.integers(-3, 4, n),
            "wide": offset + rng.normal(0.0, 1e4, n),
            "narrow": rng.normal(0.0, 1e-4, n).round(5),
            "tailed": (rng.standard_cauchy(n) * 1e3).round(2),
            "mostly": np.where(rng.random(n) < 0.1, rng.integers(1, 9, n), 0),
            "single": rng.random(n).astype(np.float32),
            "flag": rng.random(n) < 0.5,
            "job": rng.choice(["clerk", "nurse", "smith"], n),
            "size": pd.Categorical(rng.choice([*"SML"], n), [*"SML"], ordered=True),
            "same": np.full(n, 7.5),
            "only": ["here"] * n,
        }
    )


def case(n: int, seed: int, offset: float = 0.0, scale: Scale = "range") -> Case:
    """Draw rows in, on and outside the data's range, and candidates that include observed rows."""
    data = table(n, seed, offset)
    encoding = Encoding(Schema.infer(data))
    observed = encoding.encode(data)
    space = describe_space(encoding.schema, observed)
    space = space._replace(width=Gower(scale).widths(observed, space))
    rng = generator(seed + 1)
    d, n_other = observed.shape[1], 4

    def mixed(n_rows: int) -> Floats:
        """Combine the genes of observed rows."""
        return observed[rng.integers(0, n, (n_rows, d)), np.arange(d)]

    rows = np.concatenate([observed[:1], mixed(2)])
    is_number = ~space.is_level & (space.n_levels == 0)
    rows[2, is_number] += np.where(rng.random(is_number.sum()) < 0.5, 3.0, -3.0)
    picked = observed[rng.integers(0, n, (len(rows), n_other))]
    mixes = mixed(len(rows) * n_other).reshape(len(rows), n_other, d)
    halves = np.where(is_number, (picked + rows[:, None]) / 2, mixes)
    candidates = np.concatenate([rows[:, None], picked, mixes, halves], axis=1)
    for array in (observed, rows, candidates):
        array.setflags(write=False)
    return Case(observed, space, rows, candidates, scale)


def look(case: Case, shares: Floats, near: int = NEAR) -> tuple[NearRows, Callable[[], RowTree]]:
    """Surround the rows of a case, with so many observed rows at hand."""
    indexed = index_rows(case.observed, len(shares), case.space)
    near_rows = find_near_rows(case.rows, indexed, case.space, shares, near)
    return near_rows, lambda: grow_tree(indexed)


def middle_of(values: Floats, scale: Scale) -> float:
    """Return the width of the middle of some values, by its definition; 0 for the range."""
    if scale == "percentile":
        return float(np.quantile(values, 0.95) - np.quantile(values, 0.05))
    if scale == "mad":
        return float(4.8773 * np.median(np.abs(values - np.median(values))))
    return 0.0


def by_definition(case: Case, a: int, others: Floats) -> Floats:
    """Return the distances of row a's candidates (m, d) to others (n, d), feature by feature."""
    low, high = np.minimum(case.space.low, case.rows[a]), np.maximum(case.space.high, case.rows[a])
    total = np.zeros((case.candidates.shape[1], len(others)))
    for j in range(others.shape[1]):
        difference = np.abs(case.candidates[a, :, None, j] - others[None, :, j])
        width = middle_of(case.observed[:, j], case.scale)
        if case.space.is_level[j]:
            total += difference > 0
        elif width > 0.0:
            total += np.minimum(difference / width, 1.0)
        elif high[j] > low[j]:
            total += difference / (high[j] - low[j])
    return np.asarray(total / others.shape[1])


def brute_force(case: Case, shares: Floats) -> Floats:
    """Measure every candidate (r, m) against every observed row."""
    nearest = [
        np.sort(by_definition(case, a, case.observed), axis=1)[:, : len(shares)] @ shares
        for a in range(len(case.rows))
    ]
    return np.stack(nearest)


@pytest.mark.parametrize("near", [1, 3, 20, 90])
@pytest.mark.parametrize("n", [150, 400])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("scale", ["range", "mad"])
def test_few_rows_at_hand_change_nothing(near: int, n: int, k: int, scale: Scale) -> None:
    """Whether neighbours are at hand, or are looked for in the tree of all rows."""
    shares = np.full(k, 1.0 / k)
    for seed in range(3):
        given_case = case(n, 7 * seed + near, scale=scale)

        near_rows, tree = look(given_case, shares, near)
        measured = closeness(given_case.candidates, given_case.rows, near_rows, tree)

        everything = closeness(given_case.candidates, given_case.rows, *look(given_case, shares))
        np.testing.assert_array_equal(measured, everything)


@pytest.mark.parametrize("n", [1, LANES, LANES + 1, LANES**2, LANES**2 + 1, 5_000])
def test_a_tree_holds_every_row_once_and_its_boxes_hold_what_is_in_them(n: int) -> None:
    given_case = case(n, 11)
    tree = grow_tree(index_rows(given_case.observed, 1, given_case.space))

    assert sorted(tree.order[: tree.n].tolist()) == list(range(tree.n))
    assert tree.sizes[-1] <= LANES
    within = tree.blocks.min(axis=2), tree.blocks.max(axis=2)
    for start, size in zip(tree.starts, tree.sizes, strict=True):
        n_groups = -(-size // LANES)
        ends = [
            each[start : start + n_groups].transpose(0, 2, 1).reshape(-1, each.shape[1])[:size]
            for each in (tree.lower, tree.upper)
        ]
        assert (ends[0] <= within[0]).all()
        assert (ends[1] >= within[1]).all()
        within = (
            np.minimum.reduceat(ends[0], range(0, size, LANES)),
            np.maximum.reduceat(ends[1], range(0, size, LANES)),
        )


@pytest.mark.parametrize("k", [1, 2, 5])
def test_copies_of_observed_rows_are_left_out_without_changing_any_distance(k: int) -> None:
    given_case = case(40, 12)
    copies = np.repeat(given_case.observed, np.arange(40) % 7 + 1, axis=0)
    repeated = given_case._replace(observed=copies)
    shares = np.full(k, 1.0 / k)

    near_rows, tree = look(repeated, shares)
    measured = closeness(given_case.candidates, given_case.rows, near_rows, tree)

    expected = brute_force(repeated, shares)
    np.testing.assert_allclose(measured[..., IMPLAUSIBILITY], expected, rtol=0, atol=EXACT)


def test_many_copies_are_thinned_and_rows_without_them_are_shared() -> None:
    given_case = case(40, 13)
    genomes, space = given_case.observed, given_case.space
    copies = np.repeat(genomes, 10, axis=0)

    thinned, whole = index_rows(copies, 2, space), index_rows(genomes, 1, space)

    np.testing.assert_array_equal(thinned.genomes, copies[thinned.which])
    np.testing.assert_array_equal(thinned.genomes, np.repeat(genomes, 2, axis=0))
    assert np.shares_memory(whole.genomes, genomes)


@settings(deadline=None)
@given(
    distances=st.lists(
        st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]) | st.floats(0.0, 1.0), min_size=1
    ),
    n=st.integers(1, 10),
)
def test_the_nearest_come_first_and_ties_by_index(distances: list[float], n: int) -> None:
    given_distances = np.array(distances, dtype=np.float32)

    found = nearest_first(given_distances, min(n, len(distances)))

    expected = sorted(range(len(distances)), key=lambda i: (given_distances[i], i))[:n]
    assert found.tolist() == expected


@pytest.mark.parametrize("n", [1, 2, LANES - 1, LANES, LANES + 1, 61, 200])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("scale", ["range", "percentile", "mad"])
def test_implausibility_equals_a_full_scan(n: int, k: int, scale: Scale) -> None:
    shares = np.arange(min(k, n), 0.0, -1.0)
    shares /= shares.sum()
    for seed in range(4):
        given_case = case(n, 100 * n + 10 * k + seed, scale=scale)

        near_rows, tree = look(given_case, shares)
        measured = closeness(given_case.candidates, given_case.rows, near_rows, tree)

        np.testing.assert_allclose(
            measured[..., IMPLAUSIBILITY], brute_force(given_case, shares), rtol=0, atol=EXACT
        )


def test_a_narrow_range_far_from_zero_loses_no_digits() -> None:
    given_case = case(60, 5, offset=1e15)

    near_rows, tree = look(given_case, np.ones(1))
    measured = closeness(given_case.candidates, given_case.rows, near_rows, tree)

    expected = brute_force(given_case, np.ones(1))
    np.testing.assert_allclose(measured[..., IMPLAUSIBILITY], expected, rtol=0, atol=EXACT)


def test_an_observed_row_is_exactly_plausible() -> None:
    given_case = case(50, 3)
    candidates = np.repeat(given_case.observed[None], len(given_case.rows), axis=0)

    near_rows, tree = look(given_case, np.ones(1))
    measured = closeness(candidates, given_case.rows, near_rows, tree)

    assert (measured[..., IMPLAUSIBILITY] == 0.0).all()


def test_the_row_itself_is_at_no_distance_with_no_changes() -> None:
    given_case = case(50, 4)

    near_rows, tree = look(given_case, np.ones(1))
    measured = closeness(given_case.candidates, given_case.rows, near_rows, tree)

    assert (measured[:, 0, [GAP, DISTANCE, CHANGES]] == 0.0).all()


def test_distance_and_changes_are_those_of_the_definition() -> None:
    given_case = case(50, 6)

    near_rows, tree = look(given_case, np.ones(1))
    measured = closeness(given_case.candidates, given_case.rows, near_rows, tree)

    differs = given_case.candidates != given_case.rows[:, None]
    np.testing.assert_array_equal(measured[..., CHANGES], differs.sum(axis=2))
    for a, row in enumerate(given_case.rows):
        expected = gower_to_all(row, given_case.candidates[a], near_rows.weight[a], near_rows.cap)
        np.testing.assert_array_equal(measured[a, :, DISTANCE], expected)


def test_what_a_row_sees_does_not_depend_on_its_company() -> None:
    given_case = case(50, 8)
    shares = np.array([0.7, 0.3])
    near_rows, tree = look(given_case, shares)
    together = closeness(given_case.candidates, given_case.rows, near_rows, tree)

    for a in range(len(given_case.rows)):
        one = np.array([a])
        seen = near_rows.of_rows(one)
        alone = closeness(given_case.candidates[one], given_case.rows[one], seen, tree)

        np.testing.assert_array_equal(alone[0], together[a])


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), scale=st.sampled_from([*get_args(Scale)]))
def test_gower_is_a_metric_within_zero_and_one(seed: int, n: int, scale: Scale) -> None:
    data = case(n, seed, scale=scale)
    weight, cap = gower_weights(data.rows, data.space)
    a, b, c = data.candidates[1][generator(seed).integers(0, data.candidates.shape[1], 3)]

    ab, ba, bc, ac = (gower(*pair, weight[1], cap) for pair in [(a, b), (b, a), (b, c), (a, c)])

    assert ab == ba
    assert gower(a, a, weight[1], cap) == 0.0
    assert ac <= ab + bc + 1e-15
    assert 0.0 <= ab <= 1.0 + 1e-15
    if not np.array_equal(a, b):
        assert ab > 0.0


def test_two_rows_that_differ_in_everything_are_at_distance_one() -> None:
    data = pd.DataFrame(
        {
            "x": [0.0, 2.0],
            "job": ["a", "b"],
            "size": pd.Categorical([*"SL"], [*"SML"], ordered=True),
        }
    )
    encoding = Encoding(Schema.infer(data))
    genomes = encoding.encode(data)
    weight, cap = gower_weights(genomes[:1], describe_space(encoding.schema, genomes))

    assert gower(genomes[0], genomes[1], weight[0], cap) == 1.0


def test_a_constant_feature_counts_in_the_mean_and_adds_nothing() -> None:
    data = pd.DataFrame({"x": [0.0, 2.0], "same": [5.0, 5.0]})
    encoding = Encoding(Schema.infer(data))
    genomes = encoding.encode(data)
    weight, cap = gower_weights(genomes[:1], describe_space(encoding.schema, genomes))

    assert weight.tolist() == [[0.5, 0.0]]
    assert gower(genomes[0], genomes[1], weight[0], cap) == 0.5


def test_the_range_of_the_distance_is_that_of_the_data_and_the_row() -> None:
    data = pd.DataFrame({"x": [0.0, 2.0]})
    encoding = Encoding(Schema.infer(data))
    space = describe_space(encoding.schema, encoding.encode(data))

    weight, _ = gower_weights(np.array([[1.0], [4.0], [-2.0]]), space)

    np.testing.assert_allclose(weight, [[1 / 2], [1 / 4], [1 / 4]])


@pytest.mark.parametrize("d", [1, 3, 8, 50, 300])
@pytest.mark.parametrize("far", [0.0, 1e3, 1e12])
def test_distances_in_single_precision_are_off_by_no_more_than_the_slack(
    d: int, far: float
) -> None:
    """With rows far outside the data's range too, where a range is nearly all theirs."""
    rng = generator(d)
    data = pd.DataFrame(rng.normal(1e6, 1.0, (100, d)), columns=[f"x{j}" for j in range(d)])
    data = data.assign(job=rng.choice(["clerk", "nurse", "smith"], 100))
    encoding = Encoding(Schema.infer(data))
    genomes = encoding.encode(data)
    space = describe_space(encoding.schema, genomes)
    rows = genomes[:3].copy()
    rows[1:, : (d + 1) // 2] += far
    weight, cap = gower_weights(rows, space)

    rough = rough_distances(rows, index_rows(genomes, 1, space), weight, cap)

    exact = [gower_to_all(rows[a], genomes, weight[a], cap) for a in range(3)]
    np.testing.assert_allclose(rough, exact, rtol=0, atol=single_slack(np.zeros(d + 1)))


@pytest.mark.parametrize("scale", ["percentile", "mad"])
def test_distances_are_capped_shares_of_the_middle_of_the_data(scale: Scale) -> None:
    given_case = case(80, 21, scale=scale)
    near_rows, tree = look(given_case, np.ones(1))

    measured = closeness(given_case.candidates, given_case.rows, near_rows, tree)

    for a, row in enumerate(given_case.rows):
        expected = by_definition(given_case, a, row[None])[:, 0]
        np.testing.assert_allclose(measured[a, :, DISTANCE], expected, rtol=0, atol=EXACT)


@pytest.mark.parametrize("tail", [1e2, 1e5, 1e9])
def test_outliers_far_beyond_the_width_lose_no_neighbour_to_single_precision(tail: float) -> None:
    rng = generator(3)
    data = pd.DataFrame({"x": np.r_[rng.normal(0.0, 1.0, 300), tail, 2.0 * tail]})
    encoding = Encoding(Schema.infer(data, precision="full"))
    observed = encoding.encode(data)
    space = describe_space(encoding.schema, observed)
    space = space._replace(width=Gower("mad").widths(observed, space))
    candidates = rng.normal(0.0, 1.0, (1, 200, 1))
    given_case = Case(observed, space, observed[:1], candidates, "mad")

    measured = closeness(candidates, given_case.rows, *look(given_case, np.ones(1)))

    width = space.width[0]
    apart = np.abs(candidates[0] - observed[:, 0]).min(axis=1)
    expected = np.minimum(apart / width, 1.0)
    np.testing.assert_allclose(measured[0, :, IMPLAUSIBILITY], expected, rtol=0, atol=1e-9)


def test_the_width_of_normal_data_is_the_same_by_percentiles_and_by_deviations() -> None:
    data = pd.DataFrame({"x": generator(1).normal(5.0, 2.0, 200_000)})
    encoding = Encoding(Schema.infer(data, precision="full"))
    observed = encoding.encode(data)
    space = describe_space(encoding.schema, observed)

    by_percentiles, by_deviations = (
        Gower(scale).widths(observed, space) for scale in ("percentile", "mad")
    )

    np.testing.assert_allclose(by_percentiles, 2.0 * 3.2897, rtol=0.01)
    np.testing.assert_allclose(by_deviations, 2.0 * 3.2897, rtol=0.01)
