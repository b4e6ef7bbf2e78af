"""Rules in a saved result: written, read, and refused if they are not as we write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.result.file.saving import signed

DATA = pd.DataFrame(
    {
        "age": [22, 35, 41, 58, 63, 30],
        "rate": [0.5, 1.25, 0.75, 2.0, 1.5, 1.0],
        "job": ["clerk", "nurse", "smith", "nurse", "clerk", "smith"],
    }
)
ROW = {"age": 25, "rate": 1.0, "job": "clerk"}
RULES = ["age  increases by at most 30.0", "job='nurse' implies rate<=1.5"]
CANONICAL = ("age increases by at most 30", "job = nurse implies rate <= 1.5")


def score(rows: pd.DataFrame) -> Any:
    return (rows["age"] + 5 * (rows["job"] == "nurse")) / 100


def is_cheap(rows: pd.DataFrame) -> Any:
    return (rows["rate"] < 1.9).to_numpy()


@pytest.fixture
def found() -> cp.Counterfactuals:
    search = cp.Search(evaluations=200)
    return cp.Explainer(score, DATA).explain(
        ROW, (0.4, 0.9), search, constraints=[*RULES, is_cheap]
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "found.json"


def rewritten(path: Path, change: Callable[[Any], None]) -> None:
    """Change a saved document and give it the checksum of the change."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(signed(document)))


def test_rules_are_saved_as_they_are_printed(found: cp.Counterfactuals, path: Path) -> None:
    found.save(path)

    written = json.loads(path.read_text())["limits"]["constraints"]
    assert written == [{"rule": text} for text in CANONICAL] + [{"function": "is_cheap"}]


def test_a_loaded_result_has_the_rules(found: cp.Counterfactuals, path: Path) -> None:
    found.save(path)

    loaded = cp.load(path)

    assert loaded.constraints == found.constraints == (*CANONICAL, "function is_cheap")
    assert str(loaded) == str(found)
    loaded.save(path)
    assert cp.load(path).constraints == found.constraints


def test_rules_beside_the_limits_are_an_unknown_key(found: cp.Counterfactuals, path: Path) -> None:
    found.save(path)
    rewritten(path, lambda document: document.update(constraints=[]))

    with pytest.raises(cp.InvalidInput, match=r"\$ has the unknown key 'constraints'"):
        cp.load(path)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ("age increases", r"\$\.limits\.constraints must be a list, got 'age increases'"),
        (["age increases"], r"\$\.limits\.constraints\[0\] must be an object"),
        ([{"rule": 3}], r"\$\.limits\.constraints\[0\]\.rule must be a text, got 3"),
        ([{"rule": "age>=1"}], r"rule must be the canonical 'age >= 1', got 'age>=1'"),
        ([{"rule": "agee >= 1"}], "'agee' is not a column of the data"),
        ([{"rule": "age >="}], "expected a value"),
        ([{"rule": "age >= 1", "x": 1}], r"\$\.limits\.constraints\[0\] has the unknown key 'x'"),
        ([{"rule": "age >= 100"}], r'\$\.genomes\[0\] breaks the rule "age >= 100"'),
        ([{"rule": "age decreases"}], r'\$\.genomes\[0\] breaks the rule "age decreases"'),
        ([{"rule": "age >= 1"}] * 1001, r"\$\.limits\.constraints must have at most 1,000 rules"),
    ],
)
def test_rules_that_are_not_ours_are_refused(
    found: cp.Counterfactuals, path: Path, constraints: Any, message: str
) -> None:
    found.save(path)
    rewritten(path, lambda document: document["limits"].update(constraints=constraints))

    with pytest.raises(cp.InvalidInput, match=message):
        cp.load(path)
