"""One file of rows: how many there are, what columns, any stretch of them, and its fingerprint.

Everything is read through Arrow and handed on with dtypes that can hold missing values, so that a
stretch of rows looks the same wherever it is cut. Parquet is read by row group, with the last few
kept; CSV and Feather are read whole.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from counterpoint.models.needed import needed
from counterpoint.scale.contents import READERS, refused_if_damaged

ENDINGS = tuple(READERS)
KEPT = 2  # row groups, or whole files: chunks are read in order, and now and then once more
BLOCK = 2**20  # bytes read at a time for a fingerprint
CHECKSUMS = ("ETag", "etag", "md5Hash", "crc32c", "sha256")  # what stores say of a file's content


@dataclass(frozen=True)
class Place:
    """Where a file is: a path here, or one in a file system of fsspec.

    Attributes
    ----------
    name : str
        As it is told to people: the path, or the URL.
    system : object, optional
        The file system of fsspec; None for a path here.
    path : str
        What the system calls it.
    """

    name: str
    system: Any
    path: str

    @property
    def ending(self) -> str:
        """The ending of the name, in small letters, with its dot."""
        return PurePosixPath(self.path).suffix.lower()

    @property
    def label(self) -> str:
        """The name without its folder: the same wherever the file is kept."""
        return PurePosixPath(self.path.replace("\\", "/")).name

    def open(self) -> Any:
        """Open the file for reading bytes."""
        return open(self.path, "rb") if self.system is None else self.system.open(self.path, "rb")

    def fingerprint(self) -> str:
        """Return what tells whether the content is the same: a hash, or what the store says."""
        if self.system is not None:
            told = self.system.info(self.path)
            sums = [f"{key}={told[key]}" for key in CHECKSUMS if told.get(key)]
            return f"{told['size']} bytes, {sums[0] if sums else self.system.checksum(self.path)}"
        digest = hashlib.sha256()
        with open(self.path, "rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
        return f"sha256:{digest.hexdigest()}"


@dataclass
class TableFile:
    """A file of rows that was opened: its schema and its stretches.

    Attributes
    ----------
    place : Place
        Where it is.
    argument : str
        What the caller named it by, for errors.
    schema : pyarrow.Schema
        Its columns; what is a dictionary in the file has the type of its values.
    starts : list of int
        Where its row groups begin, and where the last one ends.
    """

    place: Place
    argument: str
    schema: Any
    starts: list[int]
    _kept: OrderedDict[tuple[Any, ...], Any] = field(default_factory=OrderedDict)
    _handle: Any = None

    @classmethod
    def open(cls, place: Place, argument: str) -> TableFile:
        """Open a file; read its schema and how many rows it has."""
        with refused_if_damaged(f"{argument} {place.name!r}", place.ending):
            if place.ending == ".parquet":
                handle = _parquet(place)
                groups = [handle.metadata.row_group(i) for i in range(handle.num_row_groups)]
                starts = list(accumulate((group.num_rows for group in groups), initial=0))
                schema = _plain(handle.schema_arrow)
                handle.close(force=True)  # ten thousand files are not kept open
                return cls(place, argument, schema, starts)
            table = _read_whole(place)
        return cls(place, argument, table.schema, [0, table.num_rows])

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return self.starts[-1]

    def read(self, start: int, stop: int, columns: Sequence[str]) -> Any:
        """Return a stretch of rows as a table of Arrow."""
        pa = needed("pyarrow", "a batch job", '"counterpoint[cli]"')
        pieces = []
        for i, (low, high) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            if low < stop and start < high:
                begin, end = max(start, low), min(stop, high)
                pieces.append(self._group(i, columns).slice(begin - low, end - begin))
        return pa.concat_tables(pieces)

    def check(self, columns: Sequence[str]) -> None:
        """Read it from end to end, so that damage is known before the work begins."""
        for i in range(len(self.starts) - 1):
            self._group(i, columns)
        self.close()

    def _group(self, i: int, columns: Sequence[str]) -> Any:
        """Return a row group, or the whole file, from those kept if it is there."""
        key = (i, *columns)
        if key not in self._kept:
            with refused_if_damaged(f"{self.argument} {self.place.name!r}", self.place.ending):
                self._kept[key] = self._read_group(i, columns).select(list(columns))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def _read_group(self, i: int, columns: Sequence[str]) -> Any:
        """Read a row group, without dictionaries."""
        if self.place.ending != ".parquet":
            return _read_whole(self.place)
        self._handle = self._handle or _parquet(self.place)
        table = self._handle.read_row_group(i, columns=list(columns), use_threads=False)
        return table.cast(_plain(table.schema))

    def close(self) -> None:
        """Let go of the file and of what was kept of it."""
        self._kept.clear()
        if self._handle is not None:
            self._handle.close(force=True)
            self._handle = None


def _parquet(place: Place) -> Any:
    """Open a Parquet file; pages with checksums are checked as they are read."""
    parquet = needed("pyarrow.parquet", "a .parquet file", '"counterpoint[cli]"')
    source = place.path if place.system is None else place.open()
    return parquet.ParquetFile(source, page_checksum_verification=True, memory_map=False)


def _read_whole(place: Place) -> Any:
    """Read a CSV or Feather file."""
    pa = needed("pyarrow", "a batch job", '"counterpoint[cli]"')
    with place.open() as file:
        frame = getattr(pd, READERS[place.ending])(file)
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    return table.cast(_plain(table.schema))


def _plain(schema: Any) -> Any:
    """Return a schema without dictionaries, with one kind of text, and without remarks."""
    pa = needed("pyarrow", "a batch job", '"counterpoint[cli]"')

    def plain(kind: Any) -> Any:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return pa.string() if kind in (pa.large_string(), pa.string_view()) else kind

    return pa.schema([(column.name, plain(column.type)) for column in schema])
