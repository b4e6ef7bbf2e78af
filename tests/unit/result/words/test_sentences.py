"""Sentences and texts of results of every kind, in both languages, for both readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.result.words.sentences import sentence

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
EN_END = (
    "This describes how the model decides. It does not say that making such a change would bring "
    "about the outcome, or that a request would be granted."
)
DE_END = (
    "Das beschreibt, wie das Modell entscheidet. Es besagt nicht, dass eine solche Änderung das "
    "Ergebnis herbeiführen oder dass ein Antrag bewilligt würde."
)


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


@pytest.mark.parametrize(
    ("model", "target", "english", "german"),
    [
        (by_months, (0.5, None), "predict a value of at least 0.5",
            "einen Wert von mindestens 0,5 vorhersagen"),
        (by_months, (0.5, 0.6), "predict a value between 0.5 and 0.6",
            "einen Wert zwischen 0,5 und 0,6 vorhersagen"),
        (by_months, 0.5, "predict a value of exactly 0.5",
            "einen Wert von genau 0,5 vorhersagen"),
        (by_months, (None, 0.1), "predict a value of at most 0.1",
            "einen Wert von höchstens 0,1 vorhersagen"),
        (Judge(), "low", "decide “low”", "sich für „low“ entscheiden"),
        (Judge(), "opposite", "decide something other than “high”",
            "sich für etwas anderes als „high“ entscheiden"),
        (Judge(), ("low", (0.6, 1.0)), "give “low” a probability of at least 60%",
            "„low“ eine Wahrscheinlichkeit von mindestens 60\N{NO-BREAK SPACE}% geben"),
        (Judge(), ("high", (0.0, 0.25)), "give “high” a probability of at most 25%",
            "„high“ eine Wahrscheinlichkeit von höchstens 25\N{NO-BREAK SPACE}% geben"),
    ],
)  # fmt: skip
def test_every_kind_of_target_has_its_verb(
    model: Any, target: Any, english: str, german: str
) -> None:
    found = explainer(model).explain(ROW, target, SEARCH)
    assert found.status == "found"

    assert sentence(found, 0, "en", "customer").startswith(f"The model would {english} if ")
    assert sentence(found, 0, "de", "customer").startswith(f"Das Modell würde {german}, wenn ")
    assert told(found, "en")[1] == f"It would {english} in this case:"
    assert told(found, "de")[1] == f"In diesem Fall würde es {german}:"
    assert told(found, "en")[-1] == EN_END
    assert told(found, "de")[-1] == DE_END


@pytest.mark.parametrize(
    ("model", "target", "english", "german"),
    [
        (by_months, (0.5, None), "does not predict a value of at least 0.5",
            "sagt das Modell keinen Wert von mindestens 0,5 vorher"),
        (Judge(), "low", "does not decide “low”", "entscheidet sich das Modell nicht für „low“"),
        (Judge(), "opposite", "decides “high”", "entscheidet sich das Modell für „high“"),
        (Judge(), ("low", (0.6, 1.0)), "does not give “low” a probability of at least 60%",
            "gibt das Modell „low“ keine Wahrscheinlichkeit von mindestens "
            "60\N{NO-BREAK SPACE}%"),
    ],
)  # fmt: skip
def test_a_text_begins_with_what_the_model_decides_now(
    model: Any, target: Any, english: str, german: str
) -> None:
    found = explainer(model).explain(ROW, target, SEARCH)

    assert told(found, "en")[0] == f"With the details given, the model {english}."
    assert told(found, "de")[0] == f"Mit den vorliegenden Angaben {german}."


@pytest.mark.parametrize(
    ("model", "target", "english", "german"),
    [
        (by_months, (0.1, 0.3), "predicts a value between 0.1 and 0.3",
            "sagt das Modell bereits einen Wert zwischen 0,1 und 0,3 vorher"),
        (Judge(), "high", "decides “high”", "entscheidet sich das Modell bereits für „high“"),
        (Judge(), ("high", (0.5, 1.0)), "gives “high” a probability of at least 50%",
            "gibt das Modell „high“ bereits eine Wahrscheinlichkeit von mindestens "
            "50\N{NO-BREAK SPACE}%"),
    ],
)  # fmt: skip
def test_a_row_that_needs_no_change_is_told_so(
    model: Any, target: Any, english: str, german: str
) -> None:
    found = explainer(model).explain(ROW, target)

    assert told(found, "en") == [
        f"With the details given, the model already {english}. Nothing would have to differ."
    ]
    assert told(found, "de") == [
        f"Mit den vorliegenden Angaben {german}. Nichts müsste anders sein."
    ]
    assert told(found, "en", "analyst")[1] == (
        "The row reaches the target as it is; nothing was searched."
    )
    assert told(found, "de", "analyst")[1] == (
        "Die Zeile erreicht das Ziel bereits; es wurde nichts gesucht."
    )


def test_changes_of_every_kind_read_well() -> None:
    found = explainer().explain(ROW, (0.85, None), cp.WhatIf(n=1))

    assert sentence(found, 0) == (
        "Prediction at least 0.85 (0.2 → 0.9) if months were 6 instead of 48 months, credit "
        "amount 1,000 instead of 5,951, sex “f” instead of “m”, since 3 January 2020 instead of "
        "20 January 2023 and owns yes instead of no."
    )
    assert sentence(found, 0, "de") == (
        "Vorhersage mindestens 0,85 (0,2 → 0,9), wenn months 6 statt 48 months, credit amount "
        "1.000 statt 5.951, sex „f“ statt „m“, since 3. Januar 2020 statt 20. Januar 2023 und owns "
        "ja statt nein wäre."
    )


def test_what_misses_the_target_says_so() -> None:
    found = explainer().explain(ROW, (0.95, None), SEARCH, fixed=["credit_amount", "sex", "since"])
    assert (found.status, found.stopped) == ("infeasible", "exhausted")

    assert sentence(found, 0).startswith("Near miss: prediction at least 0.95 (0.2 → 0.9) if ")
    assert sentence(found, 0, "de").startswith(
        "Knapp verfehlt: Vorhersage mindestens 0,95 (0,2 → 0,9)"
    )
    assert sentence(found, 0, "en", "customer").startswith(
        "The model would still not predict a value of at least 0.95 if "
    )
    assert sentence(found, 0, "de", "customer").startswith(
        "Das Modell würde auch dann keinen Wert von mindestens 0,95 vorhersagen, wenn "
    )
    assert told(found, "en")[1] == "No case was found in which it would."
    assert told(found, "de")[1] == "Es wurde kein Fall gefunden, in dem das anders wäre."
    assert told(found, "en", "analyst")[1].startswith("No counterfactual was found; ")
    assert "near misses; 1 is shown." in told(found, "en", "analyst")[1]
    assert "(gap 0.05, " in told(found, "en", "analyst")[2]
    assert "(Lücke 0,05, " in told(found, "de", "analyst")[2]


@pytest.mark.parametrize(
    ("target", "german"),
    [
        ("low", "Das Modell würde sich auch dann nicht für „low“ entscheiden, wenn "),
        ("opposite", "Das Modell würde sich auch dann für „high“ entscheiden, wenn "),
        (("low", (0.99, 1.0)), "Das Modell würde „low“ auch dann keine Wahrscheinlichkeit von "
            "mindestens 99\N{NO-BREAK SPACE}% geben, wenn "),
    ],
)  # fmt: skip
def test_a_missed_class_is_negated_in_german(target: Any, german: str) -> None:
    found = explainer(Judge()).explain(ROW, target, SEARCH, ranges={"months": (45, 50)})
    missed = int(np.flatnonzero(~found.reaches)[0])

    assert sentence(found, missed, "de", "customer").startswith(german)


def test_limits_that_leave_nothing_are_mentioned() -> None:
    found = explainer().explain(ROW, (0.5, None), SEARCH, fixed=["months"])

    assert told(found, "en")[1:] == [
        "Within the limits set for the search, no case was found in which it would."
    ]
    assert told(found, "de")[1:] == [
        "Innerhalb der Grenzen der Suche wurde kein Fall gefunden, in dem das anders wäre."
    ]


def test_a_result_without_counterfactuals_has_texts() -> None:
    found = explainer().explain(ROW, (0.5, None), cp.WhatIf(), max_changed=1)
    assert len(found.genomes) == 0

    assert told(found, "en", "analyst") == [
        "Wanted: prediction at least 0.5. The row is at 0.2.",
        "No counterfactual was found.",
    ]
    assert told(found, "de", "analyst") == [
        "Gewünscht: Vorhersage mindestens 0,5. Die Zeile liegt bei 0,2.",
        "Keine kontrafaktische Zeile gefunden.",
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
    assert german[1] == (
        f"{n_valid} kontrafaktische Zeilen; {n - n_valid} Beinahe-Treffer; 1 wird gezeigt."
    )
    assert "(distance 0." in english[2]
    assert ", 1 change, implausibility 0" in english[2]
    assert "(Abstand 0," in german[2]
    assert ", 1 Änderung, Unplausibilität 0" in german[2]


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


def test_customers_are_never_advised_to_change_what_is_protected() -> None:
    found = explainer(by_sex, protected=["sex"]).explain(ROW, (0.4, None), SEARCH)
    barred = int(found.changed[found.reaches, 2].sum())
    assert barred > 1

    english, german = found.explain_text("en", n=50), found.explain_text("de", n=50)

    assert "sex" not in english + german
    assert f"{barred} other cases are left out, because they concern protected" in english
    assert f"{barred} weitere Fälle sind ausgelassen, weil sie geschützte Merkmale" in german
    analyst = found.explain_text("en", "analyst", n=50)
    assert f"{barred} counterfactuals change protected attributes;" in analyst
    assert "[protected: sex]." in analyst
    assert "[geschützt: sex]." in found.explain_text("de", "analyst", n=50)


def test_one_that_is_left_out_is_singular() -> None:
    found = explainer(by_sex, protected=["sex"]).explain(ROW, (0.4, None), SEARCH)
    places = np.flatnonzero(found.reaches & found.changed[:, 2])[:1]
    others = np.flatnonzero(found.reaches & ~found.changed[:, 2])[:1]
    both = found.take(np.concatenate([places, others]))

    assert told(both, "en")[3] == (
        "1 other case is left out, because it concerns a protected attribute."
    )
    assert told(both, "de")[3] == (
        "1 weiterer Fall ist ausgelassen, weil er ein geschütztes Merkmal betrifft."
    )
    assert told(both, "en", "analyst")[2] == (
        "1 counterfactual changes protected attributes; texts for customers leave them out."
    )
    assert told(found.take(places), "en")[1:] == [
        "One case was found in which it would, but it concerns a protected attribute and is not "
        "shown."
    ]
    assert told(found.take(places), "de")[1:] == [
        "Es wurde ein Fall gefunden, in dem es das täte; er betrifft aber ein geschütztes Merkmal "
        "und wird nicht gezeigt."
    ]


def test_if_all_are_left_out_the_text_says_how_many() -> None:
    found = explainer(by_sex, protected=["sex"]).explain(ROW, (0.4, None), SEARCH)
    barred = found.take(np.flatnonzero(found.reaches & found.changed[:, 2]))

    assert told(barred, "en")[1:] == [
        f"{len(barred)} cases were found in which it would, but all of them concern protected "
        "attributes and none is shown."
    ]
    assert told(barred, "de")[1:] == [
        f"Es wurden {len(barred)} Fälle gefunden, in denen es das täte; alle betreffen aber "
        "geschützte Merkmale und werden nicht gezeigt."
    ]


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
