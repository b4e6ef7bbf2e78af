"""The tree of all observed rows says no row is farther than it is, whatever the magnitudes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies import generator

from counterpoint.arrays import Floats
from counterpoint.neighbours.gower import Gower, Scale
from counterpoint.neighbours.index import (
    IndexedRows,
    find_near_rows,
    index_rows,
)
from counterpoint.neighbours.tree import RowTree, grow_tree, search_far
from counterpoint.table.schema import Schema
from counterpoint.table.space import Space, describe_space

N = 300


def table(seed: int, scale: Scale, widest: float, n_outliers: int = 9) -> tuple[Floats, Space]:
    """Return rows of numbers, one of them with far outliers, of whole numbers and of levels."""
    rng = generator(seed)
    is_outlier = rng.permutation(N) < n_outliers
    outliers = np.where(is_outlier, widest, 1.0) * rng.normal(size=N)
    genomes = np.column_stack(
        [rng.normal(size=N), outliers, rng.integers(0, 9, N), rng.integers(0, 3, N)]
    )
    frame = pd.DataFrame(genomes).astype({3: "category"})
    genomes = np.ascontiguousarray(genomes) + 0.0
    space = describe_space(Schema.infer(frame), genomes)
    return genomes, space._replace(width=Gower(scale).widths(genomes, space))


def distance_of_codes(indexed: IndexedRows) -> tuple[Floats, RowTree]:
    """Return what short numbers (n, d) are off, and their tree; outliers stand at an end."""
    tree = grow_tree(indexed)
    own = tree.blocks.transpose(0, 2, 1).reshape(-1, tree.blocks.shape[1]) * tree.step
    exact = (indexed.genomes[tree.order] - tree.low) * indexed.unit
    exact = np.clip(exact, tree.least, tree.most)
    return np.minimum(np.abs(own - exact), 1.0), tree


@given(
    seed=st.integers(0, 999),
    scale=st.sampled_from(["range", "percentile", "mad"]),
    widest=st.sampled_from([1.0, 1e3, 1e9, 1e30]),
    n_outliers=st.integers(0, 9),
)
@example(seed=0, scale="mad", widest=1e9, n_outliers=9)  # steps of more than a whole number
@example(seed=3, scale="mad", widest=1e9, n_outliers=1)  # an outlier is beyond all steps
def test_short_numbers_are_off_by_what_is_said(
    seed: int, scale: Scale, widest: float, n_outliers: int
) -> None:
    genomes, space = table(seed, scale, widest, n_outliers)

    off, tree = distance_of_codes(index_rows(genomes, 1, space))

    assert (off <= 0.51 * tree.step).all()
    assert (off.sum(axis=1) <= tree.off).all()


@pytest.mark.parametrize("scale", ["range", "mad"])
def test_an_outlier_does_not_take_the_steps_of_all_other_rows(scale: Scale) -> None:
    genomes, space = table(3, scale, 1e9, n_outliers=1)

    tree = grow_tree(index_rows(genomes, 1, space))

    assert len(np.unique(tree.blocks[:, 1])) > N / 2


@given(
    seed=st.integers(0, 999),
    scale=st.sampled_from(["range", "percentile", "mad"]),
    widest=st.sampled_from([1.0, 1e3, 1e9]),
    n_outliers=st.integers(0, 9),
    k=st.integers(1, 3),
    far=st.sampled_from([0.0, 0.7, 1.0, 2.0]),
)
def test_the_nearest_of_all_rows_are_found(
    seed: int, scale: Scale, widest: float, n_outliers: int, k: int, far: float
) -> None:
    """Candidates are anywhere: near to rows, between most rows and outliers, and beyond these."""
    genomes, space = table(seed, scale, widest, n_outliers)
    rows, indexed = genomes[:2].copy(), index_rows(genomes, k, space)
    near = find_near_rows(rows, indexed, space, np.full(k, 1.0 / k), most=k)
    candidates = np.stack([genomes[20:30], genomes[30:40]])
    candidates[:, :, 0] += 0.25
    candidates[:, ::2, 1] += far * (genomes[:, 1].max() - candidates[:, ::2, 1])
    candidates[:, 1::2, 1] += far * (genomes[:, 1].min() - candidates[:, 1::2, 1])
    distances = np.full((2, 10, k), np.inf)

    search_far(candidates, rows, near, grow_tree(indexed), np.ones((2, 10)), distances)

    for a in range(2):
        for i in range(10):
            # As `gower_around` has it: seen from the explained row, which may be an outlier itself.
            one, others = (each - rows[a] for each in (candidates[a, i], genomes))
            apart = np.abs(one * near.weight[a] - others * near.weight[a])
            exact = np.minimum(apart, near.cap).mean(axis=1)
            np.testing.assert_allclose(distances[a, i], np.sort(exact)[:k], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("reach", [0.0, 0.5])
def test_only_what_may_be_nearer_to_another_row_is_looked_for(reach: float) -> None:
    genomes, space = table(3, "range", 1.0)
    rows, indexed = genomes[:1].copy(), index_rows(genomes, 1, space)
    near = find_near_rows(rows, indexed, space, np.ones(1), most=1)
    distances = np.full((1, 1, 1), 2.0)

    search_far(
        genomes[None, 5:6], rows, near, grow_tree(indexed), np.full((1, 1), reach), distances
    )

    assert distances[0, 0, 0] == (2.0 if reach == 0.0 else 0.0)
