"""Units and protected features: what is refused, and how they are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.documents import load_changed

import counterpoint as cp

DATA = pd.DataFrame({"age": [20, 30, 40], "job": ["a", "b", "a"]})


def explainer(**remarks: Any) -> cp.Explainer:
    return cp.Explainer(lambda rows: rows["age"] / 100, DATA, **remarks)


def test_the_schema_prints_them() -> None:
    schema = explainer(units={"age": "years"}, protected=["job"]).schema

    assert str(schema).splitlines() == [
        "age  integer  20 to 40 years",
        "job  binary   a, b (protected)",
    ]


@pytest.mark.parametrize(
    ("remarks", "message"),
    [
        ({"units": {"agee": "years"}}, "units names 'agee', which is not a column of the data; did "
            "you mean 'age'?"),
        ({"units": {"age": ""}}, "units['age'] must be a text of 1 to 40 characters, got ''; for "
            "example 'months'."),
        ({"units": {"age": 3}}, "units['age'] must be a text of 1 to 40 characters, got 3; for "
            "example 'months'."),
        ({"units": {"age": "a\nb"}}, "units['age'] must be a text of 1 to 40 characters, got "
            "'a\\nb'; for example 'months'."),
        ({"units": {"job": "years"}}, "units names 'job', which is binary and has no unit; only "
            "numbers have one."),
        ({"units": ["age"]}, "units must be a dict of feature to unit, got ['age']; for example "
            "units={'duration': 'months'}."),
        ({"protected": ["agee"]}, "protected names 'agee', which is not a column of the data; did "
            "you mean 'age'?"),
        ({"protected": "age"}, "protected must be a list of features, got 'age'; for example "
            "protected=['sex']."),
    ],
)  # fmt: skip
def test_remarks_on_nothing_are_refused(remarks: dict[str, Any], message: str) -> None:
    with pytest.raises(cp.CounterpointError) as raised:
        explainer(**remarks)

    assert str(raised.value) == message


def test_remarks_are_saved_and_change_no_fingerprint(tmp_path: Path) -> None:
    remarked = explainer(units={"age": "years"}, protected=["job"])
    found = remarked.explain(DATA[:1], (0.3, 1.0))
    found.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")

    assert loaded.encoding.schema == remarked.schema
    plain = explainer().explain(DATA[:1], (0.3, 1.0))
    assert loaded.fingerprints == plain.fingerprints
    plain.save(tmp_path / "plain.json")
    assert json.loads((tmp_path / "plain.json").read_text())["remarks"] is None


@pytest.mark.parametrize(
    ("remarks", "message"),
    [
        ({"units": [None], "is_protected": [False, False]}, "$.remarks.units must have 2 entries"),
        ({"units": [None, "x"], "is_protected": [False, False]}, "units names 'job'"),
        ({"units": [3, None], "is_protected": [False, False]}, "units[0] must be a text"),
        ({"units": [None, None], "is_protected": [0, False]}, "is_protected[0] must be true or"),
        ({"units": [None, None]}, "$.remarks lacks the key 'is_protected'"),
    ],
)
def test_nonsense_in_the_remarks_of_a_file_is_refused(
    tmp_path: Path, remarks: Any, message: str
) -> None:
    explainer().explain(DATA[:1], (0.3, 1.0)).save(tmp_path / "found.json")
    document = json.loads((tmp_path / "found.json").read_text())

    with pytest.raises(cp.InvalidInput) as raised:
        load_changed(document, tmp_path / "x.json", lambda d: d.update(remarks=remarks))

    assert message in str(raised.value)
