from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.errors import DataWarning, InvalidInput, UnknownFeatureError
from counterpoint.table.features import Categorical, Integer, Kind
from counterpoint.table.groups import level_names
from counterpoint.table.schema import Encoding, Schema

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
        lambda data: data.rename(columns={"job_nurse": "nurse", "job_smith": "smith"}),
        lambda data: data.assign(job_nurse=data["job_nurse"] * 2),
        lambda data: data[["job_nurse", "age"]],
    ],
)
def test_columns_that_may_be_anything_else_stay_apart(change: Any) -> None:
    data = change(one_hot())

    found, said = found_in(data)

    assert found == {}
    assert not any("one-hot" in each for each in said)


def test_rare_flags_that_never_meet_are_no_group() -> None:
    data = pd.DataFrame({"has_boat": [1, *[0] * 99], "has_plane": [0, 1, *[0] * 98]})

    assert infer(data, None).names == ("has_boat", "has_plane")


def dummies(n: int = 120, *, drop_first: bool = False, **levels: list[str]) -> pd.DataFrame:
    """Return the encoding of features that vary independently."""
    sizes = np.cumprod([1, *map(len, levels.values())])
    values = {
        name: [own[i // size % len(own)] for i in range(n)]
        for size, (name, own) in zip(sizes, levels.items(), strict=False)
    }
    return pd.get_dummies(pd.DataFrame(values), drop_first=drop_first)


def found_in(data: pd.DataFrame, **declared: Any) -> tuple[dict[Any, list[Any]], list[str]]:
    """Return the groups of a table with their columns, and what is said of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schema = Schema.infer(data, **declared)
    columns = {each.name: [own.name for own in each.columns] for each in schema.features}
    return {name: own for name, own in columns.items() if own}, [str(w.message) for w in caught]


@pytest.mark.parametrize("drop_first", [False, True])
def test_groups_are_called_by_the_longest_prefix_that_fits(drop_first: bool) -> None:
    data = dummies(
        home_type=["flat", "house", "farm"],
        home_state=["NY", "CA", "TX"],
        credit_history=["all_paid", "existing_paid", "existing_late", "none"],
        n=360,
        drop_first=drop_first,
    )

    found, said = found_in(data.assign(credit_history_flag=np.arange(360) // 40 % 2))

    at = 1 if drop_first else 0
    assert found == {
        "home_type": ["home_type_farm", "home_type_flat", "home_type_house"][at:],
        "home_state": ["home_state_CA", "home_state_NY", "home_state_TX"][at:],
        "credit_history": [
            "credit_history_all_paid",
            "credit_history_existing_late",
            "credit_history_existing_paid",
            "credit_history_none",
        ][at:],
    }
    assert len(said) == 1


@pytest.mark.parametrize("joint", ["_", "__", ".", " = ", "→", ":", "|", "-"])
def test_any_separator_will_do(joint: str) -> None:
    data = one_hot().rename(columns=lambda name: name.replace("_", joint))

    with pytest.warns(DataWarning, match="searched as 'job'"):
        schema = infer(data, None)

    assert schema.features[0].levels == tuple(JOBS)


def test_capital_letters_and_numbers_separate_too() -> None:
    data = dummies(job=["clerk", "nurse"], zone=["1", "2"])
    data.columns = pd.Index(["jobClerk", "jobNurse", "zone1", "zone2"])

    assert [*found_in(data)[0]] == ["job", "zone"]


def test_one_remark_is_made_of_a_whole_table() -> None:
    data = pd.concat(
        [one_hot().drop(columns="age").add_prefix(f"x{i}_") for i in range(13)], axis=1
    )

    found, said = found_in(data)

    assert len(found) == 13
    assert len(said) == 1
    assert said[0].startswith("39 columns look like 13 features that were one-hot encoded, and are")
    assert "groups={'x0_job': ['x0_job_clerk', 'x0_job_nurse', 'x0_job_smith'], ...}" in said[0]
    assert said[0].endswith("(the schema shows all of them), groups={} keeps all columns apart.")


def test_a_group_whose_name_is_taken_gets_another() -> None:
    found, said = found_in(one_hot().assign(job="x"))

    assert [*found] == ["job_*"]
    assert "searched as 'job_*'" in said[0]
    with pytest.warns(DataWarning):
        assert infer(one_hot().assign(job="x"), None).features[0].levels == tuple(JOBS)


def test_declared_groups_win_and_the_others_are_found() -> None:
    data = dummies(job=["clerk", "nurse", "smith"], home=["flat", "house"])
    declared = {"work": ["job_clerk", "job_nurse", "job_smith"]}

    found, said = found_in(data, groups=declared)

    assert found == {**declared, "home": ["home_flat", "home_house"]}
    assert said[0].startswith("2 columns look like one feature that was one-hot encoded")
    assert f"groups={found} says so without this warning" in said[0]
    assert "features={'home_flat': Categorical()} keeps the columns of 'home' apart" in said[0]
    assert found_in(data, groups=found) == (found, [])
    apart = found_in(data, groups=declared, features={"home_flat": Categorical()})
    assert apart == (declared, [])


def test_a_level_that_nobody_has_is_one_of_its_group() -> None:
    data = one_hot().assign(job_pilot=0)

    found, _ = found_in(data)

    assert found == {"job": ["job_clerk", "job_nurse", "job_smith", "job_pilot"]}


def test_a_complete_group_is_found_beside_flags_of_the_same_prefix() -> None:
    men, smokers = np.arange(40) % 2, np.arange(40) // 2 % 2
    data = pd.DataFrame({"is_male": men, "is_smoker": smokers, "is_female": 1 - men})

    assert found_in(data)[0] == {"is": ["is_male", "is_female"]}


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
        (["job_-1", "job_1"], ["-1", "1"]),
        (["job_<5", "job_>=5"], ["<5", ">=5"]),
        (["job[T.a]", "job[T.b]"], ["a", "b"]),
        (["job__a_b", "job__c"], ["a_b", "c"]),
    ],
)
def test_levels_are_named_by_what_follows_the_groups_name(labels: Any, levels: Any) -> None:
    assert level_names("job", labels) == levels
