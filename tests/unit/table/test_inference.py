from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.errors import InvalidInput
from counterpoint.table.features import Categorical, Feature, Integer, Kind, Precision
from counterpoint.table.inference import observed_decimals
from counterpoint.table.schema import Schema


def infer(values: Any, precision: Precision = "observed") -> Feature:
    return Schema.infer(pd.DataFrame({"x": values}), precision).features[0]


def category(values: list[Any], categories: list[Any], *, ordered: bool = False) -> pd.Categorical:
    return pd.Categorical(values, categories=categories, ordered=ordered)


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 2],
        np.array([3, 1, 2], dtype=np.int8),
        np.array([3, 1, 2], dtype=np.uint64),
        pd.array([3, 1, 2], dtype="Int64"),
        pd.arrays.SparseArray([3, 1, 2]),
    ],
)
def test_whole_number_dtypes_are_integer_features(values: Any) -> None:
    feature = infer(values)

    assert feature.kind is Kind.INTEGER
    assert (feature.low, feature.high) == (1.0, 3.0)
    assert feature.levels == ()
    assert feature.decimals is None
    assert feature.dtype == pd.Series(values).dtype


@pytest.mark.parametrize(
    ("values", "is_single"),
    [
        ([3.0, 1.5], False),
        (np.array([3.0, 1.5], dtype=np.float32), True),
        (pd.array([3.0, 1.5], dtype="Float64"), False),
        (pd.array([3.0, 1.5], dtype="Float32"), True),
        (pd.arrays.SparseArray([3.0, 1.5]), False),
    ],
)
def test_float_dtypes_are_real_features_with_their_decimals(values: Any, is_single: bool) -> None:
    feature = infer(values)

    assert feature.kind is Kind.REAL
    assert (feature.low, feature.high, feature.decimals) == (1.5, 3.0, 1)
    assert feature.is_single is is_single
    assert feature.dtype == pd.Series(values).dtype


@pytest.mark.parametrize("dtype", ["bool", "boolean"])
@pytest.mark.parametrize("values", [[True, False], [True, True]])
def test_booleans_are_binary_even_if_only_one_was_observed(dtype: str, values: list[bool]) -> None:
    feature = infer(pd.Series(values, dtype=dtype))

    assert feature.kind is Kind.BINARY
    assert feature.levels == (False, True)
    assert (feature.low, feature.high) == (0.0, 1.0)


@pytest.mark.parametrize("dtype", [object, "str", "string"])
def test_text_is_categorical_with_its_sorted_levels(dtype: Any) -> None:
    feature = infer(pd.Series(["rent", "own", "free", "own"], dtype=dtype))

    assert feature.kind is Kind.CATEGORICAL
    assert feature.levels == ("free", "own", "rent")
    assert (feature.low, feature.high) == (0.0, 2.0)


def test_two_levels_are_binary_and_one_is_constant() -> None:
    pair, single = infer(["yes", "no"]), infer(["yes", "yes"])

    assert pair.kind is Kind.BINARY
    assert not pair.is_constant
    assert single.kind is Kind.CATEGORICAL
    assert single.is_constant


def test_levels_of_several_types_are_sorted_by_type() -> None:
    feature = infer(pd.Series(["b", 2, "a", 1], dtype=object))

    assert feature.levels == (1, 2, "a", "b")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (category(["low"], ["low", "mid", "high"]), Kind.CATEGORICAL),
        (category(["low"], ["low", "high"]), Kind.BINARY),
        (category(["low"], ["low", "mid", "high"], ordered=True), Kind.ORDERED),
        (category(["low"], ["low", "high"], ordered=True), Kind.ORDERED),
        (category([20], [10, 20, 30]), Kind.CATEGORICAL),
        (category([True], [True, False]), Kind.BINARY),
    ],
)
def test_a_category_keeps_its_categories_in_their_order(values: pd.Categorical, kind: Kind) -> None:
    feature = infer(values)

    assert feature.kind is kind
    assert list(feature.levels) == values.categories.to_list()
    assert feature.high == len(values.categories) - 1.0


