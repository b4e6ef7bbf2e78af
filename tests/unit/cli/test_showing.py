"""What is shown: nothing that a terminal would obey, and values that JSON holds."""

from __future__ import annotations

import json
import re
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


@pytest.mark.parametrize(("lang", "word"), [("en", "would"), ("de", "wäre")])
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


@pytest.fixture(scope="module")
def wide() -> cp.Counterfactuals:
    names = [f"measurement_number_{j}" for j in range(6)]
    data = pd.DataFrame(np.arange(60).reshape(10, 6) % 7, columns=names)
    explainer = cp.Explainer(lambda rows: rows.sum(axis=1) / 36, data, groups={})
    return explainer.explain(data[:1], (0.6, None), cp.Search(evaluations=300))


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_a_narrow_terminal_has_blocks_and_whole_words(
    wide: cp.Counterfactuals,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    library = pytest.importorskip("rich.console")
    monkeypatch.setenv("NO_COLOR", "1")

    def terminal() -> Any:
        return library.Console(width=columns, force_terminal=True, markup=False, highlight=False)

    monkeypatch.setattr(showing, "rich_console", terminal)

    showing.show_results([wide], 3)

    shown = capsys.readouterr().out
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in shown.splitlines()]
    assert max(map(len, lines)) <= columns
    assert "measurement number" in " ".join(shown.split())
    assert not re.search(r"\x1b\[3\dm|\x1b\[9\dm", shown)  # colours, which NO_COLOR forbids
    assert any(" → " in line and "measurement" in line for line in lines) == (columns < 100)
