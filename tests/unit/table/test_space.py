from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.kernels import called

from counterpoint.arrays import MISSING
from counterpoint.table import space as of_space
from counterpoint.table.features import Real
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Space, describe_space, observed_on_grid

LAST = float(np.nextafter(1.0, 0.0))  # the largest draw there is

snap_feature, from_uniform_feature = called(of_space.snap), called(of_space.from_uniform)
FEATURE = np.dtype([("grid", "f8"), ("lower", "f8"), ("upper", "f8"), ("is_single", "?")])


def feature_of(space: Space, lower: float, upper: float) -> Any:
    """Return the only feature of a space in a box, as kernels see it."""
    return np.array([(space.grid[0], lower, upper, space.is_single[0])], dtype=FEATURE)[0]


def snap(value: float, space: Space, lower: float, upper: float) -> Any:
    return snap_feature(value, feature_of(space, lower, upper))


def from_uniform(u: float, space: Space, lower: float, upper: float) -> Any:
    return from_uniform_feature(u, feature_of(space, lower, upper))


anything = st.floats(-1e7, 1e7)
draws = st.floats(0.0, LAST)


def space_of(values: Any) -> tuple[Space, Encoding]:
    data = pd.DataFrame({"x": values})
    encoding = Encoding(Schema.infer(data))
    return describe_space(encoding.schema, encoding.encode(data)), encoding


@st.composite
def columns(draw: st.DrawFn) -> Any:
    """Draw a column of any kind that has a grid, a precision, or neither."""
    decimals = draw(st.integers(0, 4))
    hundredths = st.integers(-(10**6), 10**6).map(lambda whole: whole / 10**decimals)
    singles = st.floats(-1e4, 1e4, width=32)
    numbers, dtype = draw(
        st.sampled_from(
            [
                (st.integers(-100, 100), "int64"),
                (hundredths, "float64"),
                (hundredths, "float32"),
                (hundredths, "Float32"),
                (singles, "float32"),
                (st.floats(-1e4, 1e4), "float64"),
            ]
        )
    )
    return pd.Series(draw(st.lists(numbers, min_size=1, max_size=5)), dtype=dtype)


def test_a_space_describes_every_kind() -> None:
    data = pd.DataFrame(
        {
            "age": [22, 35, 41],
            "rate": [0.5, 1.25, 2.0],
            "share": np.array([0.5, 1.0, 0.0], dtype=np.float32),
            "free": [1 / 3, 0.5, 2 / 3],
            "own": [True, False, True],
            "job": ["clerk", "nurse", "smith"],
            "size": pd.Categorical(["S", "M", "S"], categories=["S", "M", "L"], ordered=True),
        }
    )
    encoding = Encoding(Schema.infer(data))
    genomes = encoding.encode(data)

    space = describe_space(encoding.schema, genomes)

    assert space.is_level.tolist() == [False, False, False, False, True, True, False]
    assert space.is_binary.tolist() == [False, False, False, False, True, False, False]
    assert space.is_single.tolist() == [False, False, True, False, False, False, False]
    assert space.grid.tolist() == [1.0, 100.0, 10.0, 0.0, 1.0, 1.0, 1.0]
    assert space.n_levels.tolist() == [0, 0, 0, 0, 2, 3, 3]
    assert space.low.tolist() == [22.0, 0.5, 0.0, 1 / 3, 0.0, 0.0, 0.0]
    assert space.high.tolist() == [41.0, 2.0, 1.0, 2 / 3, 1.0, 2.0, 2.0]
    np.testing.assert_allclose(space.deviation, genomes.std(axis=0, ddof=1))


def test_one_observed_row_has_no_deviation() -> None:
    space, _ = space_of([3.5])

    assert space.deviation.tolist() == [0.0]


@settings(deadline=None)
@given(column=columns(), value=anything)
def test_a_snapped_value_lies_in_the_box_and_stays_when_snapped_again(
    column: Any, value: float
) -> None:
    space, _ = space_of(column)
    lower, upper = float(space.low[0]), float(space.high[0])

    snapped = snap(value, space, lower, upper)

    assert lower <= snapped <= upper
    assert snap(snapped, space, lower, upper) == snapped


@settings(deadline=None)
@given(column=columns(), value=anything)
def test_a_snapped_value_is_emitted_as_it_is(column: Any, value: float) -> None:
    space, encoding = space_of(column)
    snapped = snap(value, space, float(space.low[0]), float(space.high[0]))

    emitted = encoding.decode(np.array([[snapped]]))

    assert emitted["x"].dtype == column.dtype
    assert float(emitted["x"].iloc[0]) == snapped
    assert encoding.encode(emitted)[0, 0] == snapped


