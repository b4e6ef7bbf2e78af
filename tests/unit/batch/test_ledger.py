"""What is done, on the disk: parts of fixed bytes, a journal, a lock, and a log."""

from __future__ import annotations

import io
import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest

from counterpoint.batch.engines.engine import Chunk
from counterpoint.batch.ledger import Damaged, Folder, Ledger
from counterpoint.batch.rows import RowCounts

SCHEMA = pa.schema(
    {
        "row": pa.int64(),
        "counterfactual": pa.int64(),
        "status": pa.string(),
        "message": pa.string(),
        "evaluations": pa.int64(),
    }
)


def answer(start: int, stop: int, lines: int = 2) -> bytes:
    """Return what an engine answers for rows, with some lines for each."""
    rows = [row for row in range(start, stop) for _ in range(lines)]
    n = len(rows)
    table = pa.table(
        [rows, [1 + i % lines for i in range(n)], ["found"] * n, [""] * n, [10] * n], schema=SCHEMA
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_table(table)
    return sink.getvalue() + sha256(sink.getvalue()).digest()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Return an empty ledger of 10 rows in parts of 6."""
    return Ledger(Folder(tmp_path), 10, 6, SCHEMA, "")


def keep(ledger: Ledger, start: int, stop: int) -> None:
    """Keep the answer for some rows."""
    payload = answer(start, stop)
    counts = ledger.check(Chunk(start, stop), payload)
    assert counts is not None
    ledger.keep(Chunk(start, stop), payload, counts)


def reopened(ledger: Ledger) -> Ledger:
    """Return a ledger that a new process has of the same folder."""
    ledger.folder.close()
    again = Ledger(Folder(ledger.folder.place), 10, 6, SCHEMA, "")
    again.lost = again.recall({})  # type: ignore[attr-defined]
    return again


def test_what_is_missing(ledger: Ledger) -> None:
    keep(ledger, 2, 4)

    assert ledger.missing(0) == [Chunk(0, 2), Chunk(4, 6)]
    assert ledger.missing(1) == [Chunk(6, 10)]
    assert ledger.counts().rows == 2


def test_a_finished_part_has_its_chunks_rows_and_they_are_gone(ledger: Ledger) -> None:
    keep(ledger, 3, 6)
    keep(ledger, 0, 3)

    ledger.finish(0)

    assert ledger.missing(0) == []
    assert not list(ledger.folder.work.glob("chunk-*"))
    assert ledger.counts() == RowCounts(6, 12, 60, Counter(found=6))
    assert reopened(ledger).missing(0) == []


def test_a_chunk_that_covers_rows_already_there_is_not_taken_up_twice(ledger: Ledger) -> None:
    keep(ledger, 0, 4)
    keep(ledger, 2, 6)

    again = reopened(ledger)

    assert again.missing(0) == [Chunk(4, 6)]
    assert not again.chunk_place(Chunk(2, 6)).exists()


def test_a_chunk_that_is_damaged_while_the_job_runs_is_missing_again(ledger: Ledger) -> None:
    keep(ledger, 0, 3)
    keep(ledger, 3, 6)
    ledger.chunk_place(Chunk(3, 6)).write_bytes(b"damaged")

    with pytest.raises(Damaged, match=r"chunk-3-6.arrow"):
        ledger.finish(0)

    assert ledger.missing(0) == [Chunk(3, 6)]
    assert not ledger.part_place(0).exists()


@pytest.mark.parametrize(
    "payload", [b"", b"nonsense", answer(0, 3)[:-40], answer(0, 2), answer(1, 4), answer(0, 4)]
)
def test_answers_that_are_not_about_just_these_rows(ledger: Ledger, payload: bytes) -> None:
    assert ledger.check(Chunk(0, 3), payload) is None


def test_whatever_bit_of_an_answer_is_flipped_it_is_done_again(ledger: Ledger) -> None:
    """Arrow would believe it: some numbers would be others, and some flips end the process."""
    whole = answer(0, 3)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8

        assert ledger.check(Chunk(0, 3), bytes(damaged)) is None


def test_a_torn_line_is_cut_off(ledger: Ledger) -> None:
    keep(ledger, 0, 3)
    journal = ledger.folder.work / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole[:-1])  # as whole as a line without its end can be

    again = reopened(ledger)

    assert journal.read_bytes() == whole
    assert again.missing(0) == [Chunk(3, 6)]


COUNTS = RowCounts(3, 6, 30, Counter(found=3)).written()


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b"null",
        b'{"chunk": [0, 3]}',
        json.dumps({"chunk": [0, 3], "sha256": None, "counts": COUNTS}).encode(),
        json.dumps({"chunk": [0, 10**30], "sha256": "", "counts": COUNTS}).encode(),
        json.dumps({"chunk": [-3, 0], "sha256": "", "counts": COUNTS}).encode(),
        json.dumps({"part": 10**30, "sha256": None, "counts": COUNTS}).encode(),
        json.dumps({"part": 0, "sha256": None, "counts": COUNTS | {"rows": 6}}).encode(),
    ],
    ids=lambda line: line[:30].decode(),
)
def test_lines_that_nobody_wrote_are_skipped(ledger: Ledger, line: bytes) -> None:
    """A file that is not there has no hash, and no hash is that of no file."""
    keep(ledger, 0, 3)
    journal = ledger.folder.work / "journal.jsonl"
    journal.write_bytes(line + b"\n" + journal.read_bytes())

    again = reopened(ledger)

    assert again.missing(0) == [Chunk(3, 6)]
    assert again.counts().rows == 3
