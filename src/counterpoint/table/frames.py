"""Frames: the caller's kind of table, read into pandas and built again from genes.

pandas is the kind all other code works with. A `Form` remembers what else the caller brought, and
`builder` returns the function that makes frames of that kind, in the same dtypes. narwhals reads
polars and pyarrow; neither is imported here, they are there if their frames are.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
import pandas as pd

from counterpoint.arrays import LARGEST, Bools, Floats
from counterpoint.checks import is_loaded, require_package
from counterpoint.errors import DataWarning, InvalidInput, listed, named_columns
from counterpoint.table.features import Feature, Kind, plain_dtype
from counterpoint.table.values import EXACT, LARGEST_WHOLE, as_days, date_decoder, write_number

if TYPE_CHECKING:  # imported where there is a table that is not pandas'
    import narwhals as nw

FormKind = Literal["pandas", "polars", "pyarrow", "numpy"]
Maker: TypeAlias = Callable[[Floats], Any]  # from the genes of a column (n,) to the column
Build: TypeAlias = Callable[[Floats], Any]  # from genes by column (n, c) to a frame

# A frame, series or array, a mapping of column to value, or a list of such mappings.
Rows: TypeAlias = Any

TAKEN = (
    "a DataFrame of pandas or polars, a Table of pyarrow or a NumPy array with one column per "
    "feature"
)


@dataclass(frozen=True)
class Form:
    """The kind of table the caller brought."""

    kind: FormKind = "pandas"  # the library
    # the dtypes of its columns in that library's own words, of an array its single dtype; empty for
    # pandas, where features know theirs
    types: tuple[Any, ...] = ()


PANDAS = Form()
INTERNALS = getattr(pd.api, "internals", None)  # pandas 3 has them
of_blocks: Any = getattr(INTERNALS, "create_dataframe_from_blocks", None)
MARKS = {"None": None, "nan": np.nan, "NA": pd.NA}  # what stands for a missing value


def read_data(data: Any) -> tuple[pd.DataFrame, Form]:
    """Return the observed rows as a pandas frame, and the kind of table they came in."""
    data = from_capsule(data)
    if isinstance(data, pd.DataFrame):
        return data, PANDAS
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return read_array(data), Form("numpy", (data.dtype,))
    if is_loaded(data, "polars", "LazyFrame"):
        raise InvalidInput("data is a LazyFrame, of which no rows are known; pass data.collect().")
    if is_polars(data):
        return read_frame(data, "data"), Form("polars", tuple(data.dtypes))
    if is_loaded(data, "pyarrow", "Table"):
        return read_frame(data, "data"), Form("pyarrow", tuple(data.schema.types))
    what = (
        f"an array of shape {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
    )
    raise InvalidInput(f"data must be {TAKEN}, holding the observed rows; got {what}.")


def from_capsule(rows: Any) -> Any:
    """Return what offers itself as a stream of Arrow as a Table of pyarrow, all else as it is."""
    known = isinstance(rows, pd.DataFrame | pd.Series) or is_frame(rows)
    if known or not hasattr(rows, "__arrow_c_stream__"):
        return rows
    purpose = f"a {type(rows).__name__}, which is read by Arrow,"
    pa = require_package("pyarrow", purpose, '"counterpoint[parquet]"')
    try:
        return pa.table(rows)
    except (TypeError, ValueError):  # a stream of values, not of rows
        return rows


def is_frame(rows: object) -> bool:
    """Whether rows are a frame of polars or pyarrow."""
    return is_polars(rows) or is_loaded(rows, "pyarrow", "Table")


def is_polars(rows: object) -> bool:
    """Whether rows are a frame of polars."""
    return is_loaded(rows, "polars", "DataFrame")


def read_array(array: Any) -> pd.DataFrame:
    """Return a two-dimensional array as a frame with the columns 0, 1, ...

    Of an array of objects every column gets the dtype its values have.
    """
    if array.dtype.kind != "O":
        return pd.DataFrame(array, dtype=object if array.dtype.kind == "U" else None)
    columns: dict[int, pd.Series[Any]] = {}
    for j in range(array.shape[1]):
        column = pd.Series(array[:, j], dtype=object)
        is_text = any(isinstance(value, str) for value in column)  # which stays objects
        columns[j] = column if is_text else column.infer_objects()
    return pd.DataFrame(columns, index=pd.RangeIndex(len(array)))


def read_frame(frame: Any, argument: str) -> pd.DataFrame:
    """Return a frame of polars or pyarrow as one of pandas; `argument` names it in errors."""
    names = frame.columns if is_polars(frame) else frame.column_names
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidInput(f"{argument} has duplicate columns {listed(sorted(twice))}.")
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    columns = {name: _read_column(table[name], argument) for name in table.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(table)))


def _read_column(column: nw.Series[Any], argument: str) -> pd.Series[Any]:
    """Return a column as pandas can hold it without loss; refuse what it cannot."""
    import narwhals as nw

    dtype, name = column.dtype, column.name
    native = column.to_native()
    levels: list[Any] | None = None
    if _is_arrow_dictionary(native) and not _is_nested(native.type.value_type):
        levels = native.unify_dictionaries().chunk(0).dictionary.to_pylist() if len(column) else []
    elif isinstance(dtype, nw.Enum):
        levels = list(dtype.categories)
    if levels is not None:
        is_ordered = bool(getattr(getattr(native, "type", None), "ordered", False))
        values = pd.Categorical(column.to_list(), categories=levels, ordered=is_ordered)
        return pd.Series(values, name=name)
    if dtype in (nw.String, nw.Categorical) and not _is_arrow_dictionary(native):
        return pd.Series(column.to_list(), name=name, dtype=object)
    is_number = dtype.is_numeric() and not dtype.is_decimal()
    is_date = dtype in (nw.Date, nw.Datetime) or str(getattr(native, "type", "")) == "date64[ms]"
    if is_number or is_date or dtype == nw.Boolean:
        has_zone, has_nulls = getattr(dtype, "time_zone", None) is not None, column.null_count() > 0
        if has_nulls and not is_date:  # pandas calls its nullable dtypes the same
            nullable = "boolean" if dtype == nw.Boolean else str(dtype)
            return pd.Series(column.to_list(), name=name, dtype=nullable)
        is_list = has_zone or has_nulls  # which an array would drop, or make NaN
        return pd.Series(column.to_list() if is_list else column.to_numpy(), name=name)
    raise InvalidInput(
        f"{argument} column {name!r} has dtype {getattr(native, 'type', None) or native.dtype}, "
        "which cannot be searched; use numbers, booleans, strings, categories or dates."
    )


def _is_arrow_dictionary(native: Any) -> bool:
    """Whether a column is one of pyarrow's dictionaries, which is what it calls categories."""
    return str(getattr(native, "type", "")).startswith("dictionary<")


