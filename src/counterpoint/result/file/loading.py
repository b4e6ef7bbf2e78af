"""Loading: a saved result from a file, believed in nothing and checked in everything."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats, Ints
from counterpoint.errors import CounterpointError, InvalidInput, NoSuchFile
from counterpoint.models.predictor import Predictor
from counterpoint.problem.limits import Limits
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.problem.problem import Observed, Problem
from counterpoint.problem.target import Target
from counterpoint.result.counterfactuals import Counterfactuals, Stopped, Trace
from counterpoint.result.file.document import (
    FORMAT,
    VERSION,
    Node,
    read_dtype,
    read_feature,
    read_label,
)
from counterpoint.result.file.fingerprint import Fingerprints
from counterpoint.result.file.parts import (
    check_rules,
    read_aims,
    read_form,
    read_objectives,
    read_prices,
    read_remarks,
    read_rules,
    read_values,
)
from counterpoint.result.file.saving import Kept, Pathlike, check_path, signed
from counterpoint.search.settings import NSGA2, Explore, RandomSearch, Search, WhatIf
from counterpoint.table.encoding import Encoding
from counterpoint.table.schema import OBJECTIVE_COLUMNS, Kind, Schema
from counterpoint.table.space import describe_space

MOST_BYTES = 2**26
KEYS = (
    *("format", "version", "counterpoint", "fingerprints", "features", "row", "target", "limits"),
    *("shares", "search", "seed", "genomes", "predictions", "objectives", "trace", "notes"),
    *("limits_bind", "hint", "constraints", "costs", "form", "aims", "remarks", "checksum"),
)
# Keys of later versions: which one they came with, and what stood for them before.
LATER: dict[str, tuple[int, Any]] = {
    "constraints": (2, []),
    "costs": (2, None),
    "form": (3, None),
    "aims": (3, None),
    "remarks": (4, None),
}
GONE = (
    "this result was loaded from a file, without its model and data; make an Explainer and call "
    "explain again with the same seed."
)
# What Python, NumPy and pandas raise on values that no document of ours holds.
REFUSALS = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError),
    *(TypeError, ValueError),
)


class Absent(Predictor):
    """Stands where the model was: a loaded result shows what was found, it cannot ask again."""

    def __init__(self, encoding: Encoding, rows: Floats, outputs: Floats) -> None:
        self.encoding, self.observed, self.observed_outputs = encoding, rows, outputs
        self.model, self.method, self.classes = None, "", None
        self.gives_only_labels, self.tolerance = False, 0.0
        self._own, self._predict = None, None
        self.__dict__["observed_labels"] = np.full(len(rows), -1)  # of no class

    def outputs(self, genomes: Floats) -> Floats:  # noqa: ARG002 - there is nobody to ask
        """Say that the model is not here."""
        raise InvalidInput(GONE)

    def labels(self, genomes: Floats) -> Ints:
        """Say that the model is not here."""
        return self.outputs(genomes).astype(np.int64)


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
    if isinstance(most_bytes, bool) or not isinstance(most_bytes, int) or most_bytes < 1:
        raise InvalidInput(f"most_bytes must be a whole number of at least 1, got {most_bytes!r}.")
    size = check_file(name, most_bytes)
    with open(name, "rb") as file:
        content = file.read(size + 1)
    if len(content) > size:
        raise InvalidInput(f"{name!r} grew while it was read; load it when it is finished.")
    return content


def check_file(name: str, most_bytes: int) -> int:
    """Return the size of a file; refuse what is none, or too large."""
    try:
        state = os.stat(name)
    except FileNotFoundError as error:
        raise NoSuchFile(f"there is no file {name!r}.") from error
    if not stat.S_ISREG(state.st_mode):
        raise InvalidInput(f"{name!r} is not a file that could hold a result.")
    if state.st_size > most_bytes:
        raise InvalidInput(
            f"{name!r} is larger than {most_bytes:,} bytes; if you trust it, raise most_bytes."
        )
    return state.st_size


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
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInput(f"the key {twice[:40]!r} comes twice in one object.")
    return found


def _no_constant(name: str) -> Any:
    """Refuse what JSON does not have."""
    raise InvalidInput(f"it is not strict JSON: {name} is no number.")


def read_document(document: Any) -> Counterfactuals:
    """Return the result a document stands for, every field checked."""
    root = Node(document)
    version = check_version(root)
    part = {key: Node(empty, f"$.{key}") for key, (_, empty) in LATER.items()}
    keys = [key for key in KEYS if LATER.get(key, (1, None))[0] <= version]
    part |= dict(zip(keys, root.fields(*keys), strict=True))
    seed = part["seed"].whole(0, 2**64 - 1)
    problem, row = read_problem(part, seed)
    genomes = read_genomes(part["genomes"], problem)
    predictions = part["predictions"].numbers(len(genomes))
    objectives = read_objectives(part["objectives"], genomes, problem)
    found = Counterfactuals(
        row=row,
        genomes=genomes,
        predictions=predictions,
        objectives=objectives,
        problem=problem,
        search=read_search(part["search"]),
        seed=seed,
        trace=read_trace(part["trace"], problem),
        notes=tuple(note.text() for note in part["notes"].items()),
        kept=read_kept(part),
    )
    if signed(document)["checksum"] != part["checksum"].text():
        raise InvalidInput("it was changed since it was saved: its checksum does not fit.")
    return found


def check_version(root: Node) -> int:
    """Return the version; refuse other documents and versions to come before anything else."""
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
    return version


def read_problem(part: dict[str, Node], seed: int) -> tuple[Problem, Any]:
    """Return what was asked, with the row for all data and nobody for a model; and the row."""
    features = tuple(read_feature(feature) for feature in part["features"].items())
    encoding = read_form(part["form"], read_remarks(part["remarks"], features))
    schema = encoding.schema
    check_names(part["features"], schema)
    row, outputs = read_row(part["row"], schema)
    rows, row_outputs = encoding.encode(row, "$.row"), outputs[None]
    shares = part["shares"].numbers()
    if len(shares) == 0 or (shares < 0.0).any():
        part["shares"].refuse("a list of weights of at least 0")
    aims, worst = read_aims(part["aims"], schema)
    costs = read_prices(part["costs"], schema)
    check_costs_apply(costs, aims)
    problem = Problem.of(
        rows,
        row_outputs,
        (read_target(part["target"], len(outputs)),),
        Observed(rows, row_outputs, describe_space(schema, rows), shares),  # aims ask functions
        Absent(encoding, rows, row_outputs),
        read_limits(part["limits"], schema),
        seed,
        asks_labels=False,
        rules=read_rules(part["constraints"], schema),
        costs=costs,
    )
    problem = replace(problem, observed=replace(problem.observed, aims=aims), worst=worst)
    is_pandas = encoding.form.kind in ("pandas", "numpy")
    return problem, row if is_pandas else encoding.to_rows(rows.copy())


def check_names(node: Node, schema: Schema) -> None:
    """Refuse a table without columns, with repeated ones, or with those the result adds itself."""
    groups = [feature.name for feature in schema.features if feature.columns]
    names = [*groups, *(column.name for column in schema.columns)]
    if not names or len(set(names)) < len(names) or set(names) & set(OBJECTIVE_COLUMNS):
        node.refuse("a list of at least one feature, each with a name of its own")


def read_row(node: Node, schema: Schema) -> tuple[pd.DataFrame, Floats]:
    """Return the row as it was given, and what the model said of it."""
    keys = ("index", "columns_dtype", "names", "columns", "outputs")
    index_node, labels_dtype, names, columns, outputs = node.fields(*keys)
    index = read_index(index_node)
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
    return frame, said


def read_columns(node: Node, labels: list[Any]) -> pd.Index[Any]:
    """Return the labels of the row's columns as an index; of several levels if it has no dtype."""
    if node.value is None:
        return pd.MultiIndex.from_tuples(labels)
    index: pd.Index[Any] = pd.Index(labels, dtype=read_dtype(node), tupleize_cols=False)
    if [*index] != labels:
        node.refuse("the dtype of the column names")
    return index


