from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.table.frames import as_frame
from counterpoint.table.schema import Encoding, Schema

ROW = {"age": 22, "rate": 0.5, "job": "nurse", "own": True, "size": "M", "share": 0.25}
GENOME = [22.0, 0.5, 1.0, 1.0, 1.0, 0.25]


@pytest.fixture
def data() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [35, 22, 41],
            "rate": [1.25, 0.5, 2.0],
            "job": ["clerk", "nurse", "smith"],
            "own": [True, False, True],
            "size": pd.Categorical(["S", "M", "S"], categories=["S", "M", "L"], ordered=True),
            "share": np.array([0.1, 0.25, 0.75], dtype=np.float32),
        }
    )


@pytest.fixture
def encoding(data: pd.DataFrame) -> Encoding:
    return Encoding(Schema.infer(data))


def encoding_of(values: Any) -> Encoding:
    return Encoding(Schema.infer(pd.DataFrame({"x": values})))


def frame_of(value: Any) -> pd.DataFrame:
    return as_frame({"x": value}, "row")


@pytest.mark.parametrize(
    "form",
    [
        lambda: ROW,
        lambda: dict(reversed(ROW.items())),
        lambda: [ROW],
        lambda: (ROW,),
        lambda: pd.Series(ROW),
        lambda: pd.Series(ROW, name="A-1071").sample(frac=1.0, random_state=0),
        lambda: pd.DataFrame([ROW], index=["A-1071"]),
        lambda: pd.DataFrame([ROW]).astype(object),
        lambda: pd.DataFrame([ROW]).astype({"age": "Int8", "job": "category", "own": "boolean"}),
        lambda: {**ROW, "age": np.int8(22), "rate": Decimal("0.5"), "own": np.True_},
        lambda: {**ROW, "age": 22.0, "own": 1},
    ],
)
def test_a_row_in_any_form_has_the_same_genome(encoding: Encoding, form: Callable[[], Any]) -> None:
    frame = as_frame(form(), "row")

    genomes = encoding.encode(frame, "row")

    np.testing.assert_array_equal(genomes, [GENOME])


def test_a_row_of_one_dtype_may_come_as_a_series() -> None:
    levels = pd.DataFrame({name: pd.Categorical(["u", "v"]) for name in ("a", "b")})
    encoding = Encoding(Schema.infer(levels))

    genomes = encoding.encode(as_frame(levels.iloc[1], "row"))

    np.testing.assert_array_equal(genomes, [[1.0, 1.0]])


@pytest.mark.parametrize("rows", [np.array([1.0]), "age", None, 22, [22, 0.5], {22}])
def test_what_names_no_columns_is_no_row(rows: Any) -> None:
    with pytest.raises(InvalidInput, match=r"row must be a DataFrame, a Series, a dict.*got"):
        as_frame(rows, "row")


def test_a_list_of_no_dicts_is_no_rows() -> None:
    assert len(as_frame([], "rows")) == 0


def test_an_unknown_column_is_told_with_the_closest(encoding: Encoding) -> None:
    row = as_frame({**ROW, "agee": 3}, "row")

    with pytest.raises(UnknownFeatureError, match=r"row names 'agee'.*did you mean 'age'"):
        encoding.encode(row, "row")


def test_missing_columns_are_listed(encoding: Encoding) -> None:
    row = as_frame({"age": 22, "rate": 0.5, "own": True, "size": "M"}, "row")

    with pytest.raises(InvalidInput, match=r"row lacks the columns 'job' and 'share'.*every"):
        encoding.encode(row, "row")


def test_a_column_given_twice_is_refused(encoding: Encoding) -> None:
    frame = pd.DataFrame([[22, 23]], columns=["age", "age"])

    with pytest.raises(InvalidInput, match="row has duplicate columns 'age'"):
        encoding.encode(frame, "row")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"job": "nurze"}, "row column 'job' has the level 'nurze'.*did you mean 'nurse'"),
        ({"job": "pilot"}, "'pilot', which the data do not have; its levels are 'clerk', 'nurse'"),
        ({"job": 3}, "row column 'job' has the level 3.*its levels are"),
        ({"job": ["nurse"]}, r"row column 'job' has the level \['nurse'\]"),
        ({"own": "True"}, "row column 'own' has the level 'True'.*did you mean True"),
        ({"own": 2}, "row column 'own' has the level 2.*its levels are False and True"),
        ({"size": "XL"}, "row column 'size' has the level 'XL'.*did you mean 'L'"),
        ({"age": 22.5}, "row column 'age' must hold whole numbers like the data, got 22.5; round"),
        ({"age": "22"}, r"row column 'age' must hold numbers \(dtype int64\), got '22'; convert"),
        ({"age": True}, "row column 'age' must hold numbers .*got (np.)?True"),
        ({"age": [22]}, r"row column 'age' must hold numbers .*got \[22\]"),
        ({"age": pd.Timestamp("2020-01-01")}, "row column 'age' must hold numbers .*got Timestamp"),
        ({"age": pd.Timedelta(3)}, "row column 'age' must hold numbers .*got Timedelta"),
        ({"rate": 1 + 2j}, r"row column 'rate' must hold numbers .*got \(1\+2j\)"),
        ({"rate": "high"}, r"row column 'rate' must hold numbers \(dtype float64\), got 'high'"),
        ({"rate": np.inf}, "row column 'rate' has infinite values"),
        ({"rate": 10**400}, "row column 'rate' has a whole number that is too large to compute w"),
        (
            {"rate": -(2.0**1000)},
            r"row column 'rate' has -1.0715086071862.e\+301, beyond 1e\+100, which is too large to "
            "compute with; use another unit, or NaN if it stands for a missing value",
        ),
        ({"rate": np.nan}, "row column 'rate' has 1 missing values"),
        ({"job": None}, "row column 'job' has 1 missing values"),
        ({"own": pd.NA}, "row column 'own' has 1 missing values"),
        (
            {"age": 2**60},
            r"row column 'age' h.* beyond 2\*\*53|which the data's dtype int64 cannot",
        ),
        ({"age": 1e17}, r"row column 'age' has 1e.17, which is beyond 2\*\*53, where floats skip"),
        (
            {"age": 10**30},
            r"1e.30, which is beyond 2\*\*53, .* within -9,007,199,254,740,992",
        ),
        ({"share": 1e39}, "row column 'share' has 1e.39, which the data's dtype float32 cannot"),
    ],
)
@pytest.mark.parametrize("form", [dict, partial(pd.Series, dtype=object)], ids=["dict", "Series"])
def test_a_value_the_data_cannot_have_is_refused(
    encoding: Encoding, change: dict[str, Any], message: str, form: Callable[[Any], Any]
) -> None:
    row = as_frame(form({**ROW, **change}), "row")

    with pytest.raises(InvalidInput, match=message):
        encoding.encode(row, "row")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "Int8"])
