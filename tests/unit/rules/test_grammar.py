from __future__ import annotations

import re
import time

import pytest

from counterpoint.errors import InvalidInput
from counterpoint.rules.grammar import parse, rewritten
from counterpoint.rules.tokens import MOST_CHARACTERS
from counterpoint.rules.tree import (
    MOST_SHOWN,
    And,
    Compare,
    Implies,
    InRange,
    InSet,
    Number,
    Or,
    Role,
    Word,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("fixed sex", "fixed sex"),
        ('FIXED sex ,"my age"', "fixed sex, `my age`"),
        ("age Increases", "age increases"),
        ("age decreases by at most 5.0", "age decreases by at most 5"),
        ("age changes by at most .5", "age changes by at most 0.5"),
        ("duration in 6..60", "duration in 6..60"),
        ("duration in 6 ..", "duration in 6.."),
        ("duration in ..-6", "duration in ..-6"),
        ("duration in -6...5", "duration in -6..0.5"),
        ("job in {skilled,'un skilled', OR, -2}", "job in {skilled, 'un skilled', 'OR', -2}"),
        ('job not in {"a"}', "job not in {a}"),
        ("duration in steps of 6", "duration in steps of 6"),
        ("duration in steps of 1_000 from -3e2", "duration in steps of 1000 from -300"),
        ("at most 3 changes", "at most 3 changes"),
        ("at most 1 changes among housing,job", "at most 1 change among housing, job"),
        ("housing, job change together", "housing, job change together"),
        ("amount<=5*income", "amount <= 5 * income"),
        ("a == 1 or b ≠ 2 or c ≤ 3 or d ≥ 4", "a = 1 or b != 2 or c <= 3 or d >= 4"),
        ("18 <= age < 65", "18 <= age and age < 65"),
        ("(((a))) > ((1))", "a > 1"),
        ("(a + b) - (c - d) > -(e) * -2 / (f / g)", "a + b - (c - d) > -e * -2 / (f / g)"),
        ("a - b - c = 0", "a - b - c = 0"),
        ("(a * b) * c > 1", "a * b * c > 1"),
        ("a * (b * c) > (a * b) - 1", "a * (b * c) > a * b - 1"),
        ("(a = 1 and b = 2) and (c = 3 or d = 4)", "a = 1 and b = 2 and (c = 3 or d = 4)"),
        ("1 < a < 2 and b = 3", "1 < a and a < 2 and b = 3"),
        ("-(a + b) < --c", "-(a + b) < --c"),
        ("not a = 1 and b = 2", "not a = 1 and b = 2"),
        ("not (a = 1 and b = 2)", "not (a = 1 and b = 2)"),
        ("a = 1 and (b = 2 or c = 3)", "a = 1 and (b = 2 or c = 3)"),
        ("a = 1 implies b = 2 implies c = 3", "a = 1 implies b = 2 implies c = 3"),
        ("(a = 1 implies b = 2) implies c = 3", "(a = 1 implies b = 2) implies c = 3"),
        ("not changed(a) implies b != was( b )", "not changed(a) implies b != was(b)"),
        ("purpose = 'it''s'", "purpose = 'it''s'"),
        ('`a``b` = "c""d"', '`a``b` = "c""d"'),
        ("a increases and b in {1} or c in 1..2", "a increases and b in {1} or c in 1..2"),
        ("x > 1e16", "x > 1e+16"),
        ("größe > 1", "größe > 1"),
        ("age\n>\t21", "age > 21"),
    ],
)
def test_rules_are_written_in_one_way(text: str, canonical: str) -> None:
    statement = parse(text)

    assert str(statement) == canonical
    assert parse(str(statement)) == statement


def test_and_binds_closer_than_or_and_or_closer_than_implies() -> None:
    a, b, c = (Compare(Word(name), "=", Number(1.0)) for name in "abc")

    assert parse("a = 1 or b = 1 and c = 1") == Or((a, And((b, c))))
    assert parse("a = 1 or b = 1 implies c = 1") == Implies(Or((a, b)), c)
    assert parse("a = 1 implies b = 1 implies c = 1") == Implies(a, Implies(b, c))


