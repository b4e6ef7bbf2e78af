"""The files of a job: found by every kind of name, read as one table, refused by name."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.batch.inputs import Inputs, find_files
from counterpoint.errors import InvalidInput


def table(start: int, stop: int) -> pd.DataFrame:
    """Return rows with values of every kind, some missing."""
    n = np.arange(start, stop)
    return pd.DataFrame(
        {
            "whole": n,
            "real": n / 4,
            "text": [f"t{i % 3}" for i in n],
            "level": pd.Categorical([f"l{i % 2}" for i in n], categories=["l0", "l1"]),
            "truth": n % 2 == 0,
            "holes": pd.array([None if i % 5 == 0 else int(i) for i in n], dtype="Int64"),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the same rows as files of three kinds, and what is no file of rows."""
    table(0, 10).to_parquet(tmp_path / "a.parquet", row_group_size=3)
    table(10, 14).to_feather(tmp_path / "b.feather")
    table(14, 20).to_csv(tmp_path / "c.csv", index=False)
    for name in ("_SUCCESS", ".a.parquet.crc", "_metadata.parquet", "notes.txt"):
        (tmp_path / name).write_text("no rows")
    return tmp_path


def test_a_folder_is_one_long_table(folder: Path) -> None:
    rows = Inputs.open(folder, "rows")

    read = rows.read(0, 20)

    assert len(rows) == 20
    assert read.index.tolist() == list(range(20))
    assert read["whole"].tolist() == list(range(20))
    assert read["level"].tolist() == [f"l{i % 2}" for i in range(20)]
    assert read["holes"].isna().tolist() == [i % 5 == 0 for i in range(20)]
    assert [str(dtype) for dtype in read.dtypes[["whole", "truth"]]] == ["Int64", "boolean"]


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (2, 4), (8, 12), (3, 19), (13, 15), (19, 20)])
def test_a_stretch_looks_the_same_wherever_it_is_cut(folder: Path, start: int, stop: int) -> None:
    rows = Inputs.open(folder, "rows")

    stretch = rows.read(start, stop)

    pd.testing.assert_frame_equal(stretch, rows.read(0, 20).loc[start : stop - 1])


def test_only_some_columns_are_read(folder: Path) -> None:
    rows = Inputs.open(folder, "rows").only(["text", "whole"])

    assert list(rows.read(9, 11).columns) == ["text", "whole"]


def test_every_kind_of_name(folder: Path) -> None:
    found = [place.label for place in find_files([folder / "c.csv", f"{folder}/*.f*"], "rows")]

    assert found == ["b.feather", "c.csv"]
    assert [p.label for p in find_files(f"{folder}/?.parquet", "rows")] == ["a.parquet"]
    assert len(find_files(str(folder), "rows")) == 3


def test_a_file_named_twice_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput, match=r"rows names '.*a.parquet' twice"):
        find_files([folder, folder / "a.parquet"], "rows")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere", "rows '.*nowhere' is neither a file nor a folder"),
        ("*.xlsx", r"rows '.*\*.xlsx' matches no file"),
        ("notes.txt", "rows must end in .csv, .parquet or .feather, got '.*notes.txt'"),
    ],
)
def test_names_that_are_no_files_of_rows(folder: Path, name: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        Inputs.open(folder / name, "rows")


@pytest.mark.parametrize("names", [None, 3, [3], pd.DataFrame({"age": [1]})])
def test_what_names_no_files_is_refused(names: Any) -> None:
    with pytest.raises(InvalidInput, match=r"rows must name files, a folder or a pattern .*, got "):
        Inputs.open(names, "rows")


def test_no_name_and_no_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="rows names no file"):
        find_files([], "rows")
    with pytest.raises(InvalidInput, match=r"has no .parquet, .csv or .feather file"):
        find_files(tmp_path, "rows")


def test_other_columns_are_refused_with_file_and_names(folder: Path) -> None:
    table(0, 2).rename(columns={"real": "rael"}).to_csv(folder / "d.csv", index=False)

    with pytest.raises(
        InvalidInput, match=r"d.csv' has other columns than '.*a.parquet': it lacks 'real' and has"
    ):
        Inputs.open(folder, "rows")


