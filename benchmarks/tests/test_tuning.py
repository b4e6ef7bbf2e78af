"""The paper's tuning: its space, its criterion, and a whole small run on made-up data."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import searched_models, tables, tuning
from benchmarks.racing.budget import Tuning, least_budget
from benchmarks.racing.race import Rules
from benchmarks.racing.space import Choice, Configuration, check_configuration
from benchmarks.racing.tune import Iteration, Tuned
from benchmarks.tuning import PAPER, SPACE, VARIANTS, Instances, integral, search_of
from benchmarks.tuning_page import Compared, Page, comparison, page_of
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.streams import Stage, row_keys, uniforms

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write one small dataset as the paper's are stored."""
    folder = tmp_path_factory.mktemp("data") / "made-up"
    folder.mkdir()
    drawn = uniforms(row_keys(0, np.zeros((1, 1))), Stage.FIRST_VALUE, 0, 90, 3)[0].round(3)
    frame = pd.DataFrame(drawn, columns=["a", "b", "c"])
    frame["c"] = np.where(frame["c"] < 0.5, "low", "high")
    frame["class"] = (frame["a"] + frame["b"] + 0.4 * (frame["c"] == "high") > 1.2).astype(int)
    frame.to_csv(folder / "data.csv", index=False)
    schema = {
        "study": "tuning",
        "target": "class",
        "numeric": ["a", "b"],
        "categorical": ["c"],
        "x_interest_rows": list(range(1, 11)),
    }
    (folder / "schema.json").write_text(json.dumps(schema))
    return folder.parent


@pytest.mark.parametrize("module", [tuning, searched_models])
def test_the_examples_in_the_docstrings_hold(module: object) -> None:
    results = doctest.testmod(module)  # type: ignore[arg-type]

    assert results.attempted > 0
    assert results.failed == 0


@given(
    steps=st.lists(st.tuples(st.integers(1, 50), st.floats(0.0, 1.0)), min_size=1, max_size=8),
    rest=st.integers(0, 50),
)
def test_the_area_is_that_of_trapezoids_and_levels_off(
    steps: list[tuple[int, float]], rest: int
) -> None:
    evaluations, volumes = np.cumsum(steps, axis=0).T
    end = int(evaluations[-1]) + rest
    history = pd.DataFrame({"evaluations": evaluations, "hypervolume": volumes})
    fine = np.linspace(0, end, 200_001)

    area = integral(history, end)

    line = np.interp(fine, [0, *evaluations], [0, *volumes])
    assert area == pytest.approx(np.trapezoid(line, fine), rel=1e-4, abs=1e-4)
    assert 0.0 <= area <= volumes[-1] * end + 1e-9


def test_the_space_is_the_papers_and_holds_its_result() -> None:
    check_configuration(SPACE, PAPER)
    for name, values in VARIANTS.items():
        own = {setting: value for setting, value in values.items() if setting != "step"}
        check_configuration(SPACE, own)
        search = search_of(values, 200)
        assert isinstance(search, cp.NSGA2)
        assert search.mutation == ("gaussian" if "Gaussian" in name else "conditional")
        assert search.initialization == ("random" if "random" in name else "ice")
        assert (search.step != "deviation") == ("authors" in name)

    assert least_budget(len(SPACE), Rules(first_test=15)) <= 3000
    assert len(SPACE) == 9
    assert PAPER["initialization"] == "ice"
    assert PAPER["mutation"] == "conditional"
    assert PAPER["population"] == 20


def test_every_setting_of_the_space_reaches_the_search() -> None:
    usual = search_of(PAPER, 500)
    for name, parameter in SPACE.items():
        if isinstance(parameter, Choice):
            other: int | float | str = next(o for o in parameter.options if o != PAPER[name])
        else:
            other = parameter.low if parameter.low != PAPER[name] else parameter.high

        changed = search_of({**PAPER, name: other}, 500)

        assert getattr(changed, name) == other
        assert changed != usual
    assert usual.method == "nsga2"
    assert usual.patience is None
    assert search_of({"method": "explore"}, 500).method == "explore"


def test_three_hundred_instances_are_all_different() -> None:
    names = ("abalone", "breast-cancer", "kc1", "mammography", "nursery", "tae")
    instances = Instances(Path("data"), Path("models"), 8000, names)

    places = {instances.place(i) for i in range(len(instances))}

    assert len(instances) == len(places) == 300


