from __future__ import annotations

from tests.unit.rules.small import AGE, PAY, rules_of

from counterpoint.rules.grammar import parse
from counterpoint.rules.tree import (
    AtMost,
    Chain,
    Compare,
    InSet,
    Number,
    Role,
    Word,
    compared_places,
    write_number,
)


def test_nodes_compare_by_meaning_and_not_by_place() -> None:
    assert parse("  age>=18") == Compare(Word("age"), ">=", Number(18.0))
    assert Word("age", role=Role.FEATURE, place=3) == Word("age")


def test_parentheses_are_written_only_where_they_count() -> None:
    a, b = Word("a"), Word("b")
    inner = Chain(a, (("-", b),))

    assert str(Chain(a, (("-", inner),))) == "a - (a - b)"
    assert str(Chain(inner, (("*", b),))) == "(a - b) * b"
    assert str(parse("(a = 1 and b = 2) or not (a = 1)")) == "a = 1 and b = 2 or not a = 1"
    assert str(parse("(a = 1 or b = 2) and b = 3")) == "(a = 1 or b = 2) and b = 3"


def test_names_are_quoted_only_if_they_could_be_read_otherwise() -> None:
    assert str(InSet(Word("my job"), (Word("at", role=Role.LEVEL), Number(-1.0)))) == (
        "\"my job\" in {'at', -1}"
    )
    assert str(AtMost(1, (Word("a"),))) == "at most 1 change among a"


def test_numbers_are_as_short_as_they_can_be_read_again() -> None:
    numbers = [5.0, 0.1, 1e16, -3.0, 1e-7]

    assert [write_number(number) for number in numbers] == ["5", "0.1", "1e+16", "-3", "1e-07"]
    assert [float(write_number(number)) for number in numbers] == numbers


def test_to_ask_whether_a_feature_changes_is_not_to_compare_it() -> None:
    (rule,) = rules_of("changed(job) implies age > was(pay)").rules

    assert compared_places(rule.statement) == {AGE, PAY}
    assert compared_places(rules_of("fixed age").rules[0].statement) == set()
