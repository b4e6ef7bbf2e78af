"""What docs/rules.md shows is so: its example runs, its rules are rules, its error is the error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import counterpoint as cp
from counterpoint.datasets import load_credit
from counterpoint.rules.rules import Rules

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()
SCHEMA = cp.Schema.infer(load_credit()[0])


def test_the_example_works(capsys: Any) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)

    scope: dict[str, Any] = {}
    exec(example, scope)  # noqa: S102 - our own text

    printed = example.rsplit("# ", maxsplit=1)[1]
    assert capsys.readouterr().out == printed
    assert scope["found"].status == "found"


@pytest.mark.parametrize("text", re.findall(r"^\| `([^`]+)` \|", PAGE, flags=re.MULTILINE))
def test_the_rules_of_the_table_are_rules(text: str) -> None:
    rules = Rules.parse([text], SCHEMA)

    assert Rules.parse(rules.texts, SCHEMA) == rules


def test_the_error_is_as_shown() -> None:
    (shown,) = re.findall(r"```\n(rule .*?)\n```", PAGE, flags=re.DOTALL)

    with pytest.raises(cp.InvalidInput) as raised:
        Rules.parse(["age > 25 implies purpose = bus"], SCHEMA)

    assert str(raised.value) == shown
