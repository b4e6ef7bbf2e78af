"""What several files of integration tests need."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.batches import contents, mount, run_batch, write_rows

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


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of such rows, `in`, and of what their job ends with, `out`; for copies."""
    place = tmp_path_factory.mktemp("done")
    run_batch(write_rows(place), place / "out")
    return place


@pytest.fixture(scope="session")
def clean(done: Path) -> dict[str, bytes]:
    """Return what that job ends with if nothing happens to it."""
    return contents(done / "out")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk that is soon full."""
    place = tmp_path / "small"
    place.mkdir()
    told = mount("-t", "tmpfs", "-o", "size=48k", "tmpfs", str(place))
    if told.returncode:
        pytest.skip(f"this user may not mount a small disk: {told.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607
