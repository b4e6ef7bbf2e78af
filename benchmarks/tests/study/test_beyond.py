"""Beyond the paper: targets that are numbers or one of several classes, and refitted models."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.study import beyond


@pytest.mark.parametrize("problem", beyond.PROBLEMS)
def test_the_target_is_not_what_the_model_predicts(problem: str) -> None:
    table, outcome = beyond.table_of(problem)
    model = beyond.untrained(problem, "linear").fit(table, outcome)
    row = table.iloc[[0]]

    target = beyond.target_of(problem, model, row, outcome)

    predicted = model.predict(row)[0]
    if problem == "progression":
        low, high = target
        assert not low <= predicted <= high
    else:
        assert target in model.classes_
        assert target != predicted


def test_shares_after_refitting_are_shares_and_are_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beyond, "PROBLEMS", ("iris",))

    beyond.measure(tmp_path, 1, 2)
    stamps = {file: file.stat().st_mtime_ns for file in tmp_path.glob("beyond/*")}
    beyond.measure(tmp_path, 1, 2)

    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("beyond/*")} == stamps
    records = beyond.stored(tmp_path)
    assert set(records["method"]) == set(beyond.SEARCHES)
    held = records["held"].dropna()
    assert held.between(0, 1).all()
    assert (held.isin([0.0, 0.5, 1.0]) | (records.loc[held.index, "n_valid"] > 1)).all()
