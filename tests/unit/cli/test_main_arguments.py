"""Flags are the names of the parameters, and errors name the flag."""

from __future__ import annotations

import inspect
import re

import pytest

import counterpoint as cp
from counterpoint.cli.main import Parser, build_parser

COMMON = ["--model", "m.skops", "--data", "d.csv"]
NEEDED = {
    "explain": [*COMMON, "--row", "0", "--target", "good"],
    "batch": [*COMMON, "--rows", "r.csv", "--target", "good", "--out", "out"],
    "serve": COMMON,
}
# What the command line cannot say: functions, and what a file of a model has no use for.
ONLY_IN_PYTHON = {"model", "data", "k", "weights", "objectives", "distance", "plausibility"}
ONLY_IN_PYTHON |= {"accelerate"}


@pytest.fixture(scope="module")
def parser() -> Parser:
    return build_parser()


@pytest.mark.parametrize("command", ["explain", "batch", "serve"])
def test_flags_say_all_that_limits_and_columns_can(parser: Parser, command: str) -> None:
    options = vars(parser.parse_args([command, *NEEDED[command]]))

    of_limits = set(inspect.signature(cp.Limits).parameters)
    of_explainer = set(inspect.signature(cp.Explainer).parameters) - ONLY_IN_PYTHON
    not_on_the_page = {"costs"} if command == "serve" else set()
    assert of_limits - not_on_the_page <= set(options)
    assert of_explainer <= set(options)


@pytest.mark.parametrize("command", ["explain", "batch", "serve"])
def test_each_flag_is_its_parameter_with_hyphens(parser: Parser, command: str) -> None:
    given = [*NEEDED[command], "--max-changed", "2", "--vary", "age", "--allow-missing"]
    for name in ("fixed", "range", "constraint", "feature", "group", "unit", "protected"):
        given += [f"--{name}", f"{name}=x"]

    options = parser.parse_args([command, *given])

    assert (options.max_changed, options.vary, options.allow_missing) == (2, ["age"], [True])
    assert (options.fixed, options.protected) == (["fixed=x"], ["protected=x"])
    for name in ("ranges", "constraints", "features", "groups", "units"):
        assert getattr(options, name) == [f"{name.removesuffix('s')}=x"]


@pytest.mark.parametrize(
    ("flag", "meant"),
    [("--fix", "--fixed"), ("--max-changes", "--max-changed"), ("--ranges", "--range")],
)
def test_a_flag_that_is_none_is_told_with_the_one_that_may_be_meant(
    parser: Parser, flag: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["explain", *NEEDED["explain"], flag, "age"])

    assert ended.value.code == 2
    assert re.search(rf"unrecognized arguments: {flag} age; did you mean '{meant}'\?", _err(capsys))


def _err(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fixed names 'agee', which", "--fixed names 'agee', which"),
        ("ranges['age'] must be finite", "--range age must be finite"),
        ("max_changed must be a whole", "--max-changed must be a whole"),
        ("Search.evaluations must be", "--evaluations must be"),
        ("Search.population must be", "Search.population must be"),
        ("the model raised ValueError", "the model raised ValueError"),
        ("part_rows must be", "part_rows must be"),
    ],
)
def test_an_error_names_the_flag_where_the_command_has_it(
    parser: Parser, text: str, told: str
) -> None:
    assert parser.in_flags(text, "explain") == told


def test_the_same_words_are_a_flag_of_another_command(parser: Parser) -> None:
    assert parser.in_flags("part_rows must be", "batch") == "--part-rows must be"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["expain"], "invalid choice: 'expain' .*; did you mean 'explain'\\?"),
        (["show", "found.json", "--reader", "custmer"], "; did you mean 'customer'\\?"),
        (["show", "found.json", "--lang", "fr"], r"en \(English\) or de \(German\), got 'fr'$"),
        (["serve", "--lang", "german"], r"en \(English\) or de \(German\), got 'german'$"),
    ],
)
def test_a_mistyped_choice_is_answered_by_what_may_be_meant(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(arguments)

    assert re.search(said, _err(capsys))
