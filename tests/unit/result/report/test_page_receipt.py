"""The receipt: settings that were used, and none that were not."""

from __future__ import annotations

import datetime

import pandas as pd

import counterpoint as cp
from counterpoint.result.report.page import receipt_texts, write_receipt
from counterpoint.result.words import speaking

NOW = datetime.datetime(2026, 5, 4, 12, 30, tzinfo=datetime.UTC)


def explained(search: cp.Search) -> cp.Counterfactuals:
    data = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 2.0, 5.0]})
    return cp.Explainer(lambda rows: rows["a"], data).explain(data[:1], (2.0, None), search)


def test_the_receipt_lists_only_settings_that_are_used() -> None:
    conditional, gaussian = (
        write_receipt(explained(search), NOW)["search"]
        for search in (
            cp.Search(method="nsga2", generations=3, initialization="random"),
            cp.Search(method="nsga2", generations=3, mutation="gaussian"),
        )
    )

    assert not {"step", "p_min", "p_max", "method"} & set(conditional)
    assert gaussian["step"] == "deviation"
    assert gaussian["p_min"] == 0.01


def test_the_receipt_is_shown_in_the_language_that_is_spoken() -> None:
    found = explained(cp.Search(evaluations=30))
    receipt = write_receipt(found, NOW)

    with speaking("de"):
        texts = receipt_texts(found, receipt)

    assert texts["date"] == "4. Mai 2026, 12:30:00 UTC"
    assert texts["target"] == "Vorhersage mindestens 2"
    assert texts["objectives"][1] == "Größe der Änderungen"
    assert texts["search"].startswith("Explore(evaluations=30, ")
    assert "None" not in texts["search"]
    assert receipt_texts(found, receipt)["date"] == "4 May 2026, 12:30:00 UTC"
