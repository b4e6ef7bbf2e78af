"""The kind of table in a saved result: named with its dtypes, so that a loaded one can build it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput
from counterpoint.result.file.document import Node
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
