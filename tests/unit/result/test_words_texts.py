"""The texts of the page: each language has all of them, and speaks only itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import counterpoint
from counterpoint.result.words import (
    count_candidates,
    counted,
    say,
    speaking,
    spoken_now,
    texts_of,
    translated,
)

SOURCE = Path(counterpoint.__file__).parent
# Words that no German text of ours has: what an English sentence can hardly do without.
ENGLISH = re.compile(
    r"\b(the|and|or|of|to|is|are|were|with|without|all|not|no|by|from|that|this|it|"
    r"counterfactuals?|near miss(es)?|row|rows|feature|features|prediction|change|changes|"
    r"target|figure|figures|table|print|show|shown|less|more|ways?)\b",
    re.IGNORECASE,
)
BRACES = re.compile(r"\{(\w+)\}")
SAID = re.compile(r"""\bsay\(\s*(?:f?["'`]([^"'`]*)["'`]|[^()]*?\?\s*"([^"]*)"\s*:\s*"([^"]*)")""")


def speaking_files() -> list[Path]:
    """Return the files that say texts."""
    folders = [SOURCE / "result/report/page", SOURCE / "explorer/page"]
    pages = [place for folder in folders for place in folder.iterdir() if place.suffix != ".css"]
    return [*(SOURCE / "result").rglob("*.py"), *(SOURCE / "explorer").glob("*.py"), *pages]


def test_both_languages_have_the_same_keys() -> None:
    assert texts_of("en").keys() == texts_of("de").keys()
    assert all(text for lang in ("en", "de") for text in texts_of(lang).values())


def test_both_languages_fill_in_the_same_values() -> None:
    # A German noun after a number needs its own word for one, which English says otherwise.
    more = {"message.some": {"changes"}}
    for key, text in texts_of("en").items():
        german = set(BRACES.findall(texts_of("de")[key]))
        assert german - more.get(key, set()) == set(BRACES.findall(text)), key


def test_no_german_text_has_an_english_word() -> None:
    found = {
        key: match[0]
        for key, text in texts_of("de").items()
        if (match := ENGLISH.search(BRACES.sub("", text)))
    }

    assert found == {}


def test_every_key_that_is_said_has_a_text() -> None:
    known = texts_of("en")
    said: set[str] = set()
    for place in speaking_files():
        for groups in SAID.findall(place.read_text(encoding="utf-8")):
            said.update(key for key in groups if key and not re.search(r"[{$]", key))

    assert len(said) > 150
    assert {key for key in said if key not in known} == set()


def test_every_text_is_said_somewhere() -> None:
    code = "\n".join(place.read_text(encoding="utf-8") for place in speaking_files())
    # Of these only the beginning is written where they are said.
    begins = (
        *("named.", "meaning.", "receipt.", "limit.", "relax.", "objective.", "colours."),
        *("figure.outcome.", "message.", "tip.", "note.", "step.", "range.", "ended."),
        *("ask.cost ", "ask.key ", "ask.save-"),
    )
    plural = re.compile(r"\.(one|many)$")
    silent = [
        key
        for key in (key for key in texts_of("en") if not key.startswith(begins))
        if f'"{key.removeprefix("said.")}"' not in code
        and f"'{key}'" not in code
        and f"{{{key}}}" not in code  # in the explorer's page
        and not (plural.search(key) and re.search(rf"""["']{plural.sub("", key)}["']""", code))
    ]

    assert silent == []


def test_a_language_is_spoken_inside_of_a_with_only() -> None:
    with speaking("de"):
        assert spoken_now() == "de"
        assert count_candidates(1, 1200) == "1 Alternative; 1.200 Beinahe-Treffer"
    assert counted(2, "near miss") == "2 near misses"
    with pytest.raises(ZeroDivisionError), speaking("de"):
        raise ZeroDivisionError
    assert say("print") == "Print"


NOTES = [
    "the row's 'credit amount' = 1,234.5 lies outside the data's range, 2 to 9; the search box was "
    "widened to it.",
    "the range given for \"a'b\" excludes the row's own value 3, so every counterfactual changes "
    "it.",
    "the search started from the 1,200 counterfactuals of an earlier one, as far as they are still "
    "allowed; from scratch it may find others.",
    'the filter leaves none of 3 counterfactuals; each condition by itself leaves: "age < 22": 0.',
    'the filter leaves none of 1 counterfactual: "age < 22".',
]


@pytest.mark.parametrize("note", NOTES)
def test_a_note_is_translated_with_all_that_it_names(note: str) -> None:
    assert translated(note) == note
    with speaking("de"):
        german = translated(note)

    assert german != note
    assert not ENGLISH.search(re.sub(r"„.*?“|\".*?\"", "", german))
    for named in re.findall(r"\d[\d.,]*\d|credit amount|a'b|age < 22", note):
        assert named in german


def test_every_text_that_is_kept_in_english_is_known_again() -> None:
    for kind in ("note", "step", "range"):
        for key, text in texts_of("en").items():
            if key.startswith(f"{kind}."):
                filled = BRACES.sub("7", text)
                with speaking("de"):
                    assert translated(filled, kind) == BRACES.sub("7", texts_of("de")[key])


def test_what_is_not_known_stays_as_it_is() -> None:
    with speaking("de"):
        assert translated("somebody's own words") == "somebody's own words"
