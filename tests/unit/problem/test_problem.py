from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import Limits
from counterpoint.table.frames import as_frame
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Box, describe_space, search_box

DATA = pd.DataFrame(
    {
        "age": [20, 40, 60],
        "rate": [0.5, 1.5, 2.5],
        "free": [1 / 3, 0.5, 2 / 3],
        "job": ["clerk", "nurse", "smith"],
        "same": [7, 7, 7],
    }
)
ROW = {"age": 30, "rate": 1.0, "free": 0.5, "job": "nurse", "same": 7}
AGE, RATE, FREE, JOB, SAME = range(5)


def box(row: Any = ROW, data: pd.DataFrame = DATA, **given: Any) -> Box:
    encoding = Encoding(Schema.infer(data))
    space = describe_space(encoding.schema, encoding.encode(data))
    rows = encoding.encode(as_frame(row, "row"), "row")
    rows.setflags(write=False)
    return search_box(rows, space, Limits(**given).check(encoding.schema))


def box_of(values: Any, row: Any, range_: Any = None) -> dict[str, Any]:
    """Return the box of a single number beside a feature that never matters."""
    data = pd.DataFrame({"x": values}).assign(other=[0.0, 1.0])
    ranges = None if range_ is None else {"x": range_}
    found = box({"x": row, "other": 0.0}, data, ranges=ranges)
    return {name: found._asdict()[name][0, 0] for name in ("lower", "upper", "anchor", "is_forced")}


def test_without_limits_everything_may_change_but_constants() -> None:
    found = box()

    assert found.may_change.tolist() == [[True, True, True, True, False]]
    assert not found.is_forced.any()
    assert found.max_free.tolist() == [5]
    assert found.anchor.tolist() == [[30.0, 1.0, 0.5, 1.0, 7.0]]


def test_the_box_is_the_datas_range_widened_to_each_row() -> None:
    rows = [ROW, {**ROW, "age": 70}, {**ROW, "rate": 0.1, "same": 9}]

    found = box(rows)

    assert found.lower[:, [AGE, RATE, SAME]].tolist() == [[20, 0.5, 7], [20, 0.5, 7], [20, 0.1, 7]]
    assert found.upper[:, [AGE, RATE, SAME]].tolist() == [[60, 2.5, 7], [70, 2.5, 7], [60, 2.5, 9]]
    assert found.may_change[:, SAME].tolist() == [False, False, True]


@pytest.mark.parametrize(
    "fixed",
    [
        ["age", "job"],
        ("job", "age"),
        {"age", "job"},
        pd.Index(["age", "job"]),
        iter(["age", "job"]),
    ],
)
def test_fixed_features_may_not_change(fixed: Any) -> None:
    found = box(fixed=fixed)

    assert found.may_change.tolist() == [[False, True, True, False, False]]


def test_a_fixed_feature_keeps_a_value_outside_the_data() -> None:
    found = box({**ROW, "age": 99}, fixed=["age"])

    assert found.anchor[0, AGE] == 99.0
    assert not found.is_forced.any()


@pytest.mark.parametrize(
    ("range_", "lower", "upper"),
    [
        ((25, 35), 25.0, 35.0),
        ([25, 35], 25.0, 35.0),
        ((24.2, 35.9), 25.0, 35.0),
        ((None, 35), 20.0, 35.0),
        ((25, None), 25.0, 60.0),
        ((None, None), 20.0, 60.0),
        ((0, 120), 0.0, 120.0),
        ((np.int8(25), np.float32(35.5)), 25.0, 35.0),
        ((30, 30), 30.0, 30.0),
    ],
)
def test_a_range_replaces_the_datas_and_moves_inwards_onto_the_grid(
    range_: Any, lower: float, upper: float
) -> None:
    found = box(ranges={"age": range_})

    assert (found.lower[0, AGE], found.upper[0, AGE]) == (lower, upper)
    assert found.anchor[0, AGE] == 30.0
    assert found.may_change[0, AGE] == (lower < upper)


@pytest.mark.parametrize(
    ("range_", "anchor"), [((40, 50), 40.0), ((10, 20), 20.0), ((44.5, 50), 45.0), ((50, 50), 50.0)]
)
def test_a_range_that_excludes_the_rows_value_forces_the_nearest_allowed_one(
    range_: tuple[float, float], anchor: float
) -> None:
    found = box(ranges={"age": range_}, max_changed=3)

    assert found.anchor[0, AGE] == anchor
    assert found.is_forced.tolist() == [[True, False, False, False, False]]
    assert found.max_free.tolist() == [2]


