from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.errors import DataWarning, InvalidInput, UnknownFeatureError
from counterpoint.table.features import Categorical, Date, Feature, Integer, Kind, Ordered, Real
from counterpoint.table.schema import Encoding, Schema

BYTES = np.array([1], dtype=np.int8)
NEW_YEAR = datetime.date(2020, 1, 1)


def declare(values: Any, kind: Any) -> Feature:
    return Schema.infer(pd.DataFrame({"x": values}), features={"x": kind}).features[0]


def test_a_declared_range_is_the_range_of_the_feature() -> None:
    assert (declare([20, 30], Integer(18, 90)).low, declare([20, 30], Integer(18)).high) == (18, 30)
    assert (declare([0.2, 0.3], Real(0, 1)).low, declare([0.2], Real(high=1)).high) == (0.0, 1.0)


def test_a_column_of_floats_may_be_whole_numbers() -> None:
    feature = declare([1.0, 3.0], Integer())

    assert feature.kind is Kind.INTEGER
    assert feature.dtype == np.float64


def test_decimals_may_be_declared() -> None:
    assert declare([0.25, 0.5], Real()).decimals == 2
    assert declare([0.25, 0.5], Real(decimals=1)).decimals == 1


@pytest.mark.parametrize(
    "values", [["mid", "low"], pd.Categorical(["mid", "low"], ["low", "mid", "high"])]
)
def test_levels_get_the_order_that_is_declared(values: Any) -> None:
    feature = declare(values, Ordered(["low", "mid", "high"]))

    assert feature.kind is Kind.ORDERED
    assert feature.levels == ("low", "mid", "high")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.Categorical(["b", "a"], ["a", "b", "c"]), Ordered(["c", "b", "a"])),
        (pd.Categorical(["b", "a"], ["a", "b", "c"]), Categorical(["b", "a"])),
        (np.array([3, 7], dtype=np.int8), Categorical([7, 3, 5])),
        (np.array([0.5, 1.5], dtype=np.float32), Ordered([1.5, 0.5])),
        (pd.Series([1.5, 2], dtype=object), Categorical()),
        ([True, False], Ordered([True, False])),
        (pd.array(["b", "a"], dtype="string"), Ordered(["b", "a"])),
        ([1.0, 3.0], Integer(0, 5)),
        ([datetime.date(2020, 1, 1)] * 2, Date("2019-12-31")),
    ],
)
def test_a_declared_column_comes_back_in_its_own_dtype(values: Any, kind: Any) -> None:
    data = pd.DataFrame({"x": values})
    encoding = Encoding(Schema.infer(data, features={"x": kind}))

    again = encoding.decode(encoding.encode(data))

    pd.testing.assert_frame_equal(again, data)


def test_two_levels_are_binary_unless_ordered() -> None:
    assert declare([1, 2], Categorical()).kind is Kind.BINARY
    assert declare([1, 2], Ordered([1, 2])).kind is Kind.ORDERED


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([20, 95], Integer(18, 90), r"'x' has 95, beyond the declared Integer\(low=18, high=90\)"),
        ([0.5], Real(0.6), r"'x' has 0.5, beyond the declared Real\(low=0.6.*give ranges="),
        ([1.5], Integer(), r"features\['x'\] is Integer, but the data have 1.5; round the column"),
        ([1], Real(), r"features\['x'\] is Real, but the column's dtype int64 holds whole numbers"),
        (["a"], Real(), r"features\['x'\] is Real, but the column has dtype .*; convert it to num"),
        ([True], Integer(), r"features\['x'\] is Integer, but the column has dtype bool"),
        (
            ["midd"],
            Ordered(["low", "mid"]),
            r"has the level 'midd', which its Ordered does not name; did you mean 'mid'\?",
        ),
        ([3], Categorical([1, 2]), r"level 3, which its Categorical does not name; name all"),
        (BYTES, Categorical([1, 1000]), r"the level 1000, which the column's dtype int8 cannot h"),
        (BYTES, Integer(0, 200), r"which the data's dtype int8 cannot hold; give .* -128 to 127"),
        ([1, 2], Integer(0, 10**18), r"which is beyond 2\*\*53, where floats skip whole numbers"),
        ([0.5], Real(0, 1e308), r"which is too large to compute with; .* -1e\+100 to 1e\+100"),
        ([1e101], Real(), r"column 'x' has 1e\+101, beyond 1e\+100, which is too large to comput"),
        (
            pd.Categorical(["a"]),
            Categorical(["a", "b"]),
            r"names the level 'b', which the column's dtype category cannot hold",
        ),
        (["2020-01-01"], Date(), r"data column 'x' must hold dates, got '2020-01-01'; use dateti"),
        ([NEW_YEAR], Date("2020-02-01"), r"'x' has 2020-01-01, beyond the declared Date"),
        ([1e9], Real(decimals=12), r"so many decimals of such numbers are finer than a float"),
        ([1, 2], int, r"features\['x'\] must be a Real, Integer, Date, Categorical or Ordered, g"),
    ],
)
def test_what_a_column_cannot_be_is_refused(values: Any, kind: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        declare(values, kind)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Integer(9, 1), "Integer must have low <= high, got 9 and 1"),
        (
            lambda: Integer(1.5),  # type: ignore[arg-type]
            "Integer must have whole ends, got 1.5",
        ),
        (
            lambda: Real("0"),  # type: ignore[arg-type]
            "Real must have finite numbers or None as ends, got '0'",
        ),
        (lambda: Real(float("nan")), "Real must have finite numbers or None as ends, got nan"),
        (lambda: Real(decimals=-1), "Real.decimals must be a whole number from 0 to 12 or None"),
        (lambda: Date("2020-02-01", "2020-01-01"), "Date must have low <= high, got '2020-02-01'"),
        (lambda: Date("soon"), "Date must hold dates, got 'soon'; write them as in '2024-12-31'"),
        (lambda: Categorical("ab"), "Categorical.levels must be a list of levels, got 'ab'"),
        (lambda: Ordered(["a", "a"]), r"Ordered must have at least one level and none twice, got"),
        (lambda: Ordered([]), "Ordered must have at least one level"),
        (lambda: Ordered([["a"]]), "Ordered has a level that cannot be one"),
    ],
)
def test_a_kind_that_means_nothing_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_kinds_of_unknown_columns_are_told_with_the_closest() -> None:
    with pytest.raises(UnknownFeatureError, match=r"features names 'agee'.*did you mean 'age'\?"):
        Schema.infer(pd.DataFrame({"age": [1, 2]}), features={"agee": Integer()})


def test_features_that_are_no_dict_are_refused() -> None:
    with pytest.raises(InvalidInput, match="features must be a dict of column name to kind, got"):
        Schema.infer(pd.DataFrame({"age": [1, 2]}), features=[Integer()])  # type: ignore[arg-type]


def test_a_column_of_many_levels_is_warned_of_unless_it_is_declared() -> None:
    data = pd.DataFrame({"zip": [f"{i:05}" for i in range(51)]})

    with pytest.warns(DataWarning, match=r"'zip' has 51 levels in 51 rows.*drop it.*Categorical"):
        Schema.infer(data)
    Schema.infer(data, features={"zip": Categorical()})
    Schema.infer(data[:50])


def test_kinds_are_equal_if_they_say_the_same_and_print_what_they_are() -> None:
    assert Ordered(["a", "b"]) == Ordered(("a", "b"))
    assert repr(Ordered(["a"])) == "Ordered(levels=('a',))"
