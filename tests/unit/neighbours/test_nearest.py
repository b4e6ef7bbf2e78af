"""The nearest rows at hand are those of a plain scan: the same distances, bit for bit, and rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels import called
from tests.strategies import generator

from counterpoint.arrays import MISSING, Floats, Ints
from counterpoint.neighbours import gower as distance
from counterpoint.neighbours import nearest
from counterpoint.neighbours.gower import BLOCK, LANES
from counterpoint.neighbours.index import (
    NearRows,
    empty_neighbours,
    find_near_rows,
    gower_weights,
    index_rows,
)
from counterpoint.neighbours.nearest import Neighbourhood
from counterpoint.table.space import Space

gower = called(distance.gower)
find_nearest = called(nearest.find_nearest)


def space_of(genomes: Floats, is_level: Floats, width: float) -> Space:
    """Return a space of numbers and levels, whose numbers are measured by a width, or by ranges."""
    d, nothing = genomes.shape[1], np.zeros(genomes.shape[1])
    known = is_level.astype(np.bool_)
    return Space(
        is_level=known,
        is_binary=np.zeros(d, dtype=np.bool_),
        is_single=np.zeros(d, dtype=np.bool_),
        grid=nothing,
        n_levels=np.where(known, 6, 0),
        low=genomes.min(axis=0),
        high=genomes.max(axis=0),
        deviation=nothing,
        may_miss=np.zeros(d, dtype=np.bool_),
        width=np.where(known, 0.0, width),
    )


def around_row(near_rows: NearRows, row: Floats) -> Neighbourhood:
    """Return what is at hand around the first row."""
    return Neighbourhood(
        row=row,
        weight=near_rows.weight[0],
        cap=near_rows.cap,
        origin=near_rows.origin,
        blocks=near_rows.blocks[0],
        radius=near_rows.radius[0],
        order=near_rows.order[0],
        n=near_rows.n_near,
        observed=near_rows.observed,
        slack=near_rows.slack,
    )


def outwards(own: float, radius: Floats, n: int) -> list[int]:
    """Return the places of n rows by blocks of LANES, outwards from a distance to the row."""
    starts = list(range(0, n, LANES))
    above = max([i for i, first in enumerate(starts) if radius[first] < own], default=0)
    below = above - 1
    places: list[int] = []
    while below >= 0 or above < len(starts):
        gap_below = own - radius[starts[below] + LANES - 1] if below >= 0 else np.inf
        gap_above = radius[starts[above]] - own if above < len(starts) else np.inf
        if gap_below <= gap_above:
            block, below = below, below - 1
        else:
            block, above = above, above + 1
        places += range(starts[block], min(starts[block] + LANES, n))
    return places


def by_definition(genome: Floats, row: Floats, other: Floats, weight: Floats, cap: Floats) -> float:
    """Return the distance of two genomes seen from a row, one feature after the other."""
    total = 0.0
    for a, o, b, w, most in zip(genome, row, other, weight, cap, strict=True):
        total += min(abs((a - o) * w - (b - o) * w), most)
    return total / len(genome)


def plain_scan(genome: Floats, row: Floats, near: NearRows, k: int) -> tuple[Floats, Ints]:
    """Return the k smallest distances of a genome to rows at hand, and their places."""
    weight, cap, radius = near.weight[0], near.cap, near.radius[0].astype(np.float64)
    places = np.array(outwards(gower(genome, row, weight, cap), radius, near.n_near))
    others = near.observed[near.order[0, places]]
    distances = np.array([by_definition(genome, row, other, weight, cap) for other in others])
    first = np.argsort(distances, kind="stable")[:k]
    return distances[first], places[first]


def draw(seed: int, n: int, d: int, ties: bool) -> tuple[Floats, Floats, Floats]:
    """Draw observed rows with copies, a row in or outside of them, and candidates around it."""
    rng = generator(seed)
    genomes = rng.integers(0, 4, (n, d)).astype(np.float64) if ties else rng.normal(size=(n, d))
    genomes[rng.integers(0, n, n // 4)] = genomes[0]
    row = genomes[rng.integers(0, n)].copy()
    if rng.random() < 0.5:
        row[rng.integers(0, d)] += rng.choice([-50.0, 1.0, 1e4])
    candidates = np.repeat(row[None], 12, axis=0)
    for candidate in candidates[1:]:  # the first is the row itself
        some = rng.random(d) < rng.choice([0.05, 0.3, 1.0])
        candidate[some] = genomes[rng.integers(0, n), some] + rng.choice([0.0, 0.25, 1e3])
    return genomes, row, candidates


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.sampled_from([1, 2, LANES, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5]),
    d=st.sampled_from([1, 2, 3, 8, 21]),
    k=st.integers(1, 5),
    ties=st.booleans(),
    width=st.sampled_from([0.0, 0.5, 1e-3]),
    most=st.sampled_from([40, 4096]),
)
def test_distances_and_rows_are_those_of_a_plain_scan(
    seed: int, n: int, d: int, k: int, ties: bool, width: float, most: int
) -> None:
    """Few and many features differ; some rows are equal, some are equally far; ranges or widths."""
    genomes, row, candidates = draw(seed, n, d, ties)
    space = space_of(genomes, np.arange(d) % 3 == 1, width)
    shares = np.full(k, 1.0 / k)
    near_rows = find_near_rows(row[None], index_rows(genomes, k, space), space, shares, most)
    around, near = around_row(near_rows, row), empty_neighbours(d, k)

    for candidate in candidates:
        own = gower(candidate, row, near_rows.weight[0], near_rows.cap)
        near.distances[:] = np.inf
        find_nearest(candidate, own, around, near)

        distances, places = plain_scan(candidate, row, near_rows, k)
        n_found = len(distances)
        np.testing.assert_array_equal(near.distances[:n_found], distances)
        np.testing.assert_array_equal(near.places[:n_found], places)
        assert (near.distances[n_found:] == np.inf).all()


@given(seed=st.integers(0, 10**6), d=st.sampled_from([2, 5]))
def test_what_the_row_lacks_counts_nothing(seed: int, d: int) -> None:
    genomes, row, candidates = draw(seed, 90, d, ties=True)
    row[0] = MISSING
    space = space_of(genomes, np.zeros(d), 0.0)
    near_rows = find_near_rows(row[None], index_rows(genomes, 1, space), space, np.ones(1))
    around, near = around_row(near_rows, row), empty_neighbours(d, 1)

    for candidate in candidates:
        own = gower(candidate, row, near_rows.weight[0], near_rows.cap)
        near.distances[:] = np.inf
        find_nearest(candidate, own, around, near)

        weight, _ = gower_weights(row[None], space)
        apart = (np.abs(genomes - candidate) * weight[0])[:, 1:].sum(axis=1) / d
        np.testing.assert_allclose(near.distances, apart.min(), rtol=0.0, atol=1e-12)
