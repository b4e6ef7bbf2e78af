"""The README's examples are run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.frameworks import framework

import counterpoint

README = Path(__file__).parents[2] / "README.md"


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def example(mark: str) -> str:
    """Return the one example that has a mark in it."""
    (text,) = [each for each in EXAMPLES if mark in each]
    return str(text)


TEN_LINES = example("import counterpoint as cp\n")


def test_the_ten_lines_of_the_readme_work(capsys: Any) -> None:
    scope: dict[str, Any] = {}
    exec(TEN_LINES, scope)  # noqa: S102 - our own text

    assert scope["found"].status == "found"
    assert "reach class 'good'" in capsys.readouterr().out


def test_the_table_of_the_readme_prints_what_it_says(capsys: Any) -> None:
    scope: dict[str, Any] = {"cp": counterpoint}

    exec(example("import polars"), scope)  # noqa: S102 - our own text

    assert f"```\n{capsys.readouterr().out}```" in README.read_text()
    assert type(scope["frame"]) is type(scope["loans"])


def test_the_ways_of_the_readme_are_what_it_says(capsys: Any) -> None:
    scope: dict[str, Any] = {}
    exec(TEN_LINES, scope)  # noqa: S102 - our own text
    said = capsys.readouterr().out

    exec(example("found.ways()"), scope)  # noqa: S102 - our own text

    assert f"```\n{capsys.readouterr().out}```" in README.read_text()
    assert "Class “good” if *duration* were at most 43 instead of 48." in said
    assert scope["ways"][0].representative.to_frame()["duration"].to_list() == [25]


def test_a_model_file_of_the_readme_explains_like_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework("skops.io")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}

    exec(TEN_LINES + example("import skops"), scope)  # noqa: S102 - our own text

    applicant, found = scope["applicant"], scope["found"]
    again = scope["explainer"].explain(applicant, target="good", fixed=["sex", "age"], seed=0)
    pd.testing.assert_frame_equal(
        again.to_frame(near_misses=True), found.to_frame(near_misses=True)
    )


def test_the_objectives_of_the_readme_work() -> None:
    scope: dict[str, Any] = {}

    exec(TEN_LINES + example("cp.Objective("), scope)  # noqa: S102 - our own text

    frame = scope["found"].to_frame(near_misses=True)
    apart = (frame["credit_amount"] - scope["applicant"]["credit_amount"].iloc[0]).abs()
    assert frame["price"].to_list() == (apart / 100).to_list()
    assert frame["implausibility"].between(0.0, 1.0).all()


def test_the_words_and_choices_of_the_readme_work(capsys: Any) -> None:
    scope: dict[str, Any] = {}

    exec(TEN_LINES + example("found.prefer()"), scope)  # noqa: S102 - our own text

    printed = capsys.readouterr().out
    assert re.search(r"This case was not assessed as “good”.\n1. With a ", printed)
    assert "Which suits you better?\nA: If " in printed
    assert len(scope["few"]) == len(scope["cheap"]) == 3
    assert scope["short"].to_frame(near_misses=True)["duration"].max() <= 36
    assert set(scope["safety"]) == {"counterfactual", "margin", "neighbours"}
