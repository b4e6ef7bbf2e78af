"""The command line as people and scripts use it: on real files, with a real model."""

from __future__ import annotations

import json
import os
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
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint.cli.main import main
from counterpoint.datasets import load_credit

BAD, GOOD = 0, 17  # rows of the credit data the model refuses and accepts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write data and models, as a user has them."""
    place = tmp_path_factory.mktemp("cli")
    features, risk = load_credit()
    levels = [name for name in features if features[name].dtype == "category"]
    features = features.astype(dict.fromkeys(levels, str))
    encode = make_column_transformer((OneHotEncoder(), levels), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(solver="newton-cholesky")).fit(features, risk)
    table = features.assign(risk=risk.astype(str))
    table.to_csv(place / "d.csv", index=False)
    table.to_parquet(place / "d.parquet")
    table.to_feather(place / "d.feather")
    skops.io.dump(model, place / "m.skops")
    joblib.dump(model, place / "m.joblib")
    numbers = features[["age", "duration"]]
    amount = LinearRegression().fit(numbers, features["credit_amount"])
    skops.io.dump(amount, place / "amount.skops")
    numbers.to_csv(place / "numbers.csv", index=False)
    return place


EXPLAIN = "explain --model m.skops --data d.csv --drop risk --evaluations 300"


def test_the_example_of_the_issue(run: Any, folder: Path) -> None:
    status, out, _ = run(
        f"{EXPLAIN} --row {BAD} --target good --fixed sex --out found.json --constraint",
        "age increases",
    )

    found = cp.load(folder / "found.json")
    frame = found.to_frame(near_misses=True)
    assert status == 0
    assert found.status == "found"
    assert found.constraints == ("fixed sex", "age increases")[1:]
    assert (frame["sex"] == "female").all()
    assert (frame["age"] >= 22).all()
    assert "reach class 'good'" in out
    assert "Rules: age increases." in out
    assert "prediction" in out


@pytest.mark.parametrize("data", ["d.csv", "d.parquet", "d.feather"])
def test_all_kinds_of_files_give_the_same(run: Any, data: str) -> None:
    command = f"explain --model m.skops --drop risk --evaluations 200 --row {BAD} --target good"

    status, out, _ = run(f"{command} --json --data {data}")

    expected = json.loads(run(f"{command} --json --data d.csv")[1])
    assert status == 0
    assert json.loads(out) == expected


def test_json_tells_all_a_machine_needs(run: Any, folder: Path) -> None:
    _, out, _ = run(f"{EXPLAIN} --row {BAD} --target good --json --show 3 --out found.json")

    (told,) = json.loads(out)
    found = cp.load(folder / "found.json").select(3)
    assert told["status"] == "found"
    assert told["target"] == "class 'good'"
    assert told["row"]["age"] == 22
    assert len(told["counterfactuals"]) == 3
    for each, (_, record) in zip(
        told["counterfactuals"], found.to_frame(near_misses=True).iterrows(), strict=True
    ):
        assert each["changed"]
        assert len(each["changed"]) == each["changes"] == record["changes"]
        assert all(record[name] == value for name, value in each["changed"].items())
        assert each["prediction"] == record["prediction"]
        assert each["valid"] is True


def test_several_rows_go_into_one_file(run: Any, folder: Path) -> None:
    command = f"{EXPLAIN} --row {BAD} --row {GOOD} --target good"

    status, out, _ = run(f"{command} --out found.parquet")

    loaded = cp.load_many(folder / "found.parquet")
    shown = run("show found.parquet")
    assert status == 0
    assert [found.status for found in loaded] == ["found", "already_met"]
    assert [found.row.index[0] for found in loaded] == [BAD, GOOD]
    assert f"Row {BAD}" in out
    assert shown[:2] == (0, out)


def test_rows_of_another_file_are_explained(run: Any, folder: Path) -> None:
    pd.read_csv(folder / "d.csv").iloc[[BAD]].to_csv(folder / "one.csv", index=False)

    status, out, _ = run(f"{EXPLAIN} --rows one.csv --target good --json")

    assert status == 0
    (told,) = json.loads(out)
    (same,) = json.loads(run(f"{EXPLAIN} --row {BAD} --target good --json")[1])
    assert (told.pop("index"), same.pop("index")) == (0, BAD)  # each in its own table
    assert told == same


