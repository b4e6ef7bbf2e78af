"""Values drawn given the others are those seen with them, and do not depend on the gene itself."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sampler import ConditionalSampler
from tests.strategies import generator

from counterpoint.arrays import Floats

JOB, AGE, PAY, RENT = range(4)


def observed(n: int = 240) -> Floats:
    """Return rows in which the job decides about the pay, and the age about the rent."""
    rng = generator(3)
    job, age = rng.integers(0, 3, n), rng.integers(20, 60, n)
    pay = 1_000 * (job + 1) + rng.integers(0, 100, n)
    rent = np.where(age < 40, 300, 900) + rng.integers(0, 50, n)
    return np.ascontiguousarray(np.column_stack((job, age, pay, rent)).astype(np.float64))


@pytest.fixture(scope="module")
def sampler() -> ConditionalSampler:
    return ConditionalSampler.fit(
        observed(),
        is_categorical=np.array([True, False, False, False]),
        is_integer=np.array([False, True, True, True]),
        n_levels=np.array([3, 0, 0, 0]),
    )


def test_draws_given_a_level_or_a_number_lie_where_rows_like_it_do(
    sampler: ConditionalSampler,
) -> None:
    genomes, uniforms = observed(), generator(4).random(240)

    pay, rent = (sampler.sample(genomes, feature, uniforms) for feature in (PAY, RENT))

    assert np.abs(pay - 1_000 * (genomes[:, JOB] + 1) - 50).max() < 200
    is_clear = np.abs(genomes[:, AGE] - 40) > 3  # a threshold may lie a little beside
    assert (np.abs(rent - np.where(genomes[:, AGE] < 40, 325, 925))[is_clear] < 200).all()


def test_what_is_drawn_does_not_depend_on_the_gene_that_is_drawn(
    sampler: ConditionalSampler,
) -> None:
    genomes, uniforms = observed(), generator(5).random(240)
    others = genomes.copy()
    others[:, PAY] = 0.0

    drawn = sampler.sample(others, PAY, uniforms)

    np.testing.assert_array_equal(drawn, sampler.sample(genomes, PAY, uniforms))


def test_what_was_seen_is_likelier_than_what_was_not(sampler: ConditionalSampler) -> None:
    genomes = observed()
    swapped = genomes.copy()
    swapped[:, JOB] = (genomes[:, JOB] + 1) % 3

    seen, unseen = (sampler.log_likelihood(each, PAY) for each in (genomes, swapped))

    assert (seen > unseen).mean() > 0.95
    assert unseen.min() >= np.log(1e-12)
