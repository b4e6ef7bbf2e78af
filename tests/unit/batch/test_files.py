"""What a job is, as its manifest says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoint as cp
from counterpoint.batch.files import as_json, refuse_another
from counterpoint.errors import InvalidInput

INPUTS = [{"name": "a.csv", "rows": 3, "fingerprint": "f"}]


def twice(rows: Any) -> Any:
    return 2 * rows


def thrice(rows: Any) -> Any:
    return 3 * rows


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64(0.5), 0.5),
        ({"b", "a"}, ["a", "b"]),
        ({"b": 1, "a": (2, None)}, {"a": [2, None], "b": 1}),
        (range(2), [0, 1]),
        (cp.WhatIf(n=3), {"type": "WhatIf", "n": 3}),
    ],
)
def test_settings_are_written_as_json(value: Any, expected: Any) -> None:
    assert as_json(value) == expected
    assert json.loads(json.dumps(as_json(value))) == expected


def test_functions_are_told_apart_by_their_code() -> None:
    first, second = as_json(twice), as_json(thrice)

    assert first.split()[0].endswith(".twice")
    assert first.split()[1] != second.split()[1]
    assert as_json(twice) == first


def test_the_first_setting_that_differs_is_named(tmp_path: Path) -> None:
    old = {"inputs": INPUTS, "seed": 0, "search": {"evaluations": 60}}
    refuse_another(old, dict(old), tmp_path)

    with pytest.raises(InvalidInput, match=r"with search\.evaluations = 60, and this one has 61"):
        refuse_another(old, old | {"search": {"evaluations": 61}}, tmp_path)
    with pytest.raises(InvalidInput, match="has changed since"):
        refuse_another(old, old | {"inputs": [INPUTS[0] | {"fingerprint": "g"}]}, tmp_path)
