"""The leaf model: maximum likelihood, monotone, and a distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from counterpoint.arrays import Floats
from counterpoint.density import bernstein

RNG = np.random.default_rng(20)  # noqa: TID251


def histogram(values: Floats, n_cells: int = 100) -> Floats:
    share = (values - values.min()) / np.ptp(values)
    cells = np.rint(share * (n_cells - 1)).astype(np.int64)
    counts = np.bincount(cells, minlength=n_cells).astype(np.float64)
    counts.setflags(write=False)
    return counts


SAMPLES = {
    "normal": histogram(RNG.normal(size=3000)),
    "uniform": histogram(RNG.random(2000)),
    "exponential": histogram(RNG.exponential(size=2000)),
    "two modes": histogram(np.concatenate((RNG.normal(size=400), RNG.normal(7, 0.5, size=400)))),
    "mass at zero": histogram(np.where(RNG.random(700) < 0.5, 0.0, RNG.gamma(2, size=700))),
    "seven rows": histogram(RNG.normal(size=7)),
}

occupied = st.lists(st.integers(0, 40), min_size=3, max_size=60).filter(any)


def log_likelihood(theta: Floats, counts: Floats) -> float:
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(bernstein.describe_cells(theta, len(counts))[0][seen]))


def gradient_of_increments(theta: Floats, counts: Floats) -> Floats:
    gradient = counts @ bernstein.describe_cells(theta, len(counts))[1] / counts.sum()
    return np.asarray(np.cumsum(gradient[::-1])[::-1])


def test_the_basis_sums_to_one_at_every_inner_border() -> None:
    basis = bernstein.basis(12)

    np.testing.assert_allclose(basis[1:-1].sum(axis=1), 1.0)


def test_cell_probabilities_are_the_normal_masses_between_borders() -> None:
    theta = np.linspace(-2.0, 2.0, 6)  # h is linear

    probabilities = bernstein.describe_cells(theta, 5)[0]

    heights = np.array([-np.inf, -2.0, -2.0 / 3.0, 2.0 / 3.0, 2.0, np.inf])
    np.testing.assert_allclose(probabilities, np.diff(ndtr(heights)), rtol=1e-12)


@given(occupied)
@settings(max_examples=60, deadline=None)
def test_every_fit_is_increasing_and_its_probabilities_sum_to_one(counts: list[int]) -> None:
    theta = bernstein.fit(np.array(counts, dtype=np.float64))

    probabilities = bernstein.describe_cells(theta, len(counts))[0]
    heights = bernstein.basis(len(counts))[1:-1] @ theta
    assert np.all(np.isfinite(theta))
    assert np.all(np.diff(theta) >= 0.99 * bernstein.MIN_INCREMENT)
    assert np.all(np.diff(heights) > 0)
    assert np.all(probabilities >= 0)
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_gradient_vanishes_at_the_fit_or_points_out_of_the_bounds(name: str) -> None:
    theta = bernstein.fit(SAMPLES[name])

    gradient = gradient_of_increments(theta, SAMPLES[name])
    at_floor = np.concatenate(([False], np.diff(theta) <= bernstein.MIN_INCREMENT * 1.001))
    np.testing.assert_allclose(gradient[~at_floor], 0.0, atol=1e-5)
    assert np.all(gradient[at_floor] < 1e-5)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("size", [0.003, 0.1, 1.0])
def test_no_monotone_perturbation_is_more_likely_than_the_fit(name: str, size: float) -> None:
    counts = SAMPLES[name]
    theta = bernstein.fit(counts)
    best = log_likelihood(theta, counts)
    rng = np.random.default_rng(1)  # noqa: TID251

    for _ in range(50):
        increments = np.abs(np.diff(theta) * np.exp(size * rng.normal(size=5)))
        increments = np.maximum(increments, bernstein.MIN_INCREMENT)
        other = theta[0] + size * rng.normal() + np.concatenate(([0.0], np.cumsum(increments)))

        assert log_likelihood(other, counts) <= best + 1e-7


def test_expected_counts_of_a_known_model_give_back_its_distribution() -> None:
    theta = np.array([-2.5, -1.0, -0.8, 0.1, 1.9, 2.2])
    counts = 1e4 * bernstein.describe_cells(theta, 100)[0]

    found = bernstein.fit(counts)

    np.testing.assert_allclose(found, theta, atol=1e-4)


def test_the_fit_depends_on_shares_only() -> None:
    counts = SAMPLES["exponential"]

    np.testing.assert_allclose(bernstein.fit(counts), bernstein.fit(counts * 8.0), rtol=1e-9)


def test_scores_are_the_derivatives_of_the_log_probabilities() -> None:
    theta = np.array([-2.0, -1.0, -0.7, 0.4, 0.9, 2.1])

    scores = bernstein.describe_cells(theta, 30)[1]

    step = 1e-6 * np.eye(6)
    for j in range(6):
        above = np.log(bernstein.describe_cells(theta + step[j], 30)[0])
        below = np.log(bernstein.describe_cells(theta - step[j], 30)[0])
        np.testing.assert_allclose(scores[:, j], (above - below) / 2e-6, atol=1e-6)


@pytest.mark.parametrize("cell", [0, 1, 50, 98, 99])
def test_rows_that_share_one_cell_are_described_by_that_cell(cell: int) -> None:
    counts = np.zeros(100)
    counts[cell] = 12.0

    probabilities = bernstein.describe_cells(bernstein.fit(counts), 100)[0]

    assert probabilities[cell] > 0.99


def test_one_far_outlier_does_not_break_the_fit() -> None:
    counts = np.zeros(100)
    counts[0], counts[99] = 100_000.0, 1.0

    probabilities = bernstein.describe_cells(bernstein.fit(counts), 100)[0]

    assert probabilities[0] == pytest.approx(1.0, abs=1e-4)
    assert probabilities[99] == pytest.approx(1e-5, rel=0.2)
