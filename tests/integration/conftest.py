"""What several files of integration tests need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.batches import contents, run_batch, write_rows

from counterpoint.cli.main import main


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command line in a module's `folder` of files; return status, output and errors."""
    monkeypatch.chdir(folder)

    def run_it(text: str, *more: str) -> tuple[int, str, str]:
        status = main([*text.split(), *more])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run_it


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Write the rows of a batch job."""
    return write_rows(tmp_path)


@pytest.fixture
def clean(rows: Path, tmp_path: Path) -> dict[str, bytes]:
    """Return what that job ends with if nothing happens to it."""
    run_batch(rows, tmp_path / "clean")
    return contents(tmp_path / "clean")
