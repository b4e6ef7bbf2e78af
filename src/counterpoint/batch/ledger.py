"""What of a job is done, on the disk: its folder, chunks with a journal while it runs, then parts.

Everything is first written to a temporary name in ``work/``, brought to the disk, and renamed; the
folder is brought to the disk as well. So whatever ends the process, or the machine, a name stands
for a whole file. The journal has a line for each file that was finished, written after the file.
Whatever is not in it, or does not have the hash it says, is not done; so a job can be ended at any
point, and files may be damaged or lost, and a rerun does just the rows that are missing.

The bytes of a Parquet file depend on nothing but its rows: lines are gathered into row groups of a
fixed size before they are written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from counterpoint.batch.engines.engine import Chunk
from counterpoint.batch.inputs import arrow
from counterpoint.batch.rows import MOST_COUNTED, RowCounts
from counterpoint.errors import CannotWrite, CounterpointError, InvalidInput, Signal
from counterpoint.result.file.document import Node

OURS = re.compile(
    r"chunk-\d+-\d+\.arrow|(chunk-\d+-\d+|part-\d+|manifest)\.tmp|journal\.jsonl|lock"
)
PART = re.compile(r"part-\d+\.parquet")
FORMAT, NAME = "counterpoint batch", "manifest.json"


class Folder:
    """Where a job writes, locked against other jobs for as long as it is open.

    It is made if it is not there. Raises InvalidInput if it is no folder, or another job is at work
    in it, CannotWrite if it cannot be written to.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.work = place, place / "work"
        if place.exists() and not place.is_dir():
            raise InvalidInput(f"out {str(place)!r} is a file; give the name of a folder.")
        with self.writing():
            self.work.mkdir(parents=True, exist_ok=True)
            self._lock = self._locked()

    def _locked(self) -> int:
        """Take the lock, which the kernel drops when the process ends, however it does."""
        import fcntl

        while True:
            handle = here(self.work / "lock", os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                raise InvalidInput(
                    f"another job is at work in out {str(self.place)!r}; wait for it, or give "
                    "another folder."
                ) from None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(self.work / "lock")):
                    return handle
            os.close(handle)  # the other job ended and took the file away: once more
            self.work.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Say what to do where the disk is full or may not be written to."""
        try:
            yield
        except CounterpointError:
            raise
        except OSError as error:
            told = error.strerror or str(error).strip().partition("\n")[0]
            raise CannotWrite(
                f"cannot write to out {str(self.place)!r}: {told}. What is done is kept; once "
                "that is mended, the same command goes on."
            ) from error

    @contextmanager
    def new_file(self, place: Path) -> Iterator[BinaryIO]:
        """Open a file to write to that gets its name when it is whole and on the disk."""
        draft = self.work / f"{place.stem}.tmp"
        with self.writing():
            try:
                with open(draft, "wb", opener=here) as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, place)
                to_disk(place.parent)
            except BaseException:
                with suppress(OSError):
                    draft.unlink()
                raise

    def write(self, place: Path, content: bytes) -> None:
        """Write a file whole or not at all."""
        with self.new_file(place) as file:
            file.write(content)

    def log(self, event: str, **about: Any) -> None:
        """Add a line to the log; it is for people, so the job does not depend on it."""
        line = json.dumps({"time": datetime.now(UTC).isoformat(), "event": event, **about})
        log = self.place / "log.jsonl"
        with suppress(OSError), open(log, "ab+", opener=here) as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else "\n" + line  # a line cut by a crash
            file.write(line.encode() + b"\n")

    def forget_work(self) -> None:
        """Take away what our work left in ``work/``, but for the lock; nothing of others."""
        for path in self.work.iterdir():
            if OURS.fullmatch(path.name) and path.name != "lock":
                path.unlink()

    def close(self, *, is_done: bool = False) -> None:
        """Give up the lock; take ``work/`` away if the job is done."""
        if is_done:
            with suppress(OSError):
                self.forget_work()
                (self.work / "lock").unlink()
                self.work.rmdir()
                to_disk(self.place)
        os.close(self._lock)


def here(name: str | os.PathLike[str], flags: int) -> int:
    """Open a file of a folder, and none elsewhere that a link in it names; an `OSError` if so."""
    return os.open(name, flags | os.O_NOFOLLOW, 0o666)


def to_disk(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str | None:
    """Return the hash of a file's content; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


GROUP = 16_384  # lines in a row group


def write_part(file: BinaryIO, tables: Iterable[Any], schema: Any) -> None:
    """Write tables of Arrow, one after the other, as one Parquet file."""
    pa, parquet = arrow(), arrow("pyarrow.parquet")
    writer = parquet.ParquetWriter(
        file, schema, version="2.6", compression="zstd", write_page_checksum=True
    )
    try:
        waiting = pa.Table.from_batches([], schema)
        for table in tables:
            waiting = pa.concat_tables([waiting, table])
            while waiting.num_rows >= GROUP:
                writer.write_table(waiting.slice(0, GROUP).combine_chunks(), row_group_size=GROUP)
                waiting = waiting.slice(GROUP)
        if waiting.num_rows:
            writer.write_table(waiting.combine_chunks(), row_group_size=GROUP)
    finally:
        writer.close()


def read_payload(payload: bytes, schema: Any) -> Any:
    """Return the table an engine's answer holds, as `packed` made it; `ValueError` if damaged."""
    pa = arrow()
    size = hashlib.sha256().digest_size
    content, digest = payload[:-size], payload[-size:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError("the answer is not what its worker sent")
    table = pa.ipc.open_stream(pa.BufferReader(content)).read_all()
    return table.replace_schema_metadata(None).cast(schema)


def read_manifest(place: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder; None if it has none."""
    file = place / NAME
    if not file.exists():
        return None
    with refused_manifest(place):
        document: dict[str, Any] = json.loads(file.read_bytes())
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            Node(document).refuse(f"an object with the format {FORMAT!r}")
        for entry in Node(document.get("inputs"), "$.inputs").items():
            name, rows, fingerprint = entry.fields("name", "rows", "fingerprint")
            name.text()
            rows.whole(0, MOST_COUNTED)
            fingerprint.text()
    return document


@contextmanager
def refused_manifest(place: Path) -> Iterator[None]:
    """Say of a manifest that it is none of ours, and why."""
    try:
        yield
    except (OSError, ValueError, RecursionError) as error:  # what is refused is a ValueError
        told = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(
            f"{str(place / NAME)!r} is not the manifest of a batch job ({told}), so out "
            f"{str(place)!r} may hold something else; give another folder."
        ) from error


def write_manifest(document: dict[str, Any]) -> bytes:
    """Return the bytes of a manifest."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


TOLD = 10  # different messages that are kept of a part; there may be one for every row


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
        with self.folder.writing(), open(self._journal, "ab", opener=here) as file:
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
