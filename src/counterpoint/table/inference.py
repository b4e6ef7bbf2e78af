"""Inference: what each column of the data is, from its dtype, its values and what was declared."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.checks import check_choice, is_number
from counterpoint.errors import (
    DataWarning,
    InvalidInput,
    UnknownFeatureError,
    did_you_mean,
    listed,
    told_by,
)
from counterpoint.streams import MAX_GENES
from counterpoint.table import groups
from counterpoint.table.features import (
    EXAMPLE,
    MOST_DECIMALS,
    Categorical,
    Date,
    Declared,
    Feature,
    Integer,
    Kind,
    Ordered,
    Precision,
    Real,
    plain_dtype,
)
from counterpoint.table.frames import numbers_of
from counterpoint.table.values import (
    EXACT,
    LARGEST_WHOLE,
    days_of,
    holds_dates,
    is_date_dtype,
    write_day,
    write_number,
)

MANY_LEVELS = 50  # more than a search can try one by one, or a reader compare
NEARLY_ALL = 0.95  # of the rows: so many different values are ids, or free text
MANY_WORDS = 4.0  # in a level on average: free text


def infer_features(
    frame: pd.DataFrame,
    precision: Precision,
    declared: Mapping[Any, Declared] | None,
    grouped: Mapping[Any, Sequence[Any]] | None,
) -> tuple[tuple[Feature, ...], tuple[int, ...]]:
    """Return the features of a frame, and the order of their columns in it."""
    check_frame(frame)
    check_choice("precision", precision, ("observed", "full"))
    kinds_of = check_declared(declared, frame)
    columns = [infer_feature(frame[name], precision, kinds_of.get(name)) for name in frame.columns]
    found = groups.find_groups(grouped, frame, set(kinds_of))
    features, order = groups.gather(tuple(columns), frame, found)
    for remark in remarks_on([each for each in features if each.name not in kinds_of], len(frame)):
        warnings.warn(remark, DataWarning, stacklevel=4)
    return features, order


def check_frame(data: pd.DataFrame) -> None:
    """Refuse what is not a usable table of observed rows."""
    if data.shape[0] == 0 or data.shape[1] == 0:
        raise InvalidInput(
            f"data is empty: {data.shape[0]} rows, {data.shape[1]} columns; "
            "pass the observed rows with their feature columns."
        )
    if not data.columns.is_unique:
        twice = data.columns[data.columns.duplicated()].unique()
        raise InvalidInput(f"data has duplicate columns {listed(twice)}; give each its own name.")
    if data.shape[1] > MAX_GENES:
        raise InvalidInput(f"data has {data.shape[1]} columns; at most {MAX_GENES} are supported.")


def check_declared(declared: object, frame: pd.DataFrame) -> dict[Any, Declared]:
    """Return the kinds the caller declared, by column."""
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        raise InvalidInput(
            f"features must be a dict of column name to kind, got {declared!r}; {EXAMPLE}."
        )
    for name, kind in declared.items():
        if name not in frame.columns:
            raise UnknownFeatureError.of(name, frame.columns, argument="features")
        if not isinstance(kind, Declared):
            raise InvalidInput(
                f"features[{name!r}] must be a Real, Integer, Date, Categorical or Ordered, got "
                f"{kind!r}; {EXAMPLE}."
            )
    return dict(declared)


def infer_feature(
    column: pd.Series[Any], precision: Precision, declared: Declared | None
) -> Feature:
    """Infer one feature from the observed column and what was declared of it."""
    if not (is_missing := column.isna()).any():
        return infer_complete(column, precision, declared)
    if is_missing.all():
        raise InvalidInput(
            f"data column {column.name!r} has no values at all, only missing ones; drop it."
        )
    feature = infer_complete(column[~is_missing], precision, declared)
    return replace(feature, missing=missing_mark(column[is_missing]))


def missing_mark(missing: pd.Series[Any]) -> str:
    """Return what stands for the missing values of a column; of several marks the first.

    Examples
    --------
    >>> missing_mark(pd.Series([None], dtype=object)), missing_mark(pd.Series([float("nan")]))
    ('None', 'nan')
    """
    first = missing.iloc[0]
    if first is None:
        return "None"
    return "NA" if first is pd.NA else "nan"


def infer_complete(
    column: pd.Series[Any], precision: Precision, declared: Declared | None
) -> Feature:
    """Infer one feature from a column without missing values."""
    match declared:
        case Categorical() | Ordered():
            return declared_levels(column, declared)
        case Date():
            return infer_date(column, declared)
        case Real() | Integer():
            return infer_number(column, precision, declared)
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):  # first: categories of booleans are levels too
        return infer_levels(column, tuple(dtype.categories), is_ordered=bool(dtype.ordered))
    if pd.api.types.is_bool_dtype(dtype):
        return Feature(column.name, Kind.BINARY, dtype, (False, True), 0.0, 1.0)
    if is_date_dtype(dtype):
        return infer_date(column)
    if is_numeric_dtype(dtype):
        return infer_number(column, precision)
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        if holds_dates(column):
            return infer_date(column)
        return infer_levels(column, observed_levels(column), is_ordered=False)
    raise InvalidInput(
        f"data column {column.name!r} has dtype {dtype}, which cannot be searched; use numbers, "
        "booleans, strings, categories or dates."
    )


def is_numeric_dtype(dtype: Any) -> bool:
    """Whether a dtype holds numbers that a genome can: neither complex nor decimal ones."""
    return bool(
        pd.api.types.is_numeric_dtype(dtype)
        and not pd.api.types.is_complex_dtype(dtype)
        and getattr(plain_dtype(dtype), "kind", "O") in "iuf"
    )


def infer_date(column: pd.Series[Any], declared: Date | None = None) -> Feature:
    """Infer a feature of whole days."""
    low, high = ends_of(column, days_of(column, "data"), declared)
    return check_held(Feature(column.name, Kind.DATE, column.dtype, (), low, high), declared)


def infer_number(
    column: pd.Series[Any], precision: Precision, declared: Real | Integer | None = None
) -> Feature:
    """Infer an integer or real feature with its range and decimals."""
    name, dtype = column.name, column.dtype
    is_whole = pd.api.types.is_integer_dtype(dtype) or isinstance(declared, Integer)
    if declared is not None:
        check_numeric(column, declared)
    values = numbers_of(column, "data")
    low, high = ends_of(column, values, declared)
    if not is_whole and plain_dtype(dtype) == np.float16:
        raise InvalidInput(
            f"data column {name!r} has dtype float16, too coarse to search; "
            "convert it with .astype('float32')."
        )
    decimals = None
    if isinstance(declared, Real) and declared.decimals is not None:
        decimals = declared.decimals
    elif not is_whole and precision == "observed":
        decimals = observed_decimals(values, dtype)
    kind = Kind.INTEGER if is_whole else Kind.REAL
    return check_held(Feature(name, kind, dtype, (), low, high, decimals), declared)


def check_numeric(column: pd.Series[Any], declared: Real | Integer) -> None:
    """Refuse a column that cannot be the number it is declared to be."""
    kind, name, dtype = type(declared).__name__, column.name, column.dtype
    if not is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        raise InvalidInput(
            f"features[{name!r}] is {kind}, but the column has dtype {dtype}; convert it to "
            "numbers first."
        )
    if isinstance(declared, Real) and pd.api.types.is_integer_dtype(dtype):
        raise InvalidInput(
            f"features[{name!r}] is Real, but the column's dtype {dtype} holds whole numbers only; "
            "declare it Integer, or convert the data to floats."
        )
    if isinstance(declared, Integer):
        values = numbers_of(column, "data")
        if (broken := values[values != np.rint(values)]).size:
            raise InvalidInput(
                f"features[{name!r}] is Integer, but the data have "
                f"{write_number(broken[0], digits=EXACT)}; round the column, or declare it Real."
            )


def ends_of(
    column: pd.Series[Any], values: Floats, declared: Real | Integer | Date | None
) -> tuple[float, float]:
    """Return the range of a number: as declared, else as seen; refuse data beyond it."""
    low: float | None = None
    high: float | None = None
    if isinstance(declared, Date):
        low, high = declared.days
    elif declared is not None:
        low, high = declared.low, declared.high
    least, most = float(values.min()), float(values.max())
    start, end = least if low is None else float(low), most if high is None else float(high)
    if least < start or most > end:
        beyond = least if least < start else most
        text = (
            write_day(beyond) if isinstance(declared, Date) else write_number(beyond, digits=EXACT)
        )
        raise InvalidInput(
            f"data column {column.name!r} has {text}, beyond the declared {declared}; widen it, "
            "and give ranges= to explain if the search is to stay within less."
        )
    return start, end


def check_held(feature: Feature, declared: Declared | None) -> Feature:
    """Return a feature; refuse a declared range that its dtype cannot hold or that is too fine."""
    if declared is None:
        return feature
    low, high = feature.dtype_range
    if feature.low < low or feature.high > high:
        reason = feature.why_refused(feature.low if feature.low < low else feature.high)
        raise InvalidInput(f"features[{feature.name!r}] is {declared}, {reason}")
    largest = max(1.0, abs(feature.low), abs(feature.high))
    if feature.decimals and largest * 10.0**feature.decimals >= LARGEST_WHOLE / 2:
        raise InvalidInput(
            f"features[{feature.name!r}] is {declared}: so many decimals of such numbers are finer "
            "than a float; ask for fewer."
        )
    return feature


def infer_levels(column: pd.Series[Any], levels: tuple[Any, ...], *, is_ordered: bool) -> Feature:
    """Infer a feature of levels; two unordered levels make it binary."""
    kind = Kind.BINARY if len(levels) == 2 else Kind.CATEGORICAL
    if is_ordered:
        kind = Kind.ORDERED
    return Feature(column.name, kind, column.dtype, levels, 0.0, len(levels) - 1.0)


def declared_levels(column: pd.Series[Any], declared: Categorical | Ordered) -> Feature:
    """Return a feature of the levels that were declared, or of those the data show."""
    seen, dtype, levels = distinct(column), column.dtype, declared.levels
    if levels is None:
        levels = tuple(dtype.categories) if isinstance(dtype, pd.CategoricalDtype) else seen
    known = set(levels)
    kind = type(declared).__name__
    if unnamed := [level for level in seen if level not in known]:
        hint = did_you_mean(unnamed[0], levels) or "name all levels the data have."
        raise InvalidInput(
            f"data column {column.name!r} has the level {unnamed[0]!r}, which its {kind} does not "
            f"name; {hint}"
        )
    if unheld := unheld_levels(column.dtype, levels):
        raise InvalidInput(
            f"features[{column.name!r}] names the level {unheld[0]!r}, which the column's dtype "
            f"{column.dtype} cannot hold."
        )
    return infer_levels(column, levels, is_ordered=isinstance(declared, Ordered))


def unheld_levels(dtype: Any, levels: Sequence[Any]) -> list[Any]:
    """Return the levels that a column of this dtype cannot have as they are.

    Examples
    --------
    >>> unheld_levels(np.dtype("int8"), (1, 2.5, 1000))
    [2.5, 1000]
    """
    if isinstance(dtype, pd.CategoricalDtype):  # which would take others with a warning
        return [level for level in levels if level not in set(dtype.categories)]
    try:
        column = pd.Series(list(levels), dtype=dtype)
        return [level for held, level in zip(column, levels, strict=True) if held != level]
    except (TypeError, ValueError, OverflowError):  # of one level at least
        if len(levels) == 1:
            return [*levels]
        return [level for level in levels if unheld_levels(dtype, [level])]


def remarks_on(features: Sequence[Feature], n: int) -> list[str]:
    """Return what a caller should know of undeclared features that are not worth a search."""
    remarks = [
        f"data column {each.name!r} has {len(each.levels)} levels in {n} rows, {what}; drop it, "
        f"group its levels, or hold it with fixed=[{each.name!r}]. If it is meant to be searched, "
        f"features={{{each.name!r}: Categorical()}} says so without this warning."
        for each in features
        if not each.columns and (what := what_levels_are(each, n))
    ]
    constant = [each for each in features if each.is_constant and not each.has_missing]
    if constant and n >= groups.FEWEST_ROWS:
        first = constant[0]
        kind = "Categorical(levels)"
        if first.is_numeric:
            kind = f"{str(first.kind).capitalize()}(low, high)"
        remarks.append(
            f"the data have one value only of {listed(each.name for each in constant)}, so that "
            f"counterfactuals keep it; leave out what is no feature, or say where it may go, as in "
            f"features={{{first.name!r}: {kind}}}."
        )
    return remarks


def what_levels_are(feature: Feature, n: int) -> str:
    """Return what the levels of a feature look like that no search can try; else nothing."""
    if feature.kind is not Kind.CATEGORICAL or n < groups.FEWEST_ROWS:
        return ""
    n_levels = len(feature.levels)
    n_words = sum(len(str(level).split()) for level in feature.levels)
    if 2 * n_levels > n and n_words >= MANY_WORDS * n_levels:
        return "which look like free text"
    if n_levels <= MANY_LEVELS:
        return ""
    return "as ids have" if n_levels >= NEARLY_ALL * n else "too many to try them all"


def distinct(column: pd.Series[Any]) -> tuple[Any, ...]:
    """Return the distinct values of a column, sorted; numbers by size."""
    try:
        levels = column.unique().tolist()
    except TypeError as error:
        raise InvalidInput(
            f"data column {column.name!r} holds values that cannot be levels ({told_by(error)}); "
            "use strings, numbers or booleans."
        ) from error
    if all(is_number(level) for level in levels):
        return tuple(sorted(levels))
    return tuple(sorted(levels, key=lambda level: (type(level).__name__, str(level))))


def observed_levels(column: pd.Series[Any]) -> tuple[Any, ...]:
    """Return the distinct values of a column of objects, sorted; refuse numbers in disguise."""
    levels = distinct(column)
    if all(isinstance(level, bool) for level in levels):
        raise InvalidInput(
            f"data column {column.name!r} has dtype {column.dtype} but holds only booleans; "
            "convert it with .astype(bool), or .astype('boolean') if values are missing."
        )
    if all(is_number(level) or isinstance(level, bool) for level in levels):
        raise InvalidInput(
            f"data column {column.name!r} has dtype {column.dtype} but holds only numbers; convert "
            "it with pd.to_numeric, or with .astype('category') if they are codes."
        )
    return levels


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
