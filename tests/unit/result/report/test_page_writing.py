"""Writing the report: its size, its place, and what is said if either does not do."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.errors import InvalidInput, MissingDependency
from counterpoint.result.figures.plots import draw_figures, drawing_library
from counterpoint.result.report import page as drawings
from counterpoint.result.report.page import MOST_BYTES, report_page

NOW = datetime.datetime(2026, 5, 4, tzinfo=datetime.UTC)
DATA = pd.DataFrame({"a": np.arange(60), "b": np.arange(60)[::-1] / 4, "c": ["x", "y", "z"] * 20})


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    explainer = cp.Explainer(lambda rows: rows["a"] / 60 - rows["b"] / 50, DATA)
    return explainer.explain(DATA.iloc[[5]], target=(0.4, 1.0), seed=1)


def data_of(page: str) -> Any:
    """Return the data in a page."""
    match = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def test_a_report_is_one_file_of_limited_size(found: cp.Counterfactuals, tmp_path: Path) -> None:
    found.report(tmp_path / "row.html")

    assert [file.name for file in tmp_path.iterdir()] == ["row.html"]
    assert (tmp_path / "row.html").stat().st_size < MOST_BYTES


def test_equal_results_give_equal_pages(found: cp.Counterfactuals) -> None:
    assert report_page(found, NOW) == report_page(found, NOW)


@pytest.mark.parametrize("share", [0.35, 0.6, 0.85])
def test_a_page_fits_whatever_the_interview_takes_of_the_room(
    found: cp.Counterfactuals, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = len(report_page(found, NOW).encode())
    shown = sum(
        len(json.dumps(each)) for each in data_of(report_page(found, NOW))["counterfactuals"]
    )
    most = whole - int(shown * (1.0 - share))
    longer = [{"why": "x" * 2000}]  # questions about the few that are shown may be longer
    questions: Any = vars(drawings)["write_questions"]

    def more(result: Any, kept: set[int] | None = None) -> Any:
        asked = questions(result, kept)
        return asked if kept is None else {**asked, "longer": longer}

    monkeypatch.setattr(drawings, "write_questions", more)
    page = report_page(found, NOW, most_bytes=most)

    assert len(page.encode()) <= most
    assert data_of(page)["interview"]["longer"] == longer


def test_what_does_not_fit_is_left_out_and_said(found: cp.Counterfactuals) -> None:
    whole = report_page(found, NOW)
    most = len(whole) - 2000

    page = report_page(found, NOW, most_bytes=most)

    data = data_of(page)
    kept = {each["number"] for each in data["counterfactuals"]}
    n_own = sum(not each["is_way"] for each in data["counterfactuals"])
    assert len(page.encode()) <= most
    assert 0 < n_own < len(found.genomes)
    assert {each["number"] for each in data["representatives"]} <= kept
    assert set(data["interview"]["numbers"]) <= kept
    assert data["notes"][-1] == (
        f"The page shows {n_own:,} of {len(found.genomes):,} candidates, the most balanced ones; "
        "all of them would not fit into its size."
    )


def test_a_page_that_cannot_be_small_enough_is_refused(found: cp.Counterfactuals) -> None:
    with pytest.raises(InvalidInput) as error:
        report_page(found, NOW, most_bytes=10_000)

    assert str(error.value) == (
        "the report would be larger than 10,000 bytes even without counterfactuals; save() has no "
        "such limit."
    )


def test_a_folder_that_is_not_there_is_named(found: cp.Counterfactuals, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        found.report(tmp_path / "nowhere" / "row.html", figures=False)

    assert str(error.value) == (
        f"there is no folder {str(tmp_path / 'nowhere')!r} to save into; make it first."
    )


def test_a_report_that_fails_leaves_the_old_one(
    found: cp.Counterfactuals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "row.html"
    place.write_text("the old one")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))

    with pytest.raises(OSError, match="disk full"):
        found.report(place, figures=False)

    assert place.read_text() == "the old one"
    assert [file.name for file in tmp_path.iterdir()] == ["row.html"]


def test_figures_must_be_true_or_false(found: cp.Counterfactuals, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        found.report(tmp_path / "row.html", figures="yes")  # type: ignore[arg-type]

    assert str(error.value) == "report.figures must be True or False, got 'yes'."


def test_without_what_draws_figures_the_error_names_both_ways(
    found: cp.Counterfactuals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing_library.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)

    with pytest.raises(MissingDependency) as error:
        found.report(tmp_path / "row.html")

    assert str(error.value) == (
        "a report with figures needs vl_convert, which is not installed; run: pip install "
        '"counterpoint[figures]", or leave them out with figures=False.'
    )
    assert not list(tmp_path.iterdir())


def test_figures_come_in_two_looks_of_the_same_data(found: cp.Counterfactuals) -> None:
    figures = draw_figures(found)["figures"]

    assert [figure["name"] for figure in figures] == [
        *("parallel", "objectives", "strips", "frequency", "ice", "surface")
    ]
    for figure in figures:
        light, dark = json.dumps(figure["light"]), json.dumps(figure["dark"])
        assert len(re.sub(r"#\w{6}", "", light)) == len(re.sub(r"#\w{6}", "", dark))
        assert light != dark
        assert figure["datasets"]
        assert figure["title"]


def test_a_loaded_result_has_the_figures_that_ask_no_model(
    found: cp.Counterfactuals, tmp_path: Path
) -> None:
    found.save(tmp_path / "found.json")
    loaded = cp.load(tmp_path / "found.json")

    names = [figure["name"] for figure in draw_figures(loaded)["figures"]]

    assert names == ["parallel", "objectives", "strips", "frequency"]


def test_nothing_found_has_no_figures(found: cp.Counterfactuals) -> None:
    assert draw_figures(found.take([]))["figures"] == []
