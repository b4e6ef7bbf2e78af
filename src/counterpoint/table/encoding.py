"""Rows to genomes and back: a genome is a row as float64, levels replaced by their codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput, UnknownFeatureError, did_you_mean, listed
from counterpoint.table.schema import (
    Feature,
    Kind,
    Schema,
    check_no_missing,
    is_number,
    numbers_of,
)

Rows = pd.DataFrame | pd.Series | Mapping[Any, Any] | Sequence[Mapping[Any, Any]]


class Encoding:
    """Turns frames into genomes and genomes into frames with the data's own dtypes.

    Parameters
    ----------
    schema : Schema
        What the columns are.

    Examples
    --------
    >>> data = pd.DataFrame({"age": [22, 35], "own": ["yes", "no"]})
    >>> encoding = Encoding(Schema.infer(data))
    >>> encoding.encode(data)
    array([[22.,  1.],
           [35.,  0.]])
    >>> encoding.decode(np.array([[30.0, 0.0]])).to_dict("records")
    [{'age': 30, 'own': 'no'}]
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._columns = pd.Index(schema.names)
        self._decoders = [decoder(feature) for feature in schema.features]
        self.is_float = all(feature.dtype == np.float64 for feature in schema.features)

    def encode(self, frame: pd.DataFrame, argument: str = "data") -> Floats:
        """Return the genomes of `frame`, shape (n, d); `argument` names it in errors."""
        self._check_columns(frame, argument)
        genomes = np.empty((len(frame), len(self.schema)))
        for j, feature in enumerate(self.schema.features):
            genomes[:, j] = encode_column(frame[feature.name], feature, argument)
        return genomes

    def decode(self, genomes: Floats) -> pd.DataFrame:
        """Return the rows of `genomes` (n, d) as a frame in the data's own dtypes.

        The frame may share the memory of `genomes`: pass a copy if either will be written to.
        """
        if self.is_float:  # one block of floats: no column needs work
            return pd.DataFrame(genomes, columns=self._columns, copy=False)
        columns = {j: decode(genomes[:, j]) for j, decode in enumerate(self._decoders)}
        frame = pd.DataFrame(columns, copy=False)
        frame.columns = self._columns
        return frame

    def _check_columns(self, frame: pd.DataFrame, argument: str) -> None:
        """Refuse missing, unknown and repeated columns by name."""
        names = self.schema.names
        known = set(names)
        for name in frame.columns:
            if name not in known:
                raise UnknownFeatureError.of(name, names, argument=argument)
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()].unique()
            raise InvalidInput(f"{argument} has duplicate columns {listed(twice)}.")
        if missing := [name for name in names if name not in frame.columns]:
            raise InvalidInput(
                f"{argument} lacks the columns {listed(missing)}; "
                "it needs every column of the data."
            )


def as_frame(rows: Rows, argument: str) -> pd.DataFrame:
    """Return rows given as a frame, a series, a mapping or a list of mappings as one frame."""
    if isinstance(rows, pd.DataFrame):
        return rows
    if isinstance(rows, pd.Series):
        return rows.to_frame().T
    if isinstance(rows, Mapping):
        return pd.DataFrame([dict(rows)])
    if isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows):
        return pd.DataFrame([dict(row) for row in rows])
    raise InvalidInput(
        f"{argument} must be a DataFrame, a Series, a dict of column to value or a list of such "
        f"dicts, got {type(rows).__name__}."
    )


def encode_column(column: pd.Series[Any], feature: Feature, argument: str) -> Floats:
    """Return one column's genes: its numbers, or the codes of its levels."""
    check_no_missing(column, argument)
    if feature.is_numeric:
        return encode_numbers(column, feature, argument)
    try:
        codes = pd.Index(feature.levels, dtype=object).get_indexer(column.astype(object))
    except TypeError:  # a value that cannot be hashed is not a level
        codes = np.array([-1])
    if (codes < 0).any():
        raise unseen_level(column, feature, argument)
    return np.asarray(codes, dtype=np.float64)


def encode_numbers(column: pd.Series[Any], feature: Feature, argument: str) -> Floats:
    """Return the numbers of a column; a row from a mixed frame may carry them as objects."""
    if column.dtype.kind not in "iuf":
        for value in column:
            if not is_number(value):
                raise InvalidInput(
                    f"{argument} column {feature.name!r} must hold numbers (dtype "
                    f"{feature.dtype}), got {value!r}; convert it to a number."
                )
    values = numbers_of(column, argument)
    low, high = feature.dtype_range
    if not ((low <= values) & (values <= high)).all():
        beyond = values[(values < low) | (values > high)][0]
        raise InvalidInput(
            f"{argument} column {feature.name!r} has {beyond:g}, which the data's dtype "
            f"{feature.dtype} cannot hold; give the data a wider dtype."
        )
    if feature.is_single:  # the data's own precision is what the model will see
        values = values.astype(np.float32).astype(np.float64)
    if feature.kind is Kind.INTEGER and not np.array_equal(values, np.rint(values)):
        broken = values[values != np.rint(values)][0]
        raise InvalidInput(
            f"{argument} column {feature.name!r} must hold whole numbers like the data, "
            f"got {broken}; round it, or give the data as floats."
        )
    return values


def unseen_level(column: pd.Series[Any], feature: Feature, argument: str) -> InvalidInput:
    """Build the error for a level the data do not have."""
    known = set(feature.levels)
    unseen = next(value for value in column if not _is_in(value, known))
    hint = did_you_mean(unseen, feature.levels) or f"its levels are {listed(feature.levels)}."
    return InvalidInput(
        f"{argument} column {feature.name!r} has the level {unseen!r}, which the data do not "
        f"have; {hint}"
    )


def _is_in(value: object, known: set[Any]) -> bool:
    """Whether `value` is hashable and known."""
    try:
        return value in known
    except TypeError:
        return False


def decoder(feature: Feature) -> Callable[[Floats], Any]:
    """Return the function that turns genes of `feature` into a column of its own dtype."""
    dtype = feature.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return lambda genes: pd.Categorical.from_codes(genes.astype(np.intp), dtype=dtype)
    if feature.is_numeric and isinstance(dtype, np.dtype):
        return lambda genes: genes.astype(dtype)
    if feature.is_numeric:  # pandas' own dtypes: nullable and Arrow numbers
        whole = feature.kind is Kind.INTEGER
        return lambda genes: pd.array(genes.astype(np.int64) if whole else genes, dtype=dtype)
    levels = pd.Series(list(feature.levels), dtype=dtype).array
    if pd.api.types.is_object_dtype(dtype):  # else text would become pandas' str in a frame
        return lambda genes: pd.Series(levels.take(genes.astype(np.intp)), dtype=object)
    return lambda genes: levels.take(genes.astype(np.intp))
