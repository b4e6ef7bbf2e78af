from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.unit.rules.small import DATA, ROW, SCHEMA, rules_of

from counterpoint.errors import CounterpointError, InvalidInput
from counterpoint.rules.rules import Rule, Rules
from counterpoint.rules.tokens import MOST_CHARACTERS
from counterpoint.table.schema import Schema


def is_young(rows: pd.DataFrame) -> Any:
    return rows["age"] < 50


def test_rules_print_in_canonical_form_in_the_callers_order() -> None:
    rules = Rules.parse(["AGE>=1 ".replace("AGE", "age"), is_young, "fixed  job"], SCHEMA)

    assert rules.texts == ("age >= 1", "function is_young", "fixed job")
    assert str(rules) == "age >= 1\nfunction is_young\nfixed job"
    assert len(rules) == 3
    assert [rule.name for rule in rules.functions] == ["is_young"]
    assert len(rules.written) == len(rules.normal_rules) == 2


def test_a_function_can_be_given_a_name() -> None:
    rule = Rule.of_function(lambda rows: rows["age"] > 0, name="alive")

    assert str(rule) == "function alive"


def test_what_is_not_callable_is_no_function() -> None:
    thing: Any = 3

    with pytest.raises(InvalidInput, match=r"a rule's function must be callable, got 3\."):
        Rule.of_function(thing)


def test_functions_are_asked_together() -> None:
    rules = Rules.parse([is_young, lambda rows: rows["pay"] > 2.0], SCHEMA)

    assert rules.ask(DATA).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda rows: rows["none"], "rule '<lambda>' raised KeyError for 3 rows: 'none'"),
        (lambda rows: True, "booleans of shape (3,); got bool of shape ()."),  # noqa: ARG005
        (lambda rows: rows["age"], "booleans of shape (3,); got int64 of shape (3,)."),
    ],
)
def test_a_function_that_fails_is_named(function: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        Rules.parse([function], SCHEMA).ask(DATA)

    assert message in str(raised.value)


def test_all_verdicts_are_in_the_callers_order() -> None:
    rules = Rules.parse([is_young, "age > 30", "fixed pay"], SCHEMA)
    genomes = np.array([ROW, [60.0, 2.5, 1.0, 1.0]])
    frame = pd.DataFrame({"age": [30, 60]})

    assert rules.all_verdicts(genomes, ROW, frame).tolist() == [
        [True, False, True],
        [False, True, False],
    ]


def test_a_function_read_from_a_file_is_a_name_and_never_asked() -> None:
    rules = Rules((Rule(None, None, "is_young"),), SCHEMA)

    assert rules.texts == ("function is_young",)
    assert rules.ask(DATA).all()
    assert rules.all_verdicts(ROW[None], ROW, DATA[:1]).all()


def test_rules_of_one_text_are_equal() -> None:
    assert rules_of("age>=18") == rules_of("age >= 18.0")


def test_a_rule_that_could_not_be_read_again_is_refused() -> None:
    data = DATA.rename(columns={"age": "a`" * 40})
    name = '"' + "a`" * 40 + '"'
    text = " and ".join([f"{name} > 1"] * 105)
    assert len(text) <= MOST_CHARACTERS

    with pytest.raises(InvalidInput, match="written out it has"):
        Rules.parse([text], Schema.infer(data))


def test_what_people_say_becomes_a_rule_and_its_faults_have_carets_in_place() -> None:
    schema = Schema.infer(pd.DataFrame({"age": [20, 30], "job": ["a", "b"]}))

    assert [str(rule) for rule in Rules.parse(["age only increases"], schema).rules] == [
        "age increases"
    ]
    with pytest.raises(CounterpointError) as raised:
        Rules.parse(["agee is fixed"], schema)
    lines = str(raised.value).splitlines()
    assert any("fixed agee" in line for line in lines)