def _is_nested(kind: Any) -> bool:
    """Whether a type of pyarrow is made of others: its values cannot be levels."""
    return kind.num_fields > 0 or str(kind).startswith("dictionary<")


def numbers_of(column: pd.Series[Any], argument: str) -> Floats:
    """Return a numeric column as float64 without -0.0; refuse what it cannot hold or order."""
    try:
        values = column.to_numpy(dtype=np.float64) + 0.0
    except OverflowError as error:
        raise InvalidInput(
            f"{argument} column {column.name!r} has a whole number that is too large to compute "
            "with; use another unit."
        ) from error
    if not np.isfinite(values).all():
        raise InvalidInput(
            f"{argument} column {column.name!r} has infinite values; replace them by numbers."
        )
    if (huge := values[np.abs(values) > LARGEST]).size:
        raise InvalidInput(
            f"{argument} column {column.name!r} has {write_number(huge[0], digits=EXACT)}, beyond "
            f"{write_number(LARGEST)}, which is too large to compute with; use another unit, or "
            "NaN if it stands for a missing value."
        )
    if pd.api.types.is_integer_dtype(column.dtype) and np.abs(values).max() >= LARGEST_WHOLE:
        raise InvalidInput(
            f"{argument} column {column.name!r} holds whole numbers beyond 2**53, which look like "
            "identifiers; drop the column or turn it into categories."
        )
    return values


