"""Parts: the output of a job, as Parquet files whose bytes depend on nothing but their rows.

The same lines in chunks of another size must give the same file. So lines are gathered into row
groups of a fixed size, each in one piece, before Arrow's writer sees them.

The folder of a job: files that are whole or absent, a lock, and a log.

Everything is first written to a temporary name in ``work/``, brought to the disk, and renamed; the
folder is brought to the disk as well. So whatever ends the process, or the machine, a name stands
for a whole file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from counterpoint.checks import require_package
from counterpoint.errors import CannotWrite, CounterpointError, InvalidInput

OURS = re.compile(
    r"chunk-\d+-\d+\.arrow|(chunk-\d+-\d+|part-\d+|manifest)\.tmp|journal\.jsonl|lock"
)
PART = re.compile(r"part-\d+\.parquet")
BLOCK = 2**20


class Folder:
    """Where a job writes, locked against other jobs for as long as it is open.

    Parameters
    ----------
    place : Path
        The folder; it is made if it is not there.

    Raises
    ------
    InvalidInput
        If it is no folder, or another job is at work in it.
    CannotWrite
        If it cannot be written to.
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
            handle = os.open(self.work / "lock", os.O_RDWR | os.O_CREAT, 0o644)
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
                with open(draft, "wb") as file:
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
        with suppress(OSError), open(self.place / "log.jsonl", "ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else "\n" + line  # a line cut by a crash
            file.write(line.encode() + b"\n")

    def strange_parts(self) -> list[str]:
        """Return the names of files we would write over."""
        return sorted(p.name for p in self.place.iterdir() if PART.fullmatch(p.name))

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


def to_disk(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str | None:
    """Return the hash of a file's content; None if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


GROUP = 16_384  # lines in a row group


def write_part(file: BinaryIO, tables: Iterable[Any], schema: Any) -> None:
    """Write tables of Arrow, one after the other, as one Parquet file."""
    pa = require_package("pyarrow", "a batch job", '"counterpoint[cli]"')
    parquet = require_package("pyarrow.parquet", "a batch job", '"counterpoint[cli]"')
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
    """Return the table an engine's answer holds; ``pyarrow.ArrowInvalid`` if it is damaged."""
    pa = require_package("pyarrow", "a batch job", '"counterpoint[cli]"')
    table = pa.ipc.open_stream(pa.BufferReader(payload)).read_all()
    return table.replace_schema_metadata(None).cast(schema)
