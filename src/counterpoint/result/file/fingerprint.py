"""Which table and model a result is of: the kind of table, and fingerprints of data and model.

The kind of table is written with its dtypes, so that a loaded result can build such a table again.
Fingerprints tell whether two results are of the same data and of models that predict the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput
from counterpoint.models.predictor import Predictor
from counterpoint.problem.observed import Observed
from counterpoint.result.file.document import Node, encode_text, write_feature, write_label
from counterpoint.table.encoding import Encoding
from counterpoint.table.features import Feature
from counterpoint.table.frames import PANDAS, Form
from counterpoint.table.schema import Schema

KINDS = {"pandas", "polars", "pyarrow", "numpy"}
UNITS = ("ms", "us", "ns")
# Dtypes of polars that a level column or one of dates can have; of numbers the feature's own tells.
POLARS = {"String", "Categorical", "Enum", "Boolean", "Date", *(f"Datetime({u})" for u in UNITS)}
POLARS |= {f"{k}{b}" for k in ("Int", "UInt") for b in (8, 16, 32, 64)} | {"Float32", "Float64"}
ARROW = {
    *("bool", "float", "double", "string", "large_string", "string_view", "date32[day]"),
    *("date64[ms]", *(f"timestamp[{unit}]" for unit in ("s", *UNITS))),
    *(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)),
}
DICTIONARY = re.compile(r"dictionary<values=(\w+), indices=(u?int\d+), ordered=([01])>")
ARRAY = re.compile(r"bool|object|u?int(8|16|32|64)|float(32|64)|str\d{1,9}|datetime64\[\w{1,2}\]")


def write_form(encoding: Encoding) -> dict[str, Any] | None:
    """Return the kind of table as JSON; null for a pandas frame without groups of columns."""
    form, order = encoding.form, encoding.schema.order
    if form == PANDAS and not order:
        return None
    return {"kind": form.kind, "types": [_name(form, t) for t in form.types], "order": [*order]}


def _name(form: Form, dtype: Any) -> str:
    """Return the name of a dtype as we read it back."""
    if form.kind == "polars":
        name = str(type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__)
        return f"Datetime({dtype.time_unit})" if name == "Datetime" else name
    if form.kind == "numpy":
        return f"str{dtype.itemsize // 4}" if dtype.kind == "U" else str(dtype.name)
    return str(dtype)


def read_form(node: Node, features: tuple[Feature, ...]) -> Encoding:
    """Return the encoding of features in the kind of table that was saved with them."""
    if node.value is None:
        return Encoding(Schema(features))
    kind_node, types, order_node = node.fields("kind", "types", "order")
    order = _read_order(order_node, features)
    schema, kind = Schema(features, order), kind_node.one_of(KINDS)
    n_types = {"pandas": 0, "numpy": 1}.get(kind, len(schema.columns))
    entries = types.items(n_types)
    if kind == "pandas":
        return Encoding(schema)
    if kind == "numpy":
        return Encoding(schema, Form("numpy", (_array_dtype(entries[0]),)))
    if kind == "polars":
        library = require_package("polars", "a result on a table of polars", "polars")
        made = [_polars_dtype(library, t, c) for t, c in zip(entries, schema.columns, strict=True)]
        return Encoding(schema, Form("polars", tuple(made)))
    library = require_package("pyarrow", "a result on a table of pyarrow", "pyarrow")
    return Encoding(schema, Form("pyarrow", tuple(_arrow_type(library, t) for t in entries)))


def _read_order(node: Node, features: tuple[Feature, ...]) -> tuple[int, ...]:
    """Return the order of the columns, empty or each place once."""
    n = sum(max(1, len(feature.columns)) for feature in features)
    order = tuple(entry.whole(0, n - 1) for entry in node.items())
    if order and sorted(order) != list(range(n)):
        raise InvalidInput(f"{node.path} must name each of {n} columns once.")
    return order


def _polars_dtype(polars: Any, node: Node, column: Feature) -> Any:
    """Return a dtype of polars; the categories of an Enum are those of the feature's own dtype."""
    name = node.one_of(POLARS)
    if name == "Enum":
        return polars.Enum([str(level) for level in column.dtype.categories])
    if name.startswith("Datetime"):
        return polars.Datetime(name[9:-1])
    return getattr(polars, name)