def builder(form: Form, columns: Sequence[Feature]) -> Build:
    """Return the function from genes by column (n, c) to a frame of the caller's kind."""
    if form.kind == "numpy":
        return array_builder(form.types[0], columns)
    library = sys.modules[form.kind]
    make = {"polars": polars_maker, "pyarrow": arrow_maker}[form.kind]
    fill = partial({"polars": polars_nulls, "pyarrow": arrow_nulls}[form.kind], library)
    makers = [
        (str(feature.name), with_gaps(make(library, feature, dtype), feature, fill))
        for feature, dtype in zip(columns, form.types, strict=True)
    ]

    def build(genes: Floats) -> Any:
        return as_table(form, {name: maker(genes[:, j]) for j, (name, maker) in enumerate(makers)})

    return build


def pandas_builder(columns: Sequence[Feature]) -> Build:
    """Return the function from genes by column (n, c) to a pandas frame in the data's own dtypes.

    Plain numbers of one dtype are one block: single columns take twice as long to make, and models
    longer to read. The frame may share the memory of the genes.
    """
    names = pd.Index([column.name for column in columns])
    if all(column.dtype == np.float64 for column in columns):
        return lambda genes: pd.DataFrame(genes, columns=names, copy=False)
    makers, together = dict[int, Maker](), dict[Any, list[int]]()
    for j, column in enumerate(columns):
        if of_blocks is not None and column.is_plain:
            together.setdefault(column.dtype, []).append(j)
        else:
            fill = partial(pandas_nulls, feature=column)
            makers[j] = with_gaps(pandas_maker(column), column, fill)

    def build(genes: Floats) -> pd.DataFrame:
        made = {j: make(genes[:, j]) for j, make in makers.items()}
        if of_blocks is None:
            return pd.DataFrame(made, copy=False).set_axis(names, axis=1)
        blocks = [(genes.T[some].astype(dtype), np.array(some)) for dtype, some in together.items()]
        blocks += [(as_block(column), np.array([j])) for j, column in made.items()]
        return cast(pd.DataFrame, of_blocks(blocks, pd.RangeIndex(len(genes)), names))

    return build


def as_block(column: Any) -> Any:
    """Return a column as a block of a frame: of NumPy's arrays with one more dimension."""
    is_array = isinstance(column, pd.api.extensions.ExtensionArray)
    array = column if is_array else pd.Series(column, copy=False).array
    is_numpy = type(array) is pd.arrays.NumpyExtensionArray  # which pandas' texts derive from
    return array.to_numpy()[None] if is_numpy else array


def with_gaps(make: Maker, feature: Feature, fill: Callable[[Any, Bools], Any]) -> Maker:
    """Return a maker of columns that also takes NaN, of which `fill` makes a missing value."""
    if feature.is_plain or not feature.has_missing:
        return make

    def make_some(genes: Floats) -> Any:
        is_missing = np.isnan(genes)
        if not is_missing.any():
            return make(genes)
        return fill(make(np.where(is_missing, feature.low, genes)), is_missing)

    return make_some


def marked(column: Any, is_missing: Bools, feature: Feature) -> Any:
    """Return a column as objects, with what the data have for missing values."""
    cells = np.array(column, dtype=object)
    cells[is_missing] = MARKS[feature.missing]
    return cells


