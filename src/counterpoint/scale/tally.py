"""What became of some rows, counted: of a chunk, of a part, of the whole job."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from counterpoint.models.needed import needed

TOLD = 10  # different messages that are kept of a part; there may be one for every row
COUNTED = ["counterfactual", "status", "message", "evaluations"]


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
        compute = needed("pyarrow.compute", "a batch job", '"counterpoint[cli]"')
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
    def read(cls, written: dict[str, Any]) -> Tally:
        """Return what `written` wrote."""
        return cls(
            int(written["rows"]),
            int(written["lines"]),
            int(written["evaluations"]),
            Counter(written["statuses"]),
            Counter(written["messages"]),
        )
