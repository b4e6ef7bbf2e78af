from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.rules.rules import Rules
from counterpoint.table.schema import Encoding, Schema

DATA = pd.DataFrame(
    {
        "age": [20, 40, 60],
        "pay": [1.5, 2.5, 9.0],
        "months": [6, 12, 72],
        "job": ["clerk", "nurse", "smith"],
        "home": ["own", "rent", "own"],
    }
)
SCHEMA = Schema.infer(DATA)
ROW: Floats = Encoding(SCHEMA).encode(DATA)[0]  # 20, 1.5, 6, clerk, own
ROW.setflags(write=False)

MONTHS = "no value of 'months' from 6 to 72 is left"
AGE = "no value of 'age' from 20 to 60 is left"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ["months in 6..12", "fixed job", "months >= 24"],
            [f'"months in 6..12" and "months >= 24" cannot hold together: {MONTHS}.'],
        ),
        (["months in 100..120"], [f'"months in 100..120" can never hold: {MONTHS}.']),
        (["months in {7.5, 99}"], [f'"months in {{7.5, 99}}" can never hold: {MONTHS}.']),
        (["months in 6.2..6.8"], [f'"months in 6.2..6.8" can never hold: {MONTHS}.']),
        (["age < 20 or age > 60"], [f'"age < 20 or age > 60" can never hold: {AGE}.']),
        (
            ["fixed age", "age >= 35"],
            [f'"fixed age" and "age >= 35" cannot hold together: {AGE}.'],
        ),
        (
            ["changed(age)", "fixed age, job"],
            [f'"changed(age)" and "fixed age, job" cannot hold together: {AGE}.'],
        ),
        (
            ["months in steps of 6 from 0", "months in steps of 4 from 1"],
            [
                '"months in steps of 6 from 0" and "months in steps of 4 from 1" cannot hold '
                f"together: {MONTHS}."
            ],
        ),
        (
            ["months in steps of 50 from 0", "months <= 49"],
            [f'"months in steps of 50 from 0" and "months <= 49" cannot hold together: {MONTHS}.'],
        ),
        (
            ["job in {clerk}", "job = nurse or job = smith"],
            [
                '"job in {clerk}" and "job = nurse or job = smith" cannot hold together: '
                "no level of 'job' is left."
            ],
        ),
        (["1 > 2"], ['"1 > 2" can never hold.']),
        (["was(age) > 30"], ['"was(age) > 30" can never hold.']),
        (["age / 0 > 1"], [f'"age / 0 > 1" can never hold: {AGE}.']),
        (["age + months < 20"], ['"age + months < 20" can never hold.']),
        (["age * months < 100"], ['"age * months < 100" can never hold.']),
        (["age / months > 11"], ['"age / months > 11" can never hold.']),
        (
            ["age <= 5 * pay", "pay < 3"],
            [
                '"age <= 5 * pay" and "pay < 3" cannot hold together: no value of \'pay\' from 1.5 '
                "to 9.0 is left."
            ],
        ),
        (
            ["job = nurse implies age >= 30", "job = nurse", "age < 30"],
            ['"job = nurse implies age >= 30", "job = nurse" and "age < 30" cannot hold together.'],
        ),
        (
            ["at most 1 change", "age >= 40", "pay < 9", "job != was(job)"],
            [
                '"at most 1 change", "age >= 40" and "job != was(job)" cannot hold together: '
                "'age' and 'job' must change."
            ],
        ),
        (
            ["at most 1 change among age, pay", "age >= 40", "pay > 2"],
            [
                '"at most 1 change among age, pay", "age >= 40" and "pay > 2" cannot hold '
                "together: 'age' and 'pay' must change."
            ],
        ),
        (
            ["at most 1 change", "age >= 40", "home, job change together", "home = rent"],
            [
                '"at most 1 change", "home, job change together" and "home = rent" cannot hold '
                "together: no level of 'job' is left."
            ],
        ),
        (
            ["home, age change together", "fixed age", "home = rent"],
            [
                '"home, age change together", "fixed age" and "home = rent" cannot hold together: '
                f"{AGE}."
            ],
        ),
        (
            ["1 > 2", "age > 60", "fixed pay", "pay > 5"],
            [
                '"1 > 2" can never hold.',
                f'"age > 60" can never hold: {AGE}.',
                '"fixed pay" and "pay > 5" cannot hold together: no value of \'pay\' from 1.5 to '
                "9.0 is left.",
            ],
        ),
    ],
)
def test_contradictions_are_named(texts: list[str], expected: list[str]) -> None:
    assert Rules.parse(texts, SCHEMA).contradictions(ROW) == expected


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["age >= 35"],  # the row breaks it, and must change
        ["months in 6..12", "months >= 12"],
        ["age in steps of 7", "age > 20"],
        ["age / (months - 6) > 1"],
        ["age <= 5 * pay", "pay <= 4"],
        ["at most 2 changes", "age >= 40", "job != was(job)"],
        ["home, age change together", "home = rent"],
        ["job = nurse implies age >= 30", "age < 30"],
    ],
)
def test_what_can_hold_is_not_called_contradictory(texts: list[str]) -> None:
    rules = Rules.parse(texts, SCHEMA)

    assert rules.contradictions(ROW) == []
    assert np.isfinite(rules.bounds(ROW).lower).all()


def test_many_rules_are_weighed_one_by_one() -> None:
    texts = [f"pay <= {9 - i / 10}" for i in range(40)] + ["age <= months", "months <= 15"]

    found = Rules.parse(texts, SCHEMA).contradictions(ROW)

    assert found == [f'"age <= months" and "months <= 15" cannot hold together: {MONTHS}.']


def test_bounds_refuse_contradictory_rules() -> None:
    with pytest.raises(InvalidInput) as raised:
        Rules.parse(["age < 0"], SCHEMA).bounds(ROW)

    assert str(raised.value) == (
        'constraints contradict each other or the limits:\n"age < 0" can never hold: ' + AGE + "."
    )
