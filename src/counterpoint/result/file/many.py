"""Many results in one Parquet file: a row for each, with its document and what one filters by.

Results are logged to MLflow in these formats, and read back by their address.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from counterpoint.checks import require_package
from counterpoint.errors import CounterpointError, InvalidInput
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.file.document import encode_text
from counterpoint.result.file.loading import (
    MOST_BYTES,
    REFUSALS,
    check_file,
    load,
    parse,
    read_document,
)
from counterpoint.result.file.saving import signed, write_document
from counterpoint.table.files import Pathlike, check_path, whole_file
from counterpoint.table.frames import as_frame

FORMAT_KEY, VERSION_KEY = b"counterpoint.format", b"counterpoint.version"
FORMAT, VERSION = b"results", b"1"
TOGETHER = 64  # results written at a time
MOST_MANY = 2**36
# The file's own checksum stands among the last things in it, and counts as zeros for itself.
UNSEALED = b"0" * 64
SEAL = b"counterpoint.sha256" + bytes([0x18, len(UNSEALED)])  # key and kind, as Parquet has them
NEAR_END, BLOCK = 2**16, 2**20
MLFLOW = '"counterpoint[mlflow]"'


def save_many(results: Iterable[Counterfactuals], path: Pathlike) -> int:
    """Write results to one Parquet file, which `load_many` reads back; return how many.

    They may come one by one, as from `Explainer.explain_each`: few are held at a time. A file of
    that name is replaced, in one step, when all of them are written. Besides the `document` of each
    result, which holds all that `Counterfactuals.save` would write, there are the columns `index`
    (of the row in its table), `status`, `message`, `n_found` (counterfactuals) and `n_near_misses`.

    Parameters
    ----------
    results : iterable of Counterfactuals
        What to write.
    path : str or path
        The file; its folder must exist.

    Returns
    -------
    int
        The number of results.

    Raises
    ------
    InvalidInput
        If a label or a dtype of the data has no place in a document.
    MissingDependency
        If pyarrow is not installed.
    CannotWrite, NoSuchFile
        If the disk is full, or the folder is not there or may not be written to.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n = cp.save_many(explainer.explain_each(data, (0.4, 1.0)), f"{folder}/found.parquet")
    ...     loaded = cp.load_many(f"{folder}/found.parquet")
    >>> n, [found.status for found in loaded]
    (4, ['found', 'found', 'already_met', 'already_met'])
    """
    if isinstance(results, Counterfactuals):
        raise InvalidInput("save_many takes a list of results, got one; use its save.")
    arrow, parquet = _arrow()
    schema, waiting, n = _schema(arrow), iter(results), 0
    with whole_file(path) as file:
        with parquet.ParquetWriter(
            file, schema, compression="zstd", use_dictionary=False
        ) as writer:
            while some := [_record(found) for found in islice(waiting, TOGETHER)]:
                writer.write_table(arrow.Table.from_pylist(some, schema=schema))
                n += len(some)
            writer.add_key_value_metadata({SEAL[:-2]: UNSEALED})
        seal(file)
    return n


def load_many(path: Pathlike, *, most_bytes: int = MOST_BYTES) -> list[Counterfactuals]:
    """Return the results that `save_many` wrote, in order; each is checked as `load` does.

    Parameters
    ----------
    path : str or path
        The file.
    most_bytes : int, default=67108864
        Refuse a file with a larger document.

    Returns
    -------
    list of Counterfactuals
        The saved results.

    Raises
    ------
    InvalidInput
        If it is not a file that `save_many` wrote, or was changed since.
    MissingDependency
        If pyarrow is not installed.
    CounterpointError, FileNotFoundError
        If there is no such file: an error that is both.
    """
    name = check_path(path)
    arrow, _ = _arrow()
    check_file(name, MOST_MANY)
    results: list[Counterfactuals] = []
    table = None
    try:
        with open(name, "rb") as file:
            check_seal(file)
            table = _table(file)
            for text in _documents(table, most_bytes):
                results.append(read_document(parse(text)))  # noqa: PERF401 - the count is needed
    except (CounterpointError, *REFUSALS, OSError, RuntimeError, arrow.ArrowException) as error:
        told = " ".join(str(error).split())
        where = "" if table is None else f"result {len(results)}: "
        raise InvalidInput(f"{name!r} cannot be loaded: {where}{told}") from error
    return results


def seal(file: BinaryIO) -> None:
    """Write the checksum of a file into it."""
    place = _place_of_seal(file)
    digest = _digest(file, place)
    file.seek(place)
    file.write(digest)
    file.seek(0, os.SEEK_END)


def check_seal(file: BinaryIO) -> None:
    """Refuse a file of which any byte is not what `seal` saw, before anything of it is used."""
    place = _place_of_seal(file)
    expected = _digest(file, place)
    file.seek(place)
    if file.read(len(expected)) != expected:
        raise InvalidInput("it was changed since it was saved: its checksum does not fit.")
    file.seek(0)


def _place_of_seal(file: BinaryIO) -> int:
    """Return where the checksum stands."""
    size = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, size - NEAR_END))
    found = file.read().rfind(SEAL)
    if found < 0:
        raise InvalidInput("it holds no results of counterpoint, or is cut off.")
    return start + found + len(SEAL)


def _digest(file: BinaryIO, place: int) -> bytes:
    """Return the checksum of a file, the one at a place in it left out."""
    digest = sha256()
    file.seek(0)
    while block := file.read(min(BLOCK, place - file.tell())):
        digest.update(block)
    digest.update(UNSEALED)
    file.seek(place + len(UNSEALED))
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest().encode()


def _record(found: Counterfactuals) -> dict[str, Any]:
    """Return one row of the file."""
    return {
        "index": str(as_frame(found.row, "row").index[0]),
        "status": found.status,
        "message": found.message,
        "n_found": len(found),
        "n_near_misses": len(found.genomes) - len(found),
        "document": encode_text(signed(write_document(found)), is_sorted=False),
    }


def _table(file: BinaryIO) -> Any:
    """Open the table of a file whose columns are those of results."""
    arrow, parquet = _arrow()
    table = parquet.ParquetFile(file)
    _check_schema(table.schema_arrow, _schema(arrow))
    return table


def _documents(table: Any, most_bytes: int) -> Iterator[bytes]:
    """Yield the documents of a table one by one: no more of it is ever held."""
    for batch in table.iter_batches(batch_size=1, columns=["document"]):
        for text in batch.column(0):
            if text.as_buffer() is None:
                raise InvalidInput("it has no document.")
            if len(text.as_buffer()) > most_bytes:
                raise InvalidInput(
                    f"it is larger than {most_bytes:,} bytes; if you trust it, raise most_bytes."
                )
            yield text.as_buffer().to_pybytes()


def _check_schema(found: Any, expected: Any) -> None:
    """Refuse other tables, and versions to come, before anything is read."""
    metadata = found.metadata or {}
    if metadata.get(FORMAT_KEY) != FORMAT:
        raise InvalidInput("it holds no results of counterpoint.")
    if metadata.get(VERSION_KEY) != VERSION:
        raise InvalidInput("it was written by another counterpoint; update counterpoint.")
    if not found.equals(expected):
        raise InvalidInput("its columns are not those of results.")


def _schema(arrow: Any) -> Any:
    """Return the columns of the file."""
    text, count = arrow.string(), arrow.int64()
    columns = dict.fromkeys(("index", "status", "message"), text)
    columns |= dict.fromkeys(("n_found", "n_near_misses"), count)
    fields = [arrow.field(name, kind) for name, kind in columns.items()]
    fields.append(arrow.field("document", arrow.large_string()))
    return arrow.schema(fields, metadata={FORMAT_KEY: FORMAT, VERSION_KEY: VERSION})


def _arrow() -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet."""
    how = ("a Parquet file", '"counterpoint[parquet]"')
    return require_package("pyarrow", *how), require_package("pyarrow.parquet", *how)


