"""Loading: a saved result from a file, of which every field is checked before it is used."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, get_args

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats, Ints
from counterpoint.checks import check_whole
from counterpoint.errors import CounterpointError, InvalidInput, NoSuchFile
from counterpoint.problem.own_objectives import Aims, check_costs_apply
from counterpoint.problem.target import Target
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.facts import Diagnosis, Facts, Origin, Stopped, Trace
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
from counterpoint.result.file.fingerprint import Fingerprints, read_form
from counterpoint.result.file.parts import (
    check_rules,
    genomes_node,
    read_aims,
    read_limits,
    read_objectives,
    read_proof,
    read_remarks,
    read_values,
    read_ways,
    with_names,
)
from counterpoint.result.file.saving import signed
from counterpoint.rules.rules import Rules
from counterpoint.search.exact.finish import Exact
from counterpoint.search.run import NICE
from counterpoint.search.settings import NSGA2, Explore, RandomSearch, Search, WhatIf
from counterpoint.search.ways import WayRows
from counterpoint.table.features import Kind
from counterpoint.table.files import Pathlike, check_path
from counterpoint.table.schema import Schema

MOST_BYTES = 2**26
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
    content = read_file(name, most_bytes)
    try:
        return read_document(parse(content))
    except CounterpointError as error:
        raise _renamed(error, f"{name!r} cannot be loaded: {error}") from error
    except REFUSALS as error:
        raise InvalidInput(f"{name!r} cannot be loaded: it holds nonsense ({error}).") from error


def _renamed(error: CounterpointError, message: str) -> CounterpointError:
    """Return the error with another message; what a file names wrongly is invalid input."""
    return type(error)(message) if isinstance(error, ImportError) else InvalidInput(message)


def read_file(name: str, most_bytes: int) -> bytes:
    """Return the content of a file of limited size."""
    check_whole("most_bytes", most_bytes, 1)
    size = check_file(name, most_bytes)
    with readable(name), open(name, "rb") as file:
        content = file.read(size + 1)
    if len(content) > size:
        raise InvalidInput(f"{name!r} grew while it was read; load it when it is finished.")
    return content


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
    """Refuse what JSON does not have."""
    raise InvalidInput(f"it is not strict JSON: {name} is no number.")


def read_document(document: Any) -> Counterfactuals:
    """Return the result a document stands for, every field checked."""
    root = Node(document)
    check_version(root)
    part = dict(zip(KEYS, root.fields(*KEYS), strict=True))
    features = tuple(read_feature(feature) for feature in part["features"].items())
    encoding = read_form(part["form"], read_remarks(part["remarks"], features))
    encoding = with_names(encoding, part["labels"])
    check_names(part["features"], encoding.schema)
    row, outputs, classes = read_row(part["row"], encoding.schema)
    genome = encoding.encode(row, "$.row")[0]
    is_pandas = encoding.form.kind in ("pandas", "numpy")
    encoding.schema.labels.check_classes(classes)
    facts = read_facts(part, encoding.schema, outputs, classes)
    genomes = read_genomes(part["genomes"], genome, facts.limits.rules)
    is_none = part["observed"].value is None
    found = Counterfactuals(
        encoding,
        row if is_pandas else encoding.to_rows(genome[None].copy()),
        genome,
        genomes,
        part["predictions"].numbers(len(genomes)),
        part["scores"].numbers(len(genomes)),
        read_codes(part["codes"], len(genomes), len(classes)),
        read_objectives(part["objectives"], genomes, genome, facts.aims),
        facts,
        read_trace(part["trace"], facts.aims),
        read_origin(part),
        observed=None if is_none else read_index(part["observed"], len(genomes)),
        way_rows=_read_way_rows(part["way_rows"], genome, facts),
        proof=read_proof(part["proof"], encoding.schema.names),
    )
    if signed(document)["checksum"] != part["checksum"].text():
        raise InvalidInput("it was changed since it was saved: its checksum does not fit.")
    return found


def _read_way_rows(node: Node, genome: Floats, facts: Facts) -> WayRows | None:
    """Return the ways that were saved, if any."""
    if (own := genomes_node(node)) is None:
        return None
    return read_ways(node, genome, read_genomes(own, genome, facts.limits.rules), facts)


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


def read_facts(
    part: dict[str, Node], schema: Schema, outputs: Floats, classes: tuple[Any, ...]
) -> Facts:
    """Return what was asked."""
    shares = part["shares"].numbers()
    if len(shares) == 0 or (shares < 0.0).any():
        part["shares"].refuse("a list of weights of at least 0")
    aims, worst = read_aims(part["aims"], schema)
    limits = read_limits(part["limits"], schema)
    if limits.costs is not None:
        check_costs_apply(aims)
    return Facts(
        read_target(part["target"], len(outputs), classes),
        limits,
        aims,
        worst,
        shares,
        outputs,
        classes,
        read_search(part["search"]),
        part["seed"].whole(0, 2**64 - 1),
        tuple(note.text() for note in part["notes"].items()),
        part["margin"].number(),
    )


def check_names(node: Node, schema: Schema) -> None:
    """Refuse a table without columns, or with repeated ones."""
    groups = [feature.name for feature in schema.features if feature.columns]
    names = [*groups, *(column.name for column in schema.columns)]
    if not names or len(set(names)) < len(names):
        node.refuse("a list of at least one feature, each with a name of its own")


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


def read_codes(node: Node, n: int, n_classes: int) -> Ints:
    """Return the position of each candidate's class; 0 where there are no classes."""
    most = max(n_classes - 1, 0)
    return np.array([code.whole(0, most) for code in node.items(n)], dtype=np.int64)


