from __future__ import annotations

import pandas as pd
import pytest

from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.rules.check import check
from counterpoint.rules.grammar import parse
from counterpoint.rules.tree import Compare, Role, Statement, Was, Word
from counterpoint.table.labels import Labels
from counterpoint.table.schema import Schema, remarked

DATA = pd.DataFrame(
    {
        "age": [20, 40, 60],
        "rate": [0.5, 1.5, 2.5],
        "purpose": ["car", "tv", "other"],
        "old purpose": ["car", "tv", "other"],
        "tv": ["car", "tv", "other"],
        "grade": pd.Categorical([1, 2, -3], [-3, 1, 2], ordered=True),
        "code": ["1", "2", "x y"],
        "own": [True, False, True],
        7: [1, 2, 3],
    }
)
SCHEMA = Schema.infer(DATA)


def checked(text: str, schema: Schema = SCHEMA) -> Statement:
    return check(parse(text), schema, text)


NAMED = remarked(
    Schema.infer(
        pd.DataFrame(
            {
                "credit_amount": [1, 2, 3],
                "start": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"]),
                "job": ["cook", "clerk", "cook"],
                "term": [3, 4, 5],
            }
        )
    ),
    labels=Labels(features={"job": "der Beruf", "start": "der Beginn"}, lang="de"),
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("credit amount <= 2", "credit_amount <= 2"),
        ("Credit amount only increases", "credit_amount increases"),
        ("Term >= 4", "term >= 4"),
        ("Beruf = cook", "job = cook"),
        ("Beruf is not cook", "job != cook"),
        ("Beginn >= '2024-02-01'", "start >= '2024-02-01'"),
        ("fixed Beruf, term", "fixed job, term"),
    ],
)
def test_features_are_also_known_by_what_pages_call_them(text: str, canonical: str) -> None:
    assert str(checked(text, NAMED)) == canonical


def test_a_column_of_that_name_comes_before_a_label() -> None:
    named = remarked(SCHEMA, labels=Labels(features={"rate": "age"}))

    assert str(checked("age >= 21", named)) == "age >= 21"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("purpose = car", "purpose = car"),
        ('"purpose" = "car"', "purpose = car"),
        ("'car' = purpose", "car = purpose"),
        ("purpose = tv", "purpose = 'tv'"),  # a level if it can be one
        ("purpose = `tv`", "purpose = `tv`"),
        ("purpose = `old purpose`", "purpose = `old purpose`"),
        ("tv != was(tv)", "tv != was(tv)"),
        ("was(purpose) = car", "was(purpose) = car"),
        ("grade = -3 or grade >= 1", "grade = '-3' or grade >= '1'"),
        ("grade in {2, 1.0}", "grade in {'2', '1'}"),
        ("code = 1 or code != 'x y'", "code = '1' or code != 'x y'"),
        ("own = true or own = False", "own = True or own = False"),
        ("purpose not in {car, tv}", "purpose not in {car, 'tv'}"),
        ("grade increases by at most 1", "grade increases by at most 1"),
        ("age in {20, 40}", "age in {20, 40}"),
        ('"7" > 1', "`7` > 1"),
        ("fixed age, `7`", "fixed age, `7`"),
    ],
)
def test_names_are_looked_up(text: str, canonical: str) -> None:
    statement = checked(text)

    assert str(statement) == canonical
    assert repr(checked(canonical)) == repr(statement)


def test_words_get_their_columns_and_codes() -> None:
    statement = checked("was(purpose) = tv")

    assert isinstance(statement, Compare)
    assert isinstance(statement.left, Was)
    assert isinstance(statement.right, Word)
    assert (statement.left.feature.role, statement.left.feature.place) == (Role.FEATURE, 2)
    assert (statement.right.role, statement.right.place) == (Role.LEVEL, 2)


LEVELS = "its levels are 'car', 'other' and 'tv'."
NO_ORDER = "is categorical: its levels have no order, so"


