"""Whatever anybody sends, the explorer asks what is meant or refuses it in our words."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.served import Gated, explainer_of, observed
from tests.visitor import Visitor

import counterpoint as cp
from counterpoint.explorer.requests import (
    Rows,
    RowsWanted,
    check_lines,
    describe_rows,
    predict,
    read_object,
    read_question,
    read_values,
)
from counterpoint.explorer.server import Guard
from counterpoint.result.report.summary import value_of

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    PLAIN,
    lambda part: (
        st.lists(part, max_size=5) | st.dictionaries(st.text(max_size=8), part, max_size=4)
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["row", "values", "target", "fixed", "rules", "max_changed", "seed", "afresh"]
)


@cache
def explainer() -> cp.Explainer:
    return explainer_of(Gated())


@cache
def rows() -> Rows:
    return Rows.of(explainer(), observed(), None)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_an_object_or_refused_in_words(body: bytes) -> None:
    try:
        read = read_object(body)
    except cp.InvalidInput as error:
        assert str(error).startswith("the request must be ")  # noqa: PT017 - not always raised
    else:
        assert isinstance(read, dict)


@given(st.dictionaries(KEYS, JSON))
@settings(deadline=None)
def test_any_question_can_be_asked_or_is_refused_in_words(changes: dict[str, Any]) -> None:
    values = [value_of(gene) for gene in rows().genomes[1]]
    sent = {"row": 1, "values": values, "target": "good"} | changes

    try:
        question = read_question(sent, explainer(), rows(), 5.0)
    except cp.CounterpointError as error:
        assert str(error)  # noqa: PT017
    else:
        assert question.genome.shape == (1, 4)
        assert json.loads(json.dumps(question.sent, allow_nan=False)) == sent


@given(
    age=st.integers(-1000, 1000),
    income=st.none() | st.floats(-3e5, 3e5),
    job=st.integers(0, 2),
    since=st.integers(-20_000, 40_000),
)
@settings(deadline=None, max_examples=50)
def test_any_row_that_can_be_edited_has_a_prediction(
    age: int, income: float | None, job: int, since: int
) -> None:
    genome = read_values([age, income, job, since], explainer().schema.features)

    said = predict(explainer(), genome)

    assert said["decision"] in ("bad", "good")
    assert [value_of(gene) for gene in genome[0]] == [age, income, job, since]
    again = explainer().encoding.encode(explainer().encoding.decode(genome.copy()), "row")
    np.testing.assert_array_equal(again, genome)


@given(st.lists(st.text(max_size=30), max_size=4))
@settings(deadline=None)
def test_faults_of_rules_are_told_by_line_whatever_is_written(lines: list[str]) -> None:
    faults = check_lines(lines, explainer())

    assert all(0 <= fault["line"] < len(lines) and fault["error"] for fault in faults)


@given(start=st.integers(0, 10**6), find=st.text(max_size=4))
@settings(deadline=None)
def test_any_page_of_rows_holds_rows_that_were_looked_for(start: int, find: str) -> None:
    page = describe_rows(rows(), explainer(), start, RowsWanted(find))

    wanted = find.strip().casefold()
    assert all(wanted in row["label"] for row in page["rows"])
    assert bool(page["rows"]) == (page["n_found"] > 0)


@given(st.text(max_size=30).filter(lambda text: text != "token"))
@settings(deadline=None, max_examples=50)
def test_no_other_token_passes(token: str) -> None:
    async def never(*_: Any) -> None:
        pytest.fail("a route was reached")

    visitor = Visitor(Guard(never, "token", 1), "http://127.0.0.1:1")

    assert visitor.get("/", params={"token": token}).status_code == 403
