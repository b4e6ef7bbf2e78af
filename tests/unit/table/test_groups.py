from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.errors import DataWarning, InvalidInput, UnknownFeatureError
from counterpoint.table.encoding import Encoding
from counterpoint.table.features import Integer, Kind
from counterpoint.table.groups import level_names
from counterpoint.table.schema import Schema

JOBS = ["clerk", "nurse", "smith"]


def one_hot(*, drop_first: bool = False, n: int = 30) -> pd.DataFrame:
    jobs = [JOBS[i % 3] for i in range(n)]
    encoded = pd.get_dummies(pd.DataFrame({"job": jobs}), drop_first=drop_first, dtype=np.int64)
    return encoded.assign(age=np.arange(n))


def infer(data: pd.DataFrame, groups: Any) -> Schema:
    return Schema.infer(data, groups=groups)


def test_a_group_is_one_categorical_feature_where_its_first_column_stands() -> None:
    data = one_hot()[["age", "job_nurse", "job_clerk", "job_smith"]]

    schema = infer(data, {"job": ["job_clerk", "job_nurse", "job_smith"]})

    assert schema.names == ("age", "job")
    assert schema.features[1].kind is Kind.CATEGORICAL
    assert schema.features[1].levels == ("clerk", "nurse", "smith")
    assert [column.name for column in schema.columns] == list(data.columns)
    assert str(schema).splitlines()[1].split()[:2] == ["job", "categorical"]
    assert "clerk, nurse, smith (one-hot in 3 columns)" in str(schema)


def test_a_group_without_its_first_column_has_one_more_level() -> None:
    data = one_hot(drop_first=True)

    schema = infer(data, {"job": ["job_nurse", "job_smith"]})

    assert schema.features[0].levels == ("nurse", "smith", "other")


def test_a_single_column_may_be_a_group_of_two_levels() -> None:
    feature = infer(one_hot()[["job_nurse"]], {"job": ["job_nurse"]}).features[0]

    assert feature.kind is Kind.BINARY
    assert feature.levels == ("nurse", "other")


@pytest.mark.parametrize("drop_first", [False, True])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "bool", "boolean", "Int8"])
def test_columns_that_lie_apart_come_back_in_their_places_and_dtypes(
    drop_first: bool, dtype: str
) -> None:
    data = one_hot(drop_first=drop_first)
    columns = [name for name in data.columns if name != "age"]
    data = data.astype(dict.fromkeys(columns, dtype))[[columns[-1], "age", *columns[:-1]]]
    encoding = Encoding(infer(data, {"job": columns}))

    again = encoding.decode(encoding.encode(data))

    pd.testing.assert_frame_equal(again, data)


def test_rows_by_feature_show_the_levels() -> None:
    data = one_hot()
    encoding = Encoding(infer(data, {"job": [f"job_{job}" for job in JOBS]}))

    shown = encoding.by_feature(encoding.encode(data))

    assert shown["job"].tolist() == [JOBS[i % 3] for i in range(30)]
    assert shown["age"].tolist() == list(range(30))


@pytest.mark.parametrize("drop_first", [False, True])
@pytest.mark.parametrize("dtype", ["int64", "bool", "float32", "Int8", "boolean"])
def test_a_group_is_found_and_announced(drop_first: bool, dtype: Any) -> None:
    data = one_hot(drop_first=drop_first, n=90)
    columns = [name for name in data.columns if name != "age"]
    data = data.astype(dict.fromkeys(columns, dtype))

    with pytest.warns(
        DataWarning, match=r"look like one feature.*searched as 'job'; groups=.*\{\}"
    ):
        schema = infer(data, None)

    assert schema.names == ("job", "age")
    assert [column.name for column in schema.features[0].columns] == columns


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.assign(job_clerk=1),  # two at once
        lambda data: data[:10],  # few rows prove little
        lambda data: data.assign(job="x"),  # the name is taken
        lambda data: data.rename(columns={"job_nurse": "nurse", "job_smith": "smith"}),
        lambda data: data.assign(job_nurse=data["job_nurse"] * 2),
        lambda data: data[["job_nurse", "age"]],
    ],
)
def test_columns_that_may_be_anything_else_stay_apart(change: Any) -> None:
    data = change(one_hot())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = infer(data, None)

    assert schema.names == tuple(data.columns)


