"""Options become limits and settings, and what cannot be read is told with its right form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.cli import reading
from counterpoint.cli.main import build_parser
from counterpoint.errors import CounterpointError
from counterpoint.table.schema import Schema

DATA = pd.DataFrame(
    {
        "age": range(20, 32),
        "rate": [0.5, 1.25, 2.75] * 4,
        "since": pd.date_range("2024-01-01", periods=12),
        "job": ["clerk", "nurse", "smith, black"] * 4,
        "code": pd.Categorical([1, 2, 3] * 4),
        "a=b": range(12),
    }
)
SCHEMA = Schema.infer(DATA)


def options_of(*given: str) -> Any:
    common = "explain --model m.skops --data d.csv --row 0 --target good"
    return build_parser().parse_args([*common.split(), *given])


def limits_of(*given: str) -> cp.Limits:
    return reading.limits_of(options_of(*given), SCHEMA)


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ([], cp.Limits()),
        (["--fixed", "job", "--fixed", "age"], cp.Limits(fixed=["age", "job"])),
        (["--vary", "age"], cp.Limits(vary=["age"])),
        (["--range", "age=18..90"], cp.Limits(ranges={"age": (18, 90)})),
        (["--range", "rate=..1e1"], cp.Limits(ranges={"rate": (None, 10.0)})),
        (["--range", "since=2024-01-02.."], cp.Limits(ranges={"since": ("2024-01-02", None)})),
        (["--range", "job=clerk, nurse"], cp.Limits(ranges={"job": ["clerk", "nurse"]})),
        (["--range", 'job="smith, black"'], cp.Limits(ranges={"job": ["smith, black"]})),
        (["--range", "code=1,3"], cp.Limits(ranges={"code": [1, 3]})),
        (["--range", "a=b=1..2"], cp.Limits(ranges={"a=b": (1, 2)})),
        (["--max-changed", "2"], cp.Limits(max_changed=2)),
        (["--constraint", "age increases"], cp.Limits(constraints=["age increases"])),
        (["--cost", "age=3", "--cost", "a=b=0.5"], cp.Limits(costs={"age": 3, "a=b": 0.5})),
    ],
)
def test_every_limit_can_be_said(given: list[str], limits: cp.Limits) -> None:
    assert limits_of(*given) == limits
    limits_of(*given).check(SCHEMA)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--range", "age=18-90"], "two dots between two ends, such as age=20..31; 20.. and ..31"),
        (["--range", "age=30"], "--range 'age=30' must have two dots"),
        (["--range", "age=.."], "--range 'age=..' must have two dots"),
        (["--range", "age"], "such as age=18..90 or job=clerk,nurse"),
        (["--range", "agee=1..2"], "--range names 'agee', which is not a column of the data; did"),
        (["--range", "age=1..2", "--range", "age=3..4"], "--range names 'age' twice"),
        (["--range", "job=clrk"], "names 'clrk', which is not a level of 'job'"),
        (["--cost", "age=much"], "--cost 'age=much' must be a column and a number, such as age=3."),
        (["--fixed", "agee"], "fixed names 'agee'"),
        (["--vary", "agee"], "vary names 'agee'"),
        (["--max-changed", "0"], "max_changed must be a whole number of at least 1"),
        (["--fixed", "age", "--range", "age=1..2"], "both in fixed and in ranges"),
    ],
)
def test_a_limit_that_cannot_be_used_is_told_with_its_form(given: list[str], told: str) -> None:
    with pytest.raises(CounterpointError) as raised:
        limits_of(*given).check(SCHEMA)

    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Integer(18, 90)", cp.Integer(18, 90)),
        ("Integer", cp.Integer()),
        ("Real(low=-1.5, decimals=2)", cp.Real(-1.5, decimals=2)),
        ("Ordered(['low', 'mid (a)', 'high'])", cp.Ordered(["low", "mid (a)", "high"])),
        ("Categorical()", cp.Categorical()),
        ("Date('2020-01-01', None)", cp.Date("2020-01-01", None)),
    ],
)
def test_every_kind_can_be_said(text: str, kind: Any) -> None:
    assert reading.read_kind("age", text) == kind


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("int", "must name one of 'Integer', 'Real', 'Ordered', 'Categorical' and 'Date', such as"),
        ("integer(18, 90)", "did you mean 'Integer'?"),
        ("Integer(18, 90", "must name one of"),
        ("Integer(18 90)", "cannot be read; write Integer with numbers, texts in quotes and lists"),
        ("Integer(1, 2, 3)", "cannot be read"),
        ("Ordered(low, high)", "cannot be read"),
        ("Integer(**{'low': 1})", "cannot be read"),
        ("Integer(18), print(3)", "cannot be read"),
        ("Integer(18), Integer(3)", "cannot be read"),
        ("Integer(__import__('os').getpid())", "cannot be read"),
        ("Integer([n for n in range(3)])", "cannot be read"),
        ("Integer(" + "(" * 5000 + ")" * 5000 + ")", "cannot be read"),
        ("Integer(90, 18)", "low <= high"),
        ("__import__('os')", "must name one of"),
    ],
)
def test_a_kind_that_cannot_be_read_runs_nothing(text: str, told: str) -> None:
    with pytest.raises(CounterpointError) as raised:
        reading.read_kind("age", text)

    assert told in str(raised.value)


def test_settings_are_the_keywords_of_an_explainer() -> None:
    data = pd.DataFrame(
        {"age": [20.0, None, 40.0], "own": [1, 0, 0], "rent": [0, 1, 1], "rate": [0.5, 1.5, 2.0]}
    )
    given = ["--feature", "age=Integer(18, 90)", "--group", "home=own,rent", "--unit", "age=years"]
    given += ["--protected", "home", "--allow-missing", "age", "--precision", "full"]

    settings = reading.settings_of(options_of(*given), list(data))
    explainer = cp.Explainer(lambda rows: rows["rate"], data, **settings)

    age, home, rate = explainer.schema.features
    assert (age.kind, age.low, age.high, age.unit) == ("integer", 18, 90, "years")
    assert (home.name, home.is_protected, len(home.columns)) == ("home", True, 2)
    assert rate.decimals is None
    assert explainer.observed.space.may_miss.tolist() == [True, False, False]


def test_without_flags_an_explainer_is_as_without_keywords() -> None:
    settings = reading.settings_of(options_of(), list(DATA))

    assert cp.Explainer(lambda rows: rows["age"], DATA, **settings).schema == SCHEMA


def test_no_groups_at_all_can_be_said() -> None:
    assert reading.settings_of(options_of("--group", "none"), [])["groups"] == {}
    assert reading.settings_of(options_of(), [])["groups"] is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--group", "home"], "--group 'home' must be a name and its columns, such as job="),
        (["--unit", "months"], "--unit 'months' must be a feature and what it is counted in"),
        (["--feature", "age"], "--feature 'age' must be a column and what it is, such as 'age="),
    ],
)
def test_a_setting_without_its_value_is_told_with_its_form(given: list[str], told: str) -> None:
    with pytest.raises(CounterpointError) as raised:
        reading.settings_of(options_of(*given), [])

    assert told in str(raised.value)


def test_labels_are_read_from_toml_and_json(tmp_path: Path) -> None:
    (tmp_path / "names.toml").write_text('[features]\nduration = "term"\n', encoding="utf-8")
    (tmp_path / "names.json").write_text('{"features": {"duration": "term"}}', encoding="utf-8")

    read = [reading.read_names(tmp_path / name) for name in ("names.toml", "names.json")]

    assert read == [cp.Labels(features={"duration": "term"})] * 2
    assert reading.read_names(None) is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", "", "--labels must end in .toml or .json, got"),
        ("x.toml", "a = ", "cannot be read: "),
        ("x.json", "{", "cannot be read: "),
        ("x.json", '{"feature": {}}', "labels has the key 'feature'; it may have"),
        ("x.json", "[]", "labels must be a dict, got []"),
    ],
)
def test_files_that_hold_no_labels_are_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(cp.InvalidInput) as raised:
        reading.read_names(tmp_path / name)

    assert message in str(raised.value)


def test_labels_that_are_no_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(cp.InvalidInput, match=r"x.toml' is not a file"):
        reading.read_names(tmp_path / "x.toml")
