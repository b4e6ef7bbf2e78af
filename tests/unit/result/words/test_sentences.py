"""Sentences and texts of results of every kind, in both languages, for both readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.unit.result.words.small import sentence

import counterpoint as cp
from counterpoint.result.words import speaking
from counterpoint.result.words.sentences import protected_headline

DATA = pd.DataFrame(
    {
        "months": [6, 12, 24, 48, 60],
        "credit_amount": [1000, 2500, 5951, 9000, 12000],
        "sex": ["f", "m", "f", "m", "f"],
        "since": pd.to_datetime(
            ["2020-01-03", "2021-05-09", "2022-01-17", "2023-01-20", "2024-01-25"]
        ),
        "owns": [True, False, True, False, True],
    }
)
ROW = {
    "months": 48,
    "credit_amount": 5951,
    "sex": "m",
    "since": pd.Timestamp("2023-01-20"),
    "owns": False,
}


def by_months(rows: pd.DataFrame) -> Any:
    return 1.0 - rows["months"] / 60.0


class Judge:
    """A classifier of three classes by the months."""

    classes_ = np.array(["high", "low", "mid"])

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return probabilities: low risk if short, high if long."""
        share = rows["months"].to_numpy() / 60.0
        mid = 0.4 * (1.0 - np.abs(2.0 * share - 1.0))
        return np.column_stack([share * (1 - mid), (1 - share) * (1 - mid), mid])


def explainer(model: Any = by_months, **more: Any) -> cp.Explainer:
    return cp.Explainer(model, DATA, units={"months": "months"}, **more)


def told(found: cp.Counterfactuals, lang: Any, reader: Any = "customer", n: int = 1) -> list[str]:
    return found.explain_text(lang, reader, n).splitlines()


SEARCH = cp.Search(evaluations=300)


def test_a_text_is_in_its_own_language_whatever_the_page_around_it_speaks() -> None:
    found = explainer().explain(ROW, (0.5, None), cp.WhatIf(n=2))

    with speaking("de"):
        english, german = (told(found, lang, "analyst") for lang in ("en", "de"))

    assert english[1] == "2 counterfactuals; 1 is shown."
    assert german[1] == "2 Alternativen; 1 wird gezeigt."


def test_changes_of_every_kind_read_well() -> None:
    found = explainer().explain(ROW, (0.85, None), cp.WhatIf(n=1))

    assert sentence(found, 0) == (
        "Prediction at least 0.85 (0.2 → 0.9) if months were 6 instead of 48 months, credit "
        "amount 1,000 instead of 5,951, sex “f” instead of “m”, since 3 January 2020 instead of "
        "20 January 2023 and owns yes instead of no."
    )
    assert sentence(found, 0, "de") == (
        "Vorhersage mindestens 0,85 (0,2 → 0,9), wenn months 6 statt 48 months betrüge, credit "
        "amount 1.000 statt 5.951, sex „f“ statt „m“, since 3. Januar 2020 statt 20. Januar 2023 "
        "und owns ja statt nein wäre."
    )


def test_what_misses_the_target_says_so() -> None:
    found = explainer().explain(ROW, (0.95, None), SEARCH, fixed=["credit_amount", "sex", "since"])
    assert (found.status, found.stopped) == ("infeasible", "exhausted")

    assert sentence(found, 0).startswith("Near miss: prediction at least 0.95 (0.2 → 0.9) if ")
    assert sentence(found, 0, "de").startswith(
        "Knapp verfehlt: Vorhersage mindestens 0,95 (0,2 → 0,9)"
    )
    assert told(found, "en", "analyst")[1].startswith("No counterfactual was found; ")
    assert "near misses; 1 is shown." in told(found, "en", "analyst")[1]
    assert "(gap 0.05, " in told(found, "en", "analyst")[2]
    assert "(Lücke 0,05, " in told(found, "de", "analyst")[2]