def test_features_come_in_the_order_of_the_columns() -> None:
    schema = Schema.infer(pd.DataFrame({"b": [1, 2], 3: [0.5, 1.0], "a": ["u", "v"]}))

    assert schema.names == ("b", 3, "a")
    assert len(schema) == 3


def test_a_schema_prints_one_line_per_feature() -> None:
    data = pd.DataFrame(
        {
            "age": [22, 35],
            "rate": [0.5, 1.25],
            "own": [True, False],
            "job": ["clerk", "nurse"],
            "size": category(["S", "L"], ["S", "M", "L"], ordered=True),
            "since": pd.to_datetime(["2020-01-01", "2024-02-29"]),
            "fix": [3, 3],
            "town": category(["t0", "t9"], [f"t{i}" for i in range(10)]),
        }
    )

    schema = Schema.infer(data)

    assert str(schema).splitlines() == [
        "age    integer      22 to 35",
        "rate   real         0.50 to 1.25, 2 decimals",
        "own    binary       False, True",
        "job    binary       clerk, nurse",
        "size   ordered      S < M < L",
        "since  date         2020-01-01 to 2024-02-29",
        "fix    integer      3 (constant)",
        "town   categorical  t0, t1, t2, t3, t4, t5, t6, t7, 2 more",
    ]
    assert repr(schema) == str(schema)


@pytest.mark.parametrize(
    ("values", "dtype", "decimals"),
    [
        ([1.0, 200.0], "float64", 0),
        ([0.1, 0.25, -3.125], "float64", 3),
        ([0.1, 0.7], "float32", 1),
        ([123456.7], "float32", 1),
        ([1e-12], "float64", 12),
        ([1e-13], "float64", None),
        ([1 / 3], "float64", None),
        ([2.0**52], "float64", None),
        ([1e300, 0.5], "float64", None),
    ],
)
def test_decimals_are_the_fewest_that_write_every_value(
    values: list[float], dtype: str, decimals: int | None
) -> None:
    found = observed_decimals(np.array(values, dtype=dtype).astype(np.float64), np.dtype(dtype))

    assert found == decimals


def test_full_precision_looks_at_no_decimals() -> None:
    assert infer([0.5, 1.0], "full").decimals is None


