"""Whatever JSON a service sends is either a row of finite scores for each row, or refused."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterpoint.models.adapters.remote import Failure, parsed, scores_in

NUMBERS = st.integers() | st.floats() | st.just(10**400)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=3)
ANSWERS = st.recursive(
    LEAVES,
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.sampled_from(["scores", "a"]), part)
    ),
    max_leaves=12,
)


@given(ANSWERS, st.sampled_from(["scores", None]), st.integers(1, 4))
@example([[[0.5]]], None, 1)
@example([10**400], None, 1)
@example([0.5, None], None, 2)
def test_any_json_gives_finite_scores_for_each_row_or_is_refused(
    answer: Any, key: str | None, n: int
) -> None:
    try:
        scores = scores_in(answer, key, n)
    except Failure:
        return

    assert len(scores) == n
    assert len({len(row) for row in scores}) == 1
    assert all(math.isfinite(score) for row in scores for score in row)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_scores_arrive_as_they_were_sent(scores: list[float]) -> None:
    sent = json.dumps({"scores": scores}).encode()

    assert scores_in(parsed(sent), "scores", len(scores)) == [(score,) for score in scores]


@given(st.binary(max_size=40))
def test_any_bytes_are_json_or_refused(body: bytes) -> None:
    with suppress(Failure):
        parsed(body)


@pytest.mark.parametrize("depth", [10, 70, 900])
def test_a_deep_list_is_no_score(depth: int) -> None:
    answer: Any = 0.5
    for _ in range(depth):
        answer = [answer]

    with pytest.raises(Failure, match="scores that are not a number, or a list of numbers"):
        scores_in(answer, None, 1)
