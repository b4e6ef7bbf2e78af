"""English sentences by example."""

from __future__ import annotations

import pytest

from counterpoint.result.words.language import ENGLISH, Change, Wish


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (Wish("class", "good", "", ""), "class good"),
        (Wish("other class", "bad", "", ""), "any class but bad"),
        (Wish("probability", "good", "0.5", ""), "P(good) at least 0.5"),
        (Wish("value", "", "", "10"), "prediction at most 10"),
        (Wish("value", "", "5", "10"), "prediction between 5 and 10"),
        (Wish("value", "", "7", "7"), "prediction exactly 7"),
    ],
)
def test_a_target_is_a_heading(wish: Wish, text: str) -> None:
    assert ENGLISH.outcome(wish) == text


def test_only_the_first_change_has_a_verb() -> None:
    changes = [Change("Age", "40", "30"), Change("Debt", "0", "9")]

    said = ENGLISH.condition(changes)

    assert "Age were 40 instead of 30 and Debt 0 instead of 9" in said


def test_one_alternative_is_no_list_of_cases() -> None:
    wish = Wish("class", "good", "", "")

    assert ENGLISH.offer(wish, 1) == "It would decide good in this case:"
    assert ENGLISH.offer(wish, 3) == "It would decide good in each of these 3 cases:"
