"""Loading: results from files of JSON and Parquet, of which nothing is believed unchecked."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.checks import check_whole, require_package
from counterpoint.errors import CounterpointError, InvalidInput, NoSuchFile
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.data import ResultData
from counterpoint.result.facts import Diagnosis, Facts, Fingerprints, Origin
from counterpoint.result.file import reading
from counterpoint.result.file.document import (
    FORMAT,
    VERSION,
    Node,
    encode_text,
    read_dtype,
    read_feature,
    read_label,
    write_label,
)
from counterpoint.result.file.saving import (
    FORMAT_KEY,
    MANY,
    VERSION_KEY,
    arrow_modules,
    checksum_of,
    save,
    save_many,
    schema_of_many,
    signed,
)
from counterpoint.table.files import Pathlike, check_path
from counterpoint.table.schema import Schema

MLFLOW = '"counterpoint[mlflow]"'
MOST_BYTES, MOST_MANY = 2**26, 2**36
KEYS = (
    *("format", "version", "counterpoint", "fingerprints", "features", "row", "target", "limits"),
    *("shares", "search", "seed", "genomes", "predictions", "scores", "codes", "observed"),
    *("objectives", "way_rows", "proof", "margin", "trace", "notes"),
    *("diagnosis", "form", "aims", "remarks", "labels", "checksum"),
)
# What Python, NumPy and pandas raise on values that no document of ours holds.
REFUSALS = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError),
    *(TypeError, ValueError),
)


def load(path: Pathlike, *, most_bytes: int = MOST_BYTES) -> Counterfactuals:
    """Return a result that `Counterfactuals.save` wrote.

    It shows all the saved one did. What needs the model, `continue_search` and `minimality`, it
    refuses; rules and objectives that are functions are there by name, and refuse to be asked.
    Nothing in the file is executed, and nothing is believed unchecked.

    Parameters
    ----------
    path : str or path
        The file.
    most_bytes : int, default=67108864
        Refuse a larger file unread; reading takes up to thirty times its size in memory.

    Returns
    -------
    Counterfactuals
        The saved result.

    Raises
    ------
    InvalidInput
        If it is not a file that `save` wrote, was changed since, or is too large.
    CounterpointError, FileNotFoundError
        If there is no such file: an error that is both.
    """
    name = check_path(path)
    size = check_file(name, check_whole("most_bytes", most_bytes, 1))
    with readable(name), open(name, "rb") as file:
        content = file.read(size + 1)
    if len(content) > size:
        raise InvalidInput(f"{name!r} grew while it was read; load it when it is finished.")
    try:
        return read_document(parse(content))
    except CounterpointError as error:
        # what a file names wrongly is invalid input, whatever it would be elsewhere
        kind = type(error) if isinstance(error, ImportError) else InvalidInput
        raise kind(f"{name!r} cannot be loaded: {error}") from error
    except REFUSALS as error:
        raise InvalidInput(f"{name!r} cannot be loaded: it holds nonsense ({error}).") from error


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
    arrow, parquet = arrow_modules()
    check_file(name, MOST_MANY)
    results: list[Counterfactuals] = []
    is_known = False
    try:
        with open(name, "rb") as file:
            check_seal(file)
            table = parquet.ParquetFile(file)
            _check_schema(table.schema_arrow, schema_of_many(arrow))
            is_known = True
            for text in _documents(table, most_bytes):
                results.append(read_document(parse(text)))  # noqa: PERF401 - the count is needed
    except (CounterpointError, *REFUSALS, OSError, RuntimeError, arrow.ArrowException) as error:
        told = " ".join(str(error).split())
        where = f"result {len(results)}: " if is_known else ""
        raise InvalidInput(f"{name!r} cannot be loaded: {where}{told}") from error
    return results


def log_result(found: ResultData | Iterable[ResultData], name: str = "counterfactuals") -> str:
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
        if isinstance(found, ResultData):
            file = Path(folder) / f"{name}.json"
            save(found, file)
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


def check_file(name: str, most_bytes: int) -> int:
    """Return the size of a file; refuse what is none, or too large."""
    with readable(name):
        state = os.stat(name)
    if not stat.S_ISREG(state.st_mode):
        raise InvalidInput(f"{name!r} is not a file that could hold a result.")
    if state.st_size > most_bytes:
        raise InvalidInput(
            f"{name!r} is larger than {most_bytes:,} bytes; if you trust it, raise most_bytes."
        )
    return state.st_size


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Say of a file that it is not there, or why it cannot be read."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NoSuchFile(f"there is no file {name!r}.") from error
    except OSError as error:
        raise InvalidInput(f"{name!r} cannot be read: {error.strerror or error}.") from error


def parse(content: bytes) -> Any:
    """Return strict JSON as values: no repeated keys, no NaN, no infinity, no depth without end."""
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant
        )
    except InvalidInput:
        raise
    except ValueError as error:  # of json, of text that is not UTF-8, of endless numbers
        raise InvalidInput(f"it is not JSON, or only a part of it ({error}).") from error
    except RecursionError as error:
        raise InvalidInput("its values are nested without end.") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's pairs as a dict; refuse a key that comes twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(f"the key {key[:40]!r} comes twice in one object.")
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise InvalidInput(f"it is not strict JSON: {name} is no number.")


def check_seal(file: BinaryIO) -> None:
    """Refuse a file of which any byte is not what `seal` saw, before anything of it is used."""
    place, expected = checksum_of(file)
    file.seek(place)
    if file.read(len(expected)) != expected:
        raise InvalidInput("it was changed since it was saved: its checksum does not fit.")
    file.seek(0)


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
    if metadata.get(FORMAT_KEY) != MANY[FORMAT_KEY]:
        raise InvalidInput("it holds no results of counterpoint.")
    if metadata.get(VERSION_KEY) != MANY[VERSION_KEY]:
        raise InvalidInput("it was written by another counterpoint; update counterpoint.")
    if not found.equals(expected):
        raise InvalidInput("its columns are not those of results.")


def read_document(document: Any) -> Counterfactuals:
    """Return the result a document stands for, every field checked."""
    root = Node(document)
    check_version(root)
    part = dict(zip(KEYS, root.fields(*KEYS), strict=True))
    features = tuple(read_feature(feature) for feature in part["features"].items())
    encoding = reading.read_form(part["form"], reading.read_remarks(part["remarks"], features))
    encoding = reading.with_names(encoding, part["labels"])
    check_names(part["features"], encoding.schema)
    row, outputs, classes = read_row(part["row"], encoding.schema)
    genome = encoding.encode(row, "$.row")[0]
    is_pandas = encoding.form.kind in ("pandas", "numpy")
    encoding.schema.labels.check_classes(classes)
    facts = read_facts(part, encoding.schema, outputs, classes)
    genomes = reading.read_genomes(part["genomes"], genome, facts.limits.rules)
    is_none = part["observed"].value is None
    found = Counterfactuals(
        encoding,
        row if is_pandas else encoding.to_rows(genome[None].copy()),
        genome,
        genomes,
        part["predictions"].numbers(len(genomes)),
        part["scores"].numbers(len(genomes)),
        part["codes"].wholes(len(genomes), len(classes) - 1),
        reading.read_objectives(part["objectives"], genomes, genome, facts.aims),
        facts,
        reading.read_trace(part["trace"], facts.aims),
        read_origin(part),
        observed=None if is_none else read_index(part["observed"], len(genomes)),
        way_rows=reading.read_ways(part["way_rows"], genome, facts),
        proof=reading.read_proof(part["proof"], encoding.schema.names),
    )
    if signed(document)["checksum"] != part["checksum"].text():
        raise InvalidInput("it was changed since it was saved: its checksum does not fit.")
    return found


def check_version(root: Node) -> None:
    """Refuse other documents and versions to come before anything else."""
    if not isinstance(root.value, dict):
        root.refuse("an object")
    if root.value.get("format") != FORMAT:
        raise InvalidInput(f"it is no result of counterpoint: $.format must be {FORMAT!r}.")
    version = Node(root.value.get("version"), "$.version").whole(1, 2**31)
    if version > VERSION:
        raise InvalidInput(
            f"it was written by a newer counterpoint (format version {version}); "
            "update counterpoint."
        )


def check_names(node: Node, schema: Schema) -> None:
    """Refuse a table without columns, or with repeated ones."""
    groups = [feature.name for feature in schema.features if feature.columns]
    names = [*groups, *(column.name for column in schema.columns)]
    if not names or len(set(names)) < len(names):
        node.refuse("a list of at least one feature, each with a name of its own")


def read_facts(
    part: dict[str, Node], schema: Schema, outputs: Floats, classes: tuple[Any, ...]
) -> Facts:
    """Return what was asked."""
    shares = part["shares"].numbers()
    if len(shares) == 0 or (shares < 0.0).any():
        part["shares"].refuse("a list of weights of at least 0")
    aims, worst = reading.read_aims(part["aims"], schema)
    limits = reading.read_limits(part["limits"], schema)
    if limits.costs is not None:
        check_costs_apply(aims)
    return Facts(
        reading.read_target(part["target"], len(outputs), classes),
        limits,
        aims,
        worst,
        shares,
        outputs,
        classes,
        reading.read_search(part["search"]),
        part["seed"].whole(0, 2**64 - 1),
        tuple(note.text() for note in part["notes"].items()),
        part["margin"].number(),
    )


def read_origin(part: dict[str, Node]) -> Origin:
    """Return what the file says of data and model."""
    data, model = part["fingerprints"].fields("data", "model")
    diagnosis = None
    if part["diagnosis"].value is not None:
        n, nearest, relaxation = part["diagnosis"].fields("n_reaching", "nearest", "relaxation")
        n_reaching = n.whole(0, 2**53)
        # none reaches the target: then there is a nearest one
        known = nearest.number() if n_reaching == 0 else None
        if n_reaching and nearest.value is not None:
            nearest.refuse("null, where observed rows reach the target")
        diagnosis = Diagnosis(n_reaching, known, relaxation.text())
    fingerprints = Fingerprints(data.text(), model.text())
    return Origin(part["counterpoint"].text(), fingerprints, diagnosis)


def read_row(node: Node, schema: Schema) -> tuple[pd.DataFrame, Floats, tuple[Any, ...]]:
    """Return the row as it was given, what the model said of it, and the model's classes."""
    keys = ("index", "columns_dtype", "names", "columns", "outputs", "classes")
    index_node, labels_dtype, names, columns, outputs, class_nodes = node.fields(*keys)
    index = read_index(index_node, 1)
    own = {column.name: column.dtype for column in schema.columns}
    labels, cells = [], {}
    for j, column in enumerate(columns.items(len(schema.columns))):
        name, dtype_node, value = column.fields("name", "dtype", "value")
        labels.append(read_label(name))
        if labels[-1] not in own:
            name.refuse("the name of a feature")
        dtype = own[labels[-1]] if dtype_node.value is None else read_dtype(dtype_node)
        cells[j] = pd.Series([read_label(value)], dtype=dtype, index=index)
    frame = pd.DataFrame(cells, index=index)
    frame.columns = read_columns(labels_dtype, labels)
    frame.columns.names = [read_label(n) for n in names.items(frame.columns.nlevels)]
    said = outputs.numbers()
    if len(said) == 0:
        outputs.refuse("a list of at least one number")
    classes = tuple(read_label(label) for label in class_nodes.items())
    if classes and len(classes) != len(said):
        class_nodes.refuse("a list with one class for each output")
    return frame, said, classes


def read_columns(node: Node, labels: list[Any]) -> pd.Index[Any]:
    """Return the labels of the row's columns as an index; of several levels if it has no dtype."""
    if node.value is None:
        return pd.MultiIndex.from_tuples(labels)
    index: pd.Index[Any] = pd.Index(labels, dtype=read_dtype(node), tupleize_cols=False)
    if [*index] != labels and _texts([*index]) != _texts(labels):  # of which some may be NaN
        node.refuse("the dtype of the column names")
    return index


def _texts(labels: list[Any]) -> list[str]:
    return [encode_text(write_label(label, "row column")) for label in labels]


def read_index(node: Node, n: int) -> pd.Index[Any]:
    """Return the labels of n rows: whole numbers or texts."""
    values, dtype, name = node.fields("values", "dtype", "name")
    for value in values.items(n):
        if type(value.value) not in (int, str):
            value.refuse("a whole number or a text")
    index: pd.Index[Any] = pd.Index(values.value, dtype=read_dtype(dtype), name=read_label(name))
    if [*index] != values.value:
        values.refuse(f"values of dtype {index.dtype}")
    return index
