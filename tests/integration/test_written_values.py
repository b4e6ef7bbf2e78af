"""A value reads the same through every door: the texts are compared, door by door."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.unit.result.words.small import sentence

import counterpoint as cp
from counterpoint.cli.showing import changes_table
from counterpoint.explorer.requests import Rows, describe_features, describe_row
from counterpoint.result.report.page import summarise
from counterpoint.result.shown import changes_frame, row_line
from counterpoint.table.values import write_number

LARGE, AMOUNT = 1234567.8, "1,234,567.8"
DATA = pd.DataFrame(
    {
        "amount": [LARGE, 10.5, 20.0, 30.0],
        "loss": [-1234, 0, 12, 4000],
        "code": pd.Categorical([2.5, 1.0, 2.5, 1.0], [1.0, 2.5]),
        "since": pd.to_datetime(["2024-03-01", "2020-01-02", "2021-03-04", "2022-05-06"]),
    }
)
ROW = DATA.iloc[[1]]
TEXTS = {"amount": AMOUNT, "loss": "-1,234", "code": "2.5", "since": "2024-03-01"}
PLACES = list(TEXTS)
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def model(rows: pd.DataFrame) -> Any:
    return rows["amount"].to_numpy(dtype=float)


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    return cp.Explainer(model, DATA)


@pytest.fixture(scope="module")
def found(explainer: cp.Explainer) -> cp.Counterfactuals:
    """Return the one observed row that reaches the target: it differs in every feature."""
    return explainer.explain(ROW, (LARGE, None), cp.WhatIf(n=1))


@pytest.mark.parametrize("name", PLACES)
def test_a_changed_value_reads_the_same_through_every_door(
    explainer: cp.Explainer, found: cp.Counterfactuals, name: str
) -> None:
    j, text = PLACES.index(name), TEXTS[name]
    feature = explainer.schema.features[j]
    itself = explainer.explain(DATA.iloc[[0]], (None, 100.0), cp.WhatIf(n=1))
    lines = found.plot.parallel_data([name])["counterfactuals"]
    moves = found.plot.strips_data([name])["counterfactuals"]
    curve = found.plot.ice_data(name)["counterfactuals"]
    rows = Rows.of(explainer, DATA, None)
    columns = [column._cells for column in changes_table(found[:1]).columns]

    doors = {
        "a feature": feature.shown(found.genomes[0, j]),
        "a printed table": changes_frame(found[:1])[name].iloc[1],
        "a table of the command line": columns[1 + j][1],
        "the report's row": summarise_features(itself)[j]["text"],
        "the report's changes": summarise_changes(found)[j],
        "parallel coordinates": lines["value"].iloc[1],
        "strips": moves["new_value"].iloc[0],
        "ice": next(iter(curve["value"][1:]), text),
        "the explorer": describe_row(rows, explainer, 0)["texts"][j],
    }

    if name == "since":  # what can be typed back is written as 2024-03-01
        text = "1 March 2024"
        doors = {key: text if value == TEXTS[name] else value for key, value in doors.items()}
    assert doors == dict.fromkeys(doors, text)
    assert f"{name} {text}" in row_line(itself)
    assert text in sentence(found, 0)
    assert text in found._repr_html_()


def summarise_features(found: cp.Counterfactuals) -> list[dict[str, Any]]:
    features: list[dict[str, Any]] = summarise(found, NOW)["features"]
    return features


def summarise_changes(found: cp.Counterfactuals) -> list[str]:
    counterfactual = summarise(found, NOW)["counterfactuals"][0]
    return [text for _, _, text in counterfactual["changes"]]


def test_the_end_of_a_range_reads_the_same_through_every_door(explainer: cp.Explainer) -> None:
    ends = f"10.5 to {AMOUNT}"

    assert ends in str(explainer.schema)
    assert describe_features(explainer.schema)[0]["range"] == ends
    with pytest.raises(cp.InvalidInput) as raised:
        explainer.explain(ROW, (LARGE, None), ranges={"amount": (20.0, 10.0)})
    assert ends in str(raised.value)
    outside = explainer.explain(ROW.assign(amount=2.5), (LARGE, None), cp.WhatIf())
    assert ends in outside.notes[0]


def test_a_target_reads_the_same_through_every_door(found: cp.Counterfactuals) -> None:
    assert str(found.target) == f"prediction >= {AMOUNT}"
    assert str(found.target) in found.message
    assert f"at least {AMOUNT}" in sentence(found, 0)
    assert f"at least {AMOUNT}" in found.explain_text()
    assert "mindestens 1.234.567,8" in sentence(found, 0, "de")


def test_a_prediction_reads_the_same_through_every_door(found: cp.Counterfactuals) -> None:
    text = write_number(float(found.predictions[0]))
    summary = summarise(found, NOW)

    assert text == "1,234,568"
    assert changes_frame(found[:1])["prediction"].iloc[1] == text
    assert summary["counterfactuals"][0]["text"] == text
    assert f"(10.5 → {text})" in sentence(found, 0)
    assert "(now 10.5)" in found.message


def test_data_stay_numbers(found: cp.Counterfactuals) -> None:
    assert found.to_frame(near_misses=True)["amount"].iloc[0] == LARGE
    assert np.issubdtype(found.to_frame(near_misses=True)["amount"].dtype, np.floating)
