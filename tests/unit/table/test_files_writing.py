"""A file is written whole or not at all, and what a save that was killed leaves is taken away."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.errors import CannotWrite, CounterpointError, InvalidInput
from counterpoint.table.files import OLD, whole_file, write_whole

KILLED = """
import os, sys
from counterpoint.table.files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half of the new")
    file.flush()
    os.kill(os.getpid(), 9)
"""


def test_what_fails_halfway_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    place = tmp_path / "found.json"
    place.write_bytes(b"old")

    def fail() -> None:
        with whole_file(place) as file:
            file.write(b"half of the new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]


def drafts(folder: Path) -> list[Path]:
    """Return the files in a folder that are hidden."""
    return sorted(path for path in folder.iterdir() if path.name.startswith("."))


def age(draft: Path) -> None:
    """Make a file look as if nobody wrote to it for long."""
    before = time.time() - OLD - 1.0
    os.utime(draft, (before, before))


def test_the_draft_of_a_killed_save_is_taken_away_once_it_is_old(tmp_path: Path) -> None:
    place = tmp_path / "found.json"
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False)  # noqa: S603
        assert ended.returncode == -9
    left = drafts(tmp_path)
    assert len(left) == 2

    write_whole(place, b"new")
    assert drafts(tmp_path) == left  # it may be at work

    for draft in left:
        age(draft)
    write_whole(place, b"newer")
    assert list(tmp_path.iterdir()) == [place]
    assert place.read_bytes() == b"newer"


def test_the_draft_of_a_save_at_work_is_never_taken_away(tmp_path: Path) -> None:
    with whole_file(tmp_path / "slow.json") as file:
        file.write(b"slow")
        file.flush()
        (draft,) = drafts(tmp_path)
        age(draft)
        write_whole(tmp_path / "quick.json", b"quick")
        assert drafts(tmp_path) == [draft]

    assert (tmp_path / "slow.json").read_bytes() == b"slow"
    assert (tmp_path / "quick.json").read_bytes() == b"quick"
    assert not drafts(tmp_path)


def test_many_save_at_once(tmp_path: Path) -> None:
    def save(number: int) -> None:
        for _ in range(20):
            write_whole(tmp_path / f"{number}.json", bytes([number]) * 1000)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{k}.json" for k in range(8)]
    assert all((tmp_path / f"{k}.json").read_bytes() == bytes([k]) * 1000 for k in range(8))


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1))
def test_every_name_a_file_can_have_can_be_saved_to(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    place = tmp_path_factory.getbasetemp() / name
    try:
        place.write_bytes(b"old")
    except OSError:
        with pytest.raises(CounterpointError):
            write_whole(place, b"new")
        return

    write_whole(place, b"new")

    assert place.read_bytes() == b"new"
    place.unlink()


@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127 + "x", ".json".rjust(255, "y")])
def test_the_longest_name_can_be_saved_to(tmp_path: Path, name: str) -> None:
    write_whole(tmp_path / name, b"new")

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_name_that_is_too_long_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match=r"^cannot write '.*xxx': File name too long\. What was"):
        write_whole(tmp_path / ("x" * 256), b"new")

    assert not drafts(tmp_path)


def test_a_device_is_not_replaced() -> None:
    with pytest.raises(InvalidInput, match="'/dev/null' is a device or a pipe; give the name of a"):
        write_whole("/dev/null", b"new")

    assert Path("/dev/null").is_char_device()


LIMITED = """
import resource, sys
from counterpoint.errors import CannotWrite
from counterpoint.table.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(sys.argv[1], bytes(100_000))
except CannotWrite as error:
    print(error)
"""


def test_a_file_that_cannot_grow_is_told_and_the_old_one_stays(tmp_path: Path) -> None:
    place = tmp_path / "found.json"
    place.write_bytes(b"old")

    told = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LIMITED, str(place)], capture_output=True, text=True, check=True
    )

    assert told.stdout == (
        f"cannot write {str(place)!r}: File too large. What was there before is still there; make "
        "room, or give another place.\n"
    )
    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]


def test_an_error_of_what_is_saved_stays_what_it_is(tmp_path: Path) -> None:
    def fail() -> None:
        with whole_file(tmp_path / "x.json"):
            raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(ConnectionRefusedError):
        fail()
