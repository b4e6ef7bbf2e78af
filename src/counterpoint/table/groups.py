"""Groups: columns that are one categorical feature, one-hot encoded, with or without the first.

A group is one gene, the code of its level. Its columns are 1 where the level is theirs; one more
level, without a column, stands for all of them being 0 if the data show that.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats
from counterpoint.errors import DataWarning, InvalidInput, UnknownFeatureError, listed
from counterpoint.table.features import Feature, Kind

OTHER = "other"  # the level of a group whose first column was dropped
SUFFIX = "_*"  # of a found group whose name something else has
FEWEST_ROWS = 20  # from which a group is believed that nobody declared
EXPECTED = 10.0  # rows with two columns on, were they independent: none by chance one in 20,000
MOST_TRIED = 2000  # rows by which it is seen which columns are on together
MOST_SHOWN = 500  # characters of found groups that a warning writes out
EXAMPLE = "for example groups={'job': ['job_clerk', 'job_nurse']}"


def find_groups(
    groups: object, frame: pd.DataFrame, taken: set[Any]
) -> dict[Hashable, list[Hashable]]:
    """Return the columns of each group: as declared, and the others that the data show.

    Nothing is looked for if none are wanted (``{}``). What is found is announced once.
    """
    declared = {} if groups is None else check_groups(groups, frame, taken)
    if groups is not None and not declared:
        return {}
    grouped = [column for columns in declared.values() for column in columns]
    found = detect_groups(frame.drop(columns=grouped), taken, {*frame.columns, *declared})
    if found:
        warnings.warn(_announced(declared, found), DataWarning, stacklevel=5)
    return declared | found


def _announced(
    declared: dict[Hashable, list[Hashable]], found: dict[Hashable, list[Hashable]]
) -> str:
    """Return the one remark on all groups that were found."""
    n_columns = sum(map(len, found.values()))
    features = "one feature that was" if len(found) == 1 else f"{len(found)} features that were"
    name, columns = next(iter(found.items()))
    stated, hint = repr(declared | found), ""
    if len(stated) > MOST_SHOWN:
        stated, hint = f"{{{name!r}: {columns!r}, ...}}", " (the schema shows all of them)"
    apart = "groups={} keeps all columns apart"
    if declared:
        apart = f"features={{{columns[0]!r}: Categorical()}} keeps the columns of {name!r} apart"
    return (
        f"{n_columns} columns look like {features} one-hot encoded, and are searched as "
        f"{listed(found)}; groups={stated} says so without this warning{hint}, {apart}."
    )


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
            if not isinstance(column, Hashable) or column not in set(frame.columns):
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


def detect_groups(
    frame: pd.DataFrame, taken: set[Any], names: set[Hashable]
) -> dict[Hashable, list[Hashable]]:
    """Return columns of one prefix that are on one at a time, by the longest prefix they share.

    Groups in which every row has a column on come first, for nothing else looks like them. A column
    that is never on joins the group whose name it has. Groups with a column of `taken`, which was
    declared to be something by itself, are left apart; a group has none of `names`.
    """
    labels = [each for each in frame.columns if isinstance(each, str) and is_indicator(frame[each])]
    switches = Switches(labels, as_switches(frame[labels]), [*map(prefixes_of, labels)])
    seen = [j for j in range(len(labels)) if switches.on[:, j].any()]
    sets: list[list[int]] = []
    for is_complete in (True, False):
        left = [j for j in seen if not any(j in each for each in sets)]
        for below in switches.by_prefix(left, 0):
            sets += switches.sets_of(below, 1, is_complete=is_complete)
    found: dict[Hashable, list[Hashable]] = {}
    for places in sorted(map(sorted, sets)):
        columns = [labels[j] for j in places]
        name = longest_prefix(columns)
        while name in names or name in found:
            name += SUFFIX
        found[name] = [*columns]
    for label in (labels[j] for j in range(len(labels)) if j not in seen):
        if own := [prefix for prefix in prefixes_of(label) if prefix in found]:
            found[own[-1]].append(label)
    return {name: columns for name, columns in found.items() if not taken & {*columns}}


def prefixes_of(label: str) -> list[str]:
    """Return what a label begins with, cut before each separator, capital letter and number.

    Examples
    --------
    >>> prefixes_of("home_type = flat"), prefixes_of("zone7")
    (['home', 'home_type'], ['zone'])
    """
    cuts = re.finditer(r"[\W_]+|(?<=[a-z])(?=[A-Z\d])", label)
    return [label[: cut.start()] for cut in cuts if cut.start() > 0]


def longest_prefix(labels: list[str]) -> str:
    """Return the longest prefix that all labels have.

    Examples
    --------
    >>> longest_prefix(["credit_history_none", "credit_history_all_paid"])
    'credit_history'
    """
    shared = set(prefixes_of(labels[0])).intersection(*map(prefixes_of, labels[1:]))
    return max(shared, key=len)


class Switches(NamedTuple):
    """Columns of 0 and 1, by place, among which groups are looked for."""

    labels: list[str]  # their names
    on: Bools  # (n, k): which of them are on in each row
    prefixes: list[list[str]]  # what each name begins with, the shortest first

    def by_prefix(self, places: list[int], depth: int) -> list[list[int]]:
        """Return two or more columns each that have the same prefix of some depth."""
        below: dict[str, list[int]] = {}
        for j in places:
            if depth < len(self.prefixes[j]):
                below.setdefault(self.prefixes[j][depth], []).append(j)
        return [each for each in below.values() if len(each) > 1]

    def sets_of(self, places: list[int], depth: int, *, is_complete: bool) -> list[list[int]]:
        """Return the groups among columns of one prefix: all of them, or those of longer ones.

        What longer prefixes leave are levels without a word in common, beside flags of the same
        prefix: the most of them that make a complete group, or those that a group lacks.
        """
        if looks_encoded(self.on[:, places], is_complete=is_complete):
            return [places]
        found = [
            each
            for below in self.by_prefix(places, depth)
            for each in self.sets_of(below, depth + 1, is_complete=is_complete)
        ]
        loose = [j for j in places if not any(j in each for each in found)]
        while is_complete and (rest := self.complete_part(loose)):
            found.append(rest)
            loose = [j for j in loose if j not in rest]
        for j in () if is_complete else loose:
            if beside := [group for group in found if self.excludes(group, j)]:
                beside[0].append(j)
        return found

    def complete_part(self, places: list[int]) -> list[int]:
        """Return columns of which every row has one on; those on beside most others are left out.

        None are returned if what is left makes no group.
        """
        left = np.array(places, dtype=np.intp)
        on = self.on[:: max(1, len(self.on) // MOST_TRIED)][:, left].astype(np.float32)
        together = on.T @ on > 0.0
        while len(left) > 1 and (n_beside := together.sum(axis=1)).max() > 1:
            kept = np.arange(len(left)) != n_beside.argmax()
            left, together = left[kept], together[np.ix_(kept, kept)]
        return left.tolist() if looks_encoded(self.on[:, left], is_complete=True) else []

    def excludes(self, group: list[int], j: int) -> bool:
        """Whether a column is never on with those of a group, more often than by chance."""
        one, other = self.on[:, group].any(axis=1), self.on[:, j]
        expected = other.sum() * one.mean()
        return bool(expected >= EXPECTED and not (one & other).any())


def is_indicator(column: pd.Series[Any]) -> bool:
    """Whether a column holds nothing but 0 and 1, and is 0 somewhere."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(dtype):
        return False
    if column.isna().any():
        return False
    values = column.to_numpy(dtype=np.float64)
    return bool(((values == 0.0) | (values == 1.0)).all() and values.min() < 1.0)


