"""Batch jobs on disks that fill up: they end cleanly, and go on once there is room."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.batches import contents, mount, run_batch

from counterpoint.errors import CannotWrite


def test_a_full_disk_ends_the_job_and_more_room_lets_it_go_on(
    rows: Path, small_disk: Path, clean: dict[str, bytes]
) -> None:
    out = small_disk / "out"

    with pytest.raises(CannotWrite, match=r"No space left on device\. What is done is kept"):
        run_batch(rows, out, chunk=1)

    for part in out.glob("part-*"):
        assert part.read_bytes() == clean[part.name]
    assert not list(out.glob("work/*.tmp"))
    mount("-o", "remount,size=8m", str(small_disk)).check_returncode()
    summary = run_batch(rows, out)
    assert summary.n_before > 0
    assert contents(out) == clean


LIMITED = """
import resource, sys
from pathlib import Path
from tests.batches import explainer, rows_of_square, run_batch, SEARCH
rows, out, size = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
explainer().explain(rows_of_square().loc[[0], ["x", "y"]], (0.5, 1.0), SEARCH)
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    run_batch(rows, out, chunk=2)
except OSError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of sizes here")
@pytest.mark.parametrize("size", [2_000, 6_000])
def test_a_file_that_cannot_grow_ends_the_job_and_it_goes_on_elsewhere(
    rows: Path, tmp_path: Path, clean: dict[str, bytes], size: int
) -> None:
    """The smaller limit stops the journal or the manifest, the larger the first part."""
    out = tmp_path / "out"

    told = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LIMITED, str(rows), str(out), str(size)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert told.startswith("CannotWrite cannot write to out")
    assert "File too large" in told
    assert not list(out.glob("part-*"))
    assert not list(out.glob("work/*.tmp"))
    run_batch(rows, out)
    assert contents(out) == clean
