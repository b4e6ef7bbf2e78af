"""Groups: columns that are one categorical feature, one-hot encoded, with or without the first.

A group is one gene, the code of its level. Its columns are 1 where the level is theirs; one more
level, without a column, stands for all of them being 0 if the data show that.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats
from counterpoint.errors import DataWarning, InvalidInput, UnknownFeatureError, listed
from counterpoint.table.features import Feature, Kind

OTHER = "other"  # the level of a group whose first column was dropped
FEWEST_ROWS = 20  # from which a group is believed that nobody declared
EXPECTED = 10.0  # rows with two columns on, were they independent: none by chance one in 20,000
EXAMPLE = "for example groups={'job': ['job_clerk', 'job_nurse']}"


def find_groups(
    groups: object, frame: pd.DataFrame, taken: set[Any]
) -> dict[Hashable, list[Hashable]]:
    """Return the columns of each group: as the caller declared them, or as the data show them."""
    if groups is not None:
        return check_groups(groups, frame, taken)
    found = detect_groups(frame, taken)
    for name, columns in found.items():
        warnings.warn(
            f"the columns {listed(columns)} look like one feature that was one-hot encoded, and "
            f"are searched as {name!r}; groups={{{name!r}: {columns!r}}} says so without this "
            "warning, groups={} keeps the columns apart.",
            DataWarning,
            stacklevel=5,
        )
    return found


def check_groups(
    groups: object, frame: pd.DataFrame, taken: set[Any]
) -> dict[Hashable, list[Hashable]]:
    """Return declared groups; refuse columns that are unknown, shared or declared otherwise."""
    if not isinstance(groups, Mapping):
        raise InvalidInput(f"groups must be a dict of name to columns, got {groups!r}; {EXAMPLE}.")
    used: dict[Hashable, Hashable] = {}
    for name, columns in groups.items():
        if isinstance(columns, str) or not isinstance(columns, Sequence) or len(columns) == 0:
            raise InvalidInput(
                f"groups[{name!r}] must be a list of columns, got {columns!r}; {EXAMPLE}."
            )
        for column in columns:
            if column not in frame.columns:
                raise UnknownFeatureError.of(column, frame.columns, argument=f"groups[{name!r}]")
            if column in used:
                raise InvalidInput(f"groups has {column!r} in {used[column]!r} and in {name!r}.")
            if column in taken:
                raise InvalidInput(f"{column!r} is in features and in groups; keep one of the two.")
            used[column] = name
    for name in groups:
        if name in frame.columns and used.get(name) != name:
            raise InvalidInput(
                f"groups names a feature {name!r}, and the data have a column of that name; choose "
                "another name."
            )
    return {name: list(columns) for name, columns in groups.items()}


def detect_groups(frame: pd.DataFrame, taken: set[Any]) -> dict[Hashable, list[Hashable]]:
    """Return columns of one prefix that are 0 and 1 and never on together, too often for chance."""
    by_prefix: dict[Hashable, list[Hashable]] = {}
    for column in frame.columns:
        parts = isinstance(column, str) and re.fullmatch(r"(.+?)\s*(?:__|[_=:.\-/ \[])(.+)", column)
        if parts and column not in taken and is_indicator(frame[column]):
            by_prefix.setdefault(parts[1], []).append(column)
    return {
        prefix: columns
        for prefix, columns in by_prefix.items()
        if prefix not in frame.columns and looks_encoded(as_switches(frame[columns]))
    }


def is_indicator(column: pd.Series[Any]) -> bool:
    """Whether a column holds nothing but 0 and 1, both of them."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(dtype):
        return False
    if column.isna().any():
        return False
    values = column.to_numpy(dtype=np.float64)
    return bool(((values == 0.0) | (values == 1.0)).all() and values.min() < values.max())


def looks_encoded(switches: Bools) -> bool:
    """Whether switches (n, k) are on one at a time in a way that chance would not do."""
    n, k = switches.shape
    n_on = switches.sum(axis=1)
    if k < 2 or n < FEWEST_ROWS or n_on.max() > 1:
        return False
    shares = switches.mean(axis=0)
    together = n * (shares.sum() ** 2 - (shares**2).sum()) / 2.0
    return bool((n_on == 1).all() or together >= EXPECTED)


