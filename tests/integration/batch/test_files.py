"""Batch jobs that things happen to: rows, models, files and disks that fail; each id comes out."""

from __future__ import annotations

import json
import shutil
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.batches import (
    N_ROWS,
    POISON,
    SEARCH,
    Meanwhile,
    Poisonous,
    StopAfter,
    contents,
    explainer,
    hanging,
    lines_of,
    raising,
    rows_of_square,
    run_batch,
    write_rows,
    write_table,
)
from tests.logistic import square

import counterpoint as cp
from counterpoint.batch.ledger import Folder

BAD = (3, 18, 19)  # rows with the poison


def poisoned(folder: Path, bad: tuple[int, ...] = BAD) -> Path:
    """Write rows of which some have the poison."""
    table = rows_of_square()
    table.loc[list(bad), "x"] = POISON
    return write_rows(folder, table)


def test_every_row_has_a_line_and_lines_are_what_explain_finds(rows: Path, tmp_path: Path) -> None:
    summary = run_batch(rows, tmp_path / "out", order={"keep": None})

    lines, table = lines_of(tmp_path / "out"), rows_of_square()
    assert list(lines.columns[:5]) == ["loan", "row", "counterfactual", "status", "message"]
    assert lines["loan"].drop_duplicates().tolist() == table["loan"].tolist()
    found = explainer().explain(table.loc[[4], ["x", "y"]], (0.5, 1.0), SEARCH)
    own = lines[lines["loan"] == "L0004"]
    assert own["status"].unique().tolist() == [found.status]
    assert own["evaluations"].unique().tolist() == [found.evaluations]
    assert own["x"].tolist() == found.to_frame(near_misses=True)["x"].tolist()
    assert (
        own["implausibility"].tolist()
        == found.to_frame(near_misses=True)["implausibility"].tolist()
    )
    assert summary.found + summary.already_met == summary.n_rows == N_ROWS
    assert summary.exit_status == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "log.jsonl",
        "manifest.json",
        *(f"part-{k:05d}.parquet" for k in range(3)),
    ]


def test_from_python_as_the_documentation_has_it(
    rows: Path, tmp_path: Path, clean: dict[str, bytes]
) -> None:
    summary = cp.explain_files(
        explainer(),
        rows=f"{rows}/*.parquet",
        out=tmp_path / "out",
        target=(0.5, 1.0),
        search=SEARCH,
        id="loan",
        part_rows=16,
        workers=2,
        progress=False,
    )

    assert contents(tmp_path / "out") == clean
    assert not summary.is_interrupted


def test_the_manifest_lists_the_parts_with_their_hashes(clean: dict[str, bytes]) -> None:
    from hashlib import sha256

    manifest = json.loads(clean["manifest.json"])

    assert [part["name"] for part in manifest["parts"]] == sorted(set(clean) - {"manifest.json"})
    assert all(
        part["sha256"] == sha256(clean[part["name"]]).hexdigest() for part in manifest["parts"]
    )
    assert sum(part["counts"]["rows"] for part in manifest["parts"]) == N_ROWS


def test_a_job_that_is_done_does_nothing(done: Path, tmp_path: Path) -> None:
    shutil.copytree(done / "out", tmp_path / "out")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part*")}

    summary = run_batch(done / "in", tmp_path / "out")

    assert summary.n_before == N_ROWS
    assert "All 40 rows were done before; nothing was left to do" in str(summary)
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part*")}


