"""German sentences by example."""

from __future__ import annotations

import pytest

from counterpoint.result.words.language import GERMAN, Wish
from counterpoint.table.values import Signs


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (Wish("class", "gut", "", ""), "Klasse gut"),
        (Wish("other class", "schlecht", "", ""), "jede Klasse außer schlecht"),
        (Wish("probability", "gut", "0,5", ""), "P(gut) mindestens 0,5"),
        (Wish("value", "", "", "10"), "Vorhersage höchstens 10"),
        (Wish("value", "", "5", "10"), "Vorhersage zwischen 5 und 10"),
        (Wish("value", "", "7", "7"), "Vorhersage genau 7"),
    ],
)
def test_a_target_is_a_heading(wish: Wish, text: str) -> None:
    assert GERMAN.outcome(wish) == text


def test_numbers_have_german_signs() -> None:
    signs: Signs = GERMAN.signs

    assert (signs.thousands, signs.decimal) == (".", ",")