def gather(
    columns: tuple[Feature, ...], frame: pd.DataFrame, groups: dict[Hashable, list[Hashable]]
) -> tuple[tuple[Feature, ...], tuple[int, ...]]:
    """Return the features of single columns and groups, and the order of the columns in them."""
    if not groups:
        return columns, ()
    by_label = {column.name: column for column in columns}
    group_of = {label: name for name, labels in groups.items() for label in labels}
    features: list[Feature] = []
    counted: list[Hashable] = []
    for label, column in by_label.items():
        if label in counted:  # of a group that came with an earlier column
            continue
        if label not in group_of:
            features.append(column)
            counted.append(label)
            continue
        name = group_of[label]
        members = tuple(by_label[member] for member in groups[name])
        features.append(group_of_columns(name, members, frame))
        counted += groups[name]
    places = tuple(counted.index(column.name) for column in columns)
    return tuple(features), places if places != tuple(range(len(places))) else ()


def group_of_columns(name: Hashable, columns: tuple[Feature, ...], frame: pd.DataFrame) -> Feature:
    """Return the feature that columns of 0 and 1 encode; refuse what is no encoding of one."""
    labels = [column.name for column in columns]
    for column in columns:
        if column.has_missing:
            raise InvalidInput(
                f"groups[{name!r}] has the column {column.name!r}, of which values are missing; a "
                "group's columns must all say whether they are on. Fill them, or keep the columns "
                "apart."
            )
        is_switch = column.is_numeric or column.levels == (False, True)
        if not is_switch or not {*frame[column.name].unique().tolist()} <= {0, 1}:
            raise InvalidInput(
                f"groups[{name!r}] has the column {column.name!r}, which holds other values than 0 "
                "and 1; a group's columns say which level is on."
            )
    n_on = as_switches(frame[labels]).sum(axis=1)
    if (n_on > 1).any():
        raise InvalidInput(
            f"groups[{name!r}] is no one-hot encoding: {int((n_on > 1).sum())} rows of the data "
            f"have several of {listed(labels)} on."
        )
    levels = level_names(name, labels)
    if (n_on == 0).any():
        levels.append(OTHER if OTHER not in levels else f"({OTHER})")
    kind = Kind.BINARY if len(levels) == 2 else Kind.CATEGORICAL
    high = len(levels) - 1.0
    return Feature(name, kind, columns[0].dtype, tuple(levels), 0.0, high, columns=columns)


def level_names(name: Hashable, labels: list[Hashable]) -> list[Hashable]:
    """Return the levels columns stand for: their labels without the group's name before them.

    Examples
    --------
    >>> level_names("job", ["job_clerk", "job_nurse"]), level_names("job", ["clerk", "nurse"])
    (['clerk', 'nurse'], ['clerk', 'nurse'])
    """
    prefixed = re.compile(rf"{re.escape(str(name))}[\s_=:.\-/\[]*(.+?)\]?")
    found = [prefixed.fullmatch(str(label)) for label in labels]
    rests: list[Hashable] = [parts[1] for parts in found if parts is not None]
    return rests if len(set(rests)) == len(labels) else labels


def as_switches(frame: pd.DataFrame) -> Bools:
    """Return which columns of 0 and 1 are on, shape (n, k)."""
    on: Bools = frame.to_numpy(dtype=np.float64) == 1.0
    return on


def encode_group(frame: pd.DataFrame, feature: Feature, argument: str) -> Floats:
    """Return the codes of a group's levels in rows that have its columns."""
    labels = [column.name for column in feature.columns]
    for label in labels:
        check_switches(frame[label], feature, argument)
    on = as_switches(frame[labels])
    n_on = on.sum(axis=1)
    if (n_on > 1).any():
        several = [labels[k] for k in np.flatnonzero(on[int(np.argmax(n_on > 1))])]
        raise InvalidInput(
            f"{argument} has {listed(several)} on together, but of the group {feature.name!r} only "
            "one can be."
        )
    has_other = len(feature.levels) > len(labels)
    if (n_on == 0).any() and not has_other:
        raise InvalidInput(
            f"{argument} has no column of the group {feature.name!r} on, which the data never "
            f"show; set one of {listed(labels)} to 1."
        )
    return np.where(n_on == 0, float(len(labels)), on.argmax(axis=1).astype(np.float64))


def check_switches(column: pd.Series[Any], feature: Feature, argument: str) -> None:
    """Refuse values of a group's column that say neither on nor off."""
    for value in column.unique() if column.dtype.kind in "iufb" else column:
        if not (isinstance(value, int | float | np.number | np.bool_) and value in (0, 1)):
            raise InvalidInput(
                f"{argument} column {column.name!r} is one of the group {feature.name!r} and must "
                f"be 0 or 1, got {value!r}."
            )


def expand(codes: Floats, n_columns: int) -> Floats:
    """Return the columns (n, k) of a group, 1 where its level (n,) is theirs.

    Examples
    --------
    >>> expand(np.array([1.0, 2.0]), 2)
    array([[0., 1.],
           [0., 0.]])
    """
    return np.asarray(codes[:, None] == np.arange(n_columns), dtype=np.float64)
