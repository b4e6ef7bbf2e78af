"""The folder of a job: files that are whole or absent, a lock, a log, and a manifest."""

from __future__ import annotations

import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from counterpoint.batch.ledger import (
    FORMAT,
    GROUP,
    NAME,
    Folder,
    read_manifest,
    read_payload,
    sha256_of,
    write_manifest,
    write_part,
)
from counterpoint.errors import CannotWrite, InvalidInput

SCHEMA = pa.schema({"row": pa.int64()})
INPUTS = [{"name": "a.csv", "rows": 3, "fingerprint": "f"}]


def test_lines_cut_anyhow_give_the_same_file() -> None:
    table = pa.table([[row // 2 for row in range(2 * GROUP)]], schema=SCHEMA)
    files = []
    for size in (GROUP, 1000, 2 * GROUP):
        files.append(io.BytesIO())
        pieces = (table.slice(i, size) for i in range(0, table.num_rows, size))
        write_part(files[-1], pieces, SCHEMA)

    assert files[0].getvalue() == files[1].getvalue() == files[2].getvalue()


def test_a_second_job_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    first = Folder(tmp_path)

    with pytest.raises(InvalidInput, match="another job is at work in out"):
        Folder(tmp_path)

    first.close(is_done=True)
    assert not first.work.exists()
    Folder(tmp_path).close()


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write(tmp_path / "a.json", b"old")

    def half() -> None:
        with folder.new_file(tmp_path / "a.json") as file:
            file.write(b"new, but only ha")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()

    assert (tmp_path / "a.json").read_bytes() == b"old"
    assert not list(folder.work.glob("*.tmp"))


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CannotWrite, match=r"cannot write to out '.*': Not a directory"):
        Folder(tmp_path / "file" / "out")


def test_the_log_bears_a_torn_line(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.log("start", rows=3)
    with open(tmp_path / "log.jsonl", "ab") as file:
        file.write(b'{"torn')

    folder.log("end")

    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in (lines[0], lines[2])] == ["start", "end"]


def test_what_others_left_in_the_work_is_left_there(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for name in ("chunk-0-3.arrow", "part-0.tmp", "journal.jsonl", "notes.txt"):
        (folder.work / name).write_bytes(b"")

    folder.forget_work()

    assert sorted(path.name for path in folder.work.iterdir()) == ["lock", "notes.txt"]


def test_links_in_the_folder_lead_nowhere(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("precious")
    folder = Folder(tmp_path / "out")
    (folder.place / "log.jsonl").symlink_to(other)
    (folder.work / "manifest.tmp").symlink_to(other)

    folder.log("start")
    with pytest.raises(CannotWrite, match=r"cannot write to out '.*out': Too many levels of symb"):
        folder.write(folder.place / NAME, b"{}")
    folder.write(folder.place / NAME, b"{}")  # the link was taken away
    folder.close()

    assert other.read_text() == "precious"
    (folder.work / "lock").unlink()
    (folder.work / "lock").symlink_to(other)
    with pytest.raises(CannotWrite):
        Folder(tmp_path / "out")


def test_the_hash_of_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)

    assert sha256_of(tmp_path / "a") == sha256(b"x" * 3_000_000).hexdigest()
    assert sha256_of(tmp_path / "b") is None


@pytest.mark.parametrize("place", [0, 30, -1])
def test_an_answer_that_was_changed_on_its_way_is_refused(place: int) -> None:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_table(pa.table([[1, 2]], schema=SCHEMA))
    sent = sink.getvalue() + sha256(sink.getvalue()).digest()
    assert read_payload(sent, SCHEMA)["row"].to_pylist() == [1, 2]
    changed = bytearray(sent)
    changed[place] ^= 1

    with pytest.raises(ValueError, match="the answer is not what its worker sent"):
        read_payload(bytes(changed), SCHEMA)


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    document = {"format": FORMAT, "inputs": INPUTS, "größe": 1}
    assert read_manifest(tmp_path) is None
    (tmp_path / NAME).write_bytes(write_manifest(document))

    assert read_manifest(tmp_path) == document


@pytest.mark.parametrize(
    "document", [[], {"format": "other"}, {"format": FORMAT}, {"format": FORMAT, "inputs": [{}]}]
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, document: Any) -> None:
    (tmp_path / NAME).write_text(json.dumps(document))

    with pytest.raises(InvalidInput, match=r"manifest.json' is not the manifest of a batch job"):
        read_manifest(tmp_path)
