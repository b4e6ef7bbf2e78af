"""No change of the code may change a bit of a result, unless it says so.

After a change that is meant to, ``python -m scripts.reference_bits`` stores the new hashes. They
hold for one build: with other versions the test is skipped, or not, if the environment has
``COUNTERPOINT_REFERENCE=required``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.golden.reference_runs import RUNS, hashes_of, versions

STORED: dict[str, Any] = json.loads(Path(__file__).with_name("reference_bits.json").read_text())
OTHERS = [
    f"{name} {there} (here {versions()[name]})"
    for name, there in STORED["versions"].items()
    if versions()[name] != there
]


def test_every_run_is_stored_and_every_stored_one_is_run() -> None:
    assert list(STORED["runs"]) == list(RUNS)


@pytest.mark.skipif(
    bool(OTHERS) and os.environ.get("COUNTERPOINT_REFERENCE") != "required",
    reason=f"the reference bits were stored with {', '.join(OTHERS)}",
)
@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_the_bits_it_gave_before(name: str) -> None:
    assert hashes_of(name) == STORED["runs"][name]
