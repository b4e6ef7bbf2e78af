"""The observed rows near a row are found whatever the magnitudes of the numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from counterpoint.arrays import LARGEST
from counterpoint.neighbours.index import find_near_rows, gower_to_all, gower_weights, index_rows
from counterpoint.table.schema import Schema
from counterpoint.table.space import describe_space

numbers = st.floats(-LARGEST, LARGEST) | st.sampled_from([0.0, 5e-324, -1e-310, 1e-200, 1e100])


@given(values=st.lists(numbers, min_size=1, max_size=40), own=numbers, far=numbers)
@example(values=[0.0], own=1e-310, far=0.0)  # which once ended the process
@example(values=[0.0], own=1e-50, far=1e100)
@example(values=[-1e100, 1e100], own=0.0, far=1e100)
def test_distances_are_finite_and_all_rows_are_found(
    values: list[float], own: float, far: float
) -> None:
    genomes, row = np.array(values)[:, None] + 0.0, np.array([[own]]) + 0.0
    space = describe_space(Schema.infer(pd.DataFrame({"x": genomes[:, 0]})), genomes)
    weight, cap = gower_weights(row, space)
    indexed = index_rows(genomes, 1, space)

    near_rows = find_near_rows(row, indexed, space, np.ones(1))

    distances = gower_to_all(row[0], indexed.genomes, weight[0], cap)
    assert (distances <= 1.0 + 1e-9).all()
    assert np.isfinite(gower_to_all(np.array([far]), genomes, weight[0], cap)).all()
    assert np.array_equal(
        np.sort(near_rows.order[0, : near_rows.n_near]), np.arange(len(indexed.genomes))
    )
    assert np.isfinite(near_rows.blocks).all()
    assert (np.diff(distances[near_rows.order[0, : near_rows.n_near]]) >= -1e-6).all()
