"""How many rows had which outcome, as a journal says it."""

from __future__ import annotations

from collections import Counter

import pytest

from counterpoint.batch.rows import RowCounts
from counterpoint.errors import InvalidInput
from counterpoint.result.file.document import Node

COUNTS = RowCounts(3, 6, 30, Counter(found=3)).written()


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 4},
        {"rows": 3.0},
        {"lines": 2},
        {"lines": 10**30},
        {"evaluations": -1},
        {"statuses": {"found": 2}},
        {"statuses": {"lost": 3}},
        {"statuses": {"found": 4, "failed": -1}},
        {"statuses": []},
        {"messages": {"no such level": 1}},
        {"more": 1},
    ],
    ids=str,
)
def test_counts_that_cannot_be_are_refused(change: dict[str, object]) -> None:
    assert RowCounts.read(Node(COUNTS), 3).written() == COUNTS

    with pytest.raises(InvalidInput, match=r"^\$"):
        RowCounts.read(Node(COUNTS | change), 3)