@pytest.mark.parametrize(
    ("target", "low", "high"),
    [("good:0.9..", 0.9, 1.0), ("good:0.55..0.6", 0.55, 0.6), ("bad:..0.3", 0.0, 0.3)],
)
def test_intervals_of_a_probability(run: Any, target: str, low: float, high: float) -> None:
    status, out, _ = run(f"{EXPLAIN} --row {BAD} --target {target} --json")

    reached = [each for each in json.loads(out)[0]["counterfactuals"] if each["valid"]]
    assert status == 0
    assert reached
    assert all(low <= each["prediction"] <= high for each in reached)


def test_a_number_is_a_target_of_a_regression(run: Any) -> None:
    command = "explain --model amount.skops --data numbers.csv --row 0 --evaluations 300 --json"

    status, out, _ = run(f"{command} --target 2000..2500")

    assert status == 0
    assert all(
        2000 <= each["prediction"] <= 2500
        for each in json.loads(out)[0]["counterfactuals"]
        if each["valid"]
    )


def test_nothing_found_is_an_answer_with_its_own_status(run: Any) -> None:
    status, out, err = run(f"{EXPLAIN} --row {BAD} --target good:0.9999..1 --max-changed 1")

    assert status == 1
    assert out.startswith("No counterfactual was found for P('good') between 0.9999 and 1")
    assert err == ""


def test_costs_and_methods_are_passed_on(run: Any) -> None:
    plain = run(f"{EXPLAIN} --row {BAD} --target good --json")[1]

    for more in (
        *("--cost age=50", "--distance mad", "--seed 3"),
        *("--method moc", "--method what-if", "--method nice-proximity"),
    ):
        has_budget = "what-if" not in more and "nice" not in more
        command = EXPLAIN if has_budget else EXPLAIN.replace("--evaluations 300", "")
        status, out, _ = run(f"{command} --row {BAD} --target good --json {more}")
        assert status == 0
        assert out != plain


def test_ranges_kinds_and_remarks_reach_the_search(run: Any, folder: Path) -> None:
    said = "--vary age --vary purpose --range age=20..80 --range purpose=car,others"
    kinds = "--feature age=Integer(18,90) --unit age=years --protected sex --precision full"

    run(f"{EXPLAIN} --row {BAD} --target good:0.3..1 --json --out f.json {said} {kinds}")

    found = cp.load(folder / "f.json")
    age = next(each for each in found.encoding.schema.features if each.name == "age")
    assert found.limits == cp.Limits(
        vary=["age", "purpose"], ranges={"age": (20, 80), "purpose": ["car", "others"]}
    )
    assert (age.low, age.high, age.unit) == (18, 90, "years")
    assert set(found.to_frame()["purpose"]) <= {"car", "others"}


def test_a_report_and_sentences_are_written_on_demand(run: Any, folder: Path) -> None:
    (folder / "names.toml").write_text('outcome = "der Antrag"', encoding="utf-8")
    files = "--report r.html --letter l.html --csv c.csv --labels names.toml --sender Bank"
    status, out, _ = run(f"{EXPLAIN} --row {BAD} --target good {files} --lang de")

    assert status == 0
    assert "Der Antrag wurde nicht als „good“ bewertet." in out
    assert "Der Antrag" in (folder / "l.html").read_text(encoding="utf-8")
    assert (folder / "c.csv").read_text().startswith("age,")
    assert (folder / "r.html").read_text().startswith("<!DOCTYPE html>")