@pytest.mark.parametrize(
    ("values", "range_"),
    [
        (np.array([1], dtype=np.int8), (-128.0, 127.0)),
        (np.array([1], dtype=np.uint16), (0.0, 65535.0)),
        (pd.array([1], dtype="UInt8"), (0.0, 255.0)),
        (np.array([1], dtype=np.int64), (-(2.0**53), 2.0**53)),
        (np.array([0.5], dtype=np.float32), (-3.4028234663852886e38, 3.4028234663852886e38)),
    ],
)
def test_a_feature_knows_what_its_dtype_can_hold(values: Any, range_: tuple[float, float]) -> None:
    assert infer(values).dtype_range == range_


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1.0, 2.0], dtype=np.float16), r"'x' has dtype float16.*astype\('float32'\)"),
        (pd.to_datetime(["2020-01-01 12:30"]), r"'x' has times of day, first 2020-01-01T12:30"),
        (pd.to_timedelta([1], unit="D"), r"'x' has dtype timedelta64.*cannot be searched"),
        ([1 + 2j], r"'x' has dtype complex128, which cannot be searched; use numbers"),
        ([np.nan, np.nan], r"data column 'x' has no values at all, only missing ones; drop it"),
        ([None, None], r"data column 'x' has no values at all"),
        (pd.array([None], dtype="Int64"), r"data column 'x' has no values at all"),
        (category([None], ["a"]), r"data column 'x' has no values at all"),
        ([True, None], r"holds only booleans; .*or .astype\('boolean'\) if values are missing"),
        ([1.0, np.inf], r"data column 'x' has infinite values; replace them"),
        ([1, 2**53], r"'x' holds whole numbers beyond 2\*\*53.*drop the column"),
        (np.array([2**63], dtype=np.uint64), r"'x' holds whole numbers beyond 2\*\*53"),
        (pd.Series([1, 2], dtype=object), r"'x' has dtype object but holds only numbers; convert"),
        (pd.Series([1.5, True], dtype=object), r"'x' .* holds only numbers.*pd.to_numeric"),
        ([Decimal("1.5"), Decimal(2)], r"'x' .* holds only numbers; convert it with pd.to_numeric"),
        (pd.Series([True, False], dtype=object), r"'x' .* holds only booleans.*astype\(bool\)"),
        ([["a"], ["b"]], r"'x' holds values that cannot be levels.*use strings, numbers"),
    ],
)
def test_a_column_that_cannot_be_searched_is_refused(values: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        infer(values)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.ones(2), r"data must be a DataFrame of pandas or polars.*got an array of shape \(2,\)"),
        ({"x": [1, 2]}, r"data must be a DataFrame.*got dict"),
        (None, r"data must be a DataFrame.*got NoneType"),
        (pd.Series([1, 2]), r"data must be a DataFrame.*got Series"),
        (pd.DataFrame({"x": []}), r"data is empty: 0 rows, 1 columns; pass the observed rows"),
        (pd.DataFrame(index=[0, 1]), r"data is empty: 2 rows, 0 columns"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
            r"data has duplicate columns 'a'; give each its own name",
        ),
    ],
)
def test_what_is_no_table_of_observed_rows_is_refused(data: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Schema.infer(data)


def test_an_unknown_precision_is_refused() -> None:
    data = pd.DataFrame({"x": [1.0]})

    with pytest.raises(InvalidInput, match="precision must be 'observed' or 'full', got 'exact'"):
        Schema.infer(data, "exact")  # type: ignore[arg-type]


def remarks(**columns: Any) -> list[str]:
    """Return what is said of a table."""
    features = columns.pop("features", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Schema.infer(pd.DataFrame(columns), features=features)
    return [str(each.message) for each in caught]


def test_constants_are_told_of_once_with_how_to_let_them_vary() -> None:
    same: dict[str, Any] = {"year": [2024] * 20, "rate": [0.5] * 20, "land": ["DE"] * 20}
    varied = {"age": range(20)}

    assert remarks(**same, **varied) == [
        "the data have one value only of 'year', 'rate' and 'land', so that counterfactuals keep "
        "it; leave out what is no feature, or say where it may go, as in features={'year': "
        "Integer(low, high)}."
    ]
    assert remarks(land=["DE"] * 20)[0].endswith("features={'land': Categorical(levels)}.")
    assert remarks(rate=[0.5] * 20)[0].endswith("features={'rate': Real(low, high)}.")
    day = pd.to_datetime(["2020-01-01"] * 20)
    assert remarks(day=day)[0].endswith("features={'day': Date(low, high)}.")
    assert remarks(year=[2024] * 20, features={"year": Integer(2000, 2030)}) == []
    assert remarks(year=[2024] * 19) == []
    assert remarks(year=[2024, None] * 10) == []


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        ([f"the customer {i} called twice" for i in range(30)], "which look like free text"),
        ([f"the customer {i} called twice" for i in range(90)], "which look like free text"),
        ([f"C-{i}" for i in range(60)], "as ids have"),
        ([f"C-{i % 60}" for i in range(120)], "too many to try them all"),
        ([f"C-{i}" for i in range(50)], ""),
        (["not yet paid back"] * 40 + ["has been paid back"] * 40, ""),
    ],
)
def test_free_text_and_ids_are_told_apart(texts: list[str], what: str) -> None:
    said = remarks(note=texts)

    n = len(set(texts))
    expected = [
        f"data column 'note' has {n} levels in {len(texts)} rows, {what}; drop it, group its "
        "levels, or hold it with fixed=['note']. If it is meant to be searched, features={'note': "
        "Categorical()} says so without this warning."
    ]
    assert said == (expected if what else [])
    assert remarks(note=texts, features={"note": Categorical()}) == []
