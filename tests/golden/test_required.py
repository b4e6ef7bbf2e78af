"""What needs the published runs is skipped without them, unless they are required."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = "tests/golden/test_published_objectives.py"
# The second looks five times for garbage when it ends: of all that the tests before have imported.
WITHOUT = ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]


class Reports:
    """Hears how tests end."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.outcomes: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is told of a test; that it was taken down is not its end."""
        if report.when == "call" or not report.passed:
            self.texts.append(str(report.longrepr))
            self.outcomes.add(report.outcome)


@pytest.mark.parametrize(
    ("changes", "outcome", "told"),
    [
        ({}, "skipped", "COUNTERPOINT_PAPER does not name the folder"),
        ({"COUNTERPOINT_PUBLISHED": "required"}, "failed", "set COUNTERPOINT_PAPER to the folder"),
        ({"COUNTERPOINT_PAPER": "nowhere"}, "failed", "names 'nowhere', which has no data and"),
    ],
)
def test_without_the_runs(
    changes: dict[str, str], outcome: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked of pytest itself, in this process: a process of its own would first import us again."""
    for name in ("COUNTERPOINT_PAPER", "COUNTERPOINT_PUBLISHED"):
        monkeypatch.delenv(name, raising=False)
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ROOT)
    heard = Reports()

    pytest.main(["-q", *WITHOUT, TEST], plugins=[heard])

    assert heard.outcomes == {outcome}
    assert all(told in text for text in heard.texts)
