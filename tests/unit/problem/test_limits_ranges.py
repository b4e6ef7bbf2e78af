"""Ranges of one feature, and how they are written."""

from __future__ import annotations

import datetime
from typing import Any

import pandas as pd
import pytest

from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import check_ranges, range_text
from counterpoint.rules.rules import rule_of_levels
from counterpoint.table.features import end_of
from counterpoint.table.schema import Schema

SCHEMA = Schema.infer(
    pd.DataFrame(
        {
            "age": [20, 40],
            "my job": ["clerk", "it's"],
            "since": pd.to_datetime(["2020-01-01", "2022-01-01"]),
            "owns": [True, False],
        }
    )
)
AGE, JOB, SINCE, OWNS = range(4)


def test_ends_and_levels_are_told_apart_by_the_kind_of_the_feature() -> None:
    intervals, levels = check_ranges(
        {"owns": [True], "since": (None, "2021-01-01"), "my job": {"it's"}, "age": (None, 30)},
        SCHEMA,
    )

    assert intervals == {AGE: (20.0, 30.0), SINCE: (18262.0, 18628.0)}
    assert levels == {JOB: [1], OWNS: [1]}


def test_true_is_not_the_level_one() -> None:
    with pytest.raises(ValueError, match="names 1, which is not a level of 'owns'"):
        check_ranges({"owns": [1]}, SCHEMA)


def test_an_end_is_written_as_a_caller_would() -> None:
    assert end_of(SCHEMA.features[SINCE], 18628.0) == "2021-01-01"
    assert repr(end_of(SCHEMA.features[AGE], 30.0)) == "30"
    assert end_of(SCHEMA.features[AGE], 30.5) == 30.5


def test_the_rule_of_levels_can_be_read_again() -> None:
    rule = rule_of_levels(JOB, [1], SCHEMA)

    assert "it''s" in str(rule)
    assert str(type(rule).parse(str(rule)).checked(SCHEMA)) == str(rule)


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((1, 2.5), "from 1 to 2.5"),
        ((None, 3), "up to 3"),
        ((3, None), "from 3"),
        ((None, None), "within the data"),
        ((datetime.date(2020, 1, 1), None), "from 2020-01-01"),
        (("clerk", "nurse"), "one of 'clerk' and 'nurse'"),
        (("2020-01-01", "2021-01-01"), "from 2020-01-01 to 2021-01-01"),
    ],
)
def test_a_range_is_told_in_words(ends: Any, text: str) -> None:
    assert range_text(ends) == text


@pytest.mark.parametrize("stated", ["new car", ["newcar"], (1, 2)])
def test_what_is_no_range_of_levels_is_told_with_the_range_and_the_rule(stated: Any) -> None:
    schema = Schema.infer(pd.DataFrame({"purpose": ["new car", "tv", "boat"]}))

    with pytest.raises(InvalidInput) as caught:
        check_ranges({"purpose": stated}, schema)

    assert str(caught.value).endswith(
        "For example ranges={'purpose': ['boat', 'new car']}, or the rule \"purpose in {boat, "
        "'new car'}\"."
    )
