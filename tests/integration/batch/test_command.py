"""``counterpoint batch`` as people and scripts use it: on real files, killed and begun again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from tests.batches import contents, lines_of

import counterpoint as cp
from counterpoint.cli.main import main

N_ROWS = 300
MODULE = """
import time
import numpy as np


class Hanging:
    classes_ = np.array(["bad", "good"])

    def predict_proba(self, rows):
        if (rows["income"] == 999).any():
            time.sleep(600)
        good = 1 / (1 + np.exp(np.asarray(40.0 - rows["income"] + rows["debt"])))
        return np.column_stack([1 - good, good])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write data, a model and rows, as a user has them."""
    place = tmp_path_factory.mktemp("batch")
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"income": rng.integers(10, 90, 200), "debt": rng.integers(0, 40, 200)})
    risk = np.where(data["income"] - data["debt"] + rng.normal(0, 5, 200) > 30, "good", "bad")
    skops.io.dump(LogisticRegression().fit(data, risk), place / "m.skops")
    table = data.assign(risk=risk)
    table.to_csv(place / "d.csv", index=False)
    (place / "d").mkdir()
    table.iloc[:90].to_parquet(place / "d" / "1.parquet")
    table.iloc[90:].to_parquet(place / "d" / "2.parquet")
    rows = data.sample(N_ROWS, replace=True, random_state=1, ignore_index=True)
    rows = rows.assign(loan=range(1000, 1000 + N_ROWS), city="Bonn")
    (place / "in").mkdir()
    for k in range(3):
        rows.iloc[100 * k : 100 * k + 100].to_parquet(place / "in" / f"{k}.parquet")
    rows.head(5).to_csv(place / "few.csv", index=False)
    return place


@pytest.fixture(scope="module")
def clean(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what the long job ends with if nobody ends it."""
    out = tmp_path_factory.mktemp("clean") / "out"
    files = f"--model {folder}/m.skops --data {folder}/d.csv --rows {folder}/in --out {out}"
    main(["batch", *files.split(), *LONG.split()])
    return contents(out)


LONG = "--drop risk --target good --id loan --evaluations 600 --part-rows 32"
BATCH = "batch --model m.skops --data d.csv --drop risk --target good --id loan"
FEW = f"{BATCH} --rows few.csv --evaluations 60"


def test_a_folder_of_files(run: Any, tmp_path: Path) -> None:
    command = f"{BATCH} --rows in/0.parquet in/1.parquet in/2.parquet --evaluations 60 --keep 2"

    status, out, err = run(f"{command} --out {tmp_path}/out --part-rows 128")

    lines = lines_of(tmp_path / "out")
    assert status == 0
    assert lines["loan"].drop_duplicates().tolist() == list(range(1000, 1300))
    assert lines["counterfactual"].max() == 2
    assert "300 rows explained in" in out
    assert "3 files" in out
    assert err == ""
    assert run(f"{command} --out {tmp_path}/out --part-rows 128")[1].startswith("All 300 rows")


def test_patterns_folders_and_several_data_files_are_the_same(run: Any, tmp_path: Path) -> None:
    rest = "--drop risk --target good --id loan --evaluations 60"
    for k, (data, rows) in enumerate(
        [("d.csv", "in/*.parquet"), ("d", "in"), ("d/*.parquet", "./in")]
    ):
        run(f"batch --model m.skops --data {data} --rows {rows} {rest} --out {tmp_path}/{k}")

    first, second, third = (contents(tmp_path / str(k)) for k in range(3))
    assert first["part-00000.parquet"] == second["part-00000.parquet"]
    assert second == third


def test_the_summary_as_json(run: Any, tmp_path: Path) -> None:
    status, out, _ = run(f"{FEW} --out {tmp_path}/out --json")

    told = json.loads(out)
    assert status == 0 == told["exit_status"]
    assert told["rows"] == told["done"] == told["found"] + told["already_met"] == 5
    assert told["failed"] == told["best_effort"] == told["done_before"] == 0
    assert told["parts"] == 1
    assert told["messages"] == []


def test_rows_without_counterfactuals_are_status_one(run: Any, tmp_path: Path) -> None:
    status, out, _ = run(f"{FEW} --fixed income --target good:0.999.. --out {tmp_path}/out")

    assert status == 1
    assert "best effort: nothing that was tried reaches the target" in out


