"""Columns: many records in few pieces, and the same records again."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from counterpoint.arrays import Column, columns_of, values_of


@dataclass(frozen=True, eq=False)
class Part:
    """One of the values of a record."""

    counts: Any
    word: str


@dataclass(frozen=True, eq=False)
class Record:
    """A record with arrays, one of them twice, and a part."""

    numbers: Any
    again: Any
    part: Part


def travelled(values: list[Any], kinds: tuple[type, ...] = ()) -> list[Any]:
    """Return values that were a column in another process."""
    column: Column = pickle.loads(pickle.dumps(Column.of(values, kinds), 5))  # noqa: S301
    return column.values()


def records() -> list[Record]:
    numbers = [np.arange(2.0 * n).reshape(n, 2) for n in range(4)]
    return [Record(each, each, Part(np.arange(len(each)), "ab"[len(each) % 2])) for each in numbers]


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i1", "u2", "?", "c16"])
def test_arrays_come_back_with_the_same_bits_and_memory_of_their_own(kind: str) -> None:
    given = [np.arange(3 * n).reshape(n, 3).astype(kind) for n in (2, 0, 5)]

    found = travelled(given)

    assert Column.of(given).kind == "arrays"
    assert [each.tobytes() for each in found] == [each.tobytes() for each in given]
    assert [(e.dtype, e.shape) for e in found] == [(e.dtype, e.shape) for e in given]
    assert all(each.flags.carray and each.base is None for each in found)


def test_nan_and_negative_zero_keep_their_bits() -> None:
    given = [np.array([np.nan, -0.0]), np.array([-np.nan, 0.0, np.inf])]

    assert [each.tobytes() for each in travelled(given)] == [each.tobytes() for each in given]


def read_only() -> Any:
    array = np.arange(3.0)
    array.setflags(write=False)
    return array


@pytest.mark.parametrize(
    "odd",
    [
        read_only(),
        np.asfortranarray(np.ones((2, 3))),
        np.ones((2, 2)),
        np.ones(3, dtype="f4"),
        np.ones(3, dtype=">f8"),
        np.array(["a", None], dtype=object),
        np.array(1.0),
        "word",
    ],
    ids=[
        "read only",
        "by columns",
        "shape",
        "dtype",
        "byte order",
        "objects",
        "no axis",
        "no array",
    ],
)
def test_what_cannot_be_one_array_travels_as_it_would_alone(odd: Any) -> None:
    given = [np.zeros(2), odd, np.ones(3)]

    found = travelled(given)

    for one, other in zip(found, pickle.loads(pickle.dumps(given, 5)), strict=True):  # noqa: S301
        assert type(one) is type(other)
        assert np.array_equal(one, other)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            assert one.flags.writeable == other.flags.writeable
            assert one.flags.f_contiguous == other.flags.f_contiguous


def test_what_many_share_is_one_object_again() -> None:
    shared, other = ("a", [1]), ("b", [2])

    found = travelled([shared, other, shared, shared])

    assert found == [shared, other, shared, shared]
    assert found[0] is found[2] is found[3]


def test_records_are_taken_apart_and_what_two_fields_share_they_share_again() -> None:
    found = travelled(records(), (Record, Part))

    assert [type(each) for each in found] == [Record] * 4
    assert all(each.again is each.numbers for each in found)
    for one, other in zip(found, records(), strict=True):
        assert np.array_equal(one.numbers, other.numbers)
        assert np.array_equal(one.part.counts, other.part.counts)
        assert one.part.word == other.part.word


def test_records_of_other_kinds_stay_whole() -> None:
    column = Column.of(records(), (Part,))

    assert column.kind == "others"
    assert column.values()[3].numbers.shape == (3, 2)


def test_some_fields_of_records_are_columns() -> None:
    columns = columns_of(records(), ["numbers", "again"], ())

    values = values_of(columns)

    assert columns["numbers"] is columns["again"]
    assert list(values) == ["numbers", "again"]
    assert [len(each) for each in values["again"]] == [0, 1, 2, 3]


def test_there_may_be_nothing() -> None:
    assert travelled([]) == []
