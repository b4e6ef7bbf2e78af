"""What a job says: while it runs, and at its end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from counterpoint.batch.job import Summary
from counterpoint.batch.rows import RowCounts


def summary(n_rows: int = 10, n_before: int = 0, messages: int = 0, **statuses: int) -> Summary:
    """Return the summary of a job that ended like this."""
    told = Counter({f"reason {i}\nof many": i + 1 for i in range(messages)})
    counts = RowCounts(sum(statuses.values()), 70, 12_000, Counter(statuses), told)
    return Summary(Path("out"), n_rows, counts, n_before, 2, 4.0, counts.rows < n_rows)


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ({"found": 8, "already_met": 2}, 0),
        ({"found": 9, "best_effort": 1}, 1),
        ({"found": 9, "infeasible": 1}, 1),
        ({"found": 8, "best_effort": 1, "failed": 1}, 3),
        ({"found": 8, "failed": 1}, 130),
    ],
)
def test_the_exit_status_tells(statuses: dict[str, int], status: int) -> None:
    assert summary(**statuses).exit_status == status


def test_the_words_of_all_that_can_happen() -> None:
    told = str(summary(found=4, already_met=1, best_effort=2, infeasible=1, failed=2, messages=5))

    assert told.splitlines() == [
        "10 rows explained in 4.0 s (2.5 rows/s, 12,000 evaluations)",
        "       4  found",
        "       1  reach the target already",
        "       2  best effort: nothing that was tried reaches the target",
        "       1  infeasible: all that is allowed was tried, and nothing reaches the target",
        "       2  failed",
        "             5 x reason 4 of many",
        "             4 x reason 3 of many",
        "             3 x reason 2 of many",
        "70 lines in 2 files: out/part-*.parquet",
    ]


def test_the_words_of_a_job_that_was_stopped_and_went_on() -> None:
    stopped, went_on = summary(found=4), summary(n_before=4, found=10)

    assert str(stopped).endswith(
        "Interrupted: 4 of 10 rows are done. The same command goes on from here."
    )
    assert str(went_on).startswith("6 rows explained in 4.0 s (1.5 rows/s); 4 were done before")


def test_a_message_cannot_move_the_cursor() -> None:
    counts = RowCounts(1, 1, 0, Counter(failed=1), Counter({"cleared\x1b[2J" + "!" * 200: 1}))

    told = str(Summary(Path("out"), 1, counts, 0, 1, 1.0))

    assert "\x1b" not in told
    assert "!..." in told
