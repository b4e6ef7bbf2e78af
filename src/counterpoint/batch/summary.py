"""Summary: how many rows of a job had which outcome, in numbers, in words and as an exit status.

`RowCounts` are the counts of a chunk, of a part or of the whole job.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterpoint.checks import require_package
from counterpoint.result.file.document import Node

TOLD = 10  # different messages that are kept of a part; there may be one for every row
COUNTED = ["counterfactual", "status", "message", "evaluations"]
MOST_COUNTED = 2**53  # of anything
TOLD_OF = {
    "found": "found",
    "already_met": "reach the target already",
    "best_effort": "best effort: nothing that was tried reaches the target",
    "infeasible": "infeasible: all that is allowed was tried, and nothing reaches the target",
    "failed": "failed",
}


@dataclass
class RowCounts:
    """Rows by status, and what they took.

    Examples
    --------
    >>> one = RowCounts(2, 5, 400, Counter(found=2))
    >>> both = one + RowCounts(1, 1, 0, Counter(failed=1), Counter({"no such level": 1}))
    >>> both.rows, dict(both.statuses)
    (3, {'found': 2, 'failed': 1})
    """

    rows: int = 0  # rows of the input
    # rows of the output: a row of the input has one for each counterfactual, and at least one
    lines: int = 0
    evaluations: int = 0  # how often the model was asked
    # rows of the input by what became of them
    statuses: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)  # why rows failed

    @classmethod
    def of(cls, table: Any, prefix: str) -> RowCounts:
        """Count a table that `explain_rows` made."""
        compute = require_package("pyarrow.compute", "a batch job", '"counterpoint[cli]"')
        own = table.select([f"{prefix}{name}" for name in COUNTED]).rename_columns(COUNTED)
        first = own.filter(compute.less_equal(own["counterfactual"], 1))  # one line of each row
        failed = first.filter(compute.equal(first["status"], "failed"))
        return cls(
            rows=first.num_rows,
            lines=own.num_rows,
            evaluations=compute.sum(first["evaluations"]).as_py() or 0,
            statuses=Counter(first["status"].to_pylist()),
            messages=Counter(failed["message"].to_pylist()),
        )

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(
            self.rows + other.rows,
            self.lines + other.lines,
            self.evaluations + other.evaluations,
            self.statuses + other.statuses,
            self.messages + other.messages,
        )

    @property
    def failed(self) -> int:
        """Rows that could not be explained."""
        return self.statuses["failed"]

    def frequent(self, n: int | None) -> list[tuple[str, int]]:
        """Return the most frequent messages, ties in the order of the alphabet."""
        return sorted(self.messages.items(), key=lambda item: (-item[1], item[0]))[:n]

    def written(self, n_messages: int | None = None) -> dict[str, Any]:
        """Return it as JSON holds it, the same for the same rows; all messages, or the first."""
        return {
            "rows": self.rows,
            "lines": self.lines,
            "evaluations": self.evaluations,
            "statuses": dict(sorted(self.statuses.items())),
            "messages": dict(self.frequent(n_messages)),
        }

    @classmethod
    def read(cls, written: Node, n_rows: int) -> RowCounts:
        """Return what `written` wrote of so many rows; refuse what it cannot have written."""
        keys = ("rows", "lines", "evaluations", "statuses", "messages")
        rows, lines, evaluations, statuses, messages = written.fields(*keys)
        by_status = _counter(statuses, n_rows)
        if not by_status.keys() <= TOLD_OF.keys() or by_status.total() != n_rows:
            statuses.refuse(f"how many of {n_rows} rows had which outcome")
        by_message = _counter(messages, n_rows)
        if by_message.total() > by_status["failed"]:
            messages.refuse(f"why {by_status['failed']} rows failed")
        return cls(
            rows.whole(n_rows, n_rows),
            lines.whole(n_rows, MOST_COUNTED),
            evaluations.whole(0, MOST_COUNTED),
            by_status,
            by_message,
        )


def _counter(node: Node, most: int) -> Counter[str]:
    """Return how often there was what."""
    counts = node.fields(*node.value) if isinstance(node.value, dict) else node.fields()
    return Counter({key: n.whole(1, most) for key, n in zip(node.value, counts, strict=True)})


DONE, SOME_WITHOUT, SOME_FAILED, INTERRUPTED = 0, 1, 3, 130
FREQUENT = 3  # messages that are shown


@dataclass(frozen=True)
class Summary:
    """What became of the rows of a job.

    Parameters
    ----------
    out : Path
        The folder of the parts.
    n_rows : int
        Rows of the input.
    counts : RowCounts
        What became of those that are done, in this run and before.
    n_before : int
        Rows that were done before this run.
    n_parts : int
        Parts that are written.
    seconds : float
        How long this run took.
    is_interrupted : bool, default=False
        Whether somebody stopped it.

    Examples
    --------
    >>> from collections import Counter
    >>> counts = RowCounts(100, 803, 190_000, Counter(found=97, already_met=2, best_effort=1))
    >>> summary = Summary(Path("out"), 100, counts, n_before=0, n_parts=1, seconds=12.5)
    >>> summary.found, summary.failed, summary.exit_status
    (97, 0, 1)
    >>> print(summary)
    100 rows explained in 12.5 s (8.0 rows/s, 190,000 evaluations)
          97  found
           2  reach the target already
           1  best effort: nothing that was tried reaches the target
    803 lines in 1 file: out/part-*.parquet
    """

    out: Path
    n_rows: int
    counts: RowCounts
    n_before: int
    n_parts: int
    seconds: float
    is_interrupted: bool = False

    @property
    def found(self) -> int:
        """Rows with a counterfactual that reaches the target."""
        return self.counts.statuses["found"]

    @property
    def already_met(self) -> int:
        """Rows that reach the target as they are."""
        return self.counts.statuses["already_met"]

    @property
    def best_effort(self) -> int:
        """Rows of which nothing that was tried reaches the target, or nothing that is allowed."""
        return self.counts.statuses["best_effort"] + self.counts.statuses["infeasible"]

    @property
    def failed(self) -> int:
        """Rows that could not be explained; their lines say why."""
        return self.counts.failed

    @property
    def evaluations(self) -> int:
        """How often the model was asked, for all rows together."""
        return self.counts.evaluations

    @property
    def messages(self) -> list[tuple[str, int]]:
        """The most frequent reasons why rows failed, with how many."""
        return self.counts.frequent(FREQUENT)

    @property
    def rate(self) -> float:
        """Rows per second of this run."""
        return (self.counts.rows - self.n_before) / max(self.seconds, 1e-9)

    @property
    def exit_status(self) -> int:
        """What the command line returns."""
        if self.counts.rows < self.n_rows:
            return INTERRUPTED
        if self.failed:
            return SOME_FAILED
        return SOME_WITHOUT if self.best_effort else DONE

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "out": str(self.out),
            "rows": self.n_rows,
            "done": self.counts.rows,
            "done_before": self.n_before,
            "found": self.found,
            "already_met": self.already_met,
            "best_effort": self.best_effort,
            "failed": self.failed,
            "messages": [{"message": text, "rows": n} for text, n in self.messages],
            "lines": self.counts.lines,
            "evaluations": self.evaluations,
            "parts": self.n_parts,
            "seconds": round(self.seconds, 3),
            "rows_per_second": round(self.rate, 3),
            "exit_status": self.exit_status,
        }

    def __str__(self) -> str:
        return "\n".join([self._first_line(), *self._statuses(), *self._last_lines()])

    def _first_line(self) -> str:
        """Return how many rows, how long, and how fast."""
        new = self.counts.rows - self.n_before
        took = f"{_duration(self.seconds)} ({self.rate:,.1f} rows/s"
        if new == 0 and self.n_before:
            return f"All {self.n_rows:,} rows were done before; nothing was left to do"
        if self.n_before:
            return f"{new:,} rows explained in {took}); {self.n_before:,} were done before"
        return f"{new:,} rows explained in {took}, {self.evaluations:,} evaluations)"

    def _statuses(self) -> list[str]:
        """Return a line for each thing that became of rows, and why some failed."""
        counts = self.counts.statuses
        lines = [f"{counts[key]:>8,}  {told}" for key, told in TOLD_OF.items() if counts[key]]
        return lines + [f"{n:>14,} x {_cut(text)}" for text, n in self.messages]

    def _last_lines(self) -> list[str]:
        """Return where the output is, or how to go on."""
        if self.counts.rows < self.n_rows:
            return [
                f"Interrupted: {self.counts.rows:,} of {self.n_rows:,} rows are done. The same "
                "command goes on from here."
            ]
        files = "1 file" if self.n_parts == 1 else f"{self.n_parts:,} files"
        return [f"{self.counts.lines:,} lines in {files}: {self.out / 'part-*.parquet'}"]


def _cut(text: str, most: int = 120) -> str:
    """Return a message on one line, cut if it is long."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _duration(seconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> _duration(12.5), _duration(185.0), _duration(7_290.0)
    ('12.5 s', '3 min 5 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
