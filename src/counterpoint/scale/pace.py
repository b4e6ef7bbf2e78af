"""Pace: how many rows a chunk has, and how long it may take, by what the last ones took."""

from __future__ import annotations

from dataclasses import dataclass

FEW = 8  # rows of the first chunks, of which nothing is known
MOST = 10_000  # rows of any chunk: they are in memory while it is worked on
GROWTH = 4  # a chunk has at most so many times the rows of the largest that was done
NEWS = 0.3  # how much a chunk's own pace counts beside that of those before it
PARTING = 8  # at the end chunks get smaller, so that no worker waits, but not smaller than this
PATIENCE = 8  # a chunk may take so many times what it should, and a single row's time besides


@dataclass
class Pace:
    """Sizes chunks by a running estimate of the time a row takes.

    Parameters
    ----------
    seconds : float, default=5.0
        How long a chunk should take: long against the cost of sending it, short enough that
        little is lost with one.
    row_timeout : float, default=120.0
        How long one row may take.
    rows : int, optional
        A fixed size for all chunks instead.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.size(n_left=100_000, n_slots=4)
    8
    >>> pace.hear(n_rows=8, seconds=0.4)
    >>> pace.size(n_left=100_000, n_slots=4)
    32
    >>> pace.limit(n_rows=1), round(pace.limit(n_rows=32))
    (120.0, 133)
    """

    seconds: float = 5.0
    row_timeout: float = 120.0
    rows: int | None = None
    per_row: float | None = None
    largest: int = 0

    def hear(self, n_rows: int, seconds: float) -> None:
        """Note what a chunk took."""
        own = max(seconds, 1e-6) / n_rows
        self.per_row = own if self.per_row is None else (1 - NEWS) * self.per_row + NEWS * own
        self.largest = max(self.largest, n_rows)

    def size(self, n_left: int, n_slots: int) -> int:
        """Return the rows of the next chunk; at the end all workers get some of the rest."""
        if self.rows is not None:
            return self.rows
        wanted: float = FEW
        if self.per_row is not None:
            wanted = min(self.seconds / self.per_row, GROWTH * self.largest, MOST)
        share = max(n_left / max(1, n_slots), wanted / PARTING)
        return max(1, int(min(wanted, share)))

    def limit(self, n_rows: int) -> float:
        """Return how many seconds a chunk may take; a single row has just its own."""
        if n_rows == 1:
            return self.row_timeout
        expected = self.row_timeout if self.per_row is None else PATIENCE * self.per_row * n_rows
        return self.row_timeout + expected
