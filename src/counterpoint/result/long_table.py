"""The long table: which columns counterfactuals of many rows have, known beforehand.

One line per counterfactual; a row that has none to show has one line all the same. What is here
depends on the data's schema and the objectives only, so every chunk of every job has the same
types: as pandas, as Arrow and as Spark's DDL.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.checks import is_whole, require_package
from counterpoint.errors import CounterpointError, InvalidInput, listed, told_by
from counterpoint.table.features import Feature, Kind
from counterpoint.table.frames import Form, as_objects, as_table
from counterpoint.table.schema import Schema
from counterpoint.table.values import as_days

MOMENT = np.dtype("datetime64[us]")  # reaches from the year 1 to 9999, and is what Spark counts in
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object in an error: another one in every run


class Type(Enum):
    """What a column of the table holds: as pandas, Arrow, Spark and polars call it."""

    WHOLE = ("int64", "int64", "BIGINT", "Int64")
    WHOLE_OR_NONE = ("Int64", "int64", "BIGINT", "Int64")
    REAL = ("float64", "float64", "DOUBLE", "Float64")
    TRUTH = ("bool", "bool_", "BOOLEAN", "Boolean")
    TRUTH_OR_NONE = ("boolean", "bool_", "BOOLEAN", "Boolean")
    TEXT = ("string[python]", "string", "STRING", "String")
    DATE = ("datetime64[us]", "timestamp[us]", "TIMESTAMP_NTZ", "Datetime")
    NAMES = ("object", "list", "ARRAY<STRING>", "List")

    @property
    def dtype(self) -> Any:
        """The dtype of pandas."""
        return pd.api.types.pandas_dtype(self.value[0])

    def arrow(self, pa: Any) -> Any:
        """Return the type of Arrow."""
        if self is Type.DATE:
            return pa.timestamp("us")
        return pa.list_(pa.string()) if self is Type.NAMES else getattr(pa, self.value[1])()

    def polars(self, pl: Any) -> Any:
        """Return the type of polars."""
        return pl.List(pl.String) if self is Type.NAMES else getattr(pl, self.value[3])


def type_of(column: Feature) -> Type:
    """Return what a column of the data is in the table: levels of one type are of that type."""
    if column.kind is Kind.DATE:
        return Type.DATE
    if column.is_numeric:
        return Type.WHOLE_OR_NONE if column.kind is Kind.INTEGER else Type.REAL
    return type_of_levels(column.levels)


def type_of_levels(levels: Sequence[Any]) -> Type:
    """Return what levels or classes are in the table: what is of several types is text."""
    if all(isinstance(level, bool | np.bool_) for level in levels):
        return Type.TRUTH_OR_NONE
    if all(is_whole(level) for level in levels):
        fits = all(-(2**63) <= int(level) < 2**63 for level in levels)
        return Type.WHOLE_OR_NONE if fits else Type.TEXT
    return (
        Type.REAL if all(isinstance(level, float | np.floating) for level in levels) else Type.TEXT
    )


def type_of_index(labels: pd.Index[Any] | None) -> Type | None:
    """Return what the labels of observed rows are in the table, if they have any: often numbers."""
    if labels is None:
        return None
    return Type.WHOLE_OR_NONE if getattr(labels.dtype, "kind", "O") == "i" else Type.TEXT


@dataclass(frozen=True)
class OutputSchema:
    """The columns of the long table of counterfactuals, in order.

    Examples
    --------
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"age": [20, 30, 40], "job": ["a", "b", "a"]})
    >>> schema = cp.Explainer(lambda rows: rows["age"] / 50, data).output_schema(id="loan")
    >>> schema.names[:7]
    ('loan', 'row', 'counterfactual', 'status', 'message', 'age', 'job')
    >>> schema.names[7:11]
    ('valid', 'prediction', 'gap', 'distance')
    >>> schema.ddl()[:52]
    '`loan` BIGINT, `row` BIGINT, `counterfactual` BIGINT'
    """

    columns: tuple[Feature, ...]  # the columns of the data
    objectives: tuple[str, ...]  # the names of the objectives
    id: str | None = None  # the column of the rows that is handed through
    id_dtype: Any = "int64"  # dtype: its dtype
    # what stands before the names of all columns that are neither the id nor of the data; None is
    # "cf_" if one of those has such a name, and nothing otherwise
    prefix: str | None = None
    classes: tuple[Any, ...] = ()  # the model's classes, if it has any
    # what the column `observed` holds; None if counterfactuals are no observed rows
    observed: Type | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "id_dtype", pd.api.types.pandas_dtype(self.id_dtype))
        if self.id is not None and not isinstance(self.id, str):
            raise InvalidInput(f"id must be the name of a column, a text, got {self.id!r}.")
        features = [str(column.name) for column in self.columns]
        check_names(features, self.id)
        taken = features if self.id is None else [*features, self.id]
        object.__setattr__(self, "prefix", check_prefix(self.prefix, taken, self._bare))

    @property
    def own(self) -> dict[str, Type]:
        """Our columns, prefix included, with what they hold: first those of the row."""
        return {f"{self.prefix}{name}": kind for name, kind in self._bare.items()}

    @property
    def _bare(self) -> dict[str, Type]:
        """Our columns by their own names."""
        of_class = {"class": type_of_levels(self.classes)} if self.classes else {}
        return {
            "row": Type.WHOLE,
            "counterfactual": Type.WHOLE,
            "status": Type.TEXT,
            "message": Type.TEXT,
            "valid": Type.TRUTH,
            **of_class,
            "prediction": Type.REAL,
            **dict.fromkeys(self.objectives, Type.REAL),
            "changed": Type.NAMES,
            "way": Type.TEXT,
            **({} if self.observed is None else {"observed": self.observed}),
            "evaluations": Type.WHOLE,
        }

    @property
    def features(self) -> dict[str, Type]:
        """The columns of the data, with what they hold."""
        return {str(column.name): type_of(column) for column in self.columns}

    @property
    def types(self) -> dict[str, Type]:
        """All columns but the id, in order: the features stand before what was found of them."""
        own = [*self.own.items()]
        place = [*self.own].index(f"{self.prefix}valid")
        return dict(own[:place]) | self.features | dict(own[place:])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, in order."""
        return (*(() if self.id is None else (self.id,)), *self.types)

    def meta(self) -> pd.DataFrame:
        """Return the table without rows: the dtypes of pandas."""
        own = {} if self.id is None else {self.id: self.id_dtype}
        dtypes = own | {name: kind.dtype for name, kind in self.types.items()}
        return pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in dtypes.items()})

    def arrow(self) -> Any:
        """Return the schema of Arrow; needs pyarrow."""
        pa = require_package("pyarrow", "a schema of Arrow", '"counterpoint[parquet]"')
        own = [] if self.id is None else [(self.id, _arrow_type(self.id_dtype, pa))]
        return pa.schema([*own, *((name, kind.arrow(pa)) for name, kind in self.types.items())])

    def ddl(self) -> str:
        """Return the schema as Spark writes it: names in backticks, and types."""
        own = {} if self.id is None else {self.id: _spark_type(self.id_dtype)}
        types = own | {name: kind.value[2] for name, kind in self.types.items()}
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in types.items())

    def table(self, frame: pd.DataFrame) -> Any:
        """Return a frame with these columns as a table of Arrow, without metadata."""
        pa = require_package("pyarrow", "a table of Arrow", '"counterpoint[parquet]"')
        schema = self.arrow()
        if self.id is not None:
            frame = frame.assign(**{self.id: _plain(frame[self.id])})
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        return table.replace_schema_metadata(None)

    def decoded(self, genes: Floats, is_there: Bools) -> dict[str, Any]:
        """Return the columns of the data for lines (n,), of which those marked have genes (k, c).

        The genes are by column, as from `Encoding.by_column`; lines without them have no values.
        """
        full = np.full((len(is_there), len(self.columns)), np.nan)
        full[is_there] = genes
        return {
            name: decoded_column(full[:, j], column, kind)
            for j, ((name, kind), column) in enumerate(
                zip(self.features.items(), self.columns, strict=True)
            )
        }