def _arrow_type(arrow: Any, node: Node) -> Any:
    """Return a type of pyarrow."""
    parts = DICTIONARY.fullmatch(node.text())
    if parts is None:
        return arrow.type_for_alias(node.one_of(ARROW))
    values = arrow.type_for_alias(Node(parts[1], node.path).one_of(ARROW))
    places = arrow.type_for_alias(Node(parts[2], node.path).one_of(ARROW))
    return arrow.dictionary(places, values, parts[3] == "1")


def _array_dtype(node: Node) -> Any:
    """Return the dtype of an array."""
    name = node.text()
    if ARRAY.fullmatch(name) is None:
        node.refuse("the name of an array's dtype")
    return np.dtype(f"<U{name[3:]}" if name.startswith("str") else name)


DIGITS = 6  # of a score: enough to tell models apart, few enough to forgive another machine


class Known(Protocol):
    """What has data and a model: a problem, or an explainer."""

    @property
    def observed(self) -> Observed:
        """The observed rows."""

    @property
    def predictor(self) -> Predictor:
        """The model."""


@dataclass(frozen=True)
class Fingerprints:
    """What a result remembers of data and model: equal ones can be trusted to be the same."""

    # Of the observed rows: column names, dtypes, levels and every value, in order. Another order,
    # another dtype or one other value gives another fingerprint.
    data: str
    # Of the model's type, its classes and what it says of the observed rows, to six digits. Two
    # models that agree on all observed rows look the same, whatever they say elsewhere; what the
    # model was fitted on, or with, is not seen. A score that lies just between two roundings may,
    # rarely, give one model two fingerprints on two machines.
    model: str


def take_fingerprints(problem: Known) -> Fingerprints:
    """Return the fingerprints of a problem's data and model, computed once per explainer."""
    kept = problem.observed.__dict__  # where its cached properties live, shared by all results
    if "fingerprints" not in kept:
        kept["fingerprints"] = Fingerprints(_of_data(problem), _of_model(problem))
    found: Fingerprints = kept["fingerprints"]
    return found


def _of_data(problem: Known) -> str:
    """Return the fingerprint of the observed rows."""
    features = problem.predictor.encoding.schema.features
    text = encode_text([write_feature(feature) for feature in features])
    if (form := write_form(problem.predictor.encoding)) is not None:
        text += encode_text(form)
    # Who keeps the text depends on what is installed. In levels these quotes would be escaped.
    text = text.replace('"storage":"pyarrow"', '"storage":"python"')
    return _digest(text, problem.observed.genomes)


def _of_model(problem: Known) -> str:
    """Return the fingerprint of the model: who answers, and what it says of the observed rows."""
    predictor = problem.predictor.own
    kind = type(predictor.model)
    classes = [write_label(label, "class") for label in predictor.classes or ()]
    about = [kind.__module__, kind.__qualname__, predictor.method, classes]
    return _digest(encode_text(about), round_digits(problem.observed.outputs))


def _digest(text: str, numbers: Floats) -> str:
    """Return 32 hexadecimal digits for a text and an array."""
    digest = blake2b(text.encode(), digest_size=16)
    digest.update(repr(numbers.shape).encode())
    digest.update(np.ascontiguousarray(numbers + 0.0).astype("<f8").tobytes())  # no -0.0
    return digest.hexdigest()


def round_digits(values: Floats) -> Floats:
    """Return values rounded to six significant digits.

    Examples
    --------
    >>> round_digits(np.array([0.12345678, -1234567.8, 0.0])).tolist()
    [0.123457, -1234570.0, 0.0]
    """
    sizes = np.abs(values)
    places = DIGITS - 1 - np.floor(np.log10(np.where(sizes > 0.0, sizes, 1.0)))
    scale = 10.0 ** np.clip(places, -300.0, 300.0)
    scaled = values * scale
    rounded: Floats = np.where(np.isfinite(scaled), np.rint(scaled) / scale, values)
    return rounded
