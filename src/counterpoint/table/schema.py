"""Features and schema: what each column of the data is, inferred from its dtype and values."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput, listed
from counterpoint.streams import MAX_GENES

Precision = Literal["observed", "full"]

LARGEST_WHOLE = 2.0**53  # beyond it float64 skips integers
MOST_DECIMALS = 12
OBJECTIVE_COLUMNS = ("prediction", "gap", "distance", "changes", "implausibility")


class Kind(StrEnum):
    """How a feature's values relate: decides its distance, crossover and mutation."""

    REAL = "real"
    INTEGER = "integer"
    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    BINARY = "binary"


@dataclass(frozen=True)
class Feature:
    """One column of the data.

    Parameters
    ----------
    name : hashable
        The column's label.
    kind : Kind
        Real, integer, categorical, ordered or binary.
    dtype : numpy or pandas dtype
        The column's own dtype, in which counterfactuals are returned.
    levels : tuple
        The values of a feature that is not a number, in code order; empty for numbers.
    low, high : float
        Smallest and largest observed value, or code.
    decimals : int or None
        Decimal places a real feature is searched on; None searches the reals.
    """

    name: Hashable
    kind: Kind
    dtype: Any
    levels: tuple[Any, ...]
    low: float
    high: float
    decimals: int | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers rather than levels."""
        return self.kind in (Kind.REAL, Kind.INTEGER)

    @property
    def is_constant(self) -> bool:
        """Whether the data show a single value, which leaves nothing to change."""
        return self.low == self.high if self.is_numeric else len(self.levels) == 1

    @property
    def is_single(self) -> bool:
        """Whether the column is float32, plain or nullable."""
        return bool(plain_dtype(self.dtype) == np.float32)

    @property
    def dtype_range(self) -> tuple[float, float]:
        """The smallest and largest number the column's dtype and a genome can both hold."""
        dtype = plain_dtype(self.dtype)
        if self.kind is Kind.INTEGER:
            whole = np.iinfo(dtype)
            return max(float(whole.min), -LARGEST_WHOLE), min(float(whole.max), LARGEST_WHOLE)
        largest = float(np.finfo(np.float32 if self.is_single else np.float64).max)
        return -largest, largest

    def __str__(self) -> str:
        if not self.is_numeric:
            order = " < " if self.kind is Kind.ORDERED else ", "
            return f"{self.name}: {self.kind} {{{order.join(map(str, self.levels))}}}"
        places = "" if not self.decimals else f", {self.decimals} decimals"
        return f"{self.name}: {self.kind} {self.low:g} to {self.high:g}{places}"


