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


def test_the_ten_lines_of_the_readme_work(capsys: Any) -> None:
    scope: dict[str, Any] = {}
    exec(EXAMPLES[0], scope)  # noqa: S102 - our own text

    assert len(EXAMPLES) == 4
    assert scope["found"].status == "found"
    assert "reach class 'good'" in capsys.readouterr().out


def test_the_table_of_the_readme_prints_what_it_says(capsys: Any) -> None:
    scope: dict[str, Any] = {"cp": counterpoint}

    exec(EXAMPLES[1], scope)  # noqa: S102 - our own text

    assert f"```\n{capsys.readouterr().out}```" in README.read_text()
    assert type(scope["frame"]) is type(scope["loans"])


def test_a_model_file_of_the_readme_explains_like_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework("skops.io")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}

    exec(EXAMPLES[0] + EXAMPLES[2], scope)  # noqa: S102 - our own text

    applicant, found = scope["applicant"], scope["found"]
    again = scope["explainer"].explain(applicant, target="good", fixed=["sex", "age"], seed=0)
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())


def test_the_objectives_of_the_readme_work() -> None:
    scope: dict[str, Any] = {}

    exec(EXAMPLES[0] + EXAMPLES[3], scope)  # noqa: S102 - our own text

    frame = scope["found"].to_frame()
    apart = (frame["credit_amount"] - scope["applicant"]["credit_amount"].iloc[0]).abs()
    assert frame["price"].to_list() == (apart / 100).to_list()
    assert frame["implausibility"].between(0.0, 1.0).all()
