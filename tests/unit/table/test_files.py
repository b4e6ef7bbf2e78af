"""Tables in files come back as they were written; damaged ones are refused by name."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.table.files import READERS, read_content

TABLE = pd.DataFrame({"age": [20, 30], "pay": [1.5, 2.25], "job": ["cook", "nurse"]})


@pytest.mark.parametrize("ending", READERS)
def test_a_table_comes_back_as_it_was_written(ending: str, tmp_path: Path) -> None:
    place = tmp_path / f"rows{ending}"
    write = getattr(TABLE, READERS[ending].replace("read", "to"))
    write(place, index=False) if ending == ".csv" else write(place)

    read = read_content(place, ending, "rows 'x'")

    pd.testing.assert_frame_equal(read, TABLE)


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_a_damaged_file_is_refused_by_its_name(ending: str) -> None:
    with pytest.raises(
        cp.InvalidInput, match=rf"^rows 'x' cannot be read as {ending[1:]} \(.*damaged or cut off"
    ):
        read_content(io.BytesIO(b"PAR1 and no more"), ending, "rows 'x'")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"age,job\n20,K\xf6chin\n", r"UnicodeDecodeError: .*\); save it as UTF-8\.$"),
        (
            b"",
            r"EmptyDataError: .*\); it is empty: write a line with the names of the columns, and",
        ),
        (b"a,b\n1,2\n1,2,3\n", r"ParserError: .*\); separate its columns by commas, name each in"),
        (b"a;b\n1;2\n", r"ParserError: it has one column, 'a;b'\); separate its columns by commas"),
        (b"a;b\n1;2,5\n", r"more cells than the first line has names\); separate its columns by"),
        (b"a,b\n1,2,5\n3,4,6\n", r"more cells than the first line has names\); .* name each in"),
    ],
)
def test_csv_of_another_kind_is_refused_with_what_to_do(content: bytes, told: str) -> None:
    with pytest.raises(cp.InvalidInput, match=rf"^rows 'x' cannot be read as csv \(.*{told}"):
        read_content(io.BytesIO(content), ".csv", "rows 'x'")


@pytest.mark.parametrize("content", [b"a\n1\n", b"a,b\n", b"\xef\xbb\xbfa,b\n1,2\n"])
def test_csv_that_is_as_it_should_be_is_read(content: bytes) -> None:
    assert read_content(io.BytesIO(content), ".csv", "rows 'x'").columns[0] == "a"


def test_a_comma_at_the_end_of_every_line_moves_no_value_to_another_column() -> None:
    read = read_content(io.BytesIO(b"age,pay\n20,30,\n21,31,\n"), ".csv", "rows 'x'")

    assert read.to_dict("list") == {"age": [20, 21], "pay": [30, 31]}