def test_places_take_no_part_in_comparisons() -> None:
    assert parse("  age >= 21") == parse("age>=21")
    assert parse("`age` in 1..2") == InRange(Word("age"), 1.0, 2.0)


def test_quotes_say_what_a_word_is() -> None:
    statement = parse("a = `b` or a = 'b' or a = \"b\" or a = b")

    assert isinstance(statement, Or)
    words = [getattr(part, "right", None) for part in statement.parts]
    roles = [word.role for word in words if isinstance(word, Word)]
    assert roles == [Role.FEATURE, Role.LEVEL, Role.EITHER, Role.EITHER]


def test_members_of_a_set_are_levels_even_if_they_are_words_of_the_language() -> None:
    statement = parse("state in {OR, In, 3}")

    assert statement == InSet(Word("state"), (Word("OR"), Word("In"), Number(3.0)))


CONDITION = "expected a condition such as age >= 21, found a value."
VALUE = "expected a value such as age + 5, found a condition."
FEATURE = "a single feature must stand here (single quotes are for levels)."


@pytest.mark.parametrize(
    ("text", "carets", "problem"),
    [
        ("", "^", "it is empty; write for example 'age increases'."),
        ("age", "^^^", CONDITION),
        ("age implies a > 1", "^^^", CONDITION),
        ("a > 1 and b", "          ^", CONDITION),
        ("not a + b", "    ^^^^^", CONDITION),
        ("a + (b > 2) > 3", "     ^^^^^", VALUE),
        ("(a > 2) > 3", " ^^^^^", VALUE),
        ("changed(a) + 1 > 3", "^^^^^^^^^^", VALUE),
        ("-(a > 1) > 2", "  ^^^^^", VALUE),
        ("a + b increases", "^^^^^", FEATURE),
        ("'a' in 1..2", "^^^", FEATURE),
        ("fixed 'a'", "      ^^^", FEATURE),
        ("fixed", "     ^", "expected a feature, found the end."),
        ("fixed a,", "        ^", "expected a feature, found the end."),
        (
            "fixed at",
            "      ^^",
            "expected a feature, found 'at'; a name of that spelling goes in quotes.",
        ),
        ("a >", "   ^", "expected a value, found the end."),
        ("a => 2", "   ^", "expected a value, found '>'; did you mean '>='?"),
        ("a =< 2", "   ^", "expected a value, found '<'; did you mean '<='?"),
        (
            "rate = fixed",
            "       ^^^^^",
            "expected a value, found 'fixed'; a name of that spelling goes in quotes.",
        ),
        (
            "a > 1 b",
            "      ^",
            "expected the end or an operator, found 'b'; numbers are written without their unit.",
        ),
        ("(a > 1", "      ^", "expected ')', found the end."),
        ("was(1) > 1", "    ^", "expected a feature, found '1'."),
        ("was a > 1", "    ^", "expected '(', found 'a'."),
        ("a in ..", "     ^^", "a range needs an end, as in 6..60, 6.. or ..60."),
        ("a in 6", "      ^", "expected '..', found the end."),
        ("a in b..6", "     ^", "expected a number, found 'b'."),
        ("a in 6..-7", "     ^^^^^", "the range is empty: its ends are swapped."),
        ("a in {}", "      ^", "expected a level or a number, found '}'."),
        ("a in {`b`}", "      ^^^", "expected a level or a number, found 'b'."),
        ("a in {b", "       ^", "expected '}', found the end."),
        ("a not in 1..2", "         ^", "expected '{' after 'not in', found '1'."),
        ("a not > 1", "      ^", "expected 'in', found '>'."),
        ("a in steps of 0", "              ^", "a step must be above 0."),
        ("a in steps 6", "           ^", "expected 'of', found '6'."),
        ("a increases by 5", "               ^", "expected 'at', found '5'."),
        ("a changes", "         ^", "expected 'by', found the end."),
        (
            "a changes by at most -5",
            "                     ^",
            "how much may change must not be below 0.",
        ),
        ("at most 3", "         ^", "expected 'changes', found the end."),
        ("at 3 changes", "   ^", "expected 'most', found '3'."),
        (
            "at most 1.5 changes",
            "        ^^^",
            "the number of changes must be a whole number from 1 on.",
        ),
        (
            "at most 0 changes",
            "        ^",
            "the number of changes must be a whole number from 1 on.",
        ),
        ("a, b change", "           ^", "expected 'together', found the end."),
        ("a in steps of 1e-310", "              ^^^^^^", "the step is too small to compute with."),
        ("a > 1e999", "    ^^^^^", "the number is too large to compute with."),
        ("a > 1e101", "    ^^^^^", "the number is too large to compute with."),
        ("a = 'b", "    ^", "this quote is never closed."),
        (
            "a ? b",
            "  ^",
            "'?' cannot be read; put names that are more than letters, digits and underscores in "
            "double quotes.",
        ),
    ],
)
def test_an_error_points_at_its_place(text: str, carets: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse(text)

    assert str(raised.value) == f'rule "{text}": {problem}\n      {text}\n      {carets}'


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "a" + ")" * 4990,
        "not " * 2400 + "a = 1",
        "-" * 9990 + "a > 1",
        "a = 1 implies " * 700 + "a = 1",
        "was(" * 2000,
        "((((a > 1) and " * 600,
    ],
)
def test_deep_nesting_is_refused_at_once(text: str) -> None:
    started = time.process_time()

    with pytest.raises(InvalidInput, match=r"may nest 30 levels at most; split it|expected"):
        parse(text)

    assert time.process_time() - started < 1.0