@pytest.mark.parametrize(
    ("text", "carets", "problem"),
    [
        (
            "purpose = cra",
            "          ^^^",
            "'cra' is not a level of 'purpose'; did you mean 'car'?",
        ),
        ("purpose = 'boat'", "          ^^^^^^", f"'boat' is not a level of 'purpose'; {LEVELS}"),
        ("purpose = 5", "          ^", f"'5' is not a level of 'purpose'; {LEVELS}"),
        ("purpose = age", "          ^^^", f"'age' is not a level of 'purpose'; {LEVELS}"),
        (
            "purpose in {car, bot}",
            "                 ^^^",
            f"'bot' is not a level of 'purpose'; {LEVELS}",
        ),
        (
            "grade = 3",
            "        ^",
            "'3' is not a level of 'grade'; its levels are -3, 1 and 2.",
        ),
        (
            "purpose = age + 1",
            "          ^^^^^^^",
            "'purpose' is categorical; it can be compared with its levels, not with numbers.",
        ),
        ("purpose = code", "          ^^^^", "'purpose' and 'code' have different levels."),
        ("purpose < car", "^^^^^^^^^^^^^", f"'purpose' {NO_ORDER} only = and != compare them."),
        (
            "purpose increases",
            "^^^^^^^",
            f"'purpose' {NO_ORDER} it can only be changed or not.",
        ),
        (
            "own in 0..1",
            "^^^",
            "'own' is binary, and a range is for numbers; name its levels as in {a, b}.",
        ),
        (
            "grade in steps of 2",
            "^^^^^",
            "'grade' is ordered, and a grid of steps is for numbers; name its levels as in {a, b}.",
        ),
        ("age in {20, old}", "            ^^^", "age is a number and old is not."),
        ("age > 'old'", "      ^^^^^", "age is a number and 'old' is not."),
        ("'old' = age + 1", "^^^^^", "age + 1 is a number and 'old' is not."),
        ("'a' = 'b'", "^^^", "neither side of the comparison names a feature."),
        ("age + 'old' > 1", "      ^^^^^", "'old' is a level; numbers are needed here."),
        (
            "age + purpose > 1",
            "      ^^^^^^^",
            "'purpose' is categorical; one cannot calculate with its levels.",
        ),
        (
            "-was(own) > 1",
            "     ^^^",
            "'own' is binary; one cannot calculate with its levels.",
        ),
        ("fixed age, rate, age", "                 ^^^", "'age' is named twice."),
    ],
)
def test_what_does_not_fit_the_data_is_refused(text: str, carets: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        checked(text)

    assert str(raised.value) == f'rule "{text}": {problem}\n      {text}\n      {carets}'


@pytest.mark.parametrize(
    ("text", "carets", "hint"),
    [
        ("agee > 2", "^^^^", "did you mean 'age'?"),
        ("age > 2 implies was(rat) > 1", "                    ^^^", "did you mean 'rate'?"),
        (
            "at most 1 change among age, purpos",
            "                            ^^^^^^",
            "did you mean 'purpose'?",
        ),
        (
            "xyz increases",
            "^^^",
            "the columns are 'age', 'rate', 'purpose', 'old purpose', 'tv', 'grade', 'code', 'own' "
            "and 1 more.",
        ),
    ],
)
def test_unknown_features_are_refused(text: str, carets: str, hint: str) -> None:
    with pytest.raises(UnknownFeatureError) as raised:
        checked(text)

    name = text[carets.index("^") :][: carets.count("^")]
    problem = f"{name!r} is not a column of the data; {hint}"
    assert str(raised.value) == f'rule "{text}": {problem}\n      {text}\n      {carets}'


def test_columns_and_levels_that_are_written_the_same_are_refused() -> None:
    schema = Schema.infer(pd.DataFrame({1: [1, 2], "1": [3, 4], "a": ["2", 2]}))

    with pytest.raises(InvalidInput, match="several columns are written '1'; rename all but one"):
        checked('"1" > 2', schema)
    with pytest.raises(InvalidInput, match="'a' has several levels written '2'"):
        checked("a = '2'", schema)
    with pytest.raises(InvalidInput, match="'a' has several levels written '2'"):
        checked("a = 2", schema)


DATES = Schema.infer(
    pd.DataFrame(
        {
            "since": pd.to_datetime(["2020-01-01", "2021-06-30"]),
            "until": pd.to_datetime(["2021-01-01", "2022-06-30"]),
            "age": [20, 40],
        }
    )
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("since >= '2020-02-29'", "since >= '2020-02-29'"),
        ('"2020-02-29" < since', "'2020-02-29' < since"),
        ("'2020-01-01' <= since < '2021-01-01'", "'2020-01-01' <= since and since < '2021-01-01'"),
        ("since in {'2020-02-29', '2020-03-01'}", "since in {'2020-02-29', '2020-03-01'}"),
        ("since <= was(since) + 30", "since <= was(since) + 30"),
        ("since + 7 > '2020-02-29'", "since + 7 > '2020-02-29'"),
        ("since < until", "since < until"),
        ("until - since >= 30", "until - since >= 30"),
        ("since increases by at most 30", "since increases by at most 30"),
        ("since in steps of 7", "since in steps of 7"),
    ],
)
def test_dates_are_written_in_quotes(text: str, canonical: str) -> None:
    statement = checked(text, DATES)

    assert str(statement) == canonical
    assert repr(checked(canonical, DATES)) == repr(statement)


def test_a_date_in_quotes_is_its_day() -> None:
    statement = checked("since >= '1970-02-01'", DATES)

    assert isinstance(statement, Compare)
    assert isinstance(statement.right, Word)
    assert statement.right.place == 31


@pytest.mark.parametrize(
    "text",
    [
        "since >= 2020-01-01",  # which would be 2018
        "since >= 2020",
        "since >= '2020'",
        "since >= '2020-02-30'",
        "since >= age",
        "since in {18262}",
        "since + 7 > 18262",
    ],
)
def test_what_is_no_date_cannot_stand_beside_one(text: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"beside a date only dates can stand, in quotes, as in '2024-12-31'; or"
    ):
        checked(text, DATES)


@pytest.mark.parametrize("text", ["since in 18262..", "since in steps of 7 from 0"])
def test_numbers_say_nothing_of_dates(text: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"'since' is a date; compare it with dates in quotes, as in since >= '"
    ):
        checked(text, DATES)


@pytest.mark.parametrize(
    "text", ["`job_new car` = 1", "fixed `job_new car`", "age > 30 implies `job_new car` > 0"]
)
def test_a_column_of_a_group_is_told_with_its_group_and_level(text: str) -> None:
    data = pd.DataFrame({"age": [1, 2], "job_new car": [0, 1], "job_tv": [1, 0]})
    schema = Schema.infer(data, groups={"job": ["job_new car", "job_tv"]})

    with pytest.raises(
        UnknownFeatureError,
        match="'job_new car' is a column of the one-hot group 'job'; write job = 'new car' where it"
        " is on, job != 'new car' where it is not",
    ):
        checked(text, schema)
