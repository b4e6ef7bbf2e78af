"""Rows to genomes and back: a genome is a row as float64, levels replaced by their codes."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.checks import is_number
from counterpoint.errors import (
    InvalidInput,
    UnknownFeatureError,
    did_you_mean,
    listed,
    named_columns,
)
from counterpoint.table.features import Feature, Kind
from counterpoint.table.frames import (
    PANDAS,
    Form,
    Maker,
    Rows,
    as_frame,
    builder,
    marked,
    numbers_of,
    only_known,
    with_gaps,
)
from counterpoint.table.groups import encode_group, expand
from counterpoint.table.schema import Schema
from counterpoint.table.values import date_decoder, days_of


class Encoding:
    """Turns frames into genomes and genomes into frames with the data's own dtypes.

    `columns` are what each column of a frame is by itself; a group of the schema has several. A
    frame of rows that `is_float` is one block of float64; if the data `has_missing`, a gene may be
    `MISSING`.

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

    def __init__(self, schema: Schema, form: Form = PANDAS) -> None:
        self.schema, self.form, self.columns = schema, form, schema.columns
        self._columns = pd.Index([column.name for column in self.columns])
        self._decoders = [
            with_gaps(decoder(column), column, partial(filled, feature=column))
            for column in self.columns
        ]
        self.is_float = all(column.dtype == np.float64 for column in self.columns)
        self.has_missing = schema.has_missing
        self._build = None if form.kind == "pandas" else builder(form, self.columns)
        place = {column.name: k for k, column in enumerate(self.columns)}
        own = [feature.columns or (feature,) for feature in schema.features]
        self._places = [[place[column.name] for column in each] for each in own]

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes it again: decoders are functions, which cannot be pickled."""
        return Encoding, (self.schema, self.form)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoding):
            return NotImplemented
        return self.schema == other.schema and self.form == other.form

    def __hash__(self) -> int:
        return hash((self.schema, self.form))

    def encode(self, frame: pd.DataFrame, argument: str = "data") -> Floats:
        """Return the genomes of `frame`, shape (n, d); `argument` names it in errors."""
        self._check_columns(frame, argument)
        genomes = np.empty((len(frame), len(self.schema.features)))
        for j, feature in enumerate(self.schema.features):
            if feature.columns:
                genomes[:, j] = encode_group(frame, feature, argument)
            else:
                genomes[:, j] = encode_column(frame[feature.name], feature, argument)
        return genomes

    def by_column(self, genomes: Floats) -> Floats:
        """Return genes by column (n, c) of genomes (n, d): a group has one for each of its own.

        What is missing is NaN. Without groups and missing values these are the genomes themselves,
        not a copy.
        """
        if self.has_missing:
            genomes = np.where(genomes == MISSING, np.nan, genomes)
        if not self.schema.has_groups:
            return genomes
        genes = np.empty((len(genomes), len(self.columns)))
        for j, (feature, places) in enumerate(zip(self.schema.features, self._places, strict=True)):
            n_columns = len(feature.columns)
            values = genomes[:, [j]]
            genes[:, places] = expand(genomes[:, j], n_columns) if n_columns else values
        return genes

    def to_rows(self, genomes: Floats) -> Any:
        """Return the rows of `genomes` (n, d) as the caller's kind of table: what models are asked.

        It may share the memory of `genomes`, as in `decode`.
        """
        return self.decode(genomes) if self._build is None else self._build(self.by_column(genomes))

    def as_frame(self, rows: Rows, argument: str, stacklevel: int = 4) -> pd.DataFrame:
        """Return the columns of the data in rows; arrays are taken only where the data are one."""
        columns = [column.name for column in self.columns]
        names = columns if self.form.kind == "numpy" else None
        return only_known(as_frame(rows, argument, names), columns, argument, stacklevel)

    def by_feature(self, genomes: Floats) -> pd.DataFrame:
        """Return the rows of `genomes` (n, d) by feature: the columns, and a group's levels."""
        frame = self.decode(genomes)
        if not self.schema.has_groups:
            return frame
        cells = {
            j: pd.Series([feature.levels[int(code)] for code in genomes[:, j]], dtype=object)
            if feature.columns
            else frame[feature.name]
            for j, feature in enumerate(self.schema.features)
        }
        shown = pd.DataFrame(cells, index=frame.index)
        shown.columns = pd.Index(self.schema.names)
        return shown

    def decode(self, genomes: Floats) -> pd.DataFrame:
        """Return the rows of `genomes` (n, d) as a pandas frame in the data's own dtypes.

        The frame may share the memory of `genomes`: pass a copy if either will be written to.
        """
        genes = self.by_column(genomes)
        if self.is_float:  # one block of floats: no column needs work
            return pd.DataFrame(genes, columns=self._columns, copy=False)
        columns = {j: decode(genes[:, j]) for j, decode in enumerate(self._decoders)}
        frame = pd.DataFrame(columns, copy=False)
        frame.columns = self._columns
        return frame

    def _check_columns(self, frame: pd.DataFrame, argument: str) -> None:
        """Refuse missing, unknown and repeated columns by name."""
        names = [column.name for column in self.columns]
        known = set(names)
        for name in frame.columns:
            if name not in known:
                raise UnknownFeatureError.of(name, names, argument=argument)
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()].unique()
            raise InvalidInput(f"{argument} has duplicate columns {listed(twice)}.")
        if missing := [name for name in names if name not in frame.columns]:
            raise InvalidInput(
                f"{argument} lacks the {named_columns(missing)}; it needs every column of the data."
            )