def test_ten_thousand_parentheses_are_refused() -> None:
    with pytest.raises(InvalidInput, match="a rule may nest 30 levels at most; split it"):
        parse("(" * MOST_CHARACTERS)


def test_thirty_levels_are_read_and_written() -> None:
    text = "(" * 30 + "a" + ")" * 30 + " > 1 and " + "not " * 30 + "b > 1"

    assert str(parse(text)) == "a > 1 and " + "not " * 30 + "b > 1"


def test_a_long_rule_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match="10,000 characters at most, this one has 10,001; split it"
    ):
        parse("a" * (MOST_CHARACTERS + 1))


@pytest.mark.parametrize("start", [0, 40, 300, 590])
def test_a_long_rule_is_shown_around_the_fault(start: int) -> None:
    text = ("a > 1 or " * 100)[:start] + " ?" + " or b > 1" * 60

    with pytest.raises(InvalidInput) as raised:
        parse(text)

    _, shown, carets = str(raised.value).split("\n")
    assert len(shown) <= MOST_SHOWN + 8
    assert shown[carets.index("^")] == "?"


def test_long_rules_take_time_in_proportion() -> None:
    texts = [" + ".join(["a"] * 2400) + " > 1", " or ".join(["a > 1"] * 1100)]
    texts += ["a in {" + ", ".join(["b"] * 3300) + "}", '"' * 9990, "'a" * 4990]

    started = time.process_time()
    for text in texts:
        try:
            statement = parse(text)
        except InvalidInput:
            continue
        assert len(re.findall("a", str(statement))) > 0

    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("purpose in {new car}", "expected '}', found 'car'"),
        ("purpose not in {tv, new car}", "expected '}', found 'car'"),
        ("purpose = new car", "expected the end or an operator, found 'car'"),
        ("debt < 5 and purpose = new car", "expected the end or an operator, found 'car'"),
    ],
)
def test_a_name_of_several_words_is_told_to_need_quotes(text: str, found: str) -> None:
    with pytest.raises(
        InvalidInput,
        match=re.escape(f'{found}; a name of several words goes in quotes: "new car".'),
    ):
        parse(text)
    parse(text.replace("new car", '"new car"'))


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("age only increases", "age increases"),
        ("age can only increase", "age increases"),
        ("Age never decreases", "Age increases"),
        ("age cannot go down.", "age increases"),
        ("debt only decreases", "debt decreases"),
        ("debt must not rise", "debt decreases"),
        ("age is fixed", "fixed age"),
        ("age does not change", "fixed age"),
        ("age doesn't change", "fixed age"),
        ("age, sex and job stay the same", "fixed age, sex, job"),
        ("`credit amount` remains unchanged", "fixed `credit amount`"),
        ('"credit amount" never changes', 'fixed "credit amount"'),
        ("no more than 3 changes", "at most 3 changes"),
        ("up to 2 changes among age, sex", "at most 2 changes among age, sex"),
        ("age is at least 21", "age >= 21"),
        ("age at most 40.5", "age <= 40.5"),
        ("age must be between 20 and 40", "age in 20..40"),
        ("age and tenure only increase", "age increases and tenure increases"),
        ("purpose in {'new car', 'radio/TV'}", "purpose in {'new car', 'radio/TV'}"),
        ("keep age, sex and job", "fixed age, sex, job"),
        ("do not change age", "fixed age"),
        ("don't touch credit amount", "fixed `credit amount`"),
        ("age, sex fixed", "fixed age, sex"),
        ("own home stays", "fixed `own home`"),
        ("debt should be lower", "debt decreases"),
        ("debt no more than 3", "debt <= 3"),
        ("credit amount cannot exceed 200", '"credit amount" <= 200'),
        ("credit amount <= 200", '"credit amount" <= 200'),
        ("age not below 21", "age >= 21"),
        ("debt is less than 4", "debt < 4"),
        ("age is above 30", "age > 30"),
        ("term from 6 to 24", "term in 6..24"),
        ("term in 6 to 24", "term in 6..24"),
        ("term is 12", "term = 12"),
        ("purpose is new car", "purpose = 'new car'"),
        ("purpose is not 'new car'", "purpose != 'new car'"),
        ("change at most 2 features", "at most 2 changes"),
        ("at most 2 things may change", "at most 2 changes"),
        ("if purpose is car then age >= 30", "purpose = car implies age >= 30"),
        ("if debt > 3, then age stays", "debt > 3 implies not changed(age)"),
    ],
)
def test_rules_are_understood_as_people_say_them(said: str, rule: str) -> None:
    assert str(parse(said)) == str(parse(rule))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("pay >= 2,5", "; decimals are written with a point, as in 2.5."),
        ("term <= 12 months", "; numbers are written without their unit."),
        ("only pay may change", "; to let only some features change, fix the others: 'fixed age"),
    ],
)
def test_likely_mistakes_are_answered_with_how_to_write_them(text: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse(text)

    assert hint in str(raised.value)


@pytest.mark.parametrize("text", ["age gets bigger", "age only", "age not older"])
def test_what_is_not_understood_is_answered_with_sentences_to_write(text: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse(text)

    assert "'age increases'" in str(raised.value) or "expected 'in'" in str(raised.value)


@pytest.mark.parametrize(
    "rule",
    [
        *("age increases", "age increases by at most 3", "fixed age, sex", "at most 3 changes"),
        *("age changes by at most 5", "age in 20..40", "`is fixed` >= 3", "age in {only, never}"),
        *("age = at_least", "a, b change together", "age >= 21 and not changed(sex)"),
    ],
)
def test_no_rule_is_taken_for_something_that_people_say(rule: str) -> None:
    assert rewritten(rule) == rule


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("sensor 03 mean increases", "sensor 03 mean"),
        ("sensor 03 mean >= 2", "sensor 03 mean"),
        ("job title in {x}", "job title"),
    ],
)
def test_a_name_of_several_words_without_quotes_is_shown_in_quotes(rule: str, name: str) -> None:
    with pytest.raises(InvalidInput, match=f'a name of several words goes in quotes: "{name}"'):
        parse(rule)
