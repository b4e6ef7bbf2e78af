"""What customers read: every kind of target, what is left out, what is proved, nothing found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.unit.result.words.test_sentences import DATA, ROW, SEARCH, Judge, by_months, by_sex

import counterpoint as cp
from counterpoint.result.words.sentences import tell

EN_END = (
    "This describes how the details given were assessed. It is not an offer, and it does not say "
    "that making such a change would bring about the result."
)
DE_END = (
    "Das beschreibt, wie die vorliegenden Angaben bewertet wurden. Es ist kein Angebot, und es "
    "besagt nicht, dass eine solche Änderung das Ergebnis herbeiführen würde."
)
ENGLISH = cp.Labels(
    features={"months": "term"},
    units={"months": "months"},
    classes={"low": "approved", "high": "declined"},
    outcome="the application",
    lang="en",
)
GERMAN = cp.Labels(
    features={"months": "die Laufzeit"},
    units={"months": ("Monat", "Monate")},
    classes={"low": "bewilligt", "high": "abgelehnt"},
    outcome="der Antrag",
    lang="de",
)


def explained(target: Any, model: Any = by_months, **more: Any) -> cp.Counterfactuals:
    settings = {key: more.pop(key) for key in ("protected", "labels") if key in more}
    return cp.Explainer(model, DATA, **settings).explain(ROW, target, SEARCH, **more)


def told(found: cp.Counterfactuals, lang: Any, n: int = 1) -> list[str]:
    return found.explain_text(lang, n=n).splitlines()


@pytest.mark.parametrize(
    ("model", "target", "english", "german"),
    [
        (by_months, (0.5, None), "the predicted value would have been at least 0.5",
            "wäre der vorhergesagte Wert mindestens 0,5 gewesen"),
        (by_months, 0.5, "the predicted value would have been 0.5",
            "wäre der vorhergesagte Wert genau 0,5 gewesen"),
        (Judge(), "low", "this case would have been assessed as “low”",
            "wäre dieser Fall als „low“ bewertet worden"),
        (Judge(), "opposite", "this case would have been assessed as “mid”",
            "wäre dieser Fall als „mid“ bewertet worden"),
        (Judge(), ("low", (0.6, 1.0)), "the probability of “low” would have been at least 60%",
            "hätte die Wahrscheinlichkeit für „low“ mindestens 60\N{NO-BREAK SPACE}% betragen"),
    ],
)  # fmt: skip
def test_every_kind_of_target_has_its_verb(
    model: Any, target: Any, english: str, german: str
) -> None:
    found = explained(target, model)
    assert found.status == "found"

    assert told(found, "en")[1].startswith("1. With months of ")
    assert told(found, "en")[1].endswith(
        f" instead of 48 and everything else unchanged, {english}."
    )
    assert told(found, "de")[1].endswith(f" für „months“ und sonst gleichen Angaben {german}.")
    assert (told(found, "en")[-1], told(found, "de")[-1]) == (EN_END, DE_END)


def test_labels_make_it_a_letter_to_somebody() -> None:
    found = explained("low", Judge(), labels=ENGLISH | GERMAN, ranges={"months": (26, 26)})

    assert told(found, "en")[:2] == [
        "The application was not approved. The likeliest result was “declined”.",
        "1. With a term of 26 months instead of 48 and everything else unchanged, the "
        "application would have been approved.",
    ]
    assert told(found, "de")[:2] == [
        "Der Antrag wurde nicht bewilligt. Am wahrscheinlichsten war „abgelehnt“.",
        "1. Bei einer Laufzeit von 26 statt 48 Monaten und sonst gleichen Angaben wäre "
        "der Antrag bewilligt worden.",
    ]


@pytest.mark.parametrize(
    ("age", "english", "german"),
    [
        (90, "It was not close: cases that hardly differ typically come out the same.",
            "Es war nicht knapp: Fälle, die sich kaum unterscheiden, fallen typischerweise gleich "
            "aus."),
        (50, "It was close: cases that hardly differ may come out otherwise.",
            "Es war knapp: Fälle, die sich kaum unterscheiden, können anders ausfallen."),
    ],
)  # fmt: skip
def test_what_is_as_wanted_says_how_close_the_edge_is(age: int, english: str, german: str) -> None:
    data = pd.DataFrame({"age": np.arange(100)})
    explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
    found = explainer.explain({"age": age}, (0.495, None))
    assert found.status == "already_met"

    assert told(found, "en") == [
        f"The predicted value was 0.{age // 10}. That is a value of at least 0.495.",
        english,
    ]
    assert told(found, "de")[1] == german
    inside = "0.405" if age == 90 else "0.005"
    assert f", {inside} inside; between an observed row and its nearest" in found.message
    assert f", {inside} inside it;" in found.explain_text("en", "analyst")
    assert "Ziel bereits und liegt um 0," in found.explain_text("de", "analyst")


def test_nothing_of_what_is_protected_is_told_to_customers() -> None:
    found = explained((0.4, None), by_sex, protected=["sex"])
    assert found.changed[found.reaches, 2].sum() > 1

    texts = [found.explain_text(lang, n=50) for lang in ("en", "de")]

    for text in texts:
        assert "sex" not in text
        assert "protected" not in text
        assert "geschützt" not in text


def test_if_all_ways_are_through_what_is_protected_there_is_none_for_a_customer() -> None:
    found = explained((0.4, None), by_sex, protected=["sex"])
    barred = found.take(np.flatnonzero(found.reaches & found.changed[:, 2]))

    assert told(barred, "en")[1:] == [
        "No change of the details considered was found with which the predicted value would have "
        "been at least 0.4."
    ]
    assert told(barred, "de")[1:] == [
        "Es wurde keine Änderung der betrachteten Angaben gefunden, bei der der vorhergesagte Wert "
        "mindestens 0,4 gewesen wäre."
    ]


def test_nothing_found_says_how_near_it_came() -> None:
    found = explained((0.95, None), max_changed=1)
    assert not found

    lines = told(found, "en")

    assert lines[1].endswith("with which the predicted value would have been at least 0.95.")
    assert lines[2] == "The nearest case that was found comes to 0.9."


@pytest.mark.parametrize(
    ("probability", "target", "english"),
    [
        (0.4961, (0.5, None), "49.6%"),  # 50% would be what was asked for
        (0.72026, (0.9999, None), "72%"),
        (0.50004, (None, 0.5), "50.004%"),
        (0.9962, (0.999, None), "99.62%"),
    ],
)
def test_a_rounded_answer_is_not_what_was_asked_for_unless_it_is(
    probability: float, target: Any, english: str
) -> None:
    data = pd.DataFrame({"age": range(8), "owns": [False, True] * 4})
    explainer = cp.Explainer(lambda rows: 0.0 * rows["age"] + probability, data, classes=["a", "b"])
    found = explainer.explain(data[:1], ("b", target), SEARCH)

    lines = told(found, "en")

    assert lines[0].startswith(f"The probability of “b” was {english}. ")
    assert lines[2] == f"The nearest case that was found comes to {english}."


def test_a_rounded_value_is_not_what_was_asked_for() -> None:
    data = pd.DataFrame({"age": range(8)})
    explainer = cp.Explainer(lambda rows: 150.0004 + 0.0 * rows["age"], data)
    found = explainer.explain(data[:1], (None, 150.0), SEARCH)

    assert told(found, "en")[0].startswith("The predicted value was 150.0004. ")


def test_what_is_tried_in_full_is_proved_not_to_exist() -> None:
    others = ["credit_amount", "sex", "since", "owns"]
    found = explained((0.95, None), fixed=others)
    assert found.status == "infeasible"

    assert told(found, "en")[1] == (
        "It is proved that with no change of the details considered the predicted value would have "
        "been at least 0.95."
    )


def test_limits_that_leave_nothing_are_mentioned() -> None:
    found = explained((0.5, None), fixed=["months"], max_changed=1)

    assert "within the limits of the search" in told(found, "en")[1]


def test_a_case_of_many_changes_is_named_as_such() -> None:
    names = [f"x{j}" for j in range(6)]
    data = pd.DataFrame(np.repeat([[0] * 6, [1] * 6], 2, axis=0), columns=names)
    explainer = cp.Explainer(lambda rows: rows.sum(axis=1) / 6, data, groups={})
    found = explainer.explain(dict.fromkeys(names, 0), (0.9, None), cp.Search(evaluations=300))
    assert found.status == "found"

    (case,) = tell(found, "en", 4).cases

    assert case.text == (
        "The predicted value would have been at least 0.9 in a case that differs in 6 details: "
        "x0, x1, x2, x3, x4 and x5."
    )


def test_what_a_solver_proved_is_told_and_nothing_stronger() -> None:
    from sklearn.linear_model import LogisticRegression

    data = pd.DataFrame({"a": np.arange(20), "b": np.arange(20) % 7})
    model = LogisticRegression().fit(data, (data["a"] + data["b"] > 14).astype(int))
    explainer = cp.Explainer(model, data)
    found = explainer.explain({"a": 0, "b": 0}, 1, cp.Search(evaluations=500, prove=True))
    assert found.proof is not None
    assert found.proof.nearest.status == "optimal"

    text, plain = found.explain_text(n=4), explainer.explain({"a": 0, "b": 0}, 1).explain_text(n=4)

    assert "proved" not in plain
    nearest = found.objectives[found.reaches, 1].min()
    shown = [case.way for case in tell(found, "en", 4).cases]
    tells_nearest = any(way.counterfactuals.objectives[0, 1] <= nearest for way in shown)
    assert ("It is proved that no nearer case exists" in text) <= tells_nearest
    assert "It is proved" in text
