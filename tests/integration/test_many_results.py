"""Many results in one Parquet file: written whole or not at all, read back and checked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.result.file.saving import SEAL, UNSEALED, seal

DATA = pd.DataFrame({"age": np.arange(18, 78), "job": ["clerk", "nurse", "smith"] * 20})


def score(rows: pd.DataFrame) -> Any:
    return rows["age"] / 100


EXPLAINER = cp.Explainer(score, DATA)
ROWS = DATA.iloc[[0, 5, 10, 50]]
TARGET = (0.4, 1.0)
SEARCH = cp.Search(evaluations=150)
RESULTS = EXPLAINER.explain_many(ROWS, TARGET, SEARCH)


def same(a: cp.Counterfactuals, b: cp.Counterfactuals) -> bool:
    pd.testing.assert_frame_equal(a.to_frame(near_misses=True), b.to_frame(near_misses=True))
    pd.testing.assert_frame_equal(a.row, b.row)
    return (a.message, a.status, a.notes) == (b.message, b.status, b.notes)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    cp.save_many(RESULTS, tmp_path / "found.parquet")
    return tmp_path / "found.parquet"


def test_what_is_read_is_what_was_written(file: Path) -> None:
    loaded = cp.load_many(file)

    assert len(loaded) == len(RESULTS)
    assert all(same(a, b) for a, b in zip(loaded, RESULTS, strict=True))


def test_the_file_can_be_filtered_without_us(file: Path) -> None:
    table = pd.read_parquet(file, columns=["index", "status", "n_found", "n_near_misses"])

    assert table["index"].tolist() == ["0", "5", "10", "50"]
    assert table["status"].tolist() == ["found", "found", "found", "already_met"]
    assert table["n_found"].tolist() == [len(found) for found in RESULTS]
    assert table["n_near_misses"].tolist() == [int((~found.reaches).sum()) for found in RESULTS]


def test_results_are_written_as_they_come(tmp_path: Path) -> None:
    rows = pd.concat([ROWS] * 40)  # more than are written at a time

    n = cp.save_many(EXPLAINER.explain_each(rows, TARGET, SEARCH), tmp_path / "x.parquet")

    loaded = cp.load_many(tmp_path / "x.parquet")
    assert n == len(loaded) == 160
    assert all(same(loaded[i], RESULTS[i % 4]) for i in range(160))
    assert pq.ParquetFile(tmp_path / "x.parquet").num_row_groups == 3


def test_no_results_are_a_file_too(tmp_path: Path) -> None:
    assert cp.save_many([], tmp_path / "none.parquet") == 0
    assert cp.load_many(tmp_path / "none.parquet") == []


def test_a_failure_leaves_the_old_file_and_no_other(file: Path) -> None:
    before = file.read_bytes()

    def failing() -> Iterator[cp.Counterfactuals]:
        yield RESULTS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cp.save_many(failing(), file)

    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_missing_folder_or_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        cp.save_many(RESULTS, tmp_path / "none" / "x.parquet")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        cp.load_many(tmp_path / "none.parquet")


def rewritten(file: Path, table: pa.Table) -> Path:
    """Write another table into a file, with a checksum that fits."""
    metadata = {**(table.schema.metadata or {}), SEAL[:-2]: UNSEALED}
    pq.write_table(table.replace_schema_metadata(metadata), file)
    with open(file, "r+b") as opened:
        seal(opened)
    return file


def with_documents(file: Path, documents: list[Any]) -> Path:
    """Put other documents into a file."""
    table = pq.read_table(file)
    column = table.schema.get_field_index("document")
    texts = pa.array(documents, type=pa.large_string())
    return rewritten(file, table.set_column(column, table.schema.field(column), texts))


def documents_of(file: Path) -> list[Any]:
    return list(pq.read_table(file)["document"].to_pylist())


def test_other_tables_and_other_versions_are_refused(file: Path) -> None:
    table = pq.read_table(file)
    later = {**table.schema.metadata, b"counterpoint.version": b"2"}
    pq.write_table(table.replace_schema_metadata(None), file)

    with pytest.raises(cp.InvalidInput, match="it holds no results of counterpoint, or is cut off"):
        cp.load_many(file)

    with pytest.raises(cp.InvalidInput, match="it holds no results of counterpoint"):
        cp.load_many(rewritten(file, table.replace_schema_metadata(None)))
    with pytest.raises(cp.InvalidInput, match="it was written by another counterpoint"):
        cp.load_many(rewritten(file, table.replace_schema_metadata(later)))
    with pytest.raises(cp.InvalidInput, match="its columns are not those of results"):
        cp.load_many(rewritten(file, table.drop_columns(["status"])))


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (None, "result 1: it has no document"),
        ("", "result 1: it is not JSON"),
        ("{}", "result 1: it is no result of counterpoint"),
        ("[" * 100_000, "result 1: "),
    ],
)
def test_a_damaged_document_is_named_by_its_place(file: Path, document: Any, told: str) -> None:
    documents = documents_of(file)
    documents[1] = document

    with pytest.raises(cp.InvalidInput, match=told):
        cp.load_many(with_documents(file, documents))


def test_a_changed_document_is_noticed(file: Path) -> None:
    documents = [text.replace('"seed":0', '"seed":1') for text in documents_of(file)]
    assert documents != documents_of(file)

    with pytest.raises(cp.InvalidInput, match="its checksum does not fit"):
        cp.load_many(with_documents(file, documents))


def test_a_document_that_unpacks_to_more_than_allowed_is_refused(file: Path) -> None:
    with_documents(file, ["x" * 5_000_000] * len(RESULTS))

    assert file.stat().st_size < 1_000_000
    with pytest.raises(cp.InvalidInput, match=r"it is larger than 1,000,000 bytes"):
        cp.load_many(file, most_bytes=1_000_000)


def test_whatever_bit_is_flipped_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    cp.save_many([RESULTS[3]] * 3, file)
    whole = file.read_bytes()

    survived: list[int] = []
    with open(file, "r+b", buffering=0) as opened:
        for place, byte in enumerate(whole):
            os.pwrite(opened.fileno(), bytes([byte ^ 1 << place % 8]), place)
            with suppress(cp.InvalidInput):
                cp.load_many(file)
                survived.append(place)
            os.pwrite(opened.fileno(), bytes([byte]), place)

    assert survived == []
    assert len(cp.load_many(file)) == 3


def test_an_error_of_arrow_is_ours(file: Path) -> None:
    """The footer names a codec that nobody has: a checksum that fits proves nothing else."""
    content = file.read_bytes()
    codec = content.rindex(b"document\x15\x0c") + 9  # the codec of the last column: 6, zstd
    file.write_bytes(content[:codec] + b"\x06" + content[codec + 1 :])  # 3, lzo
    with open(file, "r+b") as opened:
        seal(opened)

    with pytest.raises(cp.InvalidInput, match=r"found.parquet' cannot be loaded: result 0: .*LZO"):
        cp.load_many(file)


CONTENT: list[bytes] = []


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_refused_or_read_as_it_was(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    if not CONTENT:
        cp.save_many(RESULTS[:2], folder / "whole.parquet")
        CONTENT.append((folder / "whole.parquet").read_bytes())
    content = bytearray(CONTENT[0])
    if data.draw(st.booleans(), label="truncate"):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 5))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / "x.parquet").write_bytes(content)

    try:
        loaded = cp.load_many(folder / "x.parquet")
    except cp.CounterpointError:
        return
    assert all(same(a, b) for a, b in zip(loaded, RESULTS[:2], strict=True))
