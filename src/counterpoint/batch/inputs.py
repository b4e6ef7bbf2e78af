"""Inputs: a job's files of rows, found by name, folder, pattern or URL, read as one long table.

Each file knows how many rows it has, its columns, any range of its rows, and its fingerprint.
Everything is read through Arrow and handed on with dtypes that can hold missing values, so that a
range of rows looks the same wherever it is cut. Parquet is read by row group, with the last few
kept; CSV and Feather are read whole. Every row that is handed on is of the bytes that the
fingerprint is of: a file is hashed once, block by block, and every block read later is compared.
"""

from __future__ import annotations

import glob
import io
import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput, listed
from counterpoint.table.files import (
    BLOCK,
    READERS,
    Seal,
    SealedFile,
    read_frame,
    refused_if_damaged,
)

ENDINGS = tuple(READERS)
KEPT = 2  # row groups, or whole files: chunks are read in order, and now and then once more


@dataclass(frozen=True)
class Place:
    """Where a file is: a path here, or one in a file system of fsspec."""

    name: str  # as it is told to people: the path, or the URL
    system: Any  # the file system of fsspec; None for a path here
    path: str  # what the system calls it

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


@dataclass
class TableFile:
    """A file of rows that was opened: its schema and its stretches."""

    place: Place  # where it is
    argument: str  # what the caller named it by, for errors
    # pyarrow.Schema: its columns; what is a dictionary in the file has the type of its values
    schema: Any
    starts: list[int]  # where its row groups begin, and where the last one ends
    _kept: OrderedDict[tuple[Any, ...], Any] = field(default_factory=OrderedDict)
    _handle: Any = None

    @classmethod
    def open(cls, place: Place, argument: str) -> TableFile:
        """Open a file; read its schema and how many rows it has."""
        said = f"{argument} {place.name!r}"
        with refused_if_damaged(said, place.ending), place.open() as file:
            if place.ending == ".parquet":
                return cls(place, argument, *_outline(_parquet(file)))
            table = _read_whole(file, place.ending)
        return cls(place, argument, table.schema, [0, table.num_rows])

    @cached_property
    def seal(self) -> Seal:
        """What it held when the first row of it was read."""
        with self.place.open() as file:
            return Seal.of(file)

    @property
    def said(self) -> str:
        """What it is called in errors."""
        return f"{self.argument} {self.place.name!r}"

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return self.starts[-1]

    def pieces(self, start: int, stop: int, columns: Sequence[str]) -> Iterator[Any]:
        """Yield a stretch of rows as tables of Arrow, one of each row group that it touches."""
        for i, (low, high) in enumerate(pairwise(self.starts)):
            begin, end = max(start, low), min(stop, high)
            if begin < end:
                yield self._group(i, columns).slice(begin - low, end - begin)

    def check(self, columns: Sequence[str]) -> None:
        """Read it from end to end, so that damage is known before the work begins."""
        for i in range(len(self.starts) - 1):
            self._group(i, columns)
        self.close()

    def _group(self, i: int, columns: Sequence[str]) -> Any:
        """Return a row group, or the whole file, from those kept if it is there."""
        key = (i, *columns)
        if key not in self._kept:
            with refused_if_damaged(self.said, self.place.ending):
                self._kept[key] = self._read_group(i, columns).select(list(columns))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def _read_group(self, i: int, columns: Sequence[str]) -> Any:
        """Read a row group, without dictionaries."""
        if self.place.ending != ".parquet":
            with self._sealed() as file:
                table = _read_whole(file, self.place.ending)
            self._check_outline(table.schema, [0, table.num_rows])
            return table
        if self._handle is None:
            self._handle = _parquet(self._sealed())
            self._check_outline(*_outline(self._handle))
        table = self._handle.read_row_group(i, columns=list(columns), use_threads=False)
        return table.cast(_plain(table.schema))

    def _sealed(self) -> io.BufferedReader:
        return io.BufferedReader(SealedFile(self.place.open(), self.seal, self.said), BLOCK)

    def _check_outline(self, schema: Any, starts: list[int]) -> None:
        """Refuse a file that was replaced after its columns were read and before it was sealed."""
        if not schema.equals(self.schema) or starts != self.starts:
            raise InvalidInput(
                f"{self.said} was replaced while the job was set up; begin when it is finished."
            )

    def close(self) -> None:
        """Let go of the file and of what was kept of it."""
        self._kept.clear()
        if self._handle is not None:
            self._handle.close(force=True)
            self._handle = None


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow, or one of its modules; a batch job needs it."""
    return require_package(module, "a batch job", '"counterpoint[cli]"')


def _parquet(file: Any) -> Any:
    """Open a Parquet file; pages with checksums are checked as they are read."""
    parquet = require_package("pyarrow.parquet", "a .parquet file", '"counterpoint[cli]"')
    return parquet.ParquetFile(file, page_checksum_verification=True)


def _outline(handle: Any) -> tuple[Any, list[int]]:
    """Return the schema of a Parquet file, and where its row groups begin and the last one ends."""
    groups = [handle.metadata.row_group(i) for i in range(handle.num_row_groups)]
    starts = list(accumulate((group.num_rows for group in groups), initial=0))
    return _plain(handle.schema_arrow), starts


def _read_whole(file: Any, ending: str) -> Any:
    pa = arrow()
    frame = read_frame(file, ending)
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    return table.cast(_plain(table.schema))


def _plain(schema: Any) -> Any:
    """Return a schema without dictionaries, with one kind of text, and without remarks."""
    pa = arrow()

    def plain(kind: Any) -> Any:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return pa.string() if kind in (pa.large_string(), pa.string_view()) else kind

    return pa.schema([(column.name, plain(column.type)) for column in schema])


Names = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
OPENED = 2  # files kept open at a time


def check_names(names: Any, argument: str) -> list[str | os.PathLike[str]]:
    """Return several names as a list; a table is none, though it lists its columns."""
    is_list = isinstance(names, Iterable) and not hasattr(names, "columns")
    several: list[Any] = list(names) if is_list else [None]
    if not all(isinstance(name, str | os.PathLike) for name in several):
        raise InvalidInput(
            f"{argument} must name files, a folder or a pattern such as 'in/*.parquet', got "
            f"{type(names).__name__}; explain_frame takes a table."
        )
    return several


def find_files(names: Names, argument: str) -> list[Place]:
    """Return the files that are meant, sorted by name; each is named once.

    They are named by a file, a folder, a pattern such as ``in/*.parquet``, or any of these in a
    store, by URL; `argument` is what they were given as, for errors.
    """
    several = [names] if isinstance(names, str | os.PathLike) else check_names(names, argument)
    if not several:
        raise InvalidInput(f"{argument} names no file.")
    places = [place for name in several for place in _found(os.fspath(name), argument)]
    places.sort(key=lambda place: place.name)
    for one, other in pairwise(places):
        if one.name == other.name:
            raise InvalidInput(f"{argument} names {one.name!r} twice.")
    for place in places:
        if place.ending not in ENDINGS:
            raise InvalidInput(
                f"{argument} must end in .csv, .parquet or .feather, got {place.name!r}."
            )
    return places


def _found(name: str, argument: str) -> list[Place]:
    """Return the files one name stands for."""
    if "://" in name:
        return _found_elsewhere(name, argument)
    if os.path.isfile(name):
        return [Place(name, None, name)]
    if os.path.isdir(name):
        inside = [entry.path for entry in os.scandir(name) if entry.is_file()]
        return [Place(path, None, path) for path in _tables_of(inside, name, argument)]
    if glob.has_magic(name):
        if matches := [path for path in glob.glob(name, recursive=True) if os.path.isfile(path)]:
            return [Place(path, None, path) for path in matches]
        raise InvalidInput(f"{argument} {name!r} matches no file.")
    raise InvalidInput(f"{argument} {name!r} is neither a file nor a folder.")


def _found_elsewhere(name: str, argument: str) -> list[Place]:
    """Return the files one URL stands for."""
    fsspec = require_package("fsspec", f"{argument} {name!r}", '"counterpoint[remote]"')
    try:
        system, path = fsspec.core.url_to_fs(name)
        if glob.has_magic(path):
            paths = [str(found) for found in system.glob(path) if system.isfile(found)]
        elif system.isdir(path):
            inside = [entry["name"] for entry in system.ls(path) if entry["type"] == "file"]
            paths = _tables_of(inside, name, argument)
        else:
            paths = [path] if system.isfile(path) else []
    except (OSError, ValueError, ImportError) as error:
        if isinstance(error, InvalidInput):
            raise
        told = str(error).strip().partition("\n")[0]
        raise InvalidInput(
            f"{argument} {name!r} cannot be looked up ({type(error).__name__}: {told})."
        ) from error
    if not paths:
        raise InvalidInput(f"{argument} {name!r} matches no file.")
    return [Place(system.unstrip_protocol(path), system, path) for path in paths]


def _tables_of(paths: Iterable[str], name: str, argument: str) -> list[str]:
    """Return the tables among a folder's files; hidden ones and marks of other tools are none."""
    tables = [
        path
        for path in paths
        if Path(path).suffix.lower() in ENDINGS and not Path(path).name.startswith((".", "_"))
    ]
    if not tables:
        raise InvalidInput(f"{argument} {name!r} has no .parquet, .csv or .feather file.")
    return tables


@dataclass
class Inputs:
    """Several files as one long table: counted, and read from any row to any other.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name, ages in {"a": [20, 30], "b": [40, 50]}.items():
    ...     pd.DataFrame({"age": ages}).to_csv(f"{folder}/{name}.csv", index=False)
    >>> rows = Inputs.open(folder, "rows")
    >>> len(rows), rows.read(1, 3)["age"].to_dict()
    (4, {1: 30, 2: 40})
    """

    files: list[TableFile]  # the files, sorted by name
    # pyarrow.Schema: the columns that are read, with the type that holds those of all files
    schema: Any
    ends: list[int]  # how many rows there are up to the end of each file

    @classmethod
    def open(cls, names: Names, argument: str) -> Inputs:
        """Open the files that are meant; refuse those whose columns differ."""
        files = [TableFile.open(place, argument) for place in find_files(names, argument)]
        schema = files[0].schema
        if len(set(schema.names)) < len(schema.names):
            raise InvalidInput(f"{argument} {files[0].place.name!r} has two columns of one name.")
        for file in files[1:]:
            schema = _joined(schema, files[0], file)
        inputs = cls(files, schema, list(accumulate(file.n_rows for file in files)))
        if len(inputs) == 0:
            raise InvalidInput(f"{argument} {files[0].place.name!r} has no rows.")
        return inputs

    def __len__(self) -> int:
        return self.ends[-1]

    def only(self, columns: Sequence[str]) -> Inputs:
        """Return the same rows with these columns; the others are not even read."""
        pa = arrow()
        schema = pa.schema([self.schema.field(name) for name in columns])
        return Inputs(self.files, schema, self.ends)

    def fingerprints(self) -> list[dict[str, Any]]:
        """Return name, rows and fingerprint of each file."""
        known = ((file.place.label, file.n_rows, file.seal.fingerprint) for file in self.files)
        return [dict(zip(("name", "rows", "fingerprint"), each, strict=True)) for each in known]

    def check(self) -> None:
        """Read all files from end to end; refuse damaged ones by name."""
        for file in self.files:
            file.check(self.schema.names)

    def read(self, start: int, stop: int) -> pd.DataFrame:
        """Return a stretch of rows; the index is their position among all."""
        pa = arrow()
        pieces, first = [], bisect_right(self.ends, start)
        for file, end in zip(self.files[first:], self.ends[first:], strict=True):
            low = end - file.n_rows
            if low >= stop:
                break
            found = file.pieces(start - low, stop - low, self.schema.names)
            pieces += [piece.cast(self.schema) for piece in found]
        for file in self.files[: max(0, first - OPENED)]:
            file.close()
        frame: pd.DataFrame = pa.concat_tables(pieces).to_pandas(types_mapper=_nullable)
        return frame.set_axis(pd.RangeIndex(start, stop), axis=0)

    def close(self) -> None:
        """Let go of all files."""
        for file in self.files:
            file.close()


def _nullable(kind: Any) -> Any:
    """Return a dtype that can miss values where NumPy's cannot, so that no stretch differs."""
    pa = arrow()
    if pa.types.is_integer(kind):
        return pd.api.types.pandas_dtype(str(kind).replace("ui", "UI").replace("int", "Int", 1))
    return pd.BooleanDtype() if pa.types.is_boolean(kind) else None


def _joined(schema: Any, first: TableFile, file: TableFile) -> Any:
    """Return a schema that holds another file's rows, too."""
    pa = arrow()
    ours, theirs = set(schema.names), set(file.schema.names)
    if ours != theirs:
        lacks = f"lacks {listed(sorted(ours - theirs))}" if ours - theirs else ""
        has = f"has {listed(sorted(theirs - ours))} besides" if theirs - ours else ""
        raise InvalidInput(
            f"{file.said} has other columns than {first.place.name!r}: it "
            f"{' and '.join(filter(None, (lacks, has)))}; all files must have the same columns."
        )
    fields = []
    for name in schema.names:
        one, other = schema.field(name), file.schema.field(name)
        try:
            both = pa.unify_schemas(
                [pa.schema([one]), pa.schema([other])], promote_options="permissive"
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InvalidInput(
                f"column {name!r} is {other.type} in {file.said}, but {one.type} in "
                f"{first.place.name!r} and before; write all files with the same types."
            ) from error
        fields.append(both.field(name))
    return pa.schema(fields)
