"""Documents: how labels, dtypes, features and kinds of tables are JSON, and read back strictly.

A label (a level, a class, a column name, a setting) is itself where JSON has it; anything else is
an object with one key that names its type, such as ``{"interval": [0.0, 2.0, "right"]}``. Reading
goes through a `Node`, which knows its place in the document and says it in every complaint.
"""

from __future__ import annotations

import datetime
import json
import math
import reprlib
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib.util import find_spec
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput, listed
from counterpoint.table.features import MOST_DECIMALS, Feature, Kind, plain_dtype
from counterpoint.table.frames import MARKS, PANDAS, Form
from counterpoint.table.inference import unheld_levels
from counterpoint.table.schema import Encoding
from counterpoint.table.values import LARGEST_WHOLE

FORMAT = "counterpoint/counterfactuals"
VERSION = 1

_PLAIN = ["bool", *(f"{k}int{b}" for k in ("", "u") for b in (8, 16, 32, 64))]
_SCALARS = {*_PLAIN, "float16", "float32", "float64", "str"}
_NUMPY = (_SCALARS - {"str"}) | {"object"}
_DATES = {f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")}
_NULLABLE = {"boolean", "Float32", "Float64"} | {
    f"{kind}nt{bits}" for kind in ("I", "UI") for bits in (8, 16, 32, 64)
}
_ARROW = {*_PLAIN, "halffloat", "float", "double", "string", "large_string", "date32[day]"} | {
    f"timestamp[{unit}]" for unit in ("s", "ms", "us", "ns")
}


@dataclass(frozen=True)
class Node:
    """A value of a document and its place there, `$` being the whole.

    Examples
    --------
    >>> Node([1, "a"], "$.seed").items()[1].number()
    Traceback (most recent call last):
    ...
    counterpoint.errors.InvalidInput: $.seed[1] must be a finite number, got 'a'.
    """

    value: Any
    path: str = "$"

    def refuse(self, expected: str) -> NoReturn:
        """Say what should be here, and what is."""
        raise InvalidInput(f"{self.path} must be {expected}, got {reprlib.repr(self.value)}.")

    def fields(self, *keys: str) -> list[Node]:
        """Return the values of an object that has exactly these keys, in their order."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        if unknown := [key for key in self.value if key not in keys]:
            raise InvalidInput(f"{self.path} has the unknown key {reprlib.repr(unknown[0])}.")
        if missing := [key for key in keys if key not in self.value]:
            raise InvalidInput(f"{self.path} lacks the key {missing[0]!r}.")
        return [Node(self.value[key], f"{self.path}.{key}") for key in keys]

    def items(self, n: int | None = None) -> list[Node]:
        """Return the entries of a list, of n if n is given."""
        if not isinstance(self.value, list):
            self.refuse("a list")
        if n is not None and len(self.value) != n:
            raise InvalidInput(f"{self.path} must have {n} entries, got {len(self.value)}.")
        return [Node(entry, f"{self.path}[{i}]") for i, entry in enumerate(self.value)]

    def number(self) -> float:
        """Return a finite number."""
        if type(self.value) not in (int, float) or not abs(self.value) < math.inf:
            self.refuse("a finite number")
        try:
            return float(self.value)
        except OverflowError:
            self.refuse("a finite number")

    def whole(self, least: int, most: int) -> int:
        """Return a whole number in a range."""
        if type(self.value) is not int or not least <= self.value <= most:
            self.refuse(f"a whole number from {least} to {most}")
        return int(self.value)

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            self.refuse("a text")
        return str(self.value)

    def truth(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return bool(self.value)

    def one_of(self, options: set[str]) -> str:
        """Return a text that is one of the options."""
        if not isinstance(self.value, str) or self.value not in options:
            self.refuse(f"one of {listed(sorted(options), most=20)}")
        return str(self.value)

    def numbers(self, n: int | None = None) -> Floats:
        """Return a list of finite numbers, shape (n,)."""
        entries = self.value
        is_list = isinstance(entries, list) and n in (None, len(entries))
        if is_list and all(type(entry) is float and math.isfinite(entry) for entry in entries):
            return np.array(entries, dtype=np.float64)  # as most are: no node for each
        return np.array([entry.number() for entry in self.items(n)], dtype=np.float64)

    def wholes(self, n: int | None, most: int) -> Ints:
        """Return a list of n whole numbers from 0 on, shape (n,)."""
        return np.array([each.whole(0, max(most, 0)) for each in self.items(n)], dtype=np.int64)

    def truths(self, n: int) -> Bools:
        """Return a list of n truth values, shape (n,)."""
        return np.array([entry.truth() for entry in self.items(n)], dtype=np.bool_)

    def table(self, n: int | None, d: int) -> Floats:
        """Return a list of lists of d finite numbers each, shape (n, d)."""
        rows = [row.numbers(d) for row in self.items(n)]
        return np.array(rows, dtype=np.float64).reshape(len(rows), d)


def encode_text(document: Any, *, is_sorted: bool = True) -> str:
    """Return a document as compact strict JSON; sorted, equal documents have equal texts."""
    return json.dumps(document, allow_nan=False, separators=(",", ":"), sort_keys=is_sorted)


def write_label(value: Any, what: str) -> Any:
    """Return a label as JSON; `what` names it if that cannot be done.

    Examples
    --------
    >>> write_label("own", "level"), write_label(np.int8(3), "level"), write_label(np.inf, "end")
    ('own', {'numpy': ['int8', 3]}, {'float': 'inf'})
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if value is pd.NA or value is pd.NaT:
        return {"missing": str(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.generic):
        name = "str" if isinstance(value, np.str_) else value.dtype.name
        if name in _SCALARS:
            return {"numpy": [name, write_label(value.item(), what)]}
    elif type(value) is tuple:
        return {"tuple": [write_label(entry, what) for entry in value]}
    elif type(value) is Decimal:
        return {"decimal": str(value)}
    elif type(value) is datetime.date:
        return {"date": value.isoformat()}
    elif isinstance(value, pd.Interval):
        ends = [write_label(end, what) for end in (value.left, value.right)]
        return {"interval": [*ends, value.closed]}
    elif isinstance(value, pd.Timestamp) and value.tz is None:
        moment = value.to_numpy()
        return {"timestamp": [int(moment.astype(np.int64)), np.datetime_data(moment.dtype)[0]]}
    raise InvalidInput(
        f"{what} {value!r} is a {type(value).__name__}, which cannot be saved; use text or numbers."
    )


def read_label(node: Node) -> Any:
    """Return the label a node stands for."""
    if node.value is None or type(node.value) in (bool, int, str):
        return node.value
    if type(node.value) is float:
        return node.number()
    if not isinstance(node.value, dict) or len(node.value) != 1:
        node.refuse("a label: text, a number, true, false, null or an object with one key")
    (kind,) = node.value
    if kind not in _LABELS:
        node.refuse(f"a label of a known type ({', '.join(_LABELS)})")
    try:
        label = _LABELS[kind](Node(node.value[kind], f"{node.path}.{kind}"))
        is_nan = isinstance(label, _NUMBERS) and label != label
        return _NANS.setdefault(encode_text(node.value), label) if is_nan else label
    except (ArithmeticError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{node.path} is no {kind}: {error}.") from error


def _read_numpy(node: Node) -> Any:
    """Return a NumPy scalar that holds the written value exactly."""
    name, value = node.items(2)
    kind, plain = name.one_of(_SCALARS), read_label(value)
    scalar = np.str_(plain) if kind == "str" else np.dtype(kind).type(plain)
    if type(scalar.item()) is not type(plain) or encode_text(write_label(scalar.item(), "")) != (
        encode_text(value.value)
    ):
        value.refuse(f"a value of {kind}")
    return scalar


def _read_interval(node: Node) -> pd.Interval[Any]:
    left, right, closed = node.items(3)
    side: Any = closed.one_of({"left", "right", "both", "neither"})
    return pd.Interval(read_label(left), read_label(right), side)


def _read_timestamp(node: Node) -> pd.Timestamp:
    value, unit = node.items(2)
    scale: Any = unit.one_of({"s", "ms", "us", "ns"})
    return pd.Timestamp(np.datetime64(value.whole(-(2**62), 2**62), scale))


_FLOATS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
_NUMBERS = (float, np.floating, Decimal)
# What equals nothing, itself included, is found by being the same object.
_NANS: dict[str, Any] = {}
_LABELS = {
    "float": lambda node: _FLOATS[node.one_of(set(_FLOATS))],
    "missing": lambda node: {"<NA>": pd.NA, "NaT": pd.NaT}[node.one_of({"<NA>", "NaT"})],
    "numpy": _read_numpy,
    "tuple": lambda node: tuple(read_label(entry) for entry in node.items()),
    "decimal": lambda node: Decimal(node.text()),
    "date": lambda node: datetime.date.fromisoformat(node.text()),
    "interval": _read_interval,
    "timestamp": _read_timestamp,
}


def write_dtype(dtype: Any, what: str) -> Any:
    """Return a column's dtype as JSON: its name, or an object with what else it needs.

    Examples
    --------
    >>> write_dtype(pd.CategoricalDtype([1, 2], ordered=True), "column 'size'")
    {'categories': [1, 2], 'of': 'int64', 'ordered': True}
    """
    if isinstance(dtype, np.dtype):
        if dtype.isnative and dtype.name in _NUMPY | _DATES:
            return dtype.name
    elif isinstance(dtype, pd.CategoricalDtype):
        return {
            "categories": [write_label(level, f"{what}: level") for level in dtype.categories],
            "of": write_dtype(dtype.categories.dtype, what),
            "ordered": bool(dtype.ordered),
        }
    elif isinstance(dtype, pd.StringDtype):
        return {"storage": dtype.storage, "na_value": "NA" if dtype.na_value is pd.NA else "nan"}
    elif isinstance(dtype, pd.ArrowDtype):
        if str(dtype.pyarrow_dtype) in _ARROW:
            return {"arrow": str(dtype.pyarrow_dtype)}
    elif isinstance(dtype, pd.SparseDtype):
        fill = getattr(dtype.fill_value, "item", lambda: dtype.fill_value)()
        return {"sparse": write_dtype(dtype.subtype, what), "fill_value": write_label(fill, what)}
    elif isinstance(dtype, pd.IntervalDtype):
        return {"interval": write_dtype(dtype.subtype, what), "closed": dtype.closed}
    elif str(dtype) in _NULLABLE:
        return str(dtype)
    raise InvalidInput(f"{what} has dtype {dtype}, which cannot be saved; convert it first.")


def read_dtype(node: Node) -> Any:
    """Return the dtype a node stands for."""
    if not isinstance(node.value, dict):
        name = node.one_of(_NUMPY | _DATES | _NULLABLE)
        return np.dtype(name) if name in _NUMPY | _DATES else pd.api.types.pandas_dtype(name)
    if "categories" in node.value:
        levels, of, is_ordered = node.fields("categories", "of", "ordered")
        labels = [read_label(level) for level in levels.items()]
        categories = pd.Index(labels, dtype=read_dtype(of), tupleize_cols=False)
        if [*categories] != labels:
            levels.refuse(f"labels of dtype {categories.dtype}")
        return pd.CategoricalDtype(categories, is_ordered.truth())
    if "storage" in node.value:
        storage, na_value = node.fields("storage", "na_value")
        missing: Any = {"NA": pd.NA, "nan": np.nan}[na_value.one_of({"NA", "nan"})]
        return _string_dtype(storage.one_of({"python", "pyarrow"}), missing)
    if "sparse" in node.value:
        subtype, fill = node.fields("sparse", "fill_value")
        return pd.SparseDtype(np.dtype(subtype.one_of(_NUMPY - {"object"})), read_label(fill))
    if "interval" in node.value:
        subtype, closed = node.fields("interval", "closed")
        side: Any = closed.one_of({"left", "right", "both", "neither"})
        return pd.IntervalDtype(subtype.one_of((_NUMPY | _DATES) - {"object"}), side)
    (name_node,) = node.fields("arrow")
    pyarrow = require_package("pyarrow", "a column of Arrow's dtypes", "pyarrow")
    return pd.ArrowDtype(pyarrow.type_for_alias(name_node.one_of(_ARROW)))


def _string_dtype(storage: Any, missing: Any) -> pd.StringDtype:
    """Return the dtype of text, which Python keeps where there is no pyarrow to do it."""
    if find_spec("pyarrow") is None:
        storage = "python"
    try:
        return pd.StringDtype(storage, na_value=missing)
    except TypeError:  # before pandas 2.3 there was one kind of missing text
        return pd.StringDtype(storage)


def write_feature(feature: Feature) -> dict[str, Any]:
    """Return a feature as JSON; levels that are the categories of its dtype are not repeated."""
    what = f"column {feature.name!r}"
    is_dtype = isinstance(feature.dtype, pd.CategoricalDtype)
    has_own = not is_dtype or feature.levels != tuple(feature.dtype.categories)
    levels = feature.levels if has_own else ()
    document = {
        "name": write_label(feature.name, "column"),
        "kind": str(feature.kind),
        "dtype": write_dtype(feature.dtype, what),
        "levels": [write_label(level, f"{what}: level") for level in levels],
        "low": feature.low,
        "high": feature.high,
        "decimals": feature.decimals,
    }
    if feature.has_missing:
        document["missing"] = feature.missing
    if feature.columns:
        document["columns"] = [write_feature(column) for column in feature.columns]
    return document


def read_feature(node: Node) -> Feature:
    """Return the feature a node stands for, refusing what no column of data could be."""
    keys = ("name", "kind", "dtype", "levels", "low", "high", "decimals")
    if isinstance(node.value, dict) and "columns" in node.value:
        return read_group(node, keys)
    if isinstance(node.value, dict) and "missing" in node.value:
        *_, mark = node.fields(*keys, "missing")
        rest = Node({key: node.value[key] for key in keys}, node.path)
        return replace(read_feature(rest), missing=mark.one_of({*MARKS}))
    name, kind_node, dtype_node, level_nodes, low, high, decimals = node.fields(*keys)
    kind, dtype = Kind(kind_node.one_of({*Kind})), read_dtype(dtype_node)
    levels = tuple(read_label(level) for level in level_nodes.items())
    if isinstance(dtype, pd.CategoricalDtype) and not levels:
        levels = tuple(dtype.categories)
    places = None if decimals.value is None else decimals.whole(0, MOST_DECIMALS)
    feature = Feature(read_label(name), kind, dtype, levels, low.number(), high.number(), places)
    is_sound = _fits_number(feature) if feature.is_numeric else _fits_levels(feature)
    if not is_sound:
        raise InvalidInput(f"{node.path} describes no column: kind, dtype and values disagree.")
    return feature


def read_group(node: Node, keys: tuple[str, ...]) -> Feature:
    """Return the one-hot group a node stands for."""
    *_, column_nodes = node.fields(*keys, "columns")
    columns = tuple(read_feature(column) for column in column_nodes.items())
    rest = {key: node.value[key] for key in keys}
    whole = read_feature(Node(rest | {"dtype": "object"}, node.path))
    switches = {Kind.INTEGER, Kind.REAL, Kind.BINARY}
    is_sound = all(column.kind in switches and not column.columns for column in columns)
    n_spare = len(whole.levels) - len(columns)
    if not columns or not is_sound or n_spare not in (0, 1) or whole.kind is Kind.ORDERED:
        raise InvalidInput(f"{node.path} describes no one-hot group: levels and columns disagree.")
    return replace(whole, dtype=columns[0].dtype, columns=columns)


def _fits_number(feature: Feature) -> bool:
    """Whether a numeric feature's dtype, range and decimals agree."""
    kinds = {Kind.INTEGER: "iuf", Kind.REAL: "f", Kind.DATE: "MO"}[feature.kind]
    if feature.levels or getattr(plain_dtype(feature.dtype), "kind", "") not in kinds:
        return False
    ends = (feature.low, feature.high)
    if feature.kind is not Kind.REAL and any(end != round(end) for end in ends):
        return False
    if feature.decimals is not None:
        largest = max(1.0, abs(feature.low), abs(feature.high))
        if feature.kind is not Kind.REAL or largest * 10.0**feature.decimals >= LARGEST_WHOLE / 2:
            return False
    smallest, largest = feature.dtype_range
    return smallest <= feature.low <= feature.high <= largest


def _fits_levels(feature: Feature) -> bool:
    """Whether a feature's dtype can hold its levels, and its kind is the one they make."""
    n, dtype, levels = len(feature.levels), feature.dtype, feature.levels
    if n == 0 or len(set(levels)) != n or feature.decimals is not None:
        return False
    is_held = not unheld_levels(dtype, levels)
    unordered = Kind.BINARY if n == 2 else Kind.CATEGORICAL  # which of both, a caller may declare
    is_kind = feature.kind in (unordered, Kind.ORDERED)
    return is_held and is_kind and (feature.low, feature.high) == (0.0, n - 1.0)


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
