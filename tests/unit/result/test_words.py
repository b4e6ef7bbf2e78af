"""Counts in words, which both languages build on."""

from __future__ import annotations

import pytest

from counterpoint.result.words import count_candidates


@pytest.mark.parametrize(
    ("n", "n_missed", "text"),
    [
        (0, 0, "0 counterfactuals"),
        (0, 1, "1 near miss"),
        (1, 2, "1 counterfactual; 2 near misses"),
    ],
)
def test_only_what_there_is_is_counted(n: int, n_missed: int, text: str) -> None:
    assert count_candidates(n, n_missed) == text