def test_forced_features_are_counted_row_by_row() -> None:
    rows = [ROW, {**ROW, "age": 45}]

    found = box(rows, ranges={"age": (40, 50), "free": (0.6, 0.7)}, max_changed=2)

    assert found.is_forced[:, [AGE, FREE]].tolist() == [[True, True], [False, True]]
    assert found.max_free.tolist() == [0, 1]


def test_a_row_finer_than_the_grid_is_not_forced_by_a_range_that_holds_it() -> None:
    found = box_of([0.1, 1.0], 1.25, (0.0, 1.25))

    assert found == {"lower": 0.0, "upper": 1.2, "anchor": 1.25, "is_forced": False}


def test_a_range_on_float32_is_meant_in_float32() -> None:
    values = np.array([0.1, 0.3], dtype=np.float32)

    found = box_of(values, np.float32(0.3), (0.1, 0.3))

    assert not found["is_forced"]
    assert (found["lower"], found["upper"]) == (float(values[0]), float(values[1]))


@pytest.mark.parametrize("value", [0.1, 123456.7, 3.3e7])
def test_a_constant_float32_column_has_a_box_of_its_value(value: float) -> None:
    constant = np.full(2, value, dtype=np.float32)

    found = box_of(constant, constant[0])

    assert found["lower"] == found["upper"] == found["anchor"] == float(constant[0])


@settings(deadline=None)
@given(
    whole=st.integers(0, 4 * 10**15 - 1),
    decimals=st.integers(0, 12),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_the_observed_ends_stay_reachable_at_any_precision(
    whole: int, decimals: int, dtype: str
) -> None:
    value = np.array([whole / 10**decimals, 0.0], dtype=dtype)

    found = box_of(value, value[0])

    assert (found["lower"], found["upper"]) == (0.0, float(value[0]))


@settings(deadline=None)
@given(ends=st.tuples(st.floats(-50, 50), st.floats(-50, 50)), row=st.integers(-500, 500))
@example(ends=(1.0, 8.2e-304), row=0)
def test_a_box_lies_within_the_callers_range_on_the_grid(
    ends: tuple[float, float], row: int
) -> None:
    range_ = (min(ends), max(ends) + 0.1)

    found = box_of([-30.5, 30.5], row / 10, range_)

    slack = 1e-6
    assert range_[0] - slack <= found["lower"] <= found["upper"] <= range_[1] + slack
    assert all(round(found[end] * 10) / 10 == found[end] for end in ("lower", "upper"))
    # An end a hair's breadth beside a point of the grid is that point.
    if range_[0] <= row / 10 <= range_[1]:
        assert not found["is_forced"]
    elif not range_[0] - slack <= row / 10 <= range_[1] + slack:
        assert found["is_forced"]


def test_a_box_has_no_minus_zero() -> None:
    found = box_of([-1.5, 1.5], 0.0, (-0.0, 1.0))

    assert not np.signbit(found["lower"])


def test_a_range_beyond_a_narrow_dtype_is_refused_instead_of_wrapped() -> None:
    values = np.array([1, 2], dtype=np.int8)

    with pytest.raises(InvalidInput, match=r"dtype int8 cannot hold; .* stay within -128 to 127"):
        box_of(values, 1, (0, 300))


def test_a_range_between_two_grid_points_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no value of the data's precision for 'age'; widen"):
        box(ranges={"age": (30.2, 30.8)})


def test_forcing_more_features_than_may_change_is_refused() -> None:
    ranges: dict[Any, Any] = {"age": (40, 50), "rate": (2.0, 2.5)}
    message = (
        "max_changed is 1, but ranges exclude .* 'age' and 'rate'.* raise max_changed or widen"
    )

    with pytest.raises(InvalidInput, match=message):
        box(ranges=ranges, max_changed=1)


def test_some_rows_boxes_are_those_of_all_rows() -> None:
    rows = [ROW, {**ROW, "age": 70}, {**ROW, "rate": 0.1}]
    found = box(rows)

    some = found.of_rows(np.array([2, 0]))

    def of(array: Any) -> list[Any]:
        return [array[2].tolist(), array[0].tolist()]

    assert [array.tolist() for array in some] == [of(array) for array in found]