@dataclass(frozen=True)
class Schema:
    """The features of a table, in column order.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": [22, 35], "rate": [0.5, 1.25], "own": [True, False]})
    >>> print(Schema.infer(data))
    age: integer 22 to 35
    rate: real 0.5 to 1.25, 2 decimals
    own: binary {False, True}
    """

    features: tuple[Feature, ...]

    @classmethod
    def infer(cls, data: pd.DataFrame, precision: Precision = "observed") -> Schema:
        """Infer every column's kind, levels, range and decimals.

        Parameters
        ----------
        data : DataFrame
            The observed rows, features only.
        precision : {"observed", "full"}, default="observed"
            Whether real features are searched on the decimals seen in the data or on the reals.

        Returns
        -------
        Schema
            One `Feature` per column.

        Raises
        ------
        InvalidInput
            If the frame is empty, has duplicate columns, missing or infinite values, or a
            column of a kind we cannot search.
        """
        check_frame(data)
        if precision not in ("observed", "full"):
            raise InvalidInput(f"precision must be 'observed' or 'full', got {precision!r}.")
        return cls(tuple(infer_feature(data[name], precision) for name in data.columns))

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The column labels, in order."""
        return tuple(feature.name for feature in self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __str__(self) -> str:
        return "\n".join(map(str, self.features))


def check_frame(data: object) -> None:
    """Refuse what is not a usable table of observed rows."""
    if not isinstance(data, pd.DataFrame):
        raise InvalidInput(
            f"data must be a pandas DataFrame of the observed rows, got {type(data).__name__}; "
            "wrap arrays as pd.DataFrame(array, columns=[...])."
        )
    if data.shape[0] == 0 or data.shape[1] == 0:
        raise InvalidInput(
            f"data is empty: {data.shape[0]} rows, {data.shape[1]} columns; "
            "pass the observed rows with their feature columns."
        )
    if not data.columns.is_unique:
        twice = data.columns[data.columns.duplicated()].unique()
        raise InvalidInput(f"data has duplicate columns {listed(twice)}; give each its own name.")
    if reserved := [name for name in data.columns if name in OBJECTIVE_COLUMNS]:
        raise InvalidInput(
            f"data has columns named {listed(reserved)}, which the result adds itself; rename them."
        )
    if data.shape[1] > MAX_GENES:
        raise InvalidInput(f"data has {data.shape[1]} columns; at most {MAX_GENES} are supported.")


def infer_feature(column: pd.Series[Any], precision: Precision) -> Feature:
    """Infer one feature from the observed column."""
    check_no_missing(column, "data")
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):  # first: categories of booleans are levels too
        return infer_levels(column, tuple(dtype.categories), is_ordered=bool(dtype.ordered))
    if pd.api.types.is_bool_dtype(dtype):
        return Feature(column.name, Kind.BINARY, dtype, (False, True), 0.0, 1.0)
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return infer_number(column, precision)
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        return infer_levels(column, observed_levels(column), is_ordered=False)
    raise InvalidInput(
        f"data column {column.name!r} has dtype {dtype}, which cannot be searched; use numbers, "
        "booleans, strings or categories (a date can be given as a number of days)."
    )


def infer_number(column: pd.Series[Any], precision: Precision) -> Feature:
    """Infer an integer or real feature with its observed range and decimals."""
    values = numbers_of(column, "data")
    low, high = float(values.min()), float(values.max())
    if pd.api.types.is_integer_dtype(column.dtype):
        return Feature(column.name, Kind.INTEGER, column.dtype, (), low, high)
    if plain_dtype(column.dtype) == np.float16:
        raise InvalidInput(
            f"data column {column.name!r} has dtype float16, too coarse to search; "
            "convert it with .astype('float32')."
        )
    decimals = observed_decimals(values, column.dtype) if precision == "observed" else None
    return Feature(column.name, Kind.REAL, column.dtype, (), low, high, decimals)


def infer_levels(column: pd.Series[Any], levels: tuple[Any, ...], *, is_ordered: bool) -> Feature:
    """Infer a feature of levels; two unordered levels make it binary."""
    kind = Kind.BINARY if len(levels) == 2 else Kind.CATEGORICAL
    if is_ordered:
        kind = Kind.ORDERED
    return Feature(column.name, kind, column.dtype, levels, 0.0, len(levels) - 1.0)


def plain_dtype(dtype: Any) -> Any:
    """Return the NumPy dtype behind a nullable, Arrow or sparse dtype of numbers."""
    return getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))


def is_number(value: object) -> bool:
    """Whether `value` is a real number, truth values excluded."""
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def numbers_of(column: pd.Series[Any], argument: str) -> Floats:
    """Return a numeric column as float64, refusing what float64 cannot hold or order."""
    values = column.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise InvalidInput(
            f"{argument} column {column.name!r} has infinite values; replace them by numbers."
        )
    if pd.api.types.is_integer_dtype(column.dtype) and np.abs(values).max() >= LARGEST_WHOLE:
        raise InvalidInput(
            f"{argument} column {column.name!r} holds whole numbers beyond 2**53, which look like "
            "identifiers; drop the column or turn it into categories."
        )
    return values


def check_no_missing(column: pd.Series[Any], argument: str) -> None:
    """Refuse missing values, by column and count."""
    n_missing = int(column.isna().sum())
    if n_missing:
        raise InvalidInput(
            f"{argument} column {column.name!r} has {n_missing} missing values, which are not "
            "supported yet; fill or drop those rows."
        )


def observed_levels(column: pd.Series[Any]) -> tuple[Any, ...]:
    """Return the distinct values of a column of objects, sorted; refuse numbers in disguise."""
    try:
        levels = column.unique().tolist()
    except TypeError as error:
        raise InvalidInput(
            f"data column {column.name!r} holds values that cannot be levels ({error}); "
            "use strings, numbers or booleans."
        ) from error
    if all(isinstance(level, bool) for level in levels):
        raise InvalidInput(
            f"data column {column.name!r} has dtype {column.dtype} but holds only booleans; "
            "convert it with .astype(bool)."
        )
    if all(is_number(level) or isinstance(level, bool) for level in levels):
        raise InvalidInput(
            f"data column {column.name!r} has dtype {column.dtype} but holds only numbers; convert "
            "it with pd.to_numeric, or with .astype('category') if they are codes."
        )
    return tuple(sorted(levels, key=lambda level: (type(level).__name__, str(level))))


def observed_decimals(values: Floats, dtype: Any) -> int | None:
    """Return the fewest decimals that write every value exactly, or None if none do.

    Examples
    --------
    >>> observed_decimals(np.array([0.5, 1.25]), np.dtype("float64"))
    2
    >>> observed_decimals(np.array([1 / 3]), np.dtype("float64")) is None
    True
    """
    largest = max(1.0, float(np.abs(values).max()))
    for decimals in range(MOST_DECIMALS + 1):
        if largest * 10.0**decimals >= LARGEST_WHOLE / 2:  # the grid would be finer than float64
            return None
        rounded = np.rint(values * 10.0**decimals) / 10.0**decimals
        if plain_dtype(dtype) == np.float32:
            rounded = rounded.astype(np.float32).astype(np.float64)
        if np.array_equal(rounded, values):
            return decimals
    return None