def read_columns(node: Node, labels: list[Any]) -> pd.Index[Any]:
    """Return the labels of the row's columns as an index; of several levels if it has no dtype."""
    if node.value is None:
        return pd.MultiIndex.from_tuples(labels)
    index: pd.Index[Any] = pd.Index(labels, dtype=read_dtype(node), tupleize_cols=False)
    if [*index] != labels and _texts([*index]) != _texts(labels):  # of which some may be NaN
        node.refuse("the dtype of the column names")
    return index


def _texts(labels: list[Any]) -> list[str]:
    """Return labels as they are written."""
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


def read_target(node: Node, n_outputs: int, classes: tuple[Any, ...]) -> Target:
    """Return the wanted outcome."""
    keys = ("low", "high", "column", "label", "wanted", "is_complement")
    low, high, column, label, wanted, is_complement = node.fields(*keys)
    codes = tuple(code.whole(0, len(classes) - 1) for code in wanted.items())
    return Target(
        -np.inf if low.value is None else low.number(),
        np.inf if high.value is None else high.number(),
        column.whole(0, n_outputs - 1),
        read_label(label),
        classes if codes else (),
        codes,
        is_complement.truth(),
    )


SEARCHES = {made.__name__: made for made in (Explore, NSGA2, RandomSearch, WhatIf, NICE, Exact)}


def read_search(node: Node) -> Search | WhatIf:
    """Return the settings, which check themselves.

    One that is missing is newer than the file; its default is what was done before there was it.
    """
    kind, settings = node.fields("type", "settings")
    made = SEARCHES[kind.one_of(set(SEARCHES))]
    given = settings.value if isinstance(settings.value, dict) else {}
    names = [field.name for field in fields(made) if field.name in given]
    values = zip(names, settings.fields(*names), strict=True)
    search: Search | WhatIf = made(**{name: read_label(value) for name, value in values})
    return search


def _without_nulls(node: Node, schema: Schema) -> Node:
    """Return the counterfactuals with genes for null, where a feature may be missing."""
    rows = node.value
    if not schema.has_missing or not isinstance(rows, list):
        return node
    may_miss = [feature.has_missing for feature in schema.features]

    def full(row: Any) -> Any:
        if not isinstance(row, list) or len(row) != len(may_miss):
            return row
        cells = zip(row, may_miss, strict=True)
        return [MISSING if gene is None and may else gene for gene, may in cells]

    return Node([full(row) for row in rows], node.path)


def read_genomes(node: Node, row: Floats, rules: Rules) -> Floats:
    """Return the candidates, each gene a value its feature can have, within the rules."""
    schema = rules.schema
    genomes = _without_nulls(node, schema).table(None, len(schema))
    for j, feature in enumerate(schema.features):
        genes = genomes[:, j]
        low, high = feature.dtype_range if feature.is_numeric else (0.0, len(feature.levels) - 1.0)
        genes = np.where((genes == MISSING) & feature.has_missing, feature.low, genes)
        fits = (low <= genes) & (genes <= high)
        if feature.kind is not Kind.REAL:
            fits &= genes == np.rint(genes)
        if feature.is_single:
            fits &= genes == genes.clip(low, high).astype(np.float32)
        if not fits.all():
            i = int(np.argmin(fits))
            what = "a number" if feature.is_numeric else "the code of a level"
            Node(genomes[i, j].item(), f"{node.path}[{i}][{j}]").refuse(
                f"{what} that {feature.name!r} can have"
            )
    check_rules(node, genomes, rules, row)
    return genomes


def read_trace(node: Node, aims: Aims) -> Trace:
    """Return how the search went."""
    keys = ("objectives", "generation", "evaluations", "replies", "stopped", "confirmations")
    objectives, generation, evaluations, replies, stopped, again = node.fields(*keys)
    costs = read_values(objectives, None, aims)
    asked = [entry.whole(0, 2**53) for entry in evaluations.items()]
    last = max(len(asked) - 1, 0)
    came = [entry.whole(0, last) for entry in generation.items(len(costs))]
    reason: Stopped = stopped.one_of({*get_args(Stopped)})  # type: ignore[assignment]
    return Trace(
        costs,
        np.array(came, dtype=np.int64),
        np.array(asked, dtype=np.int64),
        replies.numbers(),
        reason,
        again.whole(0, 2**53),
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