def encode_column(column: pd.Series[Any], feature: Feature, argument: str) -> Floats:
    """Return one column's genes: its numbers, or the codes of its levels, or `MISSING`."""
    is_missing = column.isna().to_numpy()
    if not is_missing.any():
        return encode_complete(column, feature, argument)
    if not feature.has_missing:
        raise InvalidInput(
            f"{argument} column {column.name!r} has {int(is_missing.sum())} missing values, where "
            "the data have none, so that nobody knows what the model makes of them; fill them."
        )
    genes = np.full(len(column), MISSING)
    if not is_missing.all():
        genes[~is_missing] = encode_complete(column[~is_missing], feature, argument)
    return genes


def encode_complete(column: pd.Series[Any], feature: Feature, argument: str) -> Floats:
    """Return the genes of a column without missing values."""
    if feature.kind is Kind.DATE:
        return check_held(days_of(column, argument), feature, argument)
    if feature.is_numeric:
        return encode_numbers(column, feature, argument)
    try:
        cells = pd.Index(column.astype(object), dtype=object, tupleize_cols=False)
        levels = pd.Index(feature.levels, dtype=object, tupleize_cols=False)
        codes = levels.get_indexer(cells)
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
    values = check_held(numbers_of(column, argument), feature, argument)
    if feature.is_single:  # the data's own precision is what the model will see
        values = values.astype(np.float32).astype(np.float64)
    if feature.kind is Kind.INTEGER and not np.array_equal(values, np.rint(values)):
        broken = values[values != np.rint(values)][0]
        raise InvalidInput(
            f"{argument} column {feature.name!r} must hold whole numbers like the data, "
            f"got {broken}; round it, or give the data as floats."
        )
    return values


def check_held(genes: Floats, feature: Feature, argument: str) -> Floats:
    """Return genes if a search can compute with them and the column's dtype can hold them."""
    low, high = feature.dtype_range
    if (is_beyond := ~((low <= genes) & (genes <= high))).any():
        beyond = genes[is_beyond][0]
        raise InvalidInput(
            f"{argument} column {feature.name!r} has {feature.shown(beyond)}, "
            f"{feature.why_refused(beyond)}"
        )
    return genes


def unseen_level(column: pd.Series[Any], feature: Feature, argument: str) -> InvalidInput:
    """Build the error for a level the data do not have, perhaps one that cannot be hashed."""
    for unseen in column:
        with suppress(TypeError):
            if unseen in set(feature.levels):
                continue
        break
    hint = did_you_mean(unseen, feature.levels) or f"its levels are {listed(feature.levels)}."
    return InvalidInput(
        f"{argument} column {feature.name!r} has the level {unseen!r}, which the data do not "
        f"have; {hint}"
    )


def filled(column: Any, is_missing: Bools, feature: Feature) -> Any:
    """Return a column with missing values, as the data mark them, where they belong."""
    made = pd.Series(column, dtype=feature.dtype)
    if feature.dtype == object:
        return pd.Series(marked(made, is_missing, feature), dtype=object)
    return made.mask(is_missing)  # by what the dtype has for it


def decoder(feature: Feature) -> Maker:
    """Return the function that turns genes of `feature` into a column of its own dtype."""
    dtype = feature.dtype
    if feature.kind is Kind.DATE:
        return date_decoder(dtype)
    if isinstance(dtype, pd.CategoricalDtype) and feature.levels == tuple(dtype.categories):
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
