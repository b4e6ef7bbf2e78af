"""Leaf densities against a slow reference, and the laws a density keeps."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from tests.strategies import generator

from counterpoint.arrays import Floats, Ints
from counterpoint.density.adversarial_forest import (
    BY_THRESHOLD,
    LEAF,
    Grove,
    Settings,
    columns_of,
    grouped,
    grow,
)
from counterpoint.density.forest_density import ForestDensity
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Space, describe_space

SETTINGS = Settings(trees=8, min_leaf=5, rounds=3, delta=0.0, seed=0)


def mixed(n: int, seed: int = 0) -> pd.DataFrame:
    rng = generator(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x.round(3),
            "job": pd.Categorical(np.where(x + rng.normal(size=n) > 0, "a", "b").astype(object)),
            "y": (x + 0.3 * rng.normal(size=n)).round(3),
            "city": pd.Categorical(rng.choice(["k", "l", "m"], n)),
            "age": rng.integers(18, 60, n),
        }
    )


def encoded(frame: pd.DataFrame) -> tuple[Floats, Space]:
    schema = Schema.infer(frame)
    genomes = Encoding(schema).encode(frame)
    return genomes, describe_space(schema, genomes)


def density_of(genomes: Floats, space: Space) -> ForestDensity:
    columns = columns_of(genomes, space)
    grove, _ = grow(grouped(genomes, columns), columns, SETTINGS)
    return ForestDensity(grove, columns, genomes, space)


@cache
def fitted(n: int = 120) -> tuple[Floats, Space, ForestDensity]:
    genomes, space = encoded(mixed(n))
    return genomes, space, density_of(genomes, space)


def path_of(grove: Grove, root: int, row: Floats) -> tuple[int, dict[int, Any]]:
    """Return the leaf of a row and the box of its path: ends of numbers, excluded levels."""
    node, box = root, everywhere(len(row))
    while grove.left[node] != LEAF:
        j, edge = int(grove.feature[node]), float(grove.threshold[node])
        if grove.level[node] == BY_THRESHOLD:
            goes_right = row[j] > edge
            box[j][0 if goes_right else 1] = edge  # the last on the path is the tightest
        else:
            goes_right, level = row[j] == grove.level[node], int(grove.level[node])
            box[j][2] |= set(range(9)) - {level} if goes_right else {level}
        node = int((grove.right if goes_right else grove.left)[node])
    return node, box


def everywhere(d: int) -> dict[int, Any]:
    """Return the box of a root."""
    return {j: [-np.inf, np.inf, set()] for j in range(d)}


def slow_density(rows: Floats, row: Floats, grove: Grove, space: Space, without: int = -1) -> float:
    """Return the density of a row, written down from the definition, one observed row left out."""
    parts = []
    kept = np.delete(rows, without, axis=0) if without >= 0 else rows
    for root in [None, *grove.roots.tolist()]:
        members, box = kept, everywhere(len(row))
        if root is not None:
            leaf, box = path_of(grove, root, row)
            members = kept[[path_of(grove, root, each)[0] == leaf for each in kept]]
        if len(members) == 0:
            parts.append(0.0)
            continue
        part = len(members) / len(kept)
        for j in range(len(row)):
            part *= slow_margin(rows[:, j], members[:, j], row[j], box[j], space, j)
        parts.append(part)
    return float(np.mean(parts))


def slow_margin(
    column: Floats, values: Floats, value: float, box: list[Any], space: Space, j: int
) -> float:
    """Return the density of one feature in a leaf."""
    n = len(values)
    if space.is_level[j]:
        counts = {level: np.sum(column == level) + 1 for level in range(space.n_levels[j])}
        possible = sum(count for level, count in counts.items() if level not in box[2])
        return float((np.sum(values == value) + counts[int(value)] / possible) / (n + 1))
    width = min(box[1], column.max()) - max(box[0], column.min())
    prior = min(column.var(), width**2 / 12)
    variance = (np.sum((values - values.mean()) ** 2) + prior) / n
    deviation = max(np.sqrt(variance), 1 / space.grid[j] / np.sqrt(12), 1e-6 * column.max(), 1e-6)
    low, high = (np.array(box[:2]) - values.mean()) / deviation
    return float(stats.truncnorm.pdf(value, low, high, values.mean(), deviation))


def test_the_kernel_computes_the_definition() -> None:
    genomes, space, density = fitted()
    rng = generator(3)
    picks = rng.integers(0, len(genomes), (40, genomes.shape[1]))
    candidates = np.take_along_axis(genomes, picks, axis=0)

    found = density.log_likelihood(candidates)

    rows, asked = (grouped(each, density.columns) for each in (genomes, candidates))
    expected = [slow_density(rows, row, density.grove, space) for row in asked]
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)


def test_an_observed_row_is_rated_by_the_others() -> None:
    """But for what all rows together say of each feature, which one of many hardly moves."""
    genomes, space, density = fitted()

    rows = grouped(genomes, density.columns)
    expected = [
        slow_density(rows, rows[i], density.grove, space, without=i) for i in range(0, 120, 9)
    ]
    np.testing.assert_allclose(np.exp(density.own[::9]), expected, rtol=1e-8)


def test_observed_rows_are_not_their_own_witnesses() -> None:
    genomes, _, density = fitted()

    assert density.own.mean() < density.log_likelihood(genomes).mean() - 0.1


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 119), min_size=1, max_size=20))
def test_a_row_is_rated_alike_in_any_company(which: list[int]) -> None:
    genomes, _, density = fitted()

    together = density.log_likelihood(genomes[which])

    alone = [density.log_likelihood(genomes[[i]])[0] for i in which]
    np.testing.assert_array_equal(together, alone)


def test_a_density_of_one_number_integrates_to_one() -> None:
    rng = generator(0)
    values = np.concatenate([rng.normal(-2, 0.5, 200), rng.normal(3, 1.0, 100)])
    genomes, space = encoded(pd.DataFrame({"x": values}))

    density = density_of(genomes, space)

    grid = np.linspace(-20, 20, 40_001)
    total = integrate.trapezoid(np.exp(density.log_likelihood(grid[:, None])), grid)
    assert total == pytest.approx(1.0, abs=2e-3)


def test_levels_have_probabilities_that_sum_to_one() -> None:
    rng = generator(0)
    frame = pd.DataFrame(
        {
            "a": pd.Categorical(rng.choice(list("uvw"), 200)),
            "b": pd.Categorical(rng.choice(list("xyz"), 200)),
        }
    )
    genomes, space = encoded(frame)

    density = density_of(genomes, space)

    cells = np.array([[a, b] for a in range(3) for b in range(3)], dtype=np.float64)
    assert np.exp(density.log_likelihood(cells)).sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_and_constant_columns_have_a_density(n: int) -> None:
    frame = pd.DataFrame(
        {"x": np.arange(n) + 0.5, "same": np.ones(n), "job": ["a", "b", "a", "c", "b"][:n]}
    )
    genomes, space = encoded(frame)
    columns = columns_of(genomes, space)
    empty: Ints = np.zeros(0, dtype=np.int64)

    density = ForestDensity(
        Grove(empty, empty, empty, np.zeros(0), empty, empty), columns, genomes, space
    )

    assert np.isfinite(density.log_likelihood(genomes)).all()
    elsewhere = genomes + np.array([0.0, 1.0, 0.0])
    assert (density.log_likelihood(elsewhere) < density.log_likelihood(genomes)).all()