def pandas_maker(feature: Feature) -> Maker:
    """Return the function that turns genes of `feature` into a column of its own dtype."""
    dtype = feature.dtype
    if feature.kind is Kind.DATE:
        return date_decoder(dtype)
    if feature.is_numeric and isinstance(dtype, np.dtype):
        return lambda genes: genes.astype(dtype)
    if feature.is_numeric:  # pandas' own dtypes: nullable and Arrow numbers
        whole = feature.kind is Kind.INTEGER
        return lambda genes: pd.array(genes.astype(np.int64) if whole else genes, dtype=dtype)
    levels = pd.Series(list(feature.levels), dtype=dtype).array
    if pd.api.types.is_object_dtype(dtype):  # else text would become pandas' str in a frame
        return lambda genes: pd.Series(levels.take(genes.astype(np.intp)), dtype=object)
    return lambda genes: levels.take(genes.astype(np.intp))


def pandas_nulls(column: Any, is_missing: Bools, feature: Feature) -> Any:
    """Return a column with missing values, as the data mark them, where they belong."""
    made = pd.Series(column, dtype=feature.dtype)
    if feature.dtype == object:
        return pd.Series(marked(made, is_missing, feature), dtype=object)
    return made.mask(is_missing)  # by what the dtype has for it


def polars_nulls(polars: Any, column: Any, is_missing: Bools) -> Any:
    """Return a Series of polars with nulls in some places."""
    places = [None if missing else i for i, missing in enumerate(is_missing.tolist())]
    return column.gather(polars.Series(places, dtype=polars.UInt32))


def arrow_nulls(arrow: Any, column: Any, is_missing: Bools) -> Any:
    """Return an array of pyarrow with nulls in some places."""
    if _is_arrow_dictionary(column):  # keeps the words that no row has
        return column.take(arrow.array(np.arange(len(column)), mask=is_missing))
    cells = zip(column.to_pylist(), is_missing.tolist(), strict=True)
    return arrow.array([None if missing else cell for cell, missing in cells], type=column.type)


def as_table(form: Form, columns: dict[str, Any]) -> Any:
    """Return columns by name as a frame of polars or pyarrow."""
    library = sys.modules[form.kind]
    return library.DataFrame(columns) if form.kind == "polars" else library.table(columns)


def polars_maker(polars: Any, feature: Feature, dtype: Any) -> Maker:
    """Return the function that makes a Series of polars of genes."""
    if feature.kind is Kind.DATE:
        unit = "D" if dtype == polars.Date else dtype.time_unit
        return lambda genes: polars.Series(as_days(genes).astype(f"datetime64[{unit}]"))
    if feature.is_numeric:
        return lambda genes: polars.Series(genes.astype(plain_dtype(feature.dtype)))
    levels = polars.Series(list(feature.levels), dtype=dtype)
    return lambda genes: levels.gather(genes.astype(np.int64))


def arrow_maker(arrow: Any, feature: Feature, dtype: Any) -> Maker:
    """Return the function that makes an array of pyarrow of genes."""
    if feature.kind is Kind.DATE:
        unit = getattr(dtype, "unit", "D")  # of timestamps; dates have none
        return lambda genes: arrow.array(as_days(genes).astype(f"datetime64[{unit}]"), type=dtype)
    if feature.is_numeric:
        number = plain_dtype(feature.dtype)
        return lambda genes: arrow.array(genes.astype(number), type=dtype, from_pandas=False)
    if not isinstance(feature.dtype, pd.CategoricalDtype):  # no kernel takes from all types
        own = as_objects(feature.levels)
        return lambda genes: arrow.array(own.take(genes.astype(np.int64)), type=dtype)
    categories = feature.dtype.categories  # all that the dictionary had
    places = arrow.array(categories.get_indexer(pd.Index(feature.levels)), type=dtype.index_type)
    words = arrow.array(categories.tolist(), type=dtype.value_type)
    levels = arrow.DictionaryArray.from_arrays(places, words, ordered=dtype.ordered)
    return lambda genes: levels.take(arrow.array(genes.astype(np.int64)))


