"""German sentences by example: articles, cases, plurals and the right verb."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.result.words.grammars import GERMAN, Change, Wish, in_dative
from counterpoint.table.labels import Noun
from counterpoint.table.values import Signs

APPROVED = Wish("class", "„gut“", subject="der Antrag", predicate="bewilligt")


def number(
    article: str = "die", name: str = "Laufzeit", new: str = "43", old: str = "48", **more: Any
) -> Change:
    given = {"new_unit": "Monate", "old_unit": "Monate", "kind": "number", "is_named": True}
    return Change(Noun(article, name), new, old, **{**given, **more})


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (Wish("class", "gut"), "Klasse gut"),
        (Wish("other class", "schlecht"), "jede Klasse außer schlecht"),
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


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ([number()], "Wenn die Laufzeit 43 statt 48 Monate betrüge."),
        ([number(ends=("", "43"))], "Wenn die Laufzeit höchstens 43 statt 48 Monate betrüge."),
        ([number("", "duration")], "Wenn duration 43 statt 48 Monate betrüge."),
        ([number(new_unit="", old_unit="")], "Wenn die Laufzeit 43 statt 48 wäre."),
        ([number(), Change(Noun("die", "Wohnform"), "„eigen“", "„Miete“")],
            "Wenn die Laufzeit 43 statt 48 Monate betrüge und die Wohnform „eigen“ statt „Miete“ "
            "wäre."),
        ([number(), number("der", "Betrag", "3.660", "5.951", new_unit="DM", old_unit="DM")],
            "Wenn die Laufzeit 43 statt 48 Monate und der Betrag 3.660 statt 5.951 DM betrüge."),
        ([number(old="", old_unit="")], "Wenn die Laufzeit 43 Monate statt unbekannt wäre."),
    ],
)  # fmt: skip
def test_what_has_a_unit_amounts_to_it(changes: list[Change], text: str) -> None:
    assert GERMAN.condition(changes) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (number(), "einer Laufzeit von 43 statt 48 Monaten"),
        (number(ends=("", "43")), "einer Laufzeit von höchstens 43 statt 48 Monaten"),
        (number(ends=("9", "43")), "einer Laufzeit von 9 bis 43 statt 48 Monaten"),
        (number("der", "Kreditbetrag", "3.660", "5.951", new_unit="Euro", old_unit="Euro"),
            "einem Kreditbetrag von 3.660 statt 5.951 Euro"),
        (number("das", "monatliche Einkommen", new_unit="", old_unit=""),
            "einem monatlichen Einkommen von 43 statt 48"),
        (number("die", "monatliche Rate", new_unit="", old_unit=""),
            "einer monatlichen Rate von 43 statt 48"),
        (number(old="1", old_unit="Monat"), "einer Laufzeit von 43 statt 1 Monat"),
        (number("", "duration"), "einem Wert von 43 statt 48 Monaten für „duration“"),
        (number(old="", old_unit=""), "einer Laufzeit von 43 Monaten statt keiner Angabe"),
        (number(new="", new_unit=""), "fehlender Angabe statt 48 Monaten als Laufzeit"),
        (Change(Noun("die", "Wohnform"), "„eigen“", "„Miete“"),
            "„eigen“ statt „Miete“ als Wohnform"),
        (number("der", "Beginn", "3. Mai 2024", "1. Mai 2024", kind="date", new_unit="",
            old_unit=""), "einem Beginn am 3. Mai 2024 statt am 1. Mai 2024"),
        (number("", "start", "x", "1. Mai 2024", kind="date", new_unit="", old_unit="",
            ends=("3. Mai 2024", "")), "„start“ am 3. Mai 2024 oder später statt am 1. Mai 2024"),
        (number("der", "Beginn", "x", "1. Mai 2024", kind="date", new_unit="", old_unit="",
            ends=("3. Mai 2024", "9. Mai 2024")),
            "einem Beginn zwischen dem 3. Mai 2024 und dem 9. Mai 2024 statt am 1. Mai 2024"),
        (Change(Noun("", "Has a guarantor"), "ja", "nein"), "ja statt nein für „Has a guarantor“"),
        (Change(Noun("", "Beruf"), "„Koch“", "„Büro“", is_named=True),
            "„Koch“ statt „Büro“ als Beruf"),
    ],
)  # fmt: skip
def test_a_change_follows_bei_in_the_dative(change: Change, text: str) -> None:
    said = GERMAN.would(APPROVED, [change])

    assert said == f"Bei {text} und sonst gleichen Angaben wäre der Antrag bewilligt worden."


@pytest.mark.parametrize(
    ("wish", "now", "decided", "would"),
    [
        (APPROVED, "", "Der Antrag wurde nicht bewilligt.", "wäre der Antrag bewilligt worden."),
        (APPROVED._replace(subject="die Bewertung", predicate="positiv"), "",
            "Die Bewertung ist nicht positiv ausgefallen.",
            "wäre die Bewertung positiv ausgefallen."),
        (Wish("class", "„gut“"), "", "Dieser Fall wurde nicht als „gut“ bewertet.",
            "wäre dieser Fall als „gut“ bewertet worden."),
        (Wish("class", "„B“"), "„A“",
            "Dieser Fall wurde nicht als „B“ bewertet. Am wahrscheinlichsten war „A“.",
            "wäre dieser Fall als „B“ bewertet worden."),
        (Wish("other class", "„schlecht“"), "", "Dieser Fall wurde als „schlecht“ bewertet.",
            "wäre dieser Fall als etwas anderes als „schlecht“ bewertet worden."),
        (Wish("value", "", "", "150"), "185",
            "Der vorhergesagte Wert war 185. Gefragt war nach einem Wert von höchstens 150.",
            "wäre der vorhergesagte Wert höchstens 150 gewesen."),
        (Wish("value", "", "100", "150", "die Miete"), "185",
            "Die Miete wurde auf 185 geschätzt. Gefragt war nach einem Wert zwischen 100 und 150.",
            "wäre die Miete auf 100 bis 150 geschätzt worden."),
        (Wish("probability", "„gut“", "60 %", ""), "41 %",
            "Die Wahrscheinlichkeit für „gut“ betrug 41 %. Gefragt war nach einer "
            "Wahrscheinlichkeit von mindestens 60 %.",
            "hätte die Wahrscheinlichkeit für „gut“ mindestens 60 % betragen."),
    ],
)  # fmt: skip
def test_what_was_decided_and_what_would_have_been(
    wish: Wish, now: str, decided: str, would: str
) -> None:
    assert GERMAN.decided(wish, now, is_met=False) == decided
    assert GERMAN.would(wish, [number()]).endswith(f"sonst gleichen Angaben {would}")


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (APPROVED, "Der Antrag wurde bewilligt. Nichts müsste anders sein."),
        (Wish("value", "", "", "150"),
            "Der vorhergesagte Wert war 120. Das ist ein Wert von höchstens 150."),
        (Wish("probability", "„gut“", "60 %", ""), "Die Wahrscheinlichkeit für „gut“ betrug 120. "
            "Das ist eine Wahrscheinlichkeit von mindestens 60 %."),
    ],
)  # fmt: skip
def test_what_is_as_wanted_is_said_in_the_nominative(wish: Wish, text: str) -> None:
    assert GERMAN.decided(wish, "120", is_met=True) == text


def test_nothing_found_has_its_verb_last() -> None:
    limited = GERMAN.none(APPROVED, is_limited=True, is_proved=False)
    proved = GERMAN.none(APPROVED, is_limited=False, is_proved=True)

    assert limited == (
        "Innerhalb der Grenzen der Suche wurde keine Änderung der betrachteten Angaben gefunden, "
        "bei der der Antrag bewilligt worden wäre."
    )
    assert proved == (
        "Es ist bewiesen, dass bei keiner Änderung der betrachteten Angaben der Antrag bewilligt "
        "worden wäre."
    )


def test_several_changes_are_linked_by_sowie() -> None:
    changes = [number(), Change(Noun("die", "Wohnform"), "„eigen“", "„Miete“")]

    assert GERMAN.would(APPROVED, changes) == (
        "Bei einer Laufzeit von 43 statt 48 Monaten und „eigen“ statt „Miete“ als Wohnform sowie "
        "sonst gleichen Angaben wäre der Antrag bewilligt worden."
    )


def test_what_is_protected_makes_a_headline() -> None:
    assert GERMAN.responds(["Alter"], []) == (
        "Die Entscheidung hängt vom geschützten Merkmal „Alter“ ab: Alter allein erreicht das Ziel."
    )
    assert GERMAN.responds([], ["Alter", "Geschlecht"]) == (
        "Die Entscheidung hängt von den geschützten Merkmalen „Alter“ und „Geschlecht“ ab: manche "
        "Wege brauchen Alter oder Geschlecht zusammen mit anderen."
    )


def test_units_are_in_the_dative_after_von() -> None:
    units = ["Jahre", "Tage", "Wochen", "Kilometer", "Euro", "Prozent", "m²"]

    assert [in_dative(unit) for unit in units] == [
        *("Jahren", "Tagen", "Wochen", "Kilometern", "Euro", "Prozent", "m²")
    ]


def test_a_question_says_what_the_words_of_its_answers_mean() -> None:
    assert GERMAN.question("x", "y") == (
        "Was passt besser?\nA: x\nB: y\n"
        'Antworten Sie mit "A", "B" oder, wenn beide gleich gut passen, mit "equal".'
    )
