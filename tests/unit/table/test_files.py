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