def test_only_the_rows_of_a_damaged_chunk_are_done_again(rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_batch(rows, out, chunk=2, stop=StopAfter(4))
    chunk = min(out.glob("work/chunk-*.arrow"))
    n_done = 2 * len(list(out.glob("work/chunk-*.arrow")))
    chunk.write_bytes(chunk.read_bytes()[:-5])

    summary = run_batch(rows, out)

    assert summary.n_before == n_done - 2
    assert f'"damaged", "file": "{chunk.name}"' in (out / "log.jsonl").read_text()


def test_a_model_that_raises_fails_its_rows_only(tmp_path: Path) -> None:
    summary = run_batch(poisoned(tmp_path), tmp_path / "out", whom=raising())

    lines = lines_of(tmp_path / "out").drop_duplicates("row").set_index("row")
    assert set(lines.index[lines["status"] == "failed"]) == set(BAD)
    assert str(lines.loc[3, "message"]).endswith("the model does not like this")
    assert set(lines["loan"]) == set(rows_of_square()["loan"])
    assert summary.exit_status == 3
    assert summary.messages[0][1] == len(BAD)
    assert "3 x " in str(summary)


def test_a_model_that_hangs_on_a_row_fails_that_row(rows: Path, tmp_path: Path) -> None:
    release = threading.Event()
    run_batch(rows, tmp_path / "clean")
    expected = lines_of(tmp_path / "clean")
    shutil.rmtree(rows)
    whom = hanging(release)
    try:
        summary = run_batch(
            poisoned(tmp_path, (18,)), tmp_path / "out", whom=whom, row_timeout=1.0, chunk=4
        )
    finally:
        release.set()

    lines = lines_of(tmp_path / "out")
    failed = lines[lines["row"] == 18]
    assert failed["message"].tolist() == ["no answer within 1 s"]
    assert failed["status"].tolist() == ["failed"]
    pd.testing.assert_frame_equal(
        lines[lines["row"] != 18].reset_index(drop=True),
        expected[expected["row"] != 18].reset_index(drop=True),
    )
    assert summary.exit_status == 3


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_model_that_ends_its_thread_fails_that_row(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    def end() -> None:
        raise kind

    whom = cp.Explainer(Poisonous(end), square())

    summary = run_batch(poisoned(tmp_path, (18,)), tmp_path / "out", whom=whom, chunk=4)

    lines = lines_of(tmp_path / "out").drop_duplicates("row").set_index("row")
    assert lines.index[lines["status"] == "failed"].tolist() == [18]
    assert lines.loc[18, "message"] == "its worker died while it was explained"
    assert summary.exit_status == 3


def test_too_many_hanging_threads_end_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    monkeypatch.setattr("counterpoint.batch.engines.engine.MOST_ABANDONED", 1)
    try:
        with pytest.raises(cp.CounterpointError, match=r"2 threads hang in the model .* --engine"):
            run_batch(poisoned(tmp_path), tmp_path / "out", whom=hanging(release), row_timeout=0.5)
    finally:
        release.set()

    summary = run_batch(tmp_path / "in", tmp_path / "out", whom=hanging(release), row_timeout=0.5)
    assert summary.exit_status == 0


def test_files_of_others_are_left_alone(rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "work").mkdir(parents=True)
    others = [out / "notes.txt", out / "work" / "mine.txt", out / "work" / "chunk-x.arrow"]
    for other in others:
        other.write_text("mine")

    run_batch(rows, out, stop=StopAfter(2))
    run_batch(rows, out)

    assert all(other.read_text() == "mine" for other in others)
    assert sorted(path.name for path in (out / "work").iterdir()) == ["chunk-x.arrow", "mine.txt"]


def test_parts_without_a_manifest_are_not_written_over(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-00000.parquet").write_text("mine")

    with pytest.raises(cp.InvalidInput, match=r"has 'part-00000.parquet', but no manifest"):
        run_batch(rows, tmp_path / "out")

    assert (tmp_path / "out" / "part-00000.parquet").read_text() == "mine"


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[]", b"3", b"\xff", b"{", b"[" * 100_000, b'{"format": "counterpoint batch"}'],
    ids=lambda content: repr(content[:30]),
)
def test_a_strange_manifest_is_not_written_over(rows: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_bytes(content)

    with pytest.raises(
        cp.InvalidInput, match=r"out.manifest.json' is not the manifest of a batch job \(.*another"
    ):
        run_batch(rows, tmp_path / "out")

    assert (tmp_path / "out" / "manifest.json").read_bytes() == content


def test_a_folder_in_the_place_of_the_manifest(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "manifest.json").mkdir(parents=True)

    with pytest.raises(cp.InvalidInput, match=r"manifest of a batch job \(Is a directory\), so"):
        run_batch(rows, tmp_path / "out")


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values of a document."""
    keys: Any = range(len(value)) if isinstance(value, list) else ()
    keys = value if isinstance(value, dict) else keys
    return [path, *(place for key in keys for place in places_in(value[key], (*path, key)))]


def changed_at(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a document with another value at a place."""
    if not path:
        return value
    inner = changed_at(document[path[0]], path[1:], value)
    if isinstance(document, dict):
        return document | {path[0]: inner}
    return [*document[: path[0]], inner, *document[path[0] + 1 :]]


NONSENSE: list[Any] = [None, True, -1, 0.5, 1e300, 10**400, "nonsense", [], {}, [[]], {"rows": {}}]


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: repr(value)[:20])
def test_a_manifest_with_nonsense_anywhere_is_refused(
    done: Path, tmp_path: Path, value: Any
) -> None:
    """Another hash is no nonsense, its part is done again; nor is another name of the same rows."""
    rows, out = done / "in", tmp_path / "out"
    shutil.copytree(done / "out", out)
    whole = contents(out)
    manifest = json.loads(whole["manifest.json"])
    for place in places_in(manifest):
        if place[-1:] in [("sha256",), ("name",)] and isinstance(value, str):
            continue
        told = json.dumps(changed_at(manifest, place, value))
        if json.loads(told) == manifest:
            continue
        (out / "manifest.json").write_text(told)

        with pytest.raises(
            cp.InvalidInput, match=r"manifest of a|holds a job with|files of rows|rows file"
        ):
            run_batch(rows, out)

    (out / "manifest.json").write_bytes(whole["manifest.json"])
    run_batch(rows, out)
    assert contents(out) == whole


def test_another_job_in_the_folder_is_refused(rows: Path, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")

    with pytest.raises(cp.InvalidInput, match="another job is at work in out"):
        run_batch(rows, tmp_path / "out")

    folder.close()
    assert run_batch(rows, tmp_path / "out").exit_status == 0


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"order": {"target": (0.6, 1.0)}}, r"with target = \[0.5, 1.0\], and this one has \[0.6"),
        ({"order": {"seed": 1}}, "with seed = 0, and this one has 1; give another folder"),
        (
            {"order": {"limits": cp.Limits(fixed=["x"])}},
            r"with fixed = \[\], and this one has \[\"x\"\]",
        ),
        (
            {"order": {"limits": cp.Limits(ranges={"x": (0.0, 0.9)})}},
            r"with ranges\.x = null, and this one has \[0",
        ),
        (
            {"order": {"limits": cp.Limits(max_changed=1)}},
            "with max_changed = null, and this one has 1",
        ),
        (
            {"order": {"limits": cp.Limits(constraints=["x increases"])}},
            r"with constraints = \[\], and",
        ),
        (
            {"order": {"limits": cp.Limits(costs={"x": 2.0})}},
            r"with costs\.x = null, and this one has 2",
        ),
        ({"order": {"keep": 3}}, "with keep = 10, and this one has 3"),
        ({"order": {"id": None}}, 'with id = "loan", and this one has null'),
        ({"order": {"prefix": "cf_"}}, 'with prefix = null, and this one has "cf_"'),
        ({"order": {"search": cp.Search(evaluations=61)}}, "search.evaluations = 60, and .* 61"),
        ({"part_rows": 8}, "with part_rows = 16, and this one has 8"),
        ({"row_timeout": 5.0}, "with row_timeout = 120.0, and this one has 5.0"),
        ({"whom": raising}, "with model = .*, and this one has"),
        ({"whom": lambda: cp.Explainer(explainer().predictor.model, square(11))}, "with model = "),
    ],
)
def test_other_settings_are_refused(
    rows: Path, tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    out = tmp_path / "out"
    run_batch(rows, out, stop=StopAfter(2))
    before = contents(out)

    with pytest.raises(cp.InvalidInput, match=told):
        run_batch(rows, out, **changes)

    assert contents(out) == before


def test_another_version_is_refused(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(done / "out", tmp_path / "out")
    monkeypatch.setattr("counterpoint.batch.files.__version__", "9.9")

    with pytest.raises(cp.InvalidInput, match=r'counterpoint = "0.*", and this one has "9.9"'):
        run_batch(done / "in", tmp_path / "out")


def changed(rows: Path) -> None:
    """Change a value of the second file."""
    table = pd.read_parquet(rows / "b.parquet")
    table.loc[table.index[0], "x"] = 0.5
    table.to_parquet(rows / "b.parquet", row_group_size=9)


def renamed(rows: Path) -> None:
    """Have another file first."""
    shutil.copy(rows / "b.parquet", rows / "0.parquet")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (changed, "rows file 'b.parquet' has changed since the job in out .* began"),
        (renamed, "rows file '0.parquet' stands where 'a.parquet' was when the job"),
        (lambda rows: (rows / "b.parquet").unlink(), "began with 2 files of rows, and there are 1"),
    ],
)
def test_other_rows_are_refused(
    rows: Path, tmp_path: Path, change: Callable[[Path], None], told: str
) -> None:
    run_batch(rows, tmp_path / "out", stop=StopAfter(2))
    change(rows)

    with pytest.raises(cp.InvalidInput, match=told):
        run_batch(rows, tmp_path / "out")


@pytest.mark.parametrize("place", ["end", "middle"])
def test_a_damaged_file_is_refused_before_anything_is_written(
    rows: Path, tmp_path: Path, place: str
) -> None:
    file = rows / "b.parquet"
    content = bytearray(file.read_bytes())
    if place == "end":
        content = content[: len(content) // 2]
    else:
        content[4:200] = bytes(196)
    file.write_bytes(content)

    with pytest.raises(cp.InvalidInput, match=r"b.parquet' cannot be read as parquet .* damaged"):
        run_batch(rows, tmp_path / "out")

    assert not (tmp_path / "out").exists()


def foreign(file: Path) -> None:
    """Put other rows in the place of a file, in as many row groups."""
    table = rows_of_square().iloc[23:].assign(loan=[f"F{i:04d}" for i in range(17)])
    new = file.with_name(f"new{file.suffix}")
    write_table(table, new)
    new.replace(file)


def flipped(file: Path) -> None:
    """Flip a bit of a number in a Parquet file, which has no checksums of its own."""
    content = bytearray(file.read_bytes())
    content[content.index(struct.pack("<d", rows_of_square()["x"].iloc[39])) + 5] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("change", "ending"),
    [(foreign, "parquet"), (flipped, "parquet"), (foreign, "csv"), (foreign, "feather")],
)
def test_a_file_that_changes_while_the_job_runs_ends_it(
    tmp_path: Path, change: Callable[[Path], None], ending: str
) -> None:
    """What was done before belongs to the manifest; the old file lets the job go on."""
    rows, out = write_rows(tmp_path, ending=ending), tmp_path / "out"
    run_batch(rows, tmp_path / "clean")
    file = rows / f"b.{ending}"
    old = file.read_bytes()

    with pytest.raises(
        cp.InvalidInput,
        match=rf"rows '.*b.{ending}' was changed while the job ran: .* put it back as it was",
    ):
        run_batch(rows, out, chunk=2, stop=Meanwhile(3, lambda: change(file)))

    file.write_bytes(old)
    assert run_batch(rows, out).n_before >= 2
    assert contents(out) == contents(tmp_path / "clean")


def test_rows_in_a_store_give_the_same_parts(
    rows: Path, tmp_path: Path, clean: dict[str, bytes]
) -> None:
    system = pytest.importorskip("fsspec").filesystem("memory")
    for file in rows.iterdir():
        system.pipe(f"/declined/{file.name}", file.read_bytes())

    run_batch("memory://declined/*.parquet", tmp_path / "out", stop=StopAfter(2))
    run_batch("memory://declined", tmp_path / "out")

    system.store.clear()
    parts = {name for name in clean if name != "manifest.json"}
    assert all(contents(tmp_path / "out")[name] == clean[name] for name in parts)


@pytest.mark.parametrize("name", ["fixed", "constraints"])
def test_a_text_where_a_list_belongs_is_told(rows: Path, tmp_path: Path, name: str) -> None:
    given: dict[str, Any] = {name: "x increases"}

    with pytest.raises(
        cp.InvalidInput, match=rf"{name} must be a list of .*, got 'x incr.*; for example {name}="
    ):
        cp.explain_files(explainer(), rows, (0.5, 1.0), out=tmp_path / "out", **given)

    assert not (tmp_path / "out").exists()
