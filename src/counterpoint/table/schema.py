"""Features and schema: what each column of the data is, with its unit and its protection."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from counterpoint.checks import check_list
from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.table import dates
from counterpoint.table.values import LARGEST_WHOLE, write_level, write_value

if TYPE_CHECKING:
    from counterpoint.table.kinds import Declared


Precision = Literal["observed", "full"]

LARGEST_SINGLE = 2.0**24  # and float32
MOST_DECIMALS = 12
OBJECTIVE_COLUMNS = ("prediction", "gap", "distance", "changes", "implausibility")
SHOWN_LEVELS = 8


class Kind(StrEnum):
    """How a feature's values relate: decides its distance, crossover and mutation."""

    REAL = "real"
    INTEGER = "integer"
    DATE = "date"
    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    BINARY = "binary"


@dataclass(frozen=True)
class Feature:
    """What can change by itself: one column of the data, or a one-hot group of columns.

    Parameters
    ----------
    name : hashable
        The column's label, or the group's name.
    kind : Kind
        Real, integer, date, categorical, ordered or binary.
    dtype : numpy or pandas dtype
        The column's own dtype, in which counterfactuals are returned; of a group that of its first.
    levels : tuple
        The values of a feature that is not a number, in code order; empty for numbers.
    low, high : float
        Smallest and largest value of the data or as declared, in days for dates; or code.
    decimals : int or None
        Decimal places a real feature is searched on; None searches the reals.
    columns : tuple of Feature
        The columns of a one-hot group, one per level; a last level without a column stands for all
        of them being 0. Empty for a feature that is a column itself.
    missing : {"", "None", "nan", "NA"}
        What stands for a missing value in the data, if there are any: Python's None, NaN (NaT of
        dates) or pandas' NA.
    unit : str
        What the numbers are counted in, for readers; empty if nobody said.
    is_protected : bool
        Whether it is never to be proposed to people as something to change.
    """

    name: Hashable
    kind: Kind
    dtype: Any
    levels: tuple[Any, ...]
    low: float
    high: float
    decimals: int | None = None
    columns: tuple[Feature, ...] = ()
    missing: str = ""
    unit: str = ""
    is_protected: bool = False

    @property
    def has_missing(self) -> bool:
        """Whether the data miss some of its values."""
        return self.missing != ""

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers, or days, rather than levels."""
        return self.kind in (Kind.REAL, Kind.INTEGER, Kind.DATE)

    @property
    def is_constant(self) -> bool:
        """Whether the data show a single value, which leaves nothing to change."""
        return self.low == self.high if self.is_numeric else len(self.levels) == 1

    @property
    def is_single(self) -> bool:
        """Whether the column holds numbers of float32, plain or nullable."""
        return self.is_numeric and bool(plain_dtype(self.dtype) == np.float32)

    @property
    def dtype_range(self) -> tuple[float, float]:
        """The smallest and largest number the column's dtype and a genome can both hold."""
        if self.kind is Kind.DATE:
            return dates.range_of(self.dtype)
        dtype = plain_dtype(self.dtype)
        if self.kind is Kind.INTEGER and dtype.kind == "f":
            largest = LARGEST_SINGLE if self.is_single else LARGEST_WHOLE
            return -largest, largest
        if self.kind is Kind.INTEGER:
            whole = np.iinfo(dtype)
            return max(float(whole.min), -LARGEST_WHOLE), min(float(whole.max), LARGEST_WHOLE)
        largest = float(np.finfo(np.float32 if self.is_single else np.float64).max)
        return -largest, largest

    def shown(self, gene: float) -> str:
        """Return a value as text: a number, a date or a level."""
        return write_value(self, gene)

    @property
    def values(self) -> str:
        """What the feature can be, as text."""
        if not self.is_numeric:
            mark = " < " if self.kind is Kind.ORDERED else ", "
            more = len(self.levels) - SHOWN_LEVELS
            texts = [write_level(level) for level in self.levels[:SHOWN_LEVELS]]
            text = mark.join([*texts, f"{more} more"] if more > 0 else texts)
        elif self.is_constant:
            text = self.shown(self.low)
        else:
            text = f"{self.shown(self.low)} to {self.shown(self.high)}"
        text += f" {self.unit}" if self.unit else ""
        text += f", {self.decimals} decimals" if self.decimals else ""
        text += " or missing" if self.has_missing else ""
        text += f" (one-hot in {len(self.columns)} columns)" if self.columns else ""
        text += " (protected)" if self.is_protected else ""
        return f"{text} (constant)" if self.is_constant else text

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} {self.values}"


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
            Columns that are one categorical feature, one-hot encoded. None looks for such groups
            and warns of those it finds; ``{}`` keeps all columns apart.

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
        # Inference makes features and schemas, so it cannot be imported before they are there.
        from counterpoint.table.inference import infer_features

        return cls(*infer_features(data, precision, features, groups))

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

    def __len__(self) -> int:
        return len(self.features)

    def __str__(self) -> str:
        cells = [(str(each.name), str(each.kind), each.values) for each in self.features]
        widths = [max(len(row[i]) for row in cells) for i in range(2)]
        return "\n".join(
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {values}" for name, kind, values in cells
        )

    __repr__ = __str__


def plain_dtype(dtype: Any) -> Any:
    """Return the NumPy dtype behind a nullable, Arrow or sparse dtype of numbers."""
    return getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))


LONGEST_UNIT = 40


def remarked(
    schema: Schema,
    units: Mapping[Any, str] | None = None,
    protected: Iterable[Hashable] = (),
) -> Schema:
    """Return the schema with units, and with features that are never proposed as advice.

    Parameters
    ----------
    schema : Schema
        The features.
    units : dict of feature name to str, optional
        What numbers are counted in.
    protected : iterable of feature names, default=()
        The protected ones.

    Raises
    ------
    InvalidInput, UnknownFeatureError
        If a name is none of the features', or a unit cannot be one.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"duration": [6, 60], "sex": ["f", "m"]}))
    >>> print(remarked(schema, {"duration": "months"}, ["sex"]))
    duration  integer  6 to 60 months
    sex       binary   f, m (protected)
    """
    units = _check_units(schema, {} if units is None else units)
    names = _check_protected(schema, protected)
    features = tuple(
        replace(f, unit=units.get(f.name, ""), is_protected=f.name in names)
        for f in schema.features
    )
    return replace(schema, features=features)


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
            raise UnknownFeatureError.of(name, schema.names, argument="units")
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


def _check_protected(schema: Schema, protected: Iterable[Hashable]) -> set[Hashable]:
    """Return the protected names."""
    names = set()
    for name in check_list("protected", protected, "features", "protected=['sex']"):
        if name not in schema.names:
            raise UnknownFeatureError.of(name, schema.names, argument="protected")
        names.add(name)
    return names