@settings(deadline=None)
@given(column=columns(), value=anything)
def test_a_snapped_value_is_on_the_grid_of_the_data(column: Any, value: float) -> None:
    space, encoding = space_of(column)
    decimals = encoding.schema.features[0].decimals

    snapped = snap(value, space, float(space.low[0]), float(space.high[0]))

    if decimals is not None:
        written = pd.Series([float(f"{snapped:.{decimals}f}")], dtype=column.dtype)
        assert float(written.iloc[0]) == snapped


@settings(deadline=None)
@given(column=columns(), share=draws)
def test_a_value_from_a_draw_lies_in_the_box_on_the_grid(column: Any, share: float) -> None:
    space, _ = space_of(column)
    lower, upper = float(space.low[0]), float(space.high[0])

    value = from_uniform(share, space, lower, upper)

    assert lower <= value <= upper
    assert snap(value, space, lower, upper) == value


@settings(deadline=None)
@given(column=columns())
@example(column=pd.Series([0.0, -1024.65625], dtype="float32"))  # the lower end is off the grid
@example(column=pd.Series([512.359375, -3583.90625], dtype="float32"))  # both are
def test_draws_reach_both_ends_of_the_box(column: Any) -> None:
    space, _ = space_of(column)
    lower, upper = float(space.low[0]), float(space.high[0])

    ends = from_uniform(0.0, space, lower, upper), from_uniform(LAST, space, lower, upper)

    assert ends[0] == lower
    slack = 0.0 if space.grid[0] > 0 else 4e-16 * (abs(lower) + abs(upper))
    assert upper - slack <= ends[1] <= upper


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2, 4], [2.0, 3.0, 4.0]),
        ([0.1, 0.4], [0.1, 0.2, 0.3, 0.4]),
        (["a", "b", "c"], [0.0, 1.0, 2.0]),
        ([True, False], [0.0, 1.0]),
        (np.array([0.1, 0.3], dtype=np.float32), np.array([0.1, 0.2, 0.3], dtype=np.float32)),
    ],
)
def test_every_grid_point_gets_an_equal_share_of_draws(values: Any, expected: Any) -> None:
    space, _ = space_of(values)
    shares = (np.arange(600) + 0.5) / 600

    drawn = [from_uniform(u, space, space.low[0], space.high[0]) for u in shares]

    points, counts = np.unique(drawn, return_counts=True)
    np.testing.assert_array_equal(points, np.asarray(expected, dtype=np.float64))
    assert (counts == 600 // len(points)).all()


def test_snapping_never_gives_minus_zero() -> None:
    space, _ = space_of([-1.5, 1.5])

    snapped = snap(-0.01, space, -1.5, 1.5)

    assert not np.signbit(snapped)


def test_a_value_on_the_border_of_two_cells_goes_to_the_even_one() -> None:
    space, _ = space_of([0, 9])

    snapped = [snap(value, space, 0.0, 9.0) for value in (0.5, 1.5, 2.5)]

    assert snapped == [0.0, 2.0, 2.0]


@given(
    values=st.lists(anything, min_size=1, max_size=20),
    decimals=st.integers(0, 3),
    n_missing=st.integers(0, 3),
)
def test_observed_rows_are_put_on_the_grid_within_their_range(
    values: list[float], decimals: int, n_missing: int
) -> None:
    data = pd.DataFrame({"x": values + [np.nan] * n_missing})
    schema = Schema.infer(data, features={"x": Real(decimals=decimals)})
    genomes = Encoding(schema).encode(data)
    space = describe_space(schema, genomes)

    moved = observed_on_grid(genomes, space)

    known, step = moved[: len(values), 0], 10.0**-decimals
    np.testing.assert_array_equal(known, np.rint(known / step) / 10.0**decimals)
    assert (np.abs(known - values) <= 1.001 * step).all()
    assert (moved[len(values) :] == MISSING).all()
    if np.ceil(min(values) / step + 1e-6) <= np.floor(max(values) / step - 1e-6):
        assert min(values) - 1e-6 * step <= known.min()
        assert known.max() <= max(values) + 1e-6 * step
    assert observed_on_grid(moved, space) is moved


def test_observed_rows_with_the_decimals_of_their_data_stay_as_they_are() -> None:
    data = pd.DataFrame({"x": [0.1, 0.25, 123456789.5], "y": [1, 2, 3], "z": [1 / 3, 0.0, 2.0]})
    schema = Schema.infer(data)
    genomes = Encoding(schema).encode(data)

    assert observed_on_grid(genomes, describe_space(schema, genomes)) is genomes
