"""What is shown: nothing that a terminal would obey, and values that JSON holds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.cli import showing


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(3), 3),
        (np.float64("inf"), None),
        (float("nan"), None),
        (pd.NA, None),
        (pd.Timestamp("2024-05-01"), "2024-05-01 00:00:00"),
        (np.bool_(True), True),
        ("text", "text"),
    ],
)
def test_every_value_becomes_one_of_json(value: Any, expected: Any) -> None:
    shown = showing.plain_value(value)

    assert shown == expected
    assert json.loads(json.dumps(shown)) == shown


@pytest.mark.parametrize(("lang", "word"), [("en", "would"), ("de", "würde")])
def test_sentences_are_of_the_language_and_cannot_move_the_cursor(
    lang: Any, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "in\x1b[2Jcome"
    data = pd.DataFrame({name: [10, 20, 30, 40]})
    explainer = cp.Explainer(lambda rows: rows[name] / 40, data)

    showing.tell_results([explainer.explain(data.iloc[[0]], (0.6, 1.0))], lang)

    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "in\\x1b[2Jcome" in shown
    assert word in shown