def test_a_pickle_is_loaded_only_if_allowed(run: Any) -> None:
    command = EXPLAIN.replace("m.skops", "m.joblib") + f" --row {BAD} --target good --json"

    status, out, err = run(command)

    assert (status, out) == (2, "")
    assert "loading a pickle runs code from the file" in err
    assert run(f"{command} --allow-pickle")[0] == 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (f"{EXPLAIN} --row 0 --target goood", "did you mean 'good'?"),
        (f"{EXPLAIN} --row 0 --target xyz", "its classes are 'bad' and 'good'."),
        (f"{EXPLAIN} --row 0 --target ..", "--target '..' is open on both sides"),
        (f"{EXPLAIN} --row 0 --target 0.7..", "must say of which class, as in 'good:0.7..'."),
        (f"{EXPLAIN} --row 0 --target nice:0..1", "--target 'nice' is neither a class"),
        (f"{EXPLAIN} --row 522 --target good", "--row 522 is not in the data, whose rows are 0"),
        (f"{EXPLAIN} --row -1 --target good", "--row -1 is not in the data"),
        (f"{EXPLAIN} --row 0 --target good --fixed sexx", "--fixed names 'sexx', which is not"),
        (f"{EXPLAIN} --row 0 --target good --vary sexx", "did you mean 'sex'?"),
        (f"{EXPLAIN} --row 0 --target good --range age=18-90", "such as age=19..75; 19.. and ..75"),
        (f"{EXPLAIN} --row 0 --target good --range sex=x", "--range sex names 'x', which is not"),
        (
            f"{EXPLAIN} --row 0 --target good --range age=9..1",
            "--range age must be finite with",
        ),
        (
            f"{EXPLAIN} --row 0 --target good --feature age=int",
            "must name one of 'Integer', ",
        ),
        (f"{EXPLAIN} --row 0 --target good --feature x=Real()", "--feature names 'x', which is"),
        (f"{EXPLAIN} --row 0 --target good --group g=age,x", "--group g names 'x', which is not"),
        (f"{EXPLAIN} --row 0 --target good --unit sex=m", "--unit names 'sex', which is binary"),
        (f"{EXPLAIN} --row 0 --target good --protected sexx", "--protected names 'sexx', which"),
        (f"{EXPLAIN} --row 0 --target good --allow-missing sex", "--allow-missing names 'sex', of"),
        (f"{EXPLAIN} --row 0 --target good --max-changed 0", "--max-changed must be a whole"),
        (f"{EXPLAIN} --row 0 --row 1 --target good --report r.html", "--report is of one row"),
        (f"{EXPLAIN} --row 0 --target good --report r.pdf", "--report must end in .html, got"),
        (f"{EXPLAIN} --row 0 --target good --letter r.pdf", "--letter must end in .html, got"),
        (f"{EXPLAIN} --row 0 --target good --csv r.txt", "--csv must end in .csv, got"),
        (f"{EXPLAIN} --row 0 --target good --sender x", "--sender and --closing are texts of a"),
        (f"{EXPLAIN} --row 0 --target good --labels x.toml", "--labels 'x.toml' is not a file."),
        (f"{EXPLAIN} --row 0 --target good --drop nothing", "--drop names 'nothing'"),
        (f"{EXPLAIN} --row 0 --target good --cost age", "--cost 'age' must be a column and a"),
        (f"{EXPLAIN} --row 0 --target good --constraint age~3", "age~3"),
        (f"{EXPLAIN} --row 0 --target good --out x.txt", "--out must end in .json or .parquet"),
        (f"{EXPLAIN} --row 0 --row 1 --target good --out x.json", "must end in .parquet where"),
        (f"{EXPLAIN} --row 0 --target good --out no/x.json", "is in no folder there is"),
        (f"{EXPLAIN} --row 0 --target good --show -1", "--show must be at least 0"),
        (f"{EXPLAIN} --row 0 --target good --method what-if", "--evaluations has no meaning"),
        (f"{EXPLAIN} --rows none.csv --target good", "--rows 'none.csv' is not a file."),
        ("explain --model m.skops --data d.txt --row 0 --target good", "--data must end in .csv"),
        ("explain --model m.skops --data d.csv --row 0 --target good", "with --drop risk."),
        ("explain --model m.skops --data numbers.csv --row 0 --target good", "--data lacks the"),
        ("explain --model none.skops --data d.csv --row 0 --target good", "is not a file"),
        ("schema --data broken.parquet", "--data 'broken.parquet' cannot be read as parquet"),
        ("schema --data empty.csv", "--data 'empty.csv' cannot be read as csv"),
        ("show none.json", "there is no file 'none.json'."),
        ("show broken.parquet", "'broken.parquet' cannot be loaded"),
    ],
)
def test_every_error_is_one_clear_line(run: Any, folder: Path, command: str, told: str) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 but no more")
    (folder / "empty.csv").write_bytes(b"")
    before = sorted(folder.iterdir())

    status, out, err = run(command)

    assert (status, out) == (2, "")
    assert told in err
    assert err.startswith("counterpoint: ")
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_a_model_that_fails_has_its_own_status(run: Any, folder: Path) -> None:
    features, _ = load_credit()
    broken = LinearRegression().fit(features[["age"]], features["duration"])
    broken.coef_ = np.zeros(7)
    skops.io.dump(broken, folder / "broken.skops")
    features[["age"]].to_csv(folder / "age.csv", index=False)

    status, out, err = run("explain --model broken.skops --data age.csv --row 0 --target 3..4")

    assert (status, out) == (3, "")
    assert err.count("\n") == 1
    assert "the model raised ValueError" in err