def decoded_column(genes: Floats, column: Feature, kind: Type) -> Any:
    """Return the values of one column from its genes (n,), where NaN is a missing value."""
    is_missing = np.isnan(genes)
    codes = np.where(is_missing, 0.0, genes)
    if column.kind is Kind.DATE:
        days = as_days(codes).astype(MOMENT)
        days[is_missing] = np.datetime64("NaT")
        return days
    if column.is_numeric and kind is Type.REAL:
        return genes
    if column.is_numeric:
        return pd.array(_masked(codes.astype(np.int64), is_missing), dtype=kind.dtype)
    return decoded_levels(genes, column.levels)


def decoded_levels(codes: Floats, levels: Sequence[Any]) -> Any:
    """Return levels or classes from their codes (n,), where NaN is a missing value."""
    kind, is_missing = type_of_levels(levels), np.isnan(codes)
    words = [str(level) for level in levels] if kind is Type.TEXT else levels
    cells = as_objects(words).take(np.where(is_missing, 0.0, codes).astype(np.int64))
    if kind is Type.REAL:
        return np.where(is_missing, np.nan, cells.astype(np.float64))
    return pd.array(_masked(cells, is_missing), dtype=kind.dtype)


def _masked(values: Any, is_missing: Bools) -> Any:
    """Return values as objects, None where they are missing; as they are if none is."""
    if not is_missing.any():
        return values
    cells = values.astype(object)
    cells[is_missing] = None
    return cells