def read_index(node: Node) -> pd.Index[Any]:
    """Return the index of the row: a whole number or a text."""
    value, dtype, name = node.fields("value", "dtype", "name")
    if type(value.value) not in (int, str):
        value.refuse("a whole number or a text")
    index: pd.Index[Any] = pd.Index([value.value], dtype=read_dtype(dtype), name=read_label(name))
    if index[0] != value.value:
        value.refuse(f"a value of dtype {index.dtype}")
    return index


def read_target(node: Node, n_outputs: int) -> Target:
    """Return the wanted outcome."""
    keys = ("low", "high", "column", "label", "is_decision", "is_complement")
    low, high, column, label, is_decision, is_complement = node.fields(*keys)
    return Target(
        -np.inf if low.value is None else low.number(),
        np.inf if high.value is None else high.number(),
        column.whole(0, n_outputs - 1),
        read_label(label),
        is_decision.truth(),
        is_complement.truth(),
    )


def read_limits(node: Node, schema: Schema) -> Limits:
    """Return the caller's limits."""
    d, names = len(schema), schema.names
    is_fixed, low, high, max_changed = node.fields("is_fixed", "low", "high", "max_changed")
    fixed = [names[j] for j, entry in enumerate(is_fixed.items(d)) if entry.truth()]
    ranges = {}
    for name, start, end in zip(names, low.items(d), high.items(d), strict=True):
        if start.value is not None or end.value is not None:
            ranges[name] = (start.number(), end.number())
    return Limits.of(schema, fixed, ranges, max_changed.whole(1, d))


SEARCHES = {made.__name__: made for made in (Explore, NSGA2, RandomSearch, WhatIf)}


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


def read_genomes(node: Node, problem: Problem) -> Floats:
    """Return the counterfactuals, each gene a value its feature can have, within the rules."""
    schema = problem.predictor.encoding.schema
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
    if problem.row_rules is not None:
        check_rules(node, genomes, problem.row_rules.rules, problem.rows[0])
    return genomes


def read_trace(node: Node, problem: Problem) -> Trace:
    """Return how the search went."""
    keys = ("objectives", "generation", "evaluations", "replies", "stopped")
    objectives, generation, evaluations, replies, stopped = node.fields(*keys)
    costs = read_values(objectives, None, problem.observed.aims)
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
    )


def read_kept(part: dict[str, Node]) -> Kept:
    """Return what the file says of data and model."""
    data, model = part["fingerprints"].fields("data", "model")
    return Kept(
        part["counterpoint"].text(),
        Fingerprints(data.text(), model.text()),
        part["limits_bind"].truth(),
        part["hint"].text(),
    )
