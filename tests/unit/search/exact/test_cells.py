"""Cells: of each cell the value nearest to the row, on the grid and within bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.search.exact.cells import Grid, number_cells

TENTHS = st.integers(-30, 30).map(lambda i: i / 10)


@given(
    own=st.one_of(TENTHS, st.floats(-3.0, 3.0)),
    thresholds=st.lists(st.one_of(TENTHS, st.floats(-4.0, 4.0)), max_size=8, unique=True),
    ends=st.tuples(TENTHS, TENTHS),
)
def test_every_cell_is_stood_for_by_its_value_nearest_to_the_row(
    own: float, thresholds: list[float], ends: tuple[float, float]
) -> None:
    grid = Grid(min(ends), max(ends), pitch=0.1, per_unit=10.0, is_single=False)
    ascending = np.array(sorted(thresholds))
    every = grid.at(np.arange(grid.n_values))
    every = every[every != own]
    cells = np.searchsorted(ascending, every)

    chosen = number_cells(grid, own, ascending)

    assert np.isin(chosen, every).all()
    for cell in np.unique(cells):
        inside = every[cells == cell]
        stands_for = chosen[np.searchsorted(ascending, chosen) == cell]
        assert np.abs(inside - own).min() == np.abs(stands_for - own).min()


@given(end=st.floats(-10.0, 10.0), is_single=st.booleans())
def test_the_reals_beside_a_threshold_are_neighbouring_floats(end: float, is_single: bool) -> None:
    grid = Grid(-20.0, 20.0, pitch=0.0, per_unit=0.0, is_single=is_single)

    below, above = grid.at_most(np.array([end]))[0], grid.above(np.array([end]))[0]

    kind = np.float32 if is_single else np.float64
    assert below <= end < above
    assert np.nextafter(kind(below), kind(np.inf)) == kind(above)


def test_beyond_the_bounds_there_is_no_value() -> None:
    grid = Grid(0.0, 2.0, pitch=1.0, per_unit=1.0, is_single=False)

    assert np.isnan(grid.above(np.array([2.0]))).all()
    assert np.isnan(grid.at_most(np.array([-0.5]))).all()
