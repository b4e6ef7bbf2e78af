from __future__ import annotations

import pandas as pd
import pytest

from counterpoint.errors import InvalidInput
from counterpoint.explainer.task import check_rules, check_search
from counterpoint.problem.limits import Limits
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import describe_space

DATA = pd.DataFrame({"age": [20, 40, 60], "pay": [1.5, 2.5, 9.0]}, index=["a", "b", "c"])
SCHEMA = Schema.infer(DATA)
GENOMES = Encoding(SCHEMA).encode(DATA)
SPACE = describe_space(SCHEMA, GENOMES)


def check(frame: pd.DataFrame, *texts: str, max_changed: int | None = None) -> None:
    limits = Limits(max_changed=max_changed, constraints=texts).check(SCHEMA)
    check_rules(limits, Encoding(SCHEMA).encode(frame), frame, SPACE)


def test_rules_that_every_row_can_satisfy_pass() -> None:
    check(DATA, "age increases", "pay > 2")


def test_the_row_that_cannot_satisfy_them_is_named() -> None:
    with pytest.raises(InvalidInput, match="of row 'c': constraints contradict") as raised:
        check(DATA, "age > was(age)")

    assert "\"age > was(age)\" can never hold: no value of 'age' from 20 to 60" in str(raised.value)


def test_a_single_row_is_not_named() -> None:
    with pytest.raises(InvalidInput, match=r"^constraints contradict"):
        check(DATA[2:], "age > was(age)")


def test_max_changed_counts() -> None:
    with pytest.raises(InvalidInput, match="which must all change, but max_changed allows 1"):
        check(DATA[:1], "age > 20", "pay > 2", max_changed=1)


@pytest.mark.parametrize(
    ("search", "example"),
    [
        ("mocmod", "search=Search.paper('mocmod')."),
        ("moc", "search=Search.paper('moc')."),
        ("quick", "search=Search(effort='quick')."),
        ("fast", "search=Search(evaluations=2000)."),
        (500, "search=Search(evaluations=2000)."),
    ],
)
def test_a_search_that_is_none_is_told_with_the_one_that_is_meant(
    search: object, example: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_search(search)

    assert str(caught.value) == (
        f"search must be a Search, WhatIf or NICE, got {search!r}; for example {example}"
    )
