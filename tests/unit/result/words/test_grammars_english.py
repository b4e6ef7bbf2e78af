"""English sentences by example."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.result.words.grammars import ENGLISH, Change, Wish, with_article
from counterpoint.table.labels import Noun

APPROVED = Wish("class", "“good”", subject="the application", predicate="approved")


def number(name: str = "term", new: str = "43", old: str = "48", **more: Any) -> Change:
    given = {"new_unit": "months", "old_unit": "months", "kind": "number", "is_named": True}
    return Change(Noun("", name), new, old, **{**given, **more})


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (Wish("class", "good"), "class good"),
        (Wish("other class", "bad"), "any class but bad"),
        (Wish("probability", "good", "0.5", ""), "P(good) at least 0.5"),
        (Wish("value", "", "", "10"), "prediction at most 10"),
        (Wish("value", "", "5", "10"), "prediction between 5 and 10"),
        (Wish("value", "", "7", "7"), "prediction exactly 7"),
    ],
)
def test_a_target_is_a_heading(wish: Wish, text: str) -> None:
    assert ENGLISH.outcome(wish) == text


def test_only_the_first_change_has_a_verb() -> None:
    changes = [number("age", "40", "30"), number("debt", "0", "9", new_unit="", old_unit="")]

    said = ENGLISH.condition(changes)

    assert said == "If age were 40 instead of 30 months and debt 0 instead of 9."


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (number(), "a term of 43 months instead of 48"),
        (number(ends=("", "43")), "a term of at most 43 months instead of 48"),
        (number(ends=("9", "43")), "a term of 9 to 43 months instead of 48"),
        (number("amount", new_unit=""), "an amount of 43 instead of 48"),
        (number("x_1", is_named=False), "a value of 43 months instead of 48 for x_1"),
        (number("duration", is_named=False), "a duration of 43 months instead of 48"),
        (number(old="", old_unit=""), "a term of 43 months instead of no value"),
        (number(new="", new_unit=""), "no value instead of 48 months for term"),
        (Change(Noun("", "housing"), "“own”", "“rent”"), "“own” instead of “rent” for housing"),
        (number("start", "3 May 2024", "1 May 2024", kind="date", new_unit="", old_unit=""),
            "a start of 3 May 2024 instead of 1 May 2024"),
        (number("start", "x", "1 May 2024", kind="date", new_unit="", old_unit="",
            ends=("3 May 2024", "")), "a start of 3 May 2024 or later instead of 1 May 2024"),
        (Change(Noun("", "Customer since"), "5 May 2020", "4 May 2021", kind="date"),
            "5 May 2020 instead of 4 May 2021 for “Customer since”"),
        (Change(Noun("", "since"), "5 May 2020", "4 May 2021", kind="date"),
            "5 May 2020 instead of 4 May 2021 for “since”"),
        (Change(Noun("", "Number of children"), "0", "2", kind="number"),
            "a value of 0 instead of 2 for “Number of children”"),
        (Change(Noun("", "alcalinity of ash"), "30.0", "15.6", kind="number"),
            "a value of 30.0 instead of 15.6 for alcalinity of ash"),
        (Change(Noun("", "Has a guarantor"), "yes", "no"),
            "yes instead of no for “Has a guarantor”"),
    ],
)  # fmt: skip
def test_a_change_follows_with(change: Change, text: str) -> None:
    said = ENGLISH.would(APPROVED, [change])

    end = "and everything else unchanged, the application would have been approved."
    assert said == f"With {text} {end}"


def test_several_changes_are_a_list() -> None:
    changes = [number(), Change(Noun("", "housing"), "“own”", "“rent”")]

    assert ENGLISH.would(APPROVED, changes) == (
        "With a term of 43 months instead of 48 and “own” instead of “rent” for housing, and "
        "everything else unchanged, the application would have been approved."
    )


@pytest.mark.parametrize(
    ("wish", "now", "decided", "would"),
    [
        (APPROVED, "", "The application was not approved.",
            "the application would have been approved."),
        (Wish("class", "“good”"), "", "This case was not assessed as “good”.",
            "this case would have been assessed as “good”."),
        (Wish("class", "“B”"), "“A”", "This case was not assessed as “B”. The likeliest result was "
            "“A”.", "this case would have been assessed as “B”."),
        (Wish("other class", "“bad”"), "", "This case was assessed as “bad”.",
            "this case would have been assessed as something other than “bad”."),
        (Wish("value", "", "", "150"), "185", "The predicted value was 185. The question was about "
            "a value of at most 150.", "the predicted value would have been at most 150."),
        (Wish("value", "", "", "150", "the rent"), "185", "The rent was estimated at 185. The "
            "question was about a value of at most 150.",
            "the rent would have been estimated at no more than 150."),
        (Wish("value", "", "100", "150", "the rent"), "185", "The rent was estimated at 185. The "
            "question was about a value between 100 and 150.",
            "the rent would have been estimated at 100 to 150."),
        (Wish("probability", "“good”", "60%", ""), "41%", "The probability of “good” was 41%. The "
            "question was about at least 60%.",
            "the probability of “good” would have been at least 60%."),
    ],
)  # fmt: skip
def test_what_was_decided_and_what_would_have_been(
    wish: Wish, now: str, decided: str, would: str
) -> None:
    assert ENGLISH.decided(wish, now, is_met=False) == decided
    assert ENGLISH.would(wish, [number()]).endswith(f"unchanged, {would}")


@pytest.mark.parametrize(
    ("is_nearest", "fewest", "text"),
    [
        (False, 0, ""),
        (True, 1, "It is proved that no nearer case exists."),
        (False, 2, "It is proved that no change of a single detail would have been enough."),
        (True, 3, "It is proved that no nearer case exists and that no change of fewer than 3 "
            "details would have been enough."),
    ],
)  # fmt: skip
def test_what_is_proved_is_said_and_nothing_stronger(
    is_nearest: bool, fewest: int, text: str
) -> None:
    assert ENGLISH.proved(is_nearest=is_nearest, fewest=fewest) == text


@pytest.mark.parametrize(
    ("alone", "together", "text"),
    [
        (["age"], [], "The decision responds to age, which is protected: age alone reaches the "
            "target."),
        (["age"], ["sex"], "The decision responds to age and sex, which are protected: age alone "
            "reaches the target; some ways need sex together with other features."),
    ],
)  # fmt: skip
def test_what_is_protected_makes_a_headline(
    alone: list[str], together: list[str], text: str
) -> None:
    assert ENGLISH.responds(alone, together) == text


def test_articles_follow_the_sound() -> None:
    nouns = ["age", "hour", "union", "BMI", "LDL", "status", "address", "months"]

    assert [with_article(noun) for noun in nouns] == [
        *("an age", "an hour", "a union", "a BMI", "an LDL", "a status", "an address", "months"),
    ]