def looks_encoded(switches: Bools, *, is_complete: bool) -> bool:
    """Whether switches (n, k) are on one at a time in a way that chance would not do.

    In a complete encoding one is on in every row. Without its first column, none may be.
    """
    n, k = switches.shape
    n_on = switches.sum(axis=1)
    if k < 2 or n < FEWEST_ROWS or n_on.max() > 1:
        return False
    shares = switches.mean(axis=0)
    together = n * (shares.sum() ** 2 - (shares**2).sum()) / 2.0
    return bool((n_on == 1).all() if is_complete else together >= EXPECTED)


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
    prefix = re.escape(re.sub(r"(_\*)+$", "", str(name)))
    prefixed = re.compile(rf"{prefix}\s*(?:\[(?:T\.)?(.+)\]|(?:([^\w\s]|_)\2*)?\s*(.+))")
    found = [prefixed.fullmatch(str(label)) for label in labels]
    rests: list[Hashable] = [parts[1] or parts[3] for parts in found if parts is not None]
    return rests if len(set(rests)) == len(labels) else labels


def as_switches(frame: pd.DataFrame) -> Bools:
    """Return which columns of 0 and 1 are on, shape (n, k)."""
    on: Bools = frame.to_numpy(dtype=np.float64) == 1.0
    return on


def encode_group(frame: pd.DataFrame, feature: Feature, argument: str) -> Floats:
    """Return the codes of a group's levels in rows that have its columns."""
    labels = [column.name for column in feature.columns]
    for column in (frame[label] for label in labels):
        for value in column.unique() if column.dtype.kind in "iufb" else column:
            if not (isinstance(value, int | float | np.number | np.bool_) and value in (0, 1)):
                raise InvalidInput(
                    f"{argument} column {column.name!r} is one of the group {feature.name!r} and "
                    f"must be 0 or 1, got {value!r}."
                )
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


def expand(codes: Floats, n_columns: int) -> Floats:
    """Return the columns (n, k) of a group, 1 where its level (n,) is theirs.

    Examples
    --------
    >>> expand(np.array([1.0, 2.0]), 2)
    array([[0., 1.],
           [0., 0.]])
    """
    return np.asarray(codes[:, None] == np.arange(n_columns), dtype=np.float64)
