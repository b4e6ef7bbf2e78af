"""Runs of the study: stored once, resumed as if never interrupted, failures kept, one scoring."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import published
from benchmarks.methods import METHODS, Case
from benchmarks.methods.ours import MOCMOD
from benchmarks.study import figures, report, results, runs, subjects, tables
from benchmarks.study.store import Cell, Outcome, Store

PLAN = runs.Plan(n_tried=1, limit=60)
METHODS_HERE = ["mocmod", "whatif", "recourse", "tweaking"]
PAIRS = [("credit", "logreg")]


class Broken:
    """A method that raises, computes or sleeps too long, or returns the row itself."""

    def __init__(self, how: str) -> None:
        self.name = self.how = how

    def explain(self, case: Case) -> pd.DataFrame:
        """Do what is wrong."""
        if self.how == "raises":
            raise ZeroDivisionError("no luck\nsecond line")
        if self.how == "computes":
            start = time.process_time()
            while time.process_time() < start + 5:
                pass
        if self.how == "sleeps":  # longer than the limit, but by the wall's clock only
            time.sleep(1.5)
        return case.row


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> runs.Places:
    """Run all cells of two rows on two processes."""
    places = runs.Places(tmp_path_factory.mktemp("store"), cache)
    runs.tune(PAIRS, PLAN, places)
    runs.run(runs.grid(PAIRS, METHODS_HERE, 2, None), PLAN, places)
    return places


def without_time(outcome: Outcome) -> Outcome:
    return replace(outcome, seconds=0.0)


def test_a_resumed_run_equals_an_uninterrupted_one(
    finished: runs.Places, cache: Path, tmp_path: Path
) -> None:
    cells = runs.grid(PAIRS, METHODS_HERE, 2, None)
    places = runs.Places(tmp_path, cache)
    runs.run(cells[:3], PLAN, places, workers=1)
    kept = Store(tmp_path).file_of(cells[0]).stat().st_mtime_ns

    runs.run(cells, PLAN, places, workers=1)

    assert Store(tmp_path).file_of(cells[0]).stat().st_mtime_ns == kept
    whole, resumed = Store(finished.store), Store(tmp_path)
    assert resumed.missing(cells) == whole.missing(cells) == []
    for cell in cells:
        assert without_time(resumed.get(cell)) == without_time(whole.get(cell))


def test_other_settings_are_refused(finished: runs.Places) -> None:
    with pytest.raises(ValueError, match=r"were made with seed = 0, not 1; pass another --store"):
        Store(finished.store).open(asdict(replace(PLAN, seed=1)))


def test_each_method_ends_as_it_should(finished: runs.Places) -> None:
    found = results.read(finished.store)

    statuses = found.groupby("method")["status"].unique().map(list).to_dict()
    assert statuses["tweaking"] == ["not applicable"]
    assert statuses["mocmod"] == statuses["recourse"] == statuses["whatif"] == ["found"]
    assert ((found["volume_ten"] <= found["volume"] + 1e-12) & (found["volume"] <= 1.0)).all()
    assert (found["n"] <= 10).all()


def test_objectives_are_the_librarys_own(finished: runs.Places) -> None:
    subject = subjects.load("credit", "logreg", None, 1, finished.cache)
    number = int(subject.dataset.rows.index[0])
    case = subject.case(number, 0)
    found = case.background.explainer.explain(
        case.row, case.target, search=MOCMOD.search, progress=False
    )
    rows = found.to_frame(near_misses=True)[list(case.train.columns)]

    objectives = subjects.Ruler(subject, number).objectives(rows)

    np.testing.assert_allclose(objectives, found.objectives, atol=1e-9)


@pytest.mark.parametrize(
    ("how", "status", "message"),
    [
        ("raises", "failed", "ZeroDivisionError: no luck"),
        ("computes", "failed", "no answer after 1 s of computing"),
        ("sleeps", "nothing", ""),
        ("returns the row", "nothing", ""),
    ],
)
def test_what_goes_wrong_is_an_outcome(
    finished: runs.Places, monkeypatch: pytest.MonkeyPatch, how: str, status: str, message: str
) -> None:
    monkeypatch.setitem(METHODS, how, Broken(how))
    subject = subjects.load("credit", "logreg", None, 1, finished.cache)
    cell = Cell("credit", "logreg", int(subject.dataset.rows.index[0]), how)

    outcome = runs.outcome(subject, cell, replace(PLAN, limit=1))

    assert (outcome.status, outcome.message) == (status, message)


def test_a_time_limit_passes_adapters_that_catch_every_exception() -> None:
    assert not issubclass(runs.OutOfTime, Exception)


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="there is no method 'magic'; the methods are"):
        runs.usable_methods(["moc", "magic"])


def test_hypervolume_is_read_off_at_the_papers_steps() -> None:
    history = pd.DataFrame({"evaluations": [30, 50, 90], "hypervolume": [0.1, 0.2, 0.4]})

    assert runs.at_steps(history, 100) == [0.0, 0.1, 0.2, 0.2, 0.4]


def test_the_report_is_written_from_the_store_alone(finished: runs.Places, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    report.write(finished.store, tmp_path, "make something")

    text = (tmp_path / "results.md").read_text()
    assert "`make something`" in text
    assert "8 cells" in text
    assert "| recourse |" in text
    assert (tmp_path / "boxes-credit.png").stat().st_size < 300_000


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there are no results in .* run the study first"):
        report.write(tmp_path, tmp_path, "make study")


def test_tables_are_markdown() -> None:
    assert tables.markdown(["", "a"], [["x", 1]]) == "|  | a |\n|---|--:|\n| x | 1 |"


@pytest.mark.published
def test_objectives_of_published_rivals_are_the_published_ones(tmp_path: Path) -> None:
    data = published.folder() / "data"
    subject = subjects.load("diabetes", "published-logreg", data, 1, tmp_path)
    run = published.load("diabetes/logreg")
    peers = run.stored("peers")
    for number in run.rows.index:
        rows = peers[peers["x_interest_row"] == number]
        objectives = subjects.Ruler(subject, number).objectives(run.typed(rows))

        np.testing.assert_allclose(
            objectives, rows[["o1", "o2", "o3", "o4"]].to_numpy(float), atol=1e-6
        )


def test_ranks_over_generations_need_every_search_and_sum_to_the_same() -> None:
    """Six searches on two rows: ranks 1 to 6, whose mean over searches is 3.5 at every step."""
    found = pd.DataFrame(
        {
            "dataset": "d",
            "model": "m",
            "row": np.repeat([1, 2], len(results.SETS)),
            "method": [*results.SETS, *results.SETS],
            "history": [[0.1 * k, 0.2 * k] for k in range(2 * len(results.SETS))],
        }
    )

    ranked = figures.mean_ranks(found, by_dataset=False)

    assert ranked.groupby("evaluations")["rank"].mean().tolist() == [3.5, 3.5]
    first = ranked[ranked["method"] == results.SETS[0]]
    assert first["rank"].tolist() == [1.0, 1.0]
    lacking = found[~((found["method"] == "moc") & (found["row"] == 2))]
    assert len(results.histories(lacking)[0]) == 1


def test_boxes_have_quartiles_and_whiskers_that_leave_outliers_out() -> None:
    values = pd.DataFrame({"value": [1.0, 2.0, 3.0, 4.0, 100.0]})

    box = figures.summaries(values.assign(model="m", what="gap", method="moc")).iloc[0]

    assert (box["first"], box["middle"], box["third"]) == (2.0, 3.0, 4.0)
    assert (box["low"], box["high"]) == (1.0, 4.0)


def test_means_are_over_rows_every_method_was_tried_on() -> None:
    found = pd.DataFrame(
        {"dataset": "d", "model": "m", "row": [1, 1, 2], "method": ["moc", "whatif", "moc"]}
    )

    assert results.complete(found)["row"].tolist() == [1, 1]


def test_the_nearest_are_compared_on_rows_where_both_reach_the_target() -> None:
    """Row 1: ours is nearer and dominates one of two, the other is a tie. Row 2: theirs misses."""
    ours = np.array([[0.0, 0.1, 1.0, 0.2], [0.0, 0.3, 2.0, 0.0]])
    theirs = np.array([[0.0, 0.2, 1.0, 0.2], [0.0, 0.3, 2.0, 0.0]])
    missed = np.array([[0.1, 0.0, 1.0, 0.0]])
    found = pd.DataFrame(
        {
            "dataset": "d",
            "model": "m",
            "row": [1, 1, 2, 2],
            "method": [results.OURS, "rival"] * 2,
            "ten": [ours, theirs, ours, missed],
            "all": [ours, theirs, ours, missed],
        }
    )

    line = tables.nearest(found).splitlines()[-1]

    assert line == "| rival | 1 | 0.2000 | 0.1000 | 1 | 0 | 0 | 0 | 2 | 1 | 1 | 0 |"
