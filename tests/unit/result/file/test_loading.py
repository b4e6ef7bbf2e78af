"""What the loader refuses before it looks at any field, and the fields of rows."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import counterpoint as cp
from counterpoint.result.file.document import Node
from counterpoint.result.file.loading import parse, read_index
from counterpoint.result.file.reading import read_search


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "found.json"


def test_a_missing_file_is_both_errors(path: Path) -> None:
    with pytest.raises(cp.CounterpointError, match=r"there is no file '.*found\.json'") as caught:
        cp.load(path)
    assert isinstance(caught.value, FileNotFoundError)


def test_a_file_nobody_may_read_is_told(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")

    with pytest.raises(cp.InvalidInput, match=r"found.json' cannot be read: Permission denied\."):
        cp.load(path)


def test_repeated_keys_are_found_in_linear_time(path: Path) -> None:
    """By counting each key among all, as was done before, this took 90 seconds."""
    keys = ",".join(f'"k{i}": 0' for i in range(80_000))
    path.write_text(f'{{{keys}, "k79999": 0}}')
    start = time.process_time()

    with pytest.raises(cp.InvalidInput, match="the key 'k79999' comes twice in one object"):
        cp.load(path)

    assert time.process_time() - start < 5.0


def test_a_larger_file_than_allowed_is_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**26 + 1)  # a hole, no bytes

    with pytest.raises(cp.InvalidInput, match="larger than 67,108,864 bytes; if you trust it"):
        cp.load(path)
    with pytest.raises(cp.InvalidInput, match="larger than 10 bytes"):
        cp.load(path, most_bytes=10)
    with pytest.raises(cp.InvalidInput, match="most_bytes must be a whole number of at least 1"):
        cp.load(path, most_bytes=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is not JSON, or only a part of it"),
        (b"\xff\xfe", "it is not JSON"),
        (b"\x80\x04\x95pickle", "it is not JSON"),
        (b"[" * 100_000, "its values are nested without end"),
        (b'{"a":' * 100_000, "its values are nested without end"),
        (b"9" * 5000, "it is not JSON"),
        (b'{"a": NaN}', "it is not strict JSON: NaN is no number"),
        (b'{"a": -Infinity}', "it is not strict JSON: -Infinity is no number"),
        (b'{"a": 1, "b": 2, "a": 1}', "the key 'a' comes twice in one object"),
        (b"[]", r"\$ must be an object, got \[\]"),
        (b"{}", r"it is no result of counterpoint: \$\.format must be 'counterpoint/"),
        (b'{"format": "counterpoint/counterfactuals"}', r"\$\.version must be a whole number"),
    ],
)
def test_what_is_no_document_is_refused(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)

    with pytest.raises(cp.InvalidInput, match=r"found\.json' cannot be loaded: " + message):
        cp.load(path)


def test_strict_json_is_read_as_it_stands() -> None:
    assert parse('{"größe": [1, 2.5, null, true]}'.encode()) == {"größe": [1, 2.5, None, True]}


@pytest.mark.parametrize(
    ("values", "dtype", "told"),
    [
        ([1.5], "float64", r"\$\.values\[0\] must be a whole number or a text"),
        ([True], "bool", r"\$\.values\[0\] must be a whole number or a text"),
        ([1, 2], "int64", r"\$\.values must have 1 entries, got 2"),
        ([2], "bool", r"\$\.values must be values of dtype bool"),
    ],
)
def test_labels_a_row_cannot_have_are_refused(values: list[Any], dtype: str, told: str) -> None:
    with pytest.raises(cp.InvalidInput, match=told):
        read_index(Node({"values": values, "dtype": dtype, "name": None}), 1)


def test_settings_of_a_search_check_themselves() -> None:
    known = Node({"type": "WhatIf", "settings": {"n": 3}})
    wrong = Node({"type": "WhatIf", "settings": {"n": 0}})

    assert read_search(known) == cp.WhatIf(n=3)
    with pytest.raises(cp.InvalidInput, match="n must be a whole number"):
        read_search(wrong)
