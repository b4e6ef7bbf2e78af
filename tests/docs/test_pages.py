"""The examples of choosing.md, letters.md, report.md and scale.md in docs are run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import counterpoint as cp

DOCS = Path(__file__).parents[2] / "docs"


def examples(page: str) -> list[str]:
    """Return the Python examples of a page."""
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)


@pytest.fixture
def explainer() -> cp.Explainer:
    """Return an explainer of a small table of loans."""
    data = pd.DataFrame({"age": range(20, 60), "duration": [12, 24, 36, 48] * 10})
    return cp.Explainer(
        lambda rows: (rows["age"] - rows["duration"] + 48) / 120,
        data,
        classes=["bad", "good"],
        units={"duration": "months"},
    )


def test_the_interview_of_choosing_works(explainer: cp.Explainer, capsys: Any) -> None:
    found = explainer.explain({"age": 30, "duration": 48}, "good", cp.Search(evaluations=300))
    (interview,) = [each for each in examples("choosing.md") if "prefer" in each]
    scope: dict[str, Any] = {"found": found}

    exec(interview, scope)  # noqa: S102 - our own text

    assert "A: If " in capsys.readouterr().out
    assert len(scope["interview"].best) == 1


def test_the_ways_of_choosing_are_what_their_comments_say(explainer: cp.Explainer) -> None:
    found = explainer.explain({"age": 30, "duration": 48}, "good", cp.Search(evaluations=300))
    (ways,) = [each for each in examples("choosing.md") if "found.ways()" in each]
    scope: dict[str, Any] = {"found": found}

    exec(ways, scope)  # noqa: S102 - our own text

    assert {way.features for way in scope["ways"]} == {("duration",)}
    assert len(scope["way"].closest) == len(scope["way"].representative) == 1
    assert scope["way"].minimality == "proved"


@pytest.mark.usefixtures("elsewhere")
def test_the_reports_of_report_are_written(explainer: cp.Explainer) -> None:
    found = explainer.explain({"age": 30, "duration": 48}, "good", cp.Search(evaluations=100))
    (report,) = examples("report.md")

    exec(report, {"found": found})  # noqa: S102 - our own text

    assert Path("row.html").stat().st_size > 10_000


@pytest.mark.usefixtures("elsewhere")
def test_the_letters_of_letters_are_written_and_read_as_they_say(
    explainer: cp.Explainer, capsys: Any
) -> None:
    found = explainer.explain({"age": 30, "duration": 48}, "good", cp.Search(evaluations=300))
    labels, letters = examples("letters.md")
    scope: dict[str, Any] = {"cp": cp, "found": found}

    exec(labels + letters, scope)  # noqa: S102 - our own text

    assert "Der Antrag wurde nicht bewilligt." in Path("letter.html").read_text(encoding="utf-8")
    assert "The application was not approved." in Path("customer.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out in (DOCS / "letters.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("elsewhere")
def test_the_job_of_scale_runs(explainer: cp.Explainer, capsys: Any) -> None:
    rows = pd.DataFrame({"loan": range(6), "age": range(20, 26), "duration": 48})
    Path("declined").mkdir()
    rows.to_parquet("declined/one.parquet", index=False)
    job = examples("scale.md")[0]

    exec(job, {"cp": cp, "explainer": explainer})  # noqa: S102 - our own text

    assert "6 rows explained" in capsys.readouterr().out


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