def check_names(features: Sequence[str], id: str | None) -> None:
    """Refuse names that two columns would have."""
    if twice := sorted({name for name in features if features.count(name) > 1}):
        raise InvalidInput(
            f"the data have several columns written {listed(twice)}, which one table cannot hold; "
            "rename them."
        )
    if id in features:
        raise InvalidInput(
            f"id={id!r} is a feature of the data; name a column that is none, or leave id out."
        )


def with_columns(
    frame: pd.DataFrame, own: dict[str, Any], schema: Schema, prefix: str | None
) -> pd.DataFrame:
    """Return a frame of features with our columns behind them, a prefix before their names."""
    taken = [str(each.name) for each in (*schema.features, *schema.columns)]
    prefix = check_prefix(prefix, taken, own)
    named = {f"{prefix}{name}": column for name, column in own.items()}
    # At once: put in one by one, as `assign` does, columns take three times as long.
    return pd.concat([frame, pd.DataFrame(named, index=frame.index)], axis=1)


def check_prefix(prefix: object, features: Iterable[str], own: Iterable[str]) -> str:
    """Return what is put before the names of the result's own columns.

    If the caller gave None, that is "cf_" if a feature has the name of one of them, else nothing.

    Examples
    --------
    >>> check_prefix(None, ["age"], ["gap"]), check_prefix(None, ["gap"], ["gap"])
    ('', 'cf_')
    """
    taken, own = set(features), list(own)
    if prefix is not None:
        if not isinstance(prefix, str):
            raise InvalidInput(f"prefix must be a text, such as 'cf_', got {prefix!r}.")
        if twice := [f"{prefix}{name}" for name in own if f"{prefix}{name}" in taken]:
            raise InvalidInput(
                f"prefix={prefix!r} makes {listed(twice)}, which is the name of a feature; give "
                "another prefix, or leave it out."
            )
        return prefix
    found = ""
    while any(f"{found}{name}" in taken for name in own):
        found += "cf_"
    return found


def failure_text(error: BaseException) -> str:
    """Return what a failed row says of its error: the same in every run."""
    text = ADDRESS.sub("", told_by(error)).strip()
    if isinstance(error, CounterpointError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _arrow_type(dtype: Any, pa: Any) -> Any:
    """Return the Arrow type of ids of a dtype; what could be anything is text."""
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    if pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype):
        return pa.string()
    kind = pa.Array.from_pandas(pd.Series([], dtype=dtype)).type
    return pa.string() if pa.types.is_large_string(kind) else kind


def _spark_type(dtype: Any) -> str:
    """Return the Spark type of ids of a dtype; what could be anything is text."""
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    plain = getattr(dtype, "numpy_dtype", dtype)
    kind = getattr(plain, "kind", "O")
    if kind == "M":
        return "TIMESTAMP" if getattr(dtype, "tz", None) is not None else "TIMESTAMP_NTZ"
    return {"i": "BIGINT", "u": "BIGINT", "f": "DOUBLE", "b": "BOOLEAN"}.get(kind, "STRING")


def _plain(ids: pd.Series[Any]) -> pd.Series[Any]:
    """Return ids as Arrow can take them: categories as their values, objects as text."""
    if isinstance(ids.dtype, pd.CategoricalDtype):
        ids = ids.astype(ids.dtype.categories.dtype)
    if not pd.api.types.is_object_dtype(ids.dtype):
        return ids
    cells: list[Hashable] = [None if pd.isna(cell) else str(cell) for cell in ids]
    return pd.Series(cells, index=ids.index, dtype=object)


def classes_column(classes: tuple[Any, ...], codes: Ints) -> Any:
    """Return the classes of some codes as values of one type; labels of several types as text."""
    if len({type(label) for label in classes}) > 1:
        classes = tuple(map(str, classes))
    return pd.Index(classes, tupleize_cols=False).take(codes)


def in_form(form: Form, frame: pd.DataFrame, n_features: int, rows: Any = None) -> Any:
    """Return a pandas frame of a result as the caller's kind of table; of arrays it stays one.

    The first `n_features` columns are features, numbers are in the others. `rows` are the same
    features as a table of that kind; None writes them as text.
    """
    if form.kind in ("pandas", "numpy"):
        return frame
    columns: dict[str, Any] = {}
    for j, name in enumerate(frame.columns):
        if j >= n_features:
            columns[str(name)] = frame[name].to_numpy()
        elif rows is not None:
            columns[str(name)] = rows[name]
        else:  # midnight is left out
            cells = [
                cell.date() if isinstance(cell, pd.Timestamp) else cell for cell in frame[name]
            ]
            columns[str(name)] = np.array([str(cell) for cell in cells], dtype=np.str_)
    return as_table(form, columns)