def test_a_run_of_the_command_is_repeated_from_its_record(data: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.tuning", "--data", str(data), "--workers", "1"]
    command += ["--budget", "180", "--first-test", "5", "--evaluations", "150", "--compare", "5"]
    command += ["--models", str(tmp_path / "models"), "--out", str(tmp_path / "study")]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])

    def run() -> str:
        return subprocess.run(  # noqa: S603 - our own interpreter and module
            command,
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": paths},
        ).stdout

    printed = run()
    page = tmp_path / "study" / "tuning.md"
    first, lines = page.read_text(), (tmp_path / "study" / "tuning.jsonl").read_text()
    models = sorted((tmp_path / "models").iterdir())
    trained = [model.stat().st_mtime_ns for model in models]
    run()

    assert page.read_text().splitlines()[:-1] == first.splitlines()[:-1]  # the last has the date
    assert printed.endswith(first + "\n")
    assert (tmp_path / "study" / "tuning.jsonl").read_text() == lines
    assert [model.stat().st_mtime_ns for model in models] == trained
    assert 1 < len(lines.splitlines()) <= 181
    assert "**The budget is scaled**: 180 experiments instead of 3,000." in first
    assert "On 5 instances no race used" in first
    assert "stopped" not in first
    assert "150 model evaluations, the paper's 8,000" in first
    assert "--budget 180 --first-test 5 --evaluations 150 --compare 5 --seed 12345`" in first


def test_the_page_says_where_the_papers_races_chose_otherwise() -> None:
    elites: list[Configuration] = [{**PAPER, "mutation": "gaussian"}]
    found = Tuned(elites, np.array([[0.0]]), [Iteration(1, 9, 9, 1, 1, 9, True)], 9)
    compared = Compared(["the paper's"], [("made-up", "XGBoost", 0)], np.ones((1, 1)))

    page = page_of(Page(SPACE, PAPER, found, Tuning(budget=200, n_instances=9), 8000, compared))

    assert "**The paper's races chose `mutation` conditional; these did not.**" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere"], "--data nowhere has no tuning datasets; name the paper's folder."),
        (["--evaluations", "100"], "--evaluations must exceed the largest population, 100"),
    ],
)
def test_a_command_that_cannot_run_says_why(
    arguments: list[str], message: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["tuning", "--data", str(data), *arguments])

    with pytest.raises(SystemExit, match=message):
        tuning.main()


@pytest.mark.parametrize("name", list(searched_models.KINDS))
def test_models_are_searched_once_and_kept(name: str, data: Path, tmp_path: Path) -> None:
    table = tables.load("made-up", data)

    model = searched_models.model_of(name, table, "made-up", tmp_path)
    files = [(f.name, f.stat().st_mtime_ns) for f in tmp_path.iterdir()]
    again = searched_models.model_of(name, table, "made-up", tmp_path)

    assert [(f.name, f.stat().st_mtime_ns) for f in tmp_path.iterdir()] == files
    probabilities = model.predict_proba(table.data)
    np.testing.assert_array_equal(again.predict_proba(table.data), probabilities)
    assert (model.predict(table.data) == table.classes).mean() > table.classes.mean() - 0.05


def test_the_comparison_counts_wins_and_shares() -> None:
    volumes = np.array([[2.0, 1.0], [3.0, 2.0], [1.0, 1.0], [0.5, 1.0]])
    compared = Compared(["racing 1", "the paper's"], [("made-up", "XGBoost", 0)] * 4, volumes)

    lines = comparison(compared).splitlines()

    assert lines[2] == "| racing 1 | 1.38 | 1.2500 ± 0.3227 | 2 : 1 | 1 |"
    assert lines[3] == "| the paper's | 1.62 | 1.0000 ± 0.0000 |  |  |"


def test_the_page_says_when_nothing_was_scaled() -> None:
    elites: list[Configuration] = [PAPER, {**PAPER, "mutation": "gaussian"}]
    found = Tuned(elites, np.array([[0.0, 1.0]]), [Iteration(1, 9, 9, 2, 1, 9, True)], 9)
    compared = Compared(["the paper's"], [("made-up", "XGBoost", 0)], np.ones((1, 1)))

    page = page_of(Page(SPACE, PAPER, found, Tuning(budget=3000, n_instances=9), 8000, compared))

    assert "scaled" not in page
    assert "**It was stopped after 1 of 5 planned races**" in page
    assert "8,000 model evaluations as in the paper" in page
    assert "--budget 3000 --first-test 5 --evaluations 8000 --races 1 --compare 1 --seed 0" in page
    assert "The paper's races chose" not in page  # one elite has it
    assert "`mutation` is conditional (1 of 2) or gaussian (1 of 2)" in page
    assert "`initialization` is always ice" in page
    assert "| 1 | 9 | 9 | 2 | 1 | 9 | yes |" in page
