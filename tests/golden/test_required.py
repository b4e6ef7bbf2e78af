"""What needs the published runs is skipped without them, unless they are required."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = "tests/golden/test_published_coverage.py"


@pytest.mark.parametrize(
    ("changes", "status", "told"),
    [
        ({}, 0, "COUNTERPOINT_PAPER does not name the folder"),
        ({"COUNTERPOINT_PUBLISHED": "required"}, 1, "set COUNTERPOINT_PAPER to the folder"),
        ({"COUNTERPOINT_PAPER": "nowhere"}, 1, "names 'nowhere', which has no data and runs"),
    ],
)
def test_without_the_runs(changes: dict[str, str], status: int, told: str) -> None:
    names = ("COUNTERPOINT_PAPER", "COUNTERPOINT_PUBLISHED")
    environment = {name: value for name, value in os.environ.items() if name not in names}

    ended = subprocess.run(  # noqa: S603 - our own test
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST],
        cwd=ROOT,
        env=environment | changes,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == status
    assert told in ended.stdout
    assert "passed" not in ended.stdout