def test_a_file_is_not_replaced_by_a_search_that_fails(run: Any, folder: Path) -> None:
    (folder / "kept.json").write_text("old")

    status, _, _ = run(f"{EXPLAIN} --row 0 --target good --fixed none --out kept.json")

    assert status == 2
    assert (folder / "kept.json").read_text() == "old"


def test_schema_shows_what_columns_are_taken_for(run: Any) -> None:
    status, out, _ = run("schema --data d.csv --drop risk")

    assert status == 0
    assert "credit_amount" in out
    assert "276 to 18,424" in out
    assert "free, own, rent" in out
    assert "risk" not in out


def test_names_cannot_write_to_the_terminal(run: Any, folder: Path) -> None:
    escape = "\x1b[2Jcleared"
    data = pd.DataFrame({escape: ["a\x1b]0;title\x07", "b"] * 20, "[red]x": range(40)})
    data.to_csv(folder / "hostile.csv", index=False)

    status, out, _ = run("schema --data hostile.csv")

    assert status == 0
    assert "\x1b" not in out
    assert "\\x1b[2Jcleared" in out
    assert "[red]x" in out


def test_help_can_be_learnt_from(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", "--help"])

    shown = capsys.readouterr().out
    assert ended.value.code == 0
    for part in ("exit status:", "good:0.8..1", '"age increases"', "--allow-pickle", "runs code"):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_it_is_installed_as_a_command_and_a_module(folder: Path) -> None:
    command = [sys.executable, "-m", "counterpoint", "schema", "--data", "numbers.csv"]

    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603

    assert "integer" in shown.stdout
    assert shown.stderr == ""


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path) -> None:
    command = [sys.executable, "-m", "counterpoint", "schema", "--data", "d.csv"]
    with subprocess.Popen(  # noqa: S603
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait()

    assert process.returncode == 0


TELLING = """
from pathlib import Path


class Telling:  # leaves a file when it was asked so often that a search is under way
    def __init__(self, model):
        self.model, self.classes_, self.n_calls = model, model.classes_, 0

    def predict(self, rows):
        return self.model.predict(rows)

    def predict_proba(self, rows):
        self.n_calls += 1
        if self.n_calls == 400:
            Path("asked").touch()
        return self.model.predict_proba(rows)
"""


def wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a process has left a file."""
    for _ in range(3000):
        if file.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    raise AssertionError("the search did not get anywhere")


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_shows_and_saves_what_was_found(folder: Path) -> None:
    (folder / "telling_model.py").write_text(TELLING)
    sys.path.insert(0, str(folder))
    try:
        from telling_model import Telling  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(folder))
    joblib.dump(Telling(joblib.load(folder / "m.joblib")), folder / "telling.joblib")
    arguments = "--model telling.joblib --allow-pickle --data d.csv --drop risk --json"
    arguments += f" --row {BAD} --target good"
    budget = "--evaluations 5000000 --out found_early.json"
    command = [sys.executable, "-m", "counterpoint", "explain", *arguments.split(), *budget.split()]
    with subprocess.Popen(  # noqa: S603
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(folder / "asked", process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert json.loads(out)[0]["status"] == "found"
    assert cp.load(folder / "found_early.json").stopped == "interrupt"


@pytest.mark.filterwarnings("default::counterpoint.errors.DataWarning")
def test_an_id_that_only_the_rows_have_is_left_out_with_a_remark_or_by_drop(
    run: Any, folder: Path
) -> None:
    rows = pd.read_csv(folder / "d.csv")[BAD : BAD + 1].drop(columns="risk")
    rows.assign(customer=7).to_csv(folder / "new.csv", index=False)
    command = f"{EXPLAIN} --rows new.csv --target good --json"

    status, remarked, told = run(command)
    again, dropped, silent = run(f"{command} --drop customer")

    assert status == again == 0
    assert "note: --rows 'new.csv' has the column 'customer', which the data do not have" in told
    assert "customer" not in silent
    assert json.loads(remarked) == json.loads(dropped)
    assert json.loads(dropped)[0]["status"] == "found"


def test_warm_up_leaves_nothing_to_compile_to_the_searches_after_it(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    status, told, _ = run("warm-up")
    caplog.clear()
    again, told_again, _ = run("warm-up")

    assert (status, told) == (again, told_again) == (0, "all kernels are compiled.\n")
    assert not [text for text in caplog.messages if text.startswith("compiling")]
