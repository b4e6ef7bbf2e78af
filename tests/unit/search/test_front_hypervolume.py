"""Hypervolume: exact where that is quick, else close to it and the same every time."""

from __future__ import annotations

import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.arrays import Floats
from counterpoint.search.front import FEW, MOST_EXACT, hypervolume, hypervolume_history


def drawn(n: int, m: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)  # noqa: TID251
    return np.asarray(rng.dirichlet(np.ones(m), n))


@pytest.mark.parametrize(("n", "m"), [(400, 4), (400, MOST_EXACT), (FEW, 9), (1, 12)])
def test_few_points_or_few_objectives_are_measured_exactly(n: int, m: int) -> None:
    points = drawn(n, m)

    assert hypervolume(points, np.ones(m)) == moocore.hypervolume(points, ref=np.ones(m))


@pytest.mark.parametrize("seed", range(4))
def test_many_points_in_six_objectives_are_measured_to_a_thousandth(seed: int) -> None:
    points, reference = drawn(150, 6, seed), np.ones(6)

    found = hypervolume(points, reference)

    assert found == pytest.approx(moocore.hypervolume(points, ref=reference), rel=3e-3)
    assert found == hypervolume(points, reference)


@settings(deadline=None, max_examples=10)
@given(st.lists(st.integers(-3, 3), min_size=6, max_size=6), st.integers(0, 9))
def test_units_scale_the_volume_and_nothing_else(exponents: list[int], seed: int) -> None:
    """Powers of two are exact, so not a bit of the approximation may move."""
    points, units = drawn(60, 6, seed), 2.0 ** np.array(exponents)

    found = hypervolume(points * units - 1.0, units - 1.0)

    assert found == pytest.approx(hypervolume(points, np.ones(6)) * units.prod(), rel=1e-9)


def test_points_beyond_the_reference_add_nothing() -> None:
    points = drawn(60, 6)
    beyond = np.vstack([points, np.full(6, 2.0), np.r_[1.0, np.zeros(5)]])

    assert hypervolume(beyond, np.ones(6)) == hypervolume(points, np.ones(6))
    assert hypervolume(points + 1.0, np.ones(6)) == 0.0


def test_a_history_never_falls() -> None:
    points = drawn(300, 7)

    history = hypervolume_history(points, np.repeat(np.arange(30), 10), 30, np.ones(7))

    assert (np.diff(history) >= 0.0).all()
    assert history[-1] == pytest.approx(hypervolume(points, np.ones(7)), rel=0.02)