def test_rare_flags_that_never_meet_are_no_group() -> None:
    data = pd.DataFrame({"has_boat": [1, *[0] * 99], "has_plane": [0, 1, *[0] * 98]})

    assert infer(data, None).names == ("has_boat", "has_plane")


def test_no_groups_are_looked_for_if_none_are_wanted() -> None:
    data = one_hot()

    assert infer(data, {}).names == tuple(data.columns)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["job_clerk"], "groups must be a dict of name to columns, got .*for example groups="),
        ({"job": "job_clerk"}, r"groups\['job'\] must be a list of columns, got 'job_clerk'"),
        ({"job": []}, r"groups\['job'\] must be a list of columns, got \[\]"),
        ({"job": ["job_clerk"], "jobs": ["job_clerk"]}, "'job_clerk' in 'job' and in 'jobs'"),
        ({"age": ["job_clerk", "job_nurse"]}, "groups names a feature 'age', and the data have a"),
        ({"job": ["job_clerk", "age"]}, "has the column 'age', which holds other values than 0"),
        ({"job": ["job_clerk", "code"]}, "has the column 'code', which holds other values than 0"),
        ({"job": ["job_clerk", "again"]}, "is no one-hot encoding: 10 rows of the data have sev"),
    ],
)
def test_what_is_no_group_is_refused(groups: Any, message: str) -> None:
    data = one_hot().assign(again=one_hot()["job_clerk"])
    data["code"] = pd.Categorical(data["job_nurse"], [1, 0])  # whose codes are not its values

    with pytest.raises(InvalidInput, match=message):
        infer(data, groups)


def test_an_unknown_column_of_a_group_is_told_with_the_closest() -> None:
    with pytest.raises(UnknownFeatureError, match=r"groups\['job'\] names 'job_nurs'.*'job_nurse'"):
        infer(one_hot(), {"job": ["job_nurs", "job_clerk"]})


def test_a_column_is_declared_once() -> None:
    with pytest.raises(InvalidInput, match="'job_clerk' is in features and in groups; keep one"):
        Schema.infer(
            one_hot(),
            features={"job_clerk": Integer()},
            groups={"job": ["job_clerk", "job_nurse", "job_smith"]},
        )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1, 1, 0], "row has 'job_clerk' and 'job_nurse' on together, but of the group 'job' only"),
        ([0, 0, 0], "row has no column of the group 'job' on, which the data never show; set one"),
        ([2, 0, 0], "row column 'job_clerk' is one of the group 'job' and must be 0 or 1, got"),
        (
            ["1", 0, 0],
            "row column 'job_clerk' is one of the group 'job' and must be 0 or 1, got '1'",
        ),
        ([None, 1, 0], "row column 'job_clerk' is one of the group 'job' and must be 0 or 1"),
    ],
)
def test_a_row_with_no_single_level_is_refused(row: list[Any], message: str) -> None:
    columns = [f"job_{job}" for job in JOBS]
    encoding = Encoding(infer(one_hot(), {"job": columns}))
    frame = pd.DataFrame([dict(zip(columns, row, strict=True)) | {"age": 3}])

    with pytest.raises(InvalidInput, match=message):
        encoding.encode(frame, "row")


@pytest.mark.parametrize(
    ("labels", "levels"),
    [
        (["job_a", "job_b"], ["a", "b"]),
        (["job=a", "job=b"], ["a", "b"]),
        (["job[a]", "job[b]"], ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ([3, 4], [3, 4]),
        (["job_a", "b"], ["job_a", "b"]),
        (["job_a", "job-a"], ["job_a", "job-a"]),
    ],
)
def test_levels_are_named_by_what_follows_the_groups_name(labels: Any, levels: Any) -> None:
    assert level_names("job", labels) == levels
