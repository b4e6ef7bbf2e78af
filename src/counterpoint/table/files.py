"""Tables in files, read by their ending; files held to what they were; files of ours, whole."""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import os
import re
import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
from pandas.errors import EmptyDataError, ParserError, ParserWarning

from counterpoint.checks import require_package
from counterpoint.errors import CannotWrite, CounterpointError, InvalidInput, NoSuchFile

Pathlike = str | os.PathLike[str]
BLOCK = 2**18  # bytes that have a hash of their own
HASH = 16  # bytes of that hash: 64 for a mebibyte
DAMAGED = "it may be damaged or cut off"
# What to do about a file that is none of ours, by the error: the first kind that fits.
HINTS: dict[type[Exception], str] = {
    UnicodeDecodeError: "save it as UTF-8",
    EmptyDataError: "it is empty: write a line with the names of the columns, and the rows",
    ParserError: "separate its columns by commas, name each in the first line and put texts with "
    "commas in double quotes, unless it is cut off",
}
READERS = {".csv": "read_csv", ".parquet": "read_parquet", ".feather": "read_feather"}


def read_content(source: Any, ending: str, said: str) -> pd.DataFrame:
    """Return the table in a file.

    `ending` is a key of `READERS`; `said` is what the file is called in errors: the argument and
    its name. Raises InvalidInput if it cannot be read, MissingDependency if the package that reads
    such files is not installed.
    """
    if ending != ".csv":
        require_package("pyarrow", f"a {ending} file", '"counterpoint[parquet]"')
    with refused_if_damaged(said, ending):
        return read_frame(source, ending)


def read_frame(source: Any, ending: str) -> pd.DataFrame:
    """Return the table in a file; refuse CSV that would be read as another table than it is.

    Where lines have more cells than the first has names, pandas by itself takes the first column
    for an index, and every name stands above its neighbour's values.
    """
    if ending != ".csv":
        table: pd.DataFrame = getattr(pd, READERS[ending])(source)
        return table
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            table = pd.read_csv(source, index_col=False)
    except ParserWarning as error:
        raise ParserError("its lines have more cells than the first line has names") from error
    if len(table.columns) == 1 and re.search(r"[;\t|]", name := str(table.columns[0])):
        raise ParserError(f"it has one column, {name!r}")
    return table


@contextmanager
def refused_if_damaged(said: str, ending: str) -> Iterator[None]:
    """Name the file whose content cannot be read."""
    try:
        yield
    except (MemoryError, InvalidInput, ImportError):
        raise
    except Exception as error:  # of a damaged file, of whatever kind
        told = str(error).strip().partition("\n")[0]
        hint = next((hint for kind, hint in HINTS.items() if isinstance(error, kind)), DAMAGED)
        raise InvalidInput(
            f"{said} cannot be read as {ending[1:]} ({type(error).__name__}: {told}); {hint}."
        ) from error


@dataclass(frozen=True)
class Seal:
    """What a file held when the job began, so that what is read of it later can be compared."""

    fingerprint: str  # the hash of all its bytes, which is the same wherever the file is kept
    size: int  # how many they are
    blocks: bytes  # a hash of each block, one after the other

    @classmethod
    def of(cls, file: Any) -> Seal:
        """Read an open file from end to end."""
        whole, blocks, size = hashlib.sha256(), bytearray(), 0
        while block := file.read(BLOCK):
            whole.update(block)
            blocks += _hash(block)
            size += len(block)
        return cls(f"sha256:{whole.hexdigest()}", size, bytes(blocks))


def _hash(block: bytes) -> bytes:
    return hashlib.blake2b(block, digest_size=HASH).digest()