def log_result(
    found: Counterfactuals | Iterable[Counterfactuals], name: str = "counterfactuals"
) -> str:
    """Log a result, or a batch of them, to the active run of MLflow; return where it is.

    Parameters
    ----------
    found : Counterfactuals, or iterable of them
        One result becomes a file of JSON, several become one of Parquet.
    name : str, default="counterfactuals"
        What the file is called, without its ending.

    Returns
    -------
    str
        Its address, which `load_logged` takes: "runs:/...".

    Raises
    ------
    MissingDependency
        If MLflow is not installed.

    Examples
    --------
    >>> uri = log_result(found, "applicant-17")  # doctest: +SKIP
    >>> len(load_logged(uri)) == len(found)  # doctest: +SKIP
    True
    """
    mlflow = require_package("mlflow", "log_result", MLFLOW)
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(found, Counterfactuals):
            file = Path(folder) / f"{name}.json"
            found.save(file)
        else:
            file = Path(folder) / f"{name}.parquet"
            save_many(found, file)
        mlflow.log_artifact(str(file))
        return f"runs:/{mlflow.active_run().info.run_id}/{file.name}"


def load_logged(uri: str) -> Counterfactuals | list[Counterfactuals]:
    """Return what `log_result` logged: one result, or a list of them.

    Parameters
    ----------
    uri : str
        The address, such as "runs:/.../counterfactuals.json".

    Raises
    ------
    MissingDependency
        If MLflow is not installed.
    """
    mlflow = require_package("mlflow", "load_logged", MLFLOW)
    with tempfile.TemporaryDirectory() as folder:
        file = mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=folder)
        return load(file) if file.endswith(".json") else list(load_many(file))
