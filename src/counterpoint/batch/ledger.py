"""What of a job is done, on the disk: chunks with a journal while it runs, then parts.

The journal has a line for each file that was finished, written after the file. Whatever is not in
it, or does not have the hash it says, is not done; so a job can be ended at any point, and files
may be damaged or lost, and a rerun does just the rows that are missing. `RowCounts` say how many
rows of a chunk, of a part or of the whole job had which outcome.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from counterpoint.batch.engines.engine import Chunk
from counterpoint.batch.folder import (
    MOST_COUNTED,
    Folder,
    read_payload,
    sha256_of,
    write_part,
)
from counterpoint.checks import require_package
from counterpoint.errors import Signal
from counterpoint.result.file.document import Node

TOLD = 10  # different messages that are kept of a part; there may be one for every row
COUNTED = ["counterfactual", "status", "message", "evaluations"]
TOLD_OF = {
    "found": "found",
    "already_met": "reach the target already",
    "best_effort": "best effort: nothing that was tried reaches the target",
    "infeasible": "infeasible: all that is allowed was tried, and nothing reaches the target",
    "failed": "failed",
}


@dataclass
class RowCounts:
    """Rows by status, and what they took.

    Examples
    --------
    >>> one = RowCounts(2, 5, 400, Counter(found=2))
    >>> both = one + RowCounts(1, 1, 0, Counter(failed=1), Counter({"no such level": 1}))
    >>> both.rows, dict(both.statuses)
    (3, {'found': 2, 'failed': 1})
    """

    rows: int = 0  # rows of the input
    # rows of the output: a row of the input has one for each counterfactual, and at least one
    lines: int = 0
    evaluations: int = 0  # how often the model was asked
    # rows of the input by what became of them
    statuses: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)  # why rows failed

    @classmethod
    def of(cls, table: Any, prefix: str) -> RowCounts:
        """Count a table that `explain_rows` made."""
        compute = require_package("pyarrow.compute", "a batch job", '"counterpoint[cli]"')
        own = table.select([f"{prefix}{name}" for name in COUNTED]).rename_columns(COUNTED)
        first = own.filter(compute.less_equal(own["counterfactual"], 1))  # one line of each row
        failed = first.filter(compute.equal(first["status"], "failed"))
        return cls(
            rows=first.num_rows,
            lines=own.num_rows,
            evaluations=compute.sum(first["evaluations"]).as_py() or 0,
            statuses=Counter(first["status"].to_pylist()),
            messages=Counter(failed["message"].to_pylist()),
        )

    def __add__(self, other: RowCounts) -> RowCounts:
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return RowCounts(*(own + theirs for own, theirs in pairs))

    @property
    def failed(self) -> int:
        """Rows that could not be explained."""
        return self.statuses["failed"]

    def frequent(self, n: int | None) -> list[tuple[str, int]]:
        """Return the most frequent messages, ties in the order of the alphabet."""
        return sorted(self.messages.items(), key=lambda item: (-item[1], item[0]))[:n]

    def written(self) -> dict[str, Any]:
        """Return it as JSON holds it, the same for the same rows."""
        return {
            "rows": self.rows,
            "lines": self.lines,
            "evaluations": self.evaluations,
            "statuses": dict(sorted(self.statuses.items())),
            "messages": dict(self.frequent(None)),
        }

    @classmethod
    def read(cls, written: Node, n_rows: int) -> RowCounts:
        """Return what `written` wrote of so many rows; refuse what it cannot have written."""
        keys = ("rows", "lines", "evaluations", "statuses", "messages")
        rows, lines, evaluations, statuses, messages = written.fields(*keys)
        by_status = _counter(statuses, n_rows)
        if not by_status.keys() <= TOLD_OF.keys() or by_status.total() != n_rows:
            statuses.refuse(f"how many of {n_rows} rows had which outcome")
        by_message = _counter(messages, n_rows)
        if by_message.total() > by_status["failed"]:
            messages.refuse(f"why {by_status['failed']} rows failed")
        return cls(
            rows.whole(n_rows, n_rows),
            lines.whole(n_rows, MOST_COUNTED),
            evaluations.whole(0, MOST_COUNTED),
            by_status,
            by_message,
        )


def _counter(node: Node, most: int) -> Counter[str]:
    """Return how often there was what."""
    counts = node.fields(*node.value) if isinstance(node.value, dict) else node.fields()
    return Counter({key: n.whole(1, most) for key, n in zip(node.value, counts, strict=True)})


@dataclass(frozen=True)
class Entry:
    """A finished file: its hash, and what its rows are."""

    sha256: str
    counts: RowCounts


class Damaged(Signal):
    """Some chunks of a part are not what they were; they were forgotten."""


class Ledger:
    """Keeps what is done.

    `part_rows` rows of the input make a part; `schema` is of the output, and `prefix` stands before
    the names of our own columns.
    """

    def __init__(
        self, folder: Folder, n_rows: int, part_rows: int, schema: Any, prefix: str
    ) -> None:
        self.folder, self.n_rows, self.part_rows = folder, n_rows, part_rows
        self.schema, self.prefix = schema, prefix
        self.parts: dict[int, Entry] = {}
        self.chunks: dict[int, dict[Chunk, Entry]] = {}
        self._journal = folder.work / "journal.jsonl"

    @property
    def n_parts(self) -> int:
        """How many parts the output has."""
        return -(-self.n_rows // self.part_rows)

    def rows_of(self, part: int) -> Chunk:
        """Return the rows of a part."""
        start = part * self.part_rows
        return Chunk(start, min(start + self.part_rows, self.n_rows))

    def part_place(self, part: int) -> Path:
        """Return where a part is written to."""
        return self.folder.place / f"part-{part:05d}.parquet"

    def chunk_place(self, chunk: Chunk) -> Path:
        """Return where a chunk is kept until its part is written."""
        return self.folder.work / f"chunk-{chunk.start}-{chunk.stop}.arrow"

    def recall(self, listed: dict[int, Entry]) -> list[str]:
        """Take up what is done: the parts a manifest lists, and what the journal says.

        Every file is held against its hash. Return the names of those that are damaged or gone.
        """
        lost: list[str] = []
        latest = self._journal_entries()
        for part, entry in listed.items():
            latest.setdefault(part, entry)
        for part in sorted(key for key in latest if isinstance(key, int)):
            if self._is_whole(self.part_place(part), latest[part], lost):
                self.parts[part] = latest[part]
        end = 0
        for chunk in sorted(key for key in latest if isinstance(key, Chunk)):
            part, place = chunk.start // self.part_rows, self.chunk_place(chunk)
            if part in self.parts or chunk.start < end:  # its rows are there already
                place.unlink(missing_ok=True)
            elif self._is_whole(place, latest[chunk], lost):
                self.chunks.setdefault(part, {})[chunk] = latest[chunk]
                end = chunk.stop
        return lost

    def _is_whole(self, place: Path, entry: Entry, lost: list[str]) -> bool:
        """Whether a file has its hash; one that has not is noted and taken away."""
        if sha256_of(place) == entry.sha256:
            return True
        lost.append(place.name)
        with self.folder.writing():
            place.unlink(missing_ok=True)
        return False

    def listed(self, parts: Node) -> dict[int, Entry]:
        """Return the parts a manifest lists, which are all there are."""
        entries = {}
        for part, node in enumerate(parts.items(self.n_parts)):
            name, digest, counts = node.fields("name", "sha256", "counts")
            name.one_of({self.part_place(part).name})
            entries[part] = _entry(digest, counts, self.rows_of(part))
        return entries

    def _journal_entries(self) -> dict[int | Chunk, Entry]:
        """Return what the whole lines of the journal say; cut off one that a crash tore."""
        if not self._journal.exists():
            return {}
        content = self._journal.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with self.folder.writing():
                os.truncate(self._journal, len(whole))
        entries: dict[int | Chunk, Entry] = {}
        for text in whole.splitlines():
            with suppress(ValueError, RecursionError):  # not what we wrote: its rows are done again
                key, entry = self._read_line(Node(json.loads(text)))
                entries[key] = entry
        return entries

    def _read_line(self, line: Node) -> tuple[int | Chunk, Entry]:
        """Return what a line of the journal is about, a part, by number, or a chunk; and what."""
        if isinstance(line.value, dict) and "part" in line.value:
            number, digest, counts = line.fields("part", "sha256", "counts")
            part = number.whole(0, self.n_parts - 1)
            return part, _entry(digest, counts, self.rows_of(part))
        rows, digest, counts = line.fields("chunk", "sha256", "counts")
        start, stop = rows.items(2)
        first = start.whole(0, self.n_rows - 1)
        chunk = Chunk(first, stop.whole(first + 1, self.rows_of(first // self.part_rows).stop))
        return chunk, _entry(digest, counts, chunk)

    def missing(self, part: int) -> list[Chunk]:
        """Return the stretches of rows of a part that are not done.

        Examples
        --------
        Of ten rows, 2 to 5 are done::

            [Chunk(start=0, stop=2), Chunk(start=5, stop=10)]
        """
        if part in self.parts:
            return []
        start, stop = self.rows_of(part)
        gaps = []
        for done in sorted(self.chunks.get(part, {})):
            if start < done.start:
                gaps.append(Chunk(start, done.start))
            start = max(start, done.stop)
        return [*gaps, Chunk(start, stop)] if start < stop else gaps

    def counts(self) -> RowCounts:
        """Return what became of the rows that are done."""
        chunks = (entry for done in self.chunks.values() for entry in done.values())
        return sum((entry.counts for entry in (*self.parts.values(), *chunks)), RowCounts())

    def check(self, chunk: Chunk, payload: bytes) -> RowCounts | None:
        """Count a chunk's answer; None if it is damaged or not about just these rows."""
        try:
            table = read_payload(payload, self.schema)
        except (ValueError, OSError, KeyError):  # ArrowInvalid is a ValueError
            return None
        rows = table.column(f"{self.prefix}row").unique().to_pylist()
        return RowCounts.of(table, self.prefix) if rows == list(range(*chunk)) else None

    def keep(self, chunk: Chunk, payload: bytes, counts: RowCounts) -> None:
        """Keep a chunk's answer; if it is the last of its part, write the part."""
        self.folder.write(self.chunk_place(chunk), payload)
        entry = Entry(hashlib.sha256(payload).hexdigest(), counts)
        self._note({"chunk": list(chunk), "sha256": entry.sha256, "counts": counts.written()})
        part = chunk.start // self.part_rows
        self.chunks.setdefault(part, {})[chunk] = entry

    def finish(self, part: int) -> None:
        """Write a part whose rows are all done, and let its chunks go.

        Raises Damaged if a chunk is not what it was; it is forgotten, so that `missing` has its
        rows again.
        """
        place, chunks = self.part_place(part), self.chunks[part]
        counts = sum((entry.counts for entry in chunks.values()), RowCounts())
        start, stop = self.rows_of(part)
        assert counts.rows == stop - start, "a part has each of its rows once"
        tables = (self._take(part, chunk) for chunk in sorted(chunks))
        with self.folder.new_file(place) as file:
            write_part(file, tables, self.schema)
        # A job may have millions of rows that all fail differently.
        told = replace(counts, messages=Counter(dict(counts.frequent(TOLD))))
        entry = Entry(sha256_of(place) or "", told)
        self._note({"part": part, "sha256": entry.sha256, "counts": told.written()})
        self.parts[part] = entry
        for chunk in self.chunks.pop(part):
            self.chunk_place(chunk).unlink(missing_ok=True)

    def _take(self, part: int, chunk: Chunk) -> Any:
        """Return a chunk that is held against its hash."""
        place = self.chunk_place(chunk)
        content = place.read_bytes() if place.exists() else b""
        if hashlib.sha256(content).hexdigest() != self.chunks[part][chunk].sha256:
            del self.chunks[part][chunk]
            raise Damaged(place.name)
        return read_payload(content, self.schema)

    def _note(self, line: dict[str, Any]) -> None:
        """Add a line to the journal and bring it to the disk."""
        with self.folder.writing(), open(self._journal, "ab") as file:
            file.write(json.dumps(line, sort_keys=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def written(self) -> list[dict[str, Any]]:
        """Return the parts as the manifest lists them."""
        return [
            {
                "name": self.part_place(part).name,
                "sha256": entry.sha256,
                "counts": entry.counts.written(),
            }
            for part, entry in sorted(self.parts.items())
        ]


def _entry(digest: Node, counts: Node, rows: Chunk) -> Entry:
    """Return what is written of a file with the answers of some rows."""
    return Entry(digest.text(), RowCounts.read(counts, rows.stop - rows.start))