def test_a_result_without_counterfactuals_has_texts() -> None:
    found = explainer().explain(ROW, (0.5, None), cp.WhatIf(), max_changed=1)
    assert len(found.genomes) == 0

    assert told(found, "en", "analyst") == [
        "Wanted: prediction at least 0.5. The row is at 0.2.",
        "No counterfactual was found.",
    ]
    assert told(found, "de", "analyst") == [
        "Gewünscht: Vorhersage mindestens 0,5. Die Zeile liegt bei 0,2.",
        "Keine Alternative gefunden.",
    ]


def test_an_analyst_reads_numbers_and_measures() -> None:
    found = explainer().explain(ROW, (0.5, None), SEARCH)

    english, german = told(found, "en", "analyst"), told(found, "de", "analyst")

    n_valid, n = int(found.reaches.sum()), len(found.genomes)
    assert english[0] == "Wanted: prediction at least 0.5. The row is at 0.2."
    assert english[1] == f"{n_valid} counterfactuals; {n - n_valid} near misses; 1 is shown."
    assert english[2].startswith(
        "1. Prediction at least 0.5 (0.2 → 0.5) if months were 30 instead of 48 months. "
    )
    assert english[3] == "This describes the model; it implies no causal effect of any change."
    assert german[1] == (f"{n_valid} Alternativen; {n - n_valid} Beinahe-Treffer; 1 wird gezeigt.")
    assert "(distance 0." in english[2]
    assert ", 1 change, implausibility 0" in english[2]
    assert "(Abstand 0," in german[2]
    assert ", 1 Änderung, Ungewöhnlichkeit 0" in german[2]


def test_own_objectives_are_among_the_measures() -> None:
    def price(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        return (rows["credit_amount"] - row["credit_amount"].iloc[0]).abs() + 1234.5

    own = explainer(objectives=[cp.Objective("price", price, worst=20000)])

    text = told(own.explain(ROW, (0.5, None), SEARCH), "de", "analyst")[2]

    assert text.endswith(", price 1.234)")


# Protected features


def by_sex(rows: pd.DataFrame) -> Any:
    own = 0.5 - rows["months"] / 240.0 - rows["credit_amount"] / 48000.0
    return own + 0.6 * (rows["sex"] == "f")


def test_analysts_read_that_the_decision_responds_to_what_is_protected() -> None:
    found = explainer(by_sex, protected=["sex"]).explain(ROW, (0.4, None), SEARCH)

    analyst = found.explain_text("en", "analyst", n=50)

    assert "The decision responds to sex, which is protected: sex alone reaches the target." in (
        analyst
    )
    assert "[protected: sex]." in analyst
    assert "[geschützt: sex]." in found.explain_text("de", "analyst", n=50)
    assert str(found).splitlines()[1].startswith("The decision responds to sex, which is protected")
    assert protected_headline(found.filter(keep=["sex"])) == ""


def test_both_languages_tell_of_the_same_counterfactuals() -> None:
    found = explainer().explain(ROW, (0.5, None), SEARCH)

    numbers = [
        [line.split(".")[0] for line in told(found, lang, "analyst", 5)[2:-1]]
        for lang in ("en", "de")
    ]

    assert numbers[0] == numbers[1]
    assert len(numbers[0]) == min(5, len(found.ways()))


def test_a_loaded_result_reads_the_same(tmp_path: Path) -> None:
    found = explainer(by_sex, protected=["sex"]).explain(ROW, (0.4, None), SEARCH)
    found.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")

    assert str(loaded) == str(found)
    assert loaded._repr_html_() == found._repr_html_()
    for lang in ("en", "de"):
        for reader in ("customer", "analyst"):
            assert told(loaded, lang, reader, 9) == told(found, lang, reader, 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lang": "fr"}, "lang must be 'en' or 'de', got 'fr'."),
        ({"reader": "boss"}, "reader must be 'customer' or 'analyst', got 'boss'."),
        ({"n": 0}, "explain_text.n must be a whole number from 1 to 1,000, got 0."),
    ],
)
def test_what_nobody_speaks_is_refused(arguments: dict[str, Any], message: str) -> None:
    found = explainer().explain(ROW, (0.5, None), cp.WhatIf())

    with pytest.raises(cp.InvalidInput) as raised:
        found.explain_text(**arguments)

    assert str(raised.value) == message