@pytest.mark.parametrize("value", [300, -300])
def test_a_number_beyond_the_dtype_is_refused_instead_of_wrapped(dtype: str, value: int) -> None:
    encoding = encoding_of(pd.Series([1, 2], dtype=dtype))

    with pytest.raises(InvalidInput, match=f"'x' has {value}, which the data's dtype {dtype}"):
        encoding.encode(frame_of(value), "row")


def test_the_first_wrong_value_of_many_rows_is_shown(encoding: Encoding) -> None:
    rows = as_frame([ROW, {**ROW, "age": "old", "rate": "x"}, {**ROW, "age": "young"}], "rows")

    with pytest.raises(InvalidInput, match=r"rows column 'age' must hold numbers .*got 'old'"):
        encoding.encode(rows, "rows")


def test_a_float32_column_reads_numbers_in_its_own_precision() -> None:
    encoding = encoding_of(np.array([0.1, 0.2], dtype=np.float32))

    genomes = encoding.encode(frame_of(0.1))

    assert genomes[0, 0] == float(np.float32(0.1)) != 0.1


@pytest.mark.parametrize("categories", [[True, False], [False, True], [True]])
def test_categories_of_booleans_keep_their_own_order(categories: list[bool]) -> None:
    values = pd.Categorical([True, *categories], categories=categories)
    data = pd.DataFrame({"x": values})
    encoding = Encoding(Schema.infer(data))

    decoded = encoding.decode(encoding.encode(data))

    pd.testing.assert_frame_equal(decoded, data)


def test_intervals_and_dates_can_be_categories() -> None:
    data = pd.DataFrame(
        {
            "bin": pd.cut(pd.Series([1.0, 2.0, 3.0, 4.0]), 2),
            "day": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 2)),
        }
    )
    encoding = Encoding(Schema.infer(data))

    decoded = encoding.decode(encoding.encode(data))

    pd.testing.assert_frame_equal(decoded, data)


@pytest.mark.parametrize(
    "columns",
    [
        pd.RangeIndex(2),
        pd.Index(["b", "a"]),
        pd.Index(["b", 1], dtype=object),
        pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]),
    ],
)
def test_column_labels_of_any_kind_come_back(columns: pd.Index[Any]) -> None:
    data = pd.DataFrame([[1, 2.5], [2, 3.5]], columns=columns)
    encoding = Encoding(Schema.infer(data))

    decoded = encoding.decode(encoding.encode(data))

    pd.testing.assert_frame_equal(decoded, data)


def test_a_category_row_need_not_have_the_datas_categories(encoding: Encoding) -> None:
    row = pd.DataFrame([ROW]).astype({"job": pd.CategoricalDtype(["pilot", "nurse"])})

    genomes = encoding.encode(row)

    np.testing.assert_array_equal(genomes, [GENOME])


def test_decoding_no_genomes_gives_an_empty_frame_of_the_same_dtypes(
    data: pd.DataFrame, encoding: Encoding
) -> None:
    empty = encoding.decode(np.empty((0, 6)))

    pd.testing.assert_frame_equal(empty, data.iloc[:0], check_index_type=False)


def test_encoding_and_decoding_modify_nothing(data: pd.DataFrame, encoding: Encoding) -> None:
    before, row = data.copy(deep=True), dict(ROW)
    genomes = encoding.encode(data)
    genomes.setflags(write=False)

    encoding.decode(genomes)
    encoding.encode(as_frame(row, "row"))

    pd.testing.assert_frame_equal(data, before)
    assert row == ROW


def test_one_column_that_is_lacking_is_no_plural() -> None:
    data = pd.DataFrame({"age": [1, 2], "job": ["a", "b"]})

    with pytest.raises(InvalidInput, match=r"^row lacks the column 'job'; it needs every column"):
        Encoding(Schema.infer(data)).encode(data[["age"]], "row")
