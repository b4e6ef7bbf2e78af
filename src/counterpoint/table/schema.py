"""Schema: the features of a table, inferred from its data, with units, protection and labels.

By them an `Encoding` turns rows into genomes and back: a genome is a row as float64, levels
replaced by their codes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats
from counterpoint.checks import check_list, is_number
from counterpoint.errors import (
    InvalidInput,
    UnknownFeatureError,
    did_you_mean,
    listed,
    named_columns,
    printable,
)
from counterpoint.table.features import Declared, Feature, Kind, Precision
from counterpoint.table.frames import (
    PANDAS,
    Form,
    Rows,
    as_frame,
    builder,
    numbers_of,
    only_known,
    pandas_builder,
    read_data,
)
from counterpoint.table.groups import encode_group, expand
from counterpoint.table.inference import infer_features
from counterpoint.table.labels import NONE, Labels, labels_of
from counterpoint.table.values import days_of

LONGEST_UNIT = 40


@dataclass(frozen=True, repr=False)
class Schema:
    """The features of a table, in column order.

    Parameters
    ----------
    features : tuple of Feature
        The features; a group stands where its first column does.
    order : tuple of int
        Which of the features' columns, counted through, stands at each place of the table. Empty
        if they stand as they are counted, as they do unless a group's columns lie apart.
    labels : Labels
        What people call features, levels, classes and the outcome; they change no search.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": [22, 35], "rate": [0.5, 1.25], "own": [True, False]})
    >>> print(Schema.infer(data))
    age   integer  22 to 35
    rate  real     0.50 to 1.25, 2 decimals
    own   binary   False, True
    """

    features: tuple[Feature, ...]
    order: tuple[int, ...] = ()
    labels: Labels = field(default=NONE, hash=False)

    @classmethod
    def infer(
        cls,
        data: Any,
        precision: Precision = "observed",
        *,
        features: Mapping[Any, Declared] | None = None,
        groups: Mapping[Any, Sequence[Any]] | None = None,
    ) -> Schema:
        """Infer every column's kind, levels, range and decimals.

        Parameters
        ----------
        data : DataFrame of pandas or polars, Table of pyarrow, or array of shape (n, columns)
            The observed rows, features only.
        precision : {"observed", "full"}, default="observed"
            Whether real features are searched on the decimals seen in the data or on the reals.
        features : dict of column name to kind, optional
            What is meant where the data show something else, such as ``Integer(18, 90)``.
        groups : dict of name to list of columns, optional
            Columns that are one categorical feature, one-hot encoded. Others are looked for and
            announced by one `DataWarning`; ``{}`` keeps all columns apart.

        Returns
        -------
        Schema
            One `Feature` per column or group.

        Raises
        ------
        InvalidInput, UnknownFeatureError
            If the frame is empty, has duplicate columns, infinite values, a column without any
            value or of a kind we cannot search, or is not what is declared of it.
        """
        return infer_schema(read_data(data)[0], precision, features, groups)

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The names of the features, in order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def has_missing(self) -> bool:
        """Whether the data miss some values."""
        return any(feature.has_missing for feature in self.features)

    @cached_property
    def has_groups(self) -> bool:
        """Whether a feature is a group of columns."""
        return any(feature.columns for feature in self.features)

    @cached_property
    def columns(self) -> tuple[Feature, ...]:
        """What each column of the table is by itself, in the table's order."""
        counted = [column for feature in self.features for column in feature.columns or (feature,)]
        return tuple(counted[k] for k in self.order) if self.order else tuple(counted)

    def group_of(self, label: Hashable) -> tuple[Hashable, Hashable] | None:
        """Return the group a column is part of and the level it stands for, or None."""
        parts = {
            column.name: (feature.name, level)
            for feature in self.features
            for column, level in zip(feature.columns, feature.levels, strict=False)
        }
        with suppress(TypeError):  # of what cannot be hashed
            return parts.get(label)
        return None

    def unknown(self, name: Hashable, argument: str) -> UnknownFeatureError:
        """Build the error for what is no feature; of a column of a group it names the group."""
        if (part := self.group_of(name)) is None:
            return UnknownFeatureError.of(name, self.names, argument=argument)
        group, level = part
        return UnknownFeatureError(
            f"{argument} names {name!r}, a column of the one-hot group {group!r}, which changes as "
            f"one feature; name {group!r} instead, of which it is the level {level!r}."
        )

    def places_of(self, stated: Iterable[Hashable], argument: str) -> list[int]:
        """Return the positions of the features that an argument names."""
        places = {name: j for j, name in enumerate(self.names)}  # a list would compare with pd.NA
        found = []
        for name in stated:
            try:
                found.append(places[name])
            except (KeyError, TypeError):
                raise self.unknown(name, argument) from None
        return found

    def __len__(self) -> int:
        return len(self.features)

    def __str__(self) -> str:
        cells = [(str(each.name), str(each.kind), each.values_text) for each in self.features]
        widths = [max(len(row[i]) for row in cells) for i in range(2)]
        lines = (
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {values}" for name, kind, values in cells
        )
        return printable("\n".join(lines))

    __repr__ = __str__


def infer_schema(
    frame: pd.DataFrame,
    precision: Precision,
    features: Mapping[Any, Declared] | None,
    groups: Mapping[Any, Sequence[Any]] | None,
) -> Schema:
    """Return the schema of data that were read into a frame; `Schema.infer` reads them first."""
    return Schema(*infer_features(frame, precision, features, groups))


def remarked(
    schema: Schema,
    units: Mapping[Any, str] | None = None,
    protected: Iterable[Hashable] = (),
    labels: Labels | None = None,
) -> Schema:
    """Return the schema with units, labels and features that are never proposed as advice.

    Raises InvalidInput or UnknownFeatureError if a name is none of the features', or a unit cannot
    be one.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"duration": [6, 60], "sex": ["f", "m"]}))
    >>> print(remarked(schema, {"duration": "months"}, ["sex"]))
    duration  integer  6 to 60 months
    sex       binary   f, m (protected)
    """
    units = _check_units(schema, {} if units is None else units)
    names = check_list("protected", protected, "features", "protected=['sex']")
    own = set(schema.places_of(names, "protected"))
    features = tuple(
        replace(f, unit=units.get(f.name, ""), is_protected=j in own)
        for j, f in enumerate(schema.features)
    )
    return replace(schema, features=features, labels=labels_of(schema.features, labels))


def _check_units(schema: Schema, units: Mapping[Any, str]) -> Mapping[Hashable, str]:
    """Return the units if each is a short text for a number of the data."""
    if not isinstance(units, Mapping):
        raise InvalidInput(
            f"units must be a dict of feature to unit, got {units!r}; "
            "for example units={'duration': 'months'}."
        )
    by_name = {feature.name: feature for feature in schema.features}
    for name, unit in units.items():
        if name not in by_name:
            raise schema.unknown(name, "units")
        if not isinstance(unit, str) or not 0 < len(unit) <= LONGEST_UNIT or not unit.isprintable():
            raise InvalidInput(
                f"units[{name!r}] must be a text of 1 to {LONGEST_UNIT} characters, got {unit!r}; "
                "for example 'months'."
            )
        if not by_name[name].is_numeric or by_name[name].kind == "date":
            raise InvalidInput(
                f"units names {name!r}, which is {by_name[name].kind} and has no unit; "
                "only numbers have one."
            )
    return units


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
        self._frame_of = pandas_builder(self.columns)
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
        return cast(pd.DataFrame, self._frame_of(self.by_column(genomes)))

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
