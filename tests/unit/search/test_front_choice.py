from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.search.front import greatest_contribution, hypervolume

GRID = [
    np.linspace(0.0, 0.5, 4),
    np.linspace(0.0, 1.0, 4),
    np.arange(5.0),
    np.linspace(0.0, 1.0, 4),
]


@st.composite
def objectives(draw: st.DrawFn) -> Floats:
    """Draw distinct points of a coarse grid, by gap; the gap is often 0."""
    n = draw(st.integers(1, 14))
    axes = [st.sampled_from(list(axis)) for axis in GRID]
    axes[0] = st.one_of(st.just(0.0), axes[0])
    points = draw(st.lists(st.tuples(*axes), min_size=n, max_size=n, unique=True))
    array = np.array(sorted(points))
    array.setflags(write=False)
    return array


def volume(points: Floats, reference: Floats) -> float:
    """Return the hypervolume by adding the cells of the grid the points make."""
    inside = points[(points < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    cuts = [np.unique([*inside[:, m], reference[m]]) for m in range(4)]
    total = 0.0
    for corner in product(*(range(len(cut) - 1) for cut in cuts)):
        low = np.array([cut[i] for cut, i in zip(cuts, corner, strict=True)])
        if (inside <= low).all(axis=1).any():
            total += np.prod([cut[i + 1] - cut[i] for cut, i in zip(cuts, corner, strict=True)])
    return total


def reference_choice(points: Floats, n: int) -> list[int]:
    """Choose as the authors do: those that reach the target, else the greatest gain in volume."""
    if len(points) <= n:
        return list(range(len(points)))
    reached = [i for i in range(len(points)) if points[i, 0] <= 0.0]
    pool = reached if len(reached) > n else list(range(len(points)))
    chosen = [] if len(reached) > n else reached
    corner = np.array([0.5, 1.0, points[pool, 2].max() + 1.0, 1.0])
    while len(chosen) < n:
        gains = [-1.0 if i in chosen else volume(points[[*chosen, i]], corner) for i in pool]
        best = max(gains)
        close = [i for i, gain in zip(pool, gains, strict=True) if gain > best - 1e-12]
        chosen = [*chosen, close[0]]
    return chosen


@settings(deadline=None, max_examples=40)
@given(objectives(), st.integers(1, 6))
def test_each_step_of_the_choice_gains_most(points: Floats, n: int) -> None:
    """Ties may be broken by the last bit of a volume, so each step is judged by itself."""
    chosen = greatest_contribution(points, n).tolist()

    assert len(chosen) == len(set(chosen)) == min(n, len(points))
    valid = np.flatnonzero(points[:, 0] <= 0.0).tolist()
    if len(points) > n:
        pool = valid if len(valid) > n else list(range(len(points)))
        n_forced = 0 if len(valid) > n else len(valid)
        corner = np.array([0.5, 1.0, points[pool, 2].max() + 1.0, 1.0])
        assert chosen[:n_forced] == valid[:n_forced]
        for step in range(n_forced, n):
            before = chosen[:step]
            gained = volume(points[chosen[: step + 1]], corner)
            rest = [volume(points[[*before, i]], corner) for i in pool if i not in before]
            assert gained == pytest.approx(max(rest), abs=1e-9)


def scattered(seed: int, n: int, n_valid: int) -> Floats:
    rng = np.random.default_rng(seed)  # noqa: TID251
    points = rng.random((n, 4)) * [0.5, 1.0, 1.0, 1.0]
    points[:, 2] = rng.integers(1, 8, n)
    points[:n_valid, 0] = 0.0
    return points


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_valid", "n"), [(0, 4), (2, 4), (4, 4), (12, 4), (5, 10), (16, 1)])
def test_the_choice_is_that_of_the_greedy_reference(seed: int, n_valid: int, n: int) -> None:
    """Without ties the order is the same too."""
    points = scattered(seed, 16, n_valid)

    chosen = greatest_contribution(points, n)

    assert chosen.tolist() == reference_choice(points, n)


def test_few_are_all_taken_as_they_come() -> None:
    points = scattered(0, 5, 2)

    assert greatest_contribution(points, 5).tolist() == [0, 1, 2, 3, 4]
    assert greatest_contribution(points, 9).tolist() == [0, 1, 2, 3, 4]
    assert greatest_contribution(points[:0], 9).tolist() == []


def test_valid_ones_are_kept_even_if_they_add_nothing() -> None:
    """The second repeats the first; an invalid one would add more volume."""
    points = np.array([[0.0, 0.5, 2, 0.5], [0.0, 0.5, 2, 0.5], [0.1, 0.1, 1, 0.1], [0.4, 0, 1, 0]])

    assert greatest_contribution(points, 2).tolist() == [0, 1]
    assert greatest_contribution(points, 3).tolist() == [0, 1, 2]


def test_gaps_beyond_the_reference_are_taken_in_order() -> None:
    """Targets of a regression may be far away: no volume tells them apart."""
    points = np.array([[30.0, 0.5, 2, 0.5], [50.0, 0.1, 1, 0.1], [70.0, 0.0, 1, 0.1]])

    assert greatest_contribution(points, 2).tolist() == [0, 1]


@pytest.mark.parametrize("n", [0, -3, 1.0, False, None])
def test_the_number_must_be_whole_and_positive(n: Any) -> None:
    with pytest.raises(
        InvalidInput, match=f"select: n must be a whole number of at least 1, got {n!r}."
    ):
        greatest_contribution(np.zeros((3, 4)), n)


@given(
    objectives=arrays(
        np.float64,
        st.tuples(st.integers(2, 14), st.just(4)),
        elements=st.integers(0, 6).map(lambda step: step / 6),  # coarse, so that ties are many
    ),
    n=st.integers(1, 8),
)
def test_measuring_only_who_may_add_most_chooses_as_measuring_all(objectives: Any, n: int) -> None:
    chosen = greatest_contribution(objectives, n)

    valid = np.flatnonzero(objectives[:, 0] <= 0.0)
    pool = valid if len(valid) > n else np.arange(len(objectives))
    reference = np.array([0.5, 1.0, objectives[pool, 2].max() + 1.0, 1.0])
    start = 0 if len(valid) > n else len(valid)
    if len(objectives) > n:
        for place in range(start, n):
            before = chosen[:place].tolist()
            rest = [i for i in pool.tolist() if i not in before]
            volumes = [hypervolume(objectives[[*before, i]], reference) for i in rest]
            assert volumes[rest.index(chosen[place])] == pytest.approx(max(volumes), rel=1e-9)
    assert len(set(chosen.tolist())) == min(n, len(objectives))
