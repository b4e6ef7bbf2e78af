"""Schema: the features of a table, inferred from its data, with units, protection and labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from counterpoint.checks import check_list
from counterpoint.errors import InvalidInput, UnknownFeatureError, printable
from counterpoint.table.features import Declared, Feature, Precision
from counterpoint.table.frames import read_data
from counterpoint.table.inference import infer_features
from counterpoint.table.labels import NONE, Labels

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
    return replace(schema, features=features, labels=_check_labels(schema, labels))


def relabelled(schema: Schema, labels: Labels) -> Schema:
    """Return the schema with other labels."""
    return replace(schema, labels=_check_labels(schema, labels))


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


def _check_labels(schema: Schema, labels: Labels | None) -> Labels:
    """Return the labels if they are of these features."""
    if labels is None:
        return NONE
    if not isinstance(labels, Labels):
        raise InvalidInput(
            f"labels must be Labels, got {labels!r}; for example "
            "labels=cp.Labels(features={'duration': 'term'})."
        )
    return labels.checked(schema.features)
