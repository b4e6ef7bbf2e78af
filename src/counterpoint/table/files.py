"""Tables in files, read by their ending; and files of ours, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput, NoSuchFile

Pathlike = str | os.PathLike[str]
READERS = {".csv": "read_csv", ".parquet": "read_parquet", ".feather": "read_feather"}


def read_content(source: Any, ending: str, said: str) -> pd.DataFrame:
    """Return the table in a file.

    Parameters
    ----------
    source : path or open file
        What is read.
    ending : str
        What kind of file it is: a key of `READERS`.
    said : str
        What it is called in errors: the argument and the file's name.

    Raises
    ------
    InvalidInput
        If it cannot be read.
    MissingDependency
        If the package that reads such files is not installed.
    """
    if ending != ".csv":
        require_package("pyarrow", f"a {ending} file", '"counterpoint[parquet]"')
    with refused_if_damaged(said, ending):
        table: pd.DataFrame = getattr(pd, READERS[ending])(source)
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
        raise InvalidInput(
            f"{said} cannot be read as {ending[1:]} ({type(error).__name__}: {told}); it may be "
            "damaged or cut off."
        ) from error


def write_whole(path: Pathlike, content: bytes) -> None:
    """Write a file in one step; see `whole_file`."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: Pathlike) -> Iterator[BinaryIO]:
    """Open a file to write to: its name stands for the old content or the new, never for a part."""
    place = Path(os.path.realpath(check_path(path)))  # a link stays a link
    if not place.parent.is_dir():
        raise NoSuchFile(f"there is no folder {str(place.parent)!r} to save into; make it first.")
    if place.is_dir():
        raise InvalidInput(f"{str(path)!r} is a folder; give the name of a file in it.")
    draft = place.with_name(f".{place.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with open(draft, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, draft)
        os.replace(draft, place)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def check_path(path: object) -> str:
    """Return the path as text; refuse what names no file."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise InvalidInput(f"path must be the name of a file, got {path!r}.")
    return name
