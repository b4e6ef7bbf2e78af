"""Names for the arrays that cross module borders: C-contiguous and never written to by a callee.

A `Column` is how many of them cross the border between two processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Shorts: TypeAlias = NDArray[np.int32]
Codes: TypeAlias = NDArray[np.uint16]
Bools: TypeAlias = NDArray[np.bool_]
Keys: TypeAlias = NDArray[np.uint64]
# Numbers are refused beyond the first, and differences are divided by no range below the second:
# so their products with each other, and the sums of these, are finite.
LARGEST = 1e100
NARROWEST = 1e-200
# The gene of a missing value: finite, so that it equals itself, hashes, and times 0 is 0; below all
# numbers a table may hold, so that no search box contains it.
MISSING = -(2.0**1000)
Whole: TypeAlias = int | np.int64  # NumPy's where Numba would else compile anew for every constant


class Column(NamedTuple):
    """One value of each of many records, in few large pieces, for a pickle.

    To pickle and read thousands of small arrays takes many times as long as to copy their bytes.
    """

    kind: Literal["few", "arrays", "records", "others"]
    # the different values; all arrays as one; the class of the records and their columns by name;
    # or the values themselves
    content: Any
    places: Sequence[int] = ()  # of each value among the few; or how long each array is

    @classmethod
    def of(cls, values: list[Any], kinds: tuple[type, ...] = ()) -> Column:
        """Return some values as a column; dataclasses of these kinds are taken apart."""
        few = {id(value): value for value in values}
        if 2 * len(few) <= len(values):
            places = {which: place for place, which in enumerate(few)}
            return cls("few", list(few.values()), [places[id(value)] for value in values])
        if can_be_joined(values):
            return cls("arrays", np.concatenate(values), [len(value) for value in values])
        kind: Any = type(values[0]) if values else None
        if kind not in kinds or any(type(value) is not kind for value in values):
            return cls("others", values)
        names = [each.name for each in fields(kind)]
        return cls("records", (kind, columns_of(values, names, kinds)))

    def values(self) -> list[Any]:
        """Return the values again, equal bit for bit; each array has memory of its own."""
        if self.kind == "few":
            return [self.content[place] for place in self.places]
        if self.kind == "arrays":
            ends = np.cumsum(self.places).tolist()
            spans = zip([0, *ends[:-1]], ends, strict=True)
            return [self.content[start:end].copy() for start, end in spans]
        if self.kind == "others":
            return list(self.content)
        kind, columns = self.content
        records = []
        for row in zip(*values_of(columns).values(), strict=True):
            records.append(record := object.__new__(kind))
            record.__dict__.update(zip(columns, row, strict=True))
        return records


def columns_of(
    records: list[Any], names: Sequence[str], kinds: tuple[type, ...]
) -> dict[str, Column]:
    """Return the named fields of records as columns; what two fields share is there once."""
    columns, made = dict[str, Column](), dict[tuple[int, ...], Column]()
    for name in names:
        values = [getattr(record, name) for record in records]
        which = tuple(map(id, values))
        if which not in made:
            made[which] = Column.of(values, kinds)
        columns[name] = made[which]
    return columns


def values_of(columns: dict[str, Column]) -> dict[str, list[Any]]:
    """Return the values of columns by name; what two of them share is made once."""
    made = {id(column): column.values() for column in columns.values()}
    return {name: made[id(column)] for name, column in columns.items()}


def can_be_joined(values: list[Any]) -> bool:
    """Whether values are arrays of numbers that one array can hold and be cut into again."""
    first = values[0] if values else None
    if type(first) is not np.ndarray or first.ndim == 0 or first.dtype.kind not in "biufc":
        return False
    kind, shape = first.dtype, first.shape[1:]
    return kind.isnative and all(
        type(value) is np.ndarray
        and value.dtype == kind
        and value.ndim > 0
        and value.shape[1:] == shape
        and value.flags.writeable
        and (value.ndim == 1 or value.flags.c_contiguous)
        for value in values
    )
