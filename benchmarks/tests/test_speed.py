"""Tests of how the speed benchmark keeps what it has measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import speed
from benchmarks.speed_report import as_markdown

SCOPE = speed.Scope(1, 1, is_quick=False, against=None)


def stop(_: speed.Scope) -> dict[str, Any]:
    """Stand for a part during which the user presses Ctrl-C."""
    raise KeyboardInterrupt


def test_the_committed_page_is_that_of_the_committed_numbers() -> None:
    records = json.loads((speed.FOLDER / "speed.json").read_text())

    page = as_markdown(records)

    assert page == (speed.FOLDER / "speed.md").read_text()
    assert set(records) <= set(speed.PARTS)


def test_what_was_measured_stays_when_a_later_part_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "speed.json"
    committed = json.loads((speed.FOLDER / "speed.json").read_text())
    file.write_text(json.dumps({"peers": committed["peers"], "r": committed["r"]}))
    faster = dict.fromkeys(committed["r"]["r"], 1.0)
    monkeypatch.setitem(speed.PARTS, "r", lambda _: {"r": faster})
    monkeypatch.setitem(speed.PARTS, "start", stop)

    with pytest.raises(KeyboardInterrupt):
        speed.measure(["r", "start"], SCOPE, file)

    kept = json.loads(file.read_text())
    assert kept["peers"] == committed["peers"]
    assert kept["r"] == {"machine": speed.machine(), "r": faster}
    assert "start" not in kept
    assert file.with_suffix(".md").read_text() == as_markdown(kept)


def test_a_quick_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "speed.json"
    committed = json.loads((speed.FOLDER / "speed.json").read_text())["r"]
    monkeypatch.setitem(speed.PARTS, "r", lambda _: {"r": committed["r"]})

    results = speed.measure(["r"], SCOPE._replace(is_quick=True), file)

    assert results["r"]["r"] == committed["r"]
    assert not file.exists()