def test_rows_that_fail_are_status_three(run: Any, folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(folder / "few.csv").astype({"income": object})
    rows.loc[2, "income"] = "a lot"
    rows.to_csv(tmp_path / "rows.csv", index=False)

    status, out, _ = run(
        f"{BATCH} --rows {tmp_path}/rows.csv --evaluations 60 --out {tmp_path}/out"
    )

    assert status == 3
    assert "income" in out
    assert set(lines_of(tmp_path / "out")["loan"]) == set(range(1000, 1005))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("--rows nowhere", "rows 'nowhere' is neither a file nor a folder."),
        ("--rows *.xlsx", "rows '*.xlsx' matches no file."),
        ("--rows m.skops", "rows must end in .csv, .parquet or .feather, got 'm.skops'."),
        ("--id lone", "id 'lone' is not a column of rows 'few.csv'; did you mean 'loan'?"),
        ("--rows d", "id 'loan' is not a column of rows 'd/1.parquet'; they are"),
        ("--target great", "--target 'great' is neither a class of the model nor an interval"),
        ("--data nowhere.csv", "--data 'nowhere.csv' is neither a file nor a folder."),
        ("--drop agee", "--drop names 'agee', which is not a column of the data"),
        ("--part-rows 0", "--part-rows must be a whole number of at least 1, got 0."),
        ("--row-timeout 0", "--row-timeout must be a number of seconds above 0, got 0.0."),
        ("--keep 0", "keep must be a whole number from 1 to"),
        ("--workers 0", "--workers must be a whole number from 1 to 1,024, or"),
        ("--workers 100000", "--workers must be a whole number from 1 to 1,024, or"),
        ("--evaluations 0", "--evaluations must be a whole number from 1 to"),
        ("--scheduler tcp://x:1", "is the address of a Dask cluster; say engine='dask' (--engine"),
        ("--model nowhere.skops", "--model 'nowhere.skops' is not a file."),
        ("--fixed incomee", "names 'incomee', which is not a column of the data; did you mean"),
        ("--prefix loan --id income", "income"),
        ("--out s3://bank/out", "out must be a folder of this machine, or one mounted here, got"),
        ("--out=", "out must be a folder of this machine, or one mounted here, got ''"),
        ("--out few.csv", "out 'few.csv' is a file; give the name of a folder."),
    ],
)
def test_what_cannot_be_used_is_status_two(run: Any, tmp_path: Path, more: str, told: str) -> None:
    status, out, err = run(f"{FEW} --out {tmp_path}/out {more}")

    assert status == 2
    assert told in err
    assert err.startswith("counterpoint: ")
    assert err.count("\n") == 1
    assert out == ""
    assert not (tmp_path / "out").exists()


def test_a_folder_with_another_job_is_status_two(run: Any, tmp_path: Path) -> None:
    run(f"{FEW} --out {tmp_path}/out")

    status, _, err = run(f"{FEW} --out {tmp_path}/out --seed 1")

    assert status == 2
    assert "holds a job with seed = 0, and this one has 1" in err


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["batch", "--help"])

    shown = capsys.readouterr().out
    assert ended.value.code == 0
    for text in ("--rows declined/*.parquet", "the same command goes on", "exit status:", "130  "):
        assert text in shown
    for option in ("--engine", "--scheduler", "--row-timeout", "--part-rows", "--keep", "--prefix"):
        assert option in shown
    assert "--seconds" not in shown


def test_the_example_of_the_page(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "scale.md").read_text()
    (example,) = re.findall(
        r"```python\n(.*?)```", page.partition("## Other engines")[0], flags=re.DOTALL
    )
    data = pd.read_csv(folder / "d.csv").drop(columns="risk")
    explainer = cp.Explainer(cp.load_model(folder / "m.skops"), data)
    (tmp_path / "declined").mkdir()
    data.head(4).assign(loan=range(4)).to_parquet(tmp_path / "declined" / "q1.parquet")
    monkeypatch.chdir(tmp_path)

    exec(example, {"cp": cp, "explainer": explainer})  # noqa: S102 - our own page

    assert capsys.readouterr().out.startswith("4 rows explained in ")
    assert set(lines_of(tmp_path / "explained")["loan"]) == set(range(4))


def started(folder: Path, command: str) -> subprocess.Popen[str]:
    """Start the command line as a process of its own."""
    code = "import sys; from counterpoint.cli.main import main; sys.exit(main())"
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code, *command.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
    )


def wait_for_lines(journal: Path, n: int, process: subprocess.Popen[str]) -> None:
    """Wait until some chunks are done."""
    for _ in range(6000):
        if journal.exists() and journal.read_bytes().count(b"\n") >= n:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("the job did not get anywhere")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_job_goes_on_and_ends_with_the_same_bytes(
    run: Any, folder: Path, tmp_path: Path, clean: dict[str, bytes], number: signal.Signals
) -> None:
    command = f"batch --model m.skops --data d.csv --rows in --out {tmp_path}/out {LONG}"
    process = started(folder, command)
    wait_for_lines(tmp_path / "out" / "work" / "journal.jsonl", 3, process)

    process.send_signal(number)

    out, err = process.communicate()
    if number == signal.SIGKILL:
        assert process.returncode == -9
    else:
        assert process.returncode == 130
        assert "of 300 rows are done. The same command goes on from here." in out
        assert "stopping when the rows begun are done" in err
    _, told, err = run(f"{command} --workers 1")
    assert "were done before" in told
    assert "counterpoint: going on: " in err
    assert contents(tmp_path / "out") == clean


def test_a_process_ends_though_threads_hang_in_the_model(folder: Path, tmp_path: Path) -> None:
    (folder / "hanging_model.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    try:
        from hanging_model import Hanging  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(folder))
    joblib.dump(Hanging(), folder / "hanging.joblib")
    rows = pd.read_csv(folder / "few.csv")
    rows.loc[2, "income"] = 999
    rows.to_csv(tmp_path / "rows.csv", index=False)

    process = started(
        folder,
        "batch --model hanging.joblib --allow-pickle --data d.csv --drop risk --target good "
        f"--id loan --rows {tmp_path}/rows.csv --evaluations 60 --row-timeout 2 "
        f"--out {tmp_path}/out",
    )

    out, _ = process.communicate(timeout=300)
    assert process.returncode == 3
    assert "1 x no answer within 2 s" in out
    assert set(lines_of(tmp_path / "out")["loan"]) == set(range(1000, 1005))


@pytest.mark.parametrize("content", ["nonsense", '{"format": "counterpoint batch", "inputs": 3}'])
def test_a_nonsense_manifest_is_refused_by_name(run: Any, tmp_path: Path, content: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text(content)

    status, _, told = run(f"{BATCH} --rows in --out {tmp_path}/out")

    assert status == 2
    assert re.search(
        r"/out/manifest.json' is not the manifest of a batch job \(.*give another", told
    )
