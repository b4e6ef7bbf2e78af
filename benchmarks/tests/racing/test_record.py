"""Experiments are kept line by line, and never mixed with those of another tuning."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from benchmarks.racing.record import Experiment, Record, asking
from hypothesis import given
from hypothesis import strategies as st

ONE = Experiment({"x": 0.1}, 3, 7)
SETTINGS = {"budget": 100, "rules": {"first_test": 5}}


@given(cost=st.floats(allow_nan=False))
def test_costs_come_back_to_the_last_bit(
    cost: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("record") / "runs" / "kept.jsonl"
    Record(SETTINGS, file).add(ONE, cost)

    again = Record(SETTINGS, file)

    assert again.cost_of(ONE) == cost
    assert len(again) == 1
    assert again.cost_of(Experiment({"x": 0.1}, 3, 8)) is None


def test_the_order_of_parameters_does_not_matter() -> None:
    record = Record(SETTINGS)
    record.add(Experiment({"x": 1, "y": 2}, 0, 0), 5.0)

    assert record.cost_of(Experiment({"y": 2, "x": 1}, 0, 0)) == 5.0


def test_a_line_that_was_cut_off_is_taken_away(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    Record(SETTINGS, file).add(ONE, 1.5)
    whole = file.read_text()
    file.write_text(whole + '{"configuration": {"x"')

    record = Record(SETTINGS, file)

    assert len(record) == 1
    assert file.read_text() == whole
    assert json.loads(whole.splitlines()[1]) == {
        "configuration": {"x": 0.1},
        "instance": 3,
        "seed": 7,
        "cost": 1.5,
    }


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    Record(SETTINGS, file)

    with pytest.raises(
        ValueError, match=r"kept.jsonl holds .* other settings: budget was 100, now it is 200; give"
    ):
        Record({**SETTINGS, "budget": 200}, file)


@pytest.mark.parametrize("text", ["", "x", "x\n", "[]\n", "{}\n"])
def test_another_file_is_refused_and_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(text)

    with pytest.raises(ValueError, match=r"notes.txt is not a record of experiments; give another"):
        Record(SETTINGS, file)

    assert file.read_text() == text


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"cost of \{'x': 0.1\} on instance 3 is not a number"):
        Record(SETTINGS).add(ONE, math.nan)


def test_an_experiment_is_made_once() -> None:
    asked = []

    def cost(values: object, instance: int, seed: int) -> float:
        asked.append((values, instance, seed))
        return float(instance)

    two = Experiment({"x": 0.2}, 4, 7)
    with asking(cost, Record(SETTINGS), workers=1) as ask:
        costs = [ask([ONE, two, ONE]), ask([two])]

    assert costs == [[3.0, 4.0, 3.0], [4.0]]
    assert asked == [tuple(ONE), tuple(two)]