def array_builder(dtype: Any, columns: Sequence[Feature]) -> Build:
    """Return the function that makes arrays of NumPy; text gets room for the longest level."""
    if dtype.kind in "iuf" and all(feature.is_numeric for feature in columns):
        return lambda genes: genes.astype(dtype)
    if dtype.kind == "U":
        dtype = np.result_type(dtype, *(np.array(feature.levels) for feature in columns))
    makers = [
        with_gaps(array_maker(feature), feature, partial(marked, feature=feature))
        for feature in columns
    ]

    def build(genes: Floats) -> Any:
        made = np.empty(genes.shape, dtype=dtype)
        for j, maker in enumerate(makers):
            made[:, j] = maker(genes[:, j])
        return made

    return build


def array_maker(feature: Feature) -> Maker:
    """Return the function that makes one column of an array without missing values."""
    if feature.kind is Kind.DATE and feature.dtype == object:  # Python's dates
        return lambda genes: as_days(genes).astype(object)
    if feature.kind is Kind.DATE:  # among objects they become pandas' moments
        return lambda genes: pd.Series(as_days(genes).astype(feature.dtype))
    if feature.is_numeric:
        return lambda genes: genes.astype(feature.dtype)
    levels = as_objects(feature.levels)
    return lambda genes: levels.take(genes.astype(np.int64))


def as_objects(levels: Sequence[Any]) -> Any:
    """Return levels as an array of the objects they are."""
    made = np.empty(len(levels), dtype=object)
    made[:] = levels
    return made


def as_frame(rows: Rows, argument: str, columns: Sequence[Hashable] | None = None) -> pd.DataFrame:
    """Return rows in any form as one pandas frame.

    `argument` is what they are called in errors. `columns` are those of an array; None takes no
    arrays, for nothing says what is what in them.
    """
    rows = from_capsule(rows)
    if isinstance(rows, pd.DataFrame):
        return rows
    if isinstance(rows, pd.Series):
        return rows.to_frame().T
    if isinstance(rows, np.ndarray) and columns is not None:
        return _array_as_frame(rows, argument, columns)
    if isinstance(rows, Mapping):
        return _dicts_as_frame([rows])
    if is_frame(rows):
        return read_frame(rows, argument)
    if isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows):
        return _dicts_as_frame(rows)
    raise InvalidInput(
        f"{argument} must be a DataFrame, a Series, a dict of column to value or a list of such "
        f"dicts, got {type(rows).__name__}."
    )


def _dicts_as_frame(rows: Sequence[Mapping[Any, Any]]) -> pd.DataFrame:
    records = [dict(row) for row in rows]
    try:
        return pd.DataFrame(records)
    except (UnicodeEncodeError, OverflowError):  # of values that only objects can be
        return pd.DataFrame(records, dtype=object)


def only_known(
    frame: pd.DataFrame, names: Sequence[Hashable], argument: str, stacklevel: int = 4
) -> pd.DataFrame:
    """Return rows without columns that the data do not have, with a remark.

    Where columns of the data are lacking nothing is left out: one of the others may be meant.
    """
    known, held = set(names), set(frame.columns)
    if not known <= held or known == held:
        return frame
    extra = [name for name in frame.columns if name not in known]
    are = "it is" if len(extra) == 1 else "they are"
    warnings.warn(
        f"{argument} has the {named_columns(extra)}, which the data do not have; {are} ignored.",
        DataWarning,
        stacklevel=stacklevel,
    )
    return frame.loc[:, [name in known for name in frame.columns]]


def _array_as_frame(rows: Any, argument: str, columns: Sequence[Hashable]) -> pd.DataFrame:
    """Return one row (c,) or several (n, c) of an array as a frame."""
    table = rows[None] if rows.ndim == 1 else rows
    if table.ndim != 2 or table.shape[1] != len(columns):
        raise InvalidInput(
            f"{argument} is an array of shape {rows.shape}; expected ({len(columns)},) or "
            f"(n, {len(columns)}), one value per column of the data."
        )
    return read_array(table)
