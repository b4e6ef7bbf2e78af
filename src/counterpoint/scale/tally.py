"""What became of some rows, counted: of a chunk, of a part, of the whole job."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

TOLD = 10  # different messages that are kept of a file; there may be one for every row


@dataclass
class Tally:
    """Rows by status, and what they took.

    Attributes
    ----------
    rows : int
        Rows of the input.
    lines : int
        Rows of the output: a row of the input has one for each counterfactual, and at least one.
    evaluations : int
        How often the model was asked.
    statuses : Counter of str
        Rows of the input by what became of them.
    messages : Counter of str
        Why rows failed.

    Examples
    --------
    >>> one = Tally(2, 5, 400, Counter(found=2))
    >>> both = one + Tally(1, 1, 0, Counter(failed=1), Counter({"no such level": 1}))
    >>> both.rows, dict(both.statuses)
    (3, {'found': 2, 'failed': 1})
    """

    rows: int = 0
    lines: int = 0
    evaluations: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, table: Any, prefix: str) -> Tally:
        """Count a table that `explain_rows` made."""
        frame = table.select(
            [prefix + name for name in ("counterfactual", "status", "message", "evaluations")]
        ).to_pandas()
        frame.columns = ["counterfactual", "status", "message", "evaluations"]
        first = frame[frame["counterfactual"] <= 1]  # one line of each row
        failed = first.loc[first["status"] == "failed", "message"]
        return cls(
            rows=len(first),
            lines=len(frame),
            evaluations=int(first["evaluations"].sum()),
            statuses=Counter(first["status"].tolist()),
            messages=Counter(failed.tolist()),
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(
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

    def frequent(self, n: int) -> list[tuple[str, int]]:
        """Return the most frequent messages, ties in the order of the alphabet."""
        return sorted(self.messages.items(), key=lambda item: (-item[1], item[0]))[:n]

    def written(self) -> dict[str, Any]:
        """Return it as JSON holds it, the same for the same rows."""
        return {
            "rows": self.rows,
            "lines": self.lines,
            "evaluations": self.evaluations,
            "statuses": dict(sorted(self.statuses.items())),
            "messages": dict(self.frequent(TOLD)),
        }

    @classmethod
    def read(cls, written: dict[str, Any]) -> Tally:
        """Return what `written` wrote."""
        return cls(
            int(written["rows"]),
            int(written["lines"]),
            int(written["evaluations"]),
            Counter(written["statuses"]),
            Counter(written["messages"]),
        )