def test_other_types_are_refused_with_file_and_column(folder: Path) -> None:
    table(0, 2).assign(whole=["one", "two"]).to_csv(folder / "d.csv", index=False)

    with pytest.raises(
        InvalidInput, match=r"column 'whole' is string in rows '.*d.csv', but int64"
    ):
        Inputs.open(folder, "rows")


def test_whole_and_real_numbers_are_real(folder: Path) -> None:
    table(0, 2).assign(whole=[0.5, 1.5]).to_csv(folder / "d.csv", index=False)

    assert Inputs.open(folder, "rows").read(0, 22)["whole"].dtype == np.float64


def test_no_rows_are_refused(tmp_path: Path) -> None:
    table(0, 0).to_parquet(tmp_path / "a.parquet")

    with pytest.raises(InvalidInput, match="has no rows"):
        Inputs.open(tmp_path, "rows")


@pytest.mark.parametrize("name", ["a.parquet", "b.feather"])
def test_a_cut_file_is_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])

    with pytest.raises(InvalidInput, match=rf"rows '.*{name}' cannot be read as .*damaged or cut"):
        Inputs.open(folder, "rows")


def test_fingerprints_tell_changes(folder: Path) -> None:
    before = Inputs.open(folder, "rows").fingerprints()
    table(14, 20).assign(real=0.0).to_csv(folder / "c.csv", index=False)

    after = Inputs.open(folder, "rows").fingerprints()

    assert before[:2] == after[:2]
    assert before[2]["fingerprint"] != after[2]["fingerprint"]
    assert all(told["fingerprint"].startswith("sha256:") for told in after)


@pytest.fixture
def store() -> Any:
    """Return a file system that is not here: fsspec's memory, empty before and after."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def put(system: Any, name: str, rows: pd.DataFrame) -> None:
    """Write rows to the store."""
    with system.open(name, "wb") as file:
        rows.to_parquet(file, row_group_size=4)


def test_rows_of_a_store(store: Any) -> None:
    put(store, "/bank/a.parquet", table(0, 10))
    put(store, "/bank/b.parquet", table(10, 15))

    by_pattern = Inputs.open("memory://bank/*.parquet", "rows")
    by_folder = Inputs.open("memory://bank", "rows")

    assert by_pattern.read(0, 15)["whole"].tolist() == list(range(15))
    pd.testing.assert_frame_equal(by_pattern.read(3, 12), by_folder.read(3, 12))
    assert by_folder.fingerprints() == by_pattern.fingerprints()
    content = store.cat("/bank/a.parquet")
    assert by_folder.fingerprints()[0]["fingerprint"] == f"sha256:{sha256(content).hexdigest()}"


def test_a_changed_file_in_a_store_has_another_fingerprint(store: Any) -> None:
    put(store, "/bank/a.parquet", table(0, 10))
    before = Inputs.open("memory://bank", "rows").fingerprints()

    put(store, "/bank/a.parquet", table(1, 11))

    assert Inputs.open("memory://bank", "rows").fingerprints() != before


def test_a_damaged_file_in_a_store_is_named(store: Any) -> None:
    with store.open("/bank/a.parquet", "wb") as file:
        file.write(b"PAR1 and no more")

    with pytest.raises(InvalidInput, match=r"rows 'memory://.*bank/a.parquet' cannot be read"):
        Inputs.open("memory://bank/a.parquet", "rows")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("memory://bank/*.parquet", r"rows 'memory://bank/\*.parquet' matches no file"),
        ("strange://bank", r"rows 'strange://bank' cannot be looked up \(ValueError"),
    ],
)
def test_names_that_no_store_has(store: Any, name: str, told: str) -> None:
    assert not store.store

    with pytest.raises(InvalidInput, match=told):
        Inputs.open(name, "rows")


def test_csv_whose_lines_have_more_cells_than_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,income\n20,30,1\n21,31,2\n")

    with pytest.raises(
        InvalidInput, match=r"a\.csv' cannot be read as csv .*has names\); separate"
    ):
        Inputs.open(tmp_path, "rows")
