from __future__ import annotations

import re

import pytest

from counterpoint.errors import InvalidInput
from counterpoint.rules.grammar import parse
from counterpoint.rules.tokens import MOST_CHARACTERS, MOST_NESTED, Reader, tokenize
from counterpoint.rules.tree import MOST_SHOWN, Role, invalid, unknown


def test_tokens_know_what_they_are_and_where_they_stand() -> None:
    tokens = tokenize("Age >= 1_8")

    assert [(t.kind, t.text, t.span) for t in tokens] == [
        ("word", "Age", (0, 3)),
        ("symbol", ">=", (4, 6)),
        ("number", "1_8", (7, 10)),
        ("end", "", (10, 11)),
    ]


def test_quotes_say_what_a_word_is_and_are_doubled_inside() -> None:
    tokens = tokenize("\"a\"\"b\" 'it''s' `x``y`")[:-1]

    assert [t.text for t in tokens] == ['a"b', "it's", "x`y"]
    assert [t.role for t in tokens] == [Role.EITHER, Role.LEVEL, Role.FEATURE]


def test_keywords_and_comparators_have_one_spelling() -> None:
    assert [t.text for t in tokenize("IMPLIES == ≤ ≠ ≥")[:-1]] == ["implies", "=", "<=", "!=", ">="]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age > #3", "'#' cannot be read"),
        ("job = 'clerk", "this quote is never closed."),
        ("x" * (MOST_CHARACTERS + 1), "this one has 10,001; split it."),
    ],
)
def test_what_cannot_be_read_is_said(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        tokenize(text)


def test_the_caret_stands_under_the_fault() -> None:
    with pytest.raises(InvalidInput) as raised:
        tokenize("age > #3")

    assert str(raised.value).splitlines()[1:] == ["      age > #3", "            ^"]


def test_a_long_rule_is_shown_around_its_fault() -> None:
    text = "a = 1 and " * 30 + "# = 2" + " and b = 1" * 30

    with pytest.raises(InvalidInput) as raised:
        tokenize(text)

    _, shown, carets = str(raised.value).splitlines()
    assert len(shown.strip()) == MOST_SHOWN + 2  # dots at both ends
    assert shown[carets.index("^")] == "#"


def test_an_unknown_name_is_a_key_error_too() -> None:
    error = unknown("agee > 1", (0, 4), "'agee' is not a column of the data.")

    assert isinstance(error, KeyError)
    assert str(error).startswith("rule \"agee > 1\": 'agee' is not a column")
    assert isinstance(invalid("a", (0, 1), "no."), ValueError)


def test_nesting_has_an_end() -> None:
    reader = Reader("a")
    reader.depth = MOST_NESTED

    with pytest.raises(InvalidInput, match=f"a rule may nest {MOST_NESTED} levels at most"):
        reader.nested(lambda: None)


@pytest.mark.parametrize(
    ("text", "message"),
    [("x", "expected a number, found 'x'."), ("1e999", "the number is too large to compute with.")],
)
def test_a_number_is_expected(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Reader(text).number()


def test_a_missing_word_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"expected 'together', found the end\."):
        Reader("").expect("together")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("debt < 5 and age is fixed", "not changed(age)"),
        ("age cannot change or debt < 5", "not changed(age)"),
        ("debt < 5 and age is 30", "age = 30"),
    ],
)
def test_what_people_write_is_answered_with_the_rule_they_mean(text: str, meant: str) -> None:
    with pytest.raises(InvalidInput, match=f'; did you mean "{re.escape(meant)}"\\?\n'):
        parse(text)
    assert str(parse(meant)) == meant


@pytest.mark.parametrize("text", ["age", "age >", "age not fixed", "age increases by", "and and"])
def test_nothing_is_guessed_of_other_texts(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text)

    assert "did you mean" not in str(caught.value)
