"""A file is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterpoint.table.files import whole_file


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
