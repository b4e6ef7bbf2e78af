"""What of a job is done, on the disk: chunks with a journal while it runs, then parts.

The journal has a line for each file that was finished, written after the file. Whatever is not in
it, or does not have the hash it says, is not done; so a job can be ended at any point, and files
may be damaged or lost, and a rerun does just the rows that are missing.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterpoint.batch.engines.engine import Chunk
from counterpoint.batch.folder import Folder, read_payload, sha256_of, write_part
from counterpoint.batch.summary import TOLD, RowCounts
from counterpoint.errors import Signal


@dataclass(frozen=True)
class Entry:
    """A finished file: its hash, and what its rows are."""

    sha256: str
    counts: RowCounts


class Damaged(Signal):
    """Some chunks of a part are not what they were; they were forgotten."""


class Ledger:
    """Keeps what is done.

    Parameters
    ----------
    folder : Folder
        The job's folder.
    n_rows, part_rows : int
        Rows of the input, and how many of them make a part.
    schema : pyarrow.Schema
        Of the output.
    prefix : str
        Before the names of our own columns.
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

    def recall(self, parts: list[dict[str, Any]]) -> list[str]:
        """Take up what is done: the parts a manifest lists, and what the journal says.

        Every file is held against its hash. Return the names of those that are damaged or gone.
        """
        lost: list[str] = []
        lines = [{"part": k, **part} for k, part in enumerate(parts)] + self._journal_lines()
        latest = {_key_of(line): line for line in lines}
        for part in sorted(key for key in latest if isinstance(key, int)):
            if entry := self._whole(self.part_place(part), latest[part], lost):
                self.parts[part] = entry
        end = 0
        for chunk in sorted(key for key in latest if isinstance(key, Chunk)):
            part, place = chunk.start // self.part_rows, self.chunk_place(chunk)
            if part in self.parts or chunk.start < end:  # its rows are there already
                place.unlink(missing_ok=True)
            elif entry := self._whole(place, latest[chunk], lost):
                self.chunks.setdefault(part, {})[chunk] = entry
                end = chunk.stop
        return lost

    def _whole(self, place: Path, line: dict[str, Any], lost: list[str]) -> Entry | None:
        """Return the entry of a file that has its hash; note one that has not, and take it away."""
        if sha256_of(place) == line["sha256"]:
            return Entry(str(line["sha256"]), RowCounts.read(line["counts"]))
        lost.append(place.name)
        with self.folder.writing():
            place.unlink(missing_ok=True)
        return None

    def _journal_lines(self) -> list[dict[str, Any]]:
        """Return the whole lines of the journal; cut off one that a crash tore."""
        if not self._journal.exists():
            return []
        content = self._journal.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with self.folder.writing():
                os.truncate(self._journal, len(whole))
        lines = []
        for text in whole.splitlines():
            try:
                line = json.loads(text)
                _key_of(line), line["sha256"], RowCounts.read(line["counts"])
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # not what we wrote: its rows are done again
            lines.append(line)
        return lines

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

        Raises
        ------
        Damaged
            If a chunk is not what it was; it is forgotten, so that `missing` has its rows again.
        """
        place, chunks = self.part_place(part), self.chunks[part]
        counts = sum((entry.counts for entry in chunks.values()), RowCounts())
        start, stop = self.rows_of(part)
        assert counts.rows == stop - start, "a part has each of its rows once"
        tables = (self._take(part, chunk) for chunk in sorted(chunks))
        with self.folder.new_file(place) as file:
            write_part(file, tables, self.schema)
        told = counts.written(TOLD)  # a job may have millions of rows that all fail differently
        entry = Entry(sha256_of(place) or "", RowCounts.read(told))
        self._note({"part": part, "sha256": entry.sha256, "counts": told})
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
                "counts": entry.counts.written(TOLD),
            }
            for part, entry in sorted(self.parts.items())
        ]


def _key_of(line: dict[str, Any]) -> int | Chunk:
    """Return what a line of the journal is about: a part, by number, or a chunk."""
    if "part" in line:
        return int(line["part"])
    start, stop = line["chunk"]
    return Chunk(int(start), int(stop))
