"""The values of a document: read as what was written, and refused by their place."""

from __future__ import annotations

import datetime
import json
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.result.file.document import (
    Node,
    encode_text,
    read_dtype,
    read_feature,
    read_label,
    write_dtype,
    write_feature,
    write_label,
)


@pytest.mark.parametrize(
    "label",
    [
        *(None, True, 3, 2**70, 0.1, -0.0, np.inf, "größe", "\ud800", ("a", 1)),
        *(np.int8(3), np.float32(0.1), np.str_("a"), np.bool_(True)),
        *(Decimal("1.10"), datetime.date(2024, 5, 1), pd.Interval(0.5, 2, "left")),
        *(pd.Timestamp("2024-05-01 12:00"), pd.Timestamp(1, unit="ns")),
    ],
    ids=repr,
)
def test_a_label_is_read_as_what_was_written(label: Any) -> None:
    text = json.dumps(write_label(label, "level"), allow_nan=False)

    read = read_label(Node(json.loads(text)))

    assert type(read) is type(label)
    assert repr(read) == repr(label)


@pytest.mark.parametrize(
    "dtype",
    [np.dtype(name) for name in ("int8", "uint64", "float32", "bool", "object")]
    + [pd.Int16Dtype(), pd.Float32Dtype(), pd.BooleanDtype(), pd.SparseDtype("float64", 0.0)]
    + [pd.StringDtype("python"), pd.Series(["a"]).dtype]
    + [pd.CategoricalDtype(["b", "a"], ordered=True), pd.CategoricalDtype([2, 1])]
    + [pd.cut(pd.Series([1.0, 2.0, 3.0]), 2).dtype]
    + [pd.CategoricalDtype(pd.to_datetime(["2024-05-01", "2024-06-01"]))],
    ids=str,
)
def test_a_dtype_is_read_as_what_was_written(dtype: Any) -> None:
    text = json.dumps(write_dtype(dtype, "column 'a'"), allow_nan=False)

    read = read_dtype(Node(json.loads(text)))

    assert read == dtype
    assert getattr(read, "storage", None) == getattr(dtype, "storage", None)


@pytest.mark.parametrize("name", ["int32", "double", "float", "bool", "string", "large_string"])
def test_an_arrow_dtype_is_read_as_what_was_written(name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    dtype = pd.ArrowDtype(pa.type_for_alias(name))

    read = read_dtype(Node(write_dtype(dtype, "column 'a'")))

    assert read == dtype


def test_an_arrow_dtype_without_pyarrow_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(cp.MissingDependency, match="run: pip install pyarrow"):
        read_dtype(Node({"arrow": "double"}))


def test_a_dtype_json_cannot_hold_is_refused_by_name() -> None:
    with pytest.raises(cp.InvalidInput, match="column 'a' has dtype complex128, which cannot be"):
        write_dtype(np.dtype(complex), "column 'a'")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, 9]),
        pd.Series([0.25, 1.5]),
        pd.Series(["a", "b", "c"]),
        pd.Series([True, False]),
        pd.Series(pd.Categorical(["S", "L"], ["S", "M", "L"], ordered=True)),
        pd.Series(pd.to_datetime(["2020-01-01", "2024-02-29"])),
    ],
    ids=lambda column: str(column.dtype),
)
def test_a_feature_is_read_as_what_was_written(column: pd.Series[Any]) -> None:
    (feature,) = cp.Schema.infer(pd.DataFrame({"x": column})).features
    text = encode_text(write_feature(feature))

    assert read_feature(Node(json.loads(text))) == feature


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"low": 5.0, "high": 1.0}, "describes no column"),
        ({"levels": ["a"]}, "describes no column"),
        ({"kind": "colour"}, r"\$\.kind must be one of"),
        ({"decimals": -1}, r"\$\.decimals must be a whole number from 0"),
        ({"low": None}, r"\$\.low must be a finite number"),
    ],
)
def test_a_feature_no_column_could_be_is_refused(change: dict[str, Any], told: str) -> None:
    (feature,) = cp.Schema.infer(pd.DataFrame({"x": [0.5, 1.5]})).features

    with pytest.raises(cp.InvalidInput, match=told):
        read_feature(Node(write_feature(feature) | change))


@pytest.mark.parametrize("value", [True, "1", None, np.inf, np.nan, 10**400, [1.0]])
def test_what_is_no_finite_number_is_refused_by_its_place(value: Any) -> None:
    with pytest.raises(cp.InvalidInput, match=r"^\$\[1\] must be a finite number"):
        Node([1.0, value]).numbers()


def test_numbers_of_any_writing_are_floats() -> None:
    table = Node([[1, 2.5], [3, 4]]).table(2, 2)

    assert table.dtype == np.float64
    assert table.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    with pytest.raises(cp.InvalidInput, match=r"^\$ must have 3 entries, got 2"):
        Node([[1, 2], [3, 4]]).table(3, 2)
