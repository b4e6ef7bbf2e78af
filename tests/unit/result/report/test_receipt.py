"""The receipt: settings that were used, and none that were not."""

from __future__ import annotations

import datetime

import pandas as pd

import counterpoint as cp
from counterpoint.result.report.receipt import write_receipt

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