class SealedFile(io.RawIOBase):
    """A file of which no byte is handed on that was not there when it was sealed.

    `said` is what it is called in errors.
    """

    def __init__(self, file: Any, seal: Seal, said: str) -> None:
        self._file, self._seal, self._said = file, seal, said
        self._at = 0

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def seekable(self) -> bool:
        """Whether it can be read from any place: yes."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + (0, self._at, self._seal.size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read up to the end of a block, and compare all of the block."""
        i, skipped = divmod(self._at, BLOCK)
        if self._at >= self._seal.size:
            return 0
        self._file.seek(i * BLOCK)
        block = self._file.read(min(BLOCK, self._seal.size - i * BLOCK))
        if _hash(block) != self._seal.blocks[i * HASH : (i + 1) * HASH]:
            raise InvalidInput(
                f"{self._said} was changed while the job ran: its bytes from {i * BLOCK:,} on are "
                "not those it began with. What is done is kept; put it back as it was, and the "
                "same command goes on, or give another out for a job of the file as it is now."
            )
        piece = block[skipped : skipped + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        super().close()


def write_whole(path: Pathlike, content: bytes) -> None:
    """Write a file in one step; see `whole_file`."""
    with whole_file(path) as file:
        file.write(content)


def write_csv(frame: pd.DataFrame, path: Pathlike | None) -> str | None:
    """Write a frame as comma-separated values in UTF-8, in one step; without a path return it."""
    text = frame.to_csv(index=False, lineterminator="\n")
    if path is None:
        return text
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{check_path(path)!r} cannot be written: UTF-8 has no place for "
            f"{text[error.start]!r}, a lone half of a character; replace it in the data."
        ) from error
    write_whole(path, content)
    return None


@contextmanager
def whole_file(path: Pathlike) -> Iterator[BinaryIO]:
    """Open a file to write to: its name stands for the old content or the new, never for a part."""
    name = check_path(path)
    with _told(name):
        place = Path(os.path.realpath(name))  # a link stays a link
        if not place.parent.is_dir():
            raise NoSuchFile(
                f"there is no folder {str(place.parent)!r} to save into; make it first."
            )
        if place.is_dir():
            raise InvalidInput(f"{name!r} is a folder; give the name of a file in it.")
        if place.exists() and not place.is_file():
            raise InvalidInput(f"{name!r} is a device or a pipe; give the name of a file.")
        file = _new_draft(place.parent)
    draft = Path(file.name)
    try:
        with _told(name, DISK), file:
            yield file
            with _told(name):
                file.flush()
                os.fsync(file.fileno())
        with _told(name):
            if place.exists():
                shutil.copymode(place, draft)
            os.replace(draft, place)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


# What a disk may say to whoever writes to it.
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
OLD = 3600.0  # seconds since somebody wrote to a draft, after which it may be taken away


@contextmanager
def _told(name: str, codes: Sequence[int] | None = None) -> Iterator[None]:
    """Say that a file cannot be written, and why; of some errors of the system, or all."""
    try:
        yield
    except OSError as error:
        if isinstance(error, CounterpointError) or not (codes is None or error.errno in codes):
            raise
        raise CannotWrite(
            f"cannot write {name!r}: {error.strerror or error}. What was there before is still "
            "there; make room, or give another place."
        ) from error


def _new_draft(folder: Path) -> BinaryIO:
    """Open a draft in a folder, locked while it is open; take away those of saves that died.

    Drafts are numbered, so that none has to be looked for, and no name of a file is too long.
    """
    opened: BinaryIO | None = None
    for number in itertools.count():
        draft = folder / f".counterpoint-{number}"
        _forget_if_dead(draft)
        if opened is None:
            with suppress(FileExistsError):  # of a save at work, or one that died not long ago
                opened = open(draft, "x+b")  # noqa: SIM115 - the caller closes it
                with suppress(OSError):  # some file systems have no locks
                    _lock(opened.fileno())
        elif not os.path.lexists(draft):
            return opened
    raise AssertionError("numbers do not end")


def _forget_if_dead(draft: Path) -> None:
    """Remove a draft that is old and that no process holds."""
    with suppress(OSError):
        if time.time() - draft.lstat().st_mtime < OLD:
            return
        handle = os.open(draft, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            _lock(handle)
            if os.path.samestat(os.fstat(handle), draft.lstat()):  # nobody else did it meanwhile
                draft.unlink()
        finally:
            os.close(handle)


def _lock(handle: int) -> None:
    """Lock an open file until it is closed; an `OSError` if another process has it."""
    with suppress(ImportError):  # on Windows, a file that is open cannot be removed
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def check_path(path: object) -> str:
    """Return the path as text; refuse what names no file."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise InvalidInput(f"path must be the name of a file, got {path!r}.")
    return name
