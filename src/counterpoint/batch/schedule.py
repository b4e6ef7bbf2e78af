"""ChunkSchedule: which rows are still to be done, and what is tried again, split and given up.

ChunkSizes: how many rows a chunk has, and how long it may take, by what the last ones took.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from counterpoint.batch.engines.engine import Chunk

FEW = 8  # rows of the first chunks, of which nothing is known
MOST = 10_000  # rows of any chunk: they are in memory while it is worked on
GROWTH = 4  # a chunk has at most so many times the rows of the largest that was done
NEWS = 0.3  # how much a chunk's own sizes counts beside that of those before it
SLOTS = 40  # as many chunks in flight let each take a second longer: all pass through one process
LONGEST = 60.0  # seconds
PARTING = 8  # at the end chunks get smaller, so that no worker waits, but not smaller than this
PATIENCE = 8  # a chunk may take so many times what it should, and a single row's time besides


@dataclass
class ChunkSizes:
    """Sizes chunks by a running estimate of the time a row takes.

    Parameters
    ----------
    seconds : float, default=5.0
        How long a chunk should take: long against the cost of sending it, short enough that
        little is lost with one. With hundreds of workers it is longer, up to a minute.
    row_timeout : float, default=120.0
        How long one row may take.
    rows : int, optional
        A fixed size for all chunks instead.

    Examples
    --------
    >>> sizes = ChunkSizes()
    >>> sizes.size(n_left=100_000, n_slots=4)
    8
    >>> sizes.hear(n_rows=8, seconds=0.4)
    >>> sizes.size(n_left=100_000, n_slots=4)
    32
    >>> sizes.limit(n_rows=1), round(sizes.limit(n_rows=32))
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
            seconds = min(max(self.seconds, n_slots / SLOTS), LONGEST)
            wanted = min(seconds / self.per_row, GROWTH * self.largest, MOST)
        share = max(n_left / max(1, n_slots), wanted / PARTING)
        return max(1, int(min(wanted, share)))

    def limit(self, n_rows: int) -> float:
        """Return how many seconds a chunk may take; a single row has just its own."""
        if n_rows == 1:
            return self.row_timeout
        expected = self.row_timeout if self.per_row is None else PATIENCE * self.per_row * n_rows
        return self.row_timeout + expected


TRIES = 2  # of a chunk, before it is split; of a single row, before it is marked
PIECES = 8


class ChunkSchedule:
    """Hands out rows in order, those that are tried again first.

    Parameters
    ----------
    gaps : iterator of Chunk
        Stretches of rows that are not done; none goes beyond a part.
    n_left : int
        How many rows they have together.

    Examples
    --------
    >>> schedule = ChunkSchedule(iter([Chunk(0, 5), Chunk(10, 12)]), n_left=7)
    >>> schedule.next(3), schedule.next(3), schedule.next(3), schedule.next(3)
    (Chunk(start=0, stop=3), Chunk(start=3, stop=5), Chunk(start=10, stop=12), None)
    >>> schedule.fail(Chunk(0, 3)), schedule.next(9)
    (None, Chunk(start=0, stop=3))
    >>> schedule.fail(Chunk(0, 3)), schedule.next(9)
    (None, Chunk(start=0, stop=1))
    >>> schedule.fail(Chunk(0, 1)), schedule.fail(Chunk(0, 1))
    (None, Chunk(start=0, stop=1))
    """

    def __init__(self, gaps: Iterator[Chunk], n_left: int) -> None:
        self._gaps, self._gap = gaps, Chunk(0, 0)
        self._again: deque[Chunk] = deque()
        self._tries: Counter[Chunk] = Counter()
        self.n_left = n_left  # rows not handed out

    def next(self, size: int) -> Chunk | None:
        """Return the next rows to be done, at most so many; None if there are none."""
        if self._again:
            chunk = self._again.popleft()
        else:
            if self._gap.start == self._gap.stop:
                self._gap = next(self._gaps, self._gap)
            start, stop = self._gap
            if start == stop:
                return None
            chunk = Chunk(start, min(start + size, stop))
            self._gap = Chunk(chunk.stop, stop)
        self.n_left -= chunk.stop - chunk.start
        return chunk

    def fail(self, chunk: Chunk) -> Chunk | None:
        """Note that a chunk came to nothing; return it if it is a row that is given up."""
        self._tries[chunk] += 1
        if self._tries[chunk] < TRIES:
            self.put_back(chunk)
        elif chunk.stop - chunk.start == 1:
            return chunk
        else:
            del self._tries[chunk]
            for piece in reversed(split(chunk)):
                self.put_back(piece)
        return None

    def put_back(self, chunk: Chunk) -> None:
        """Have rows done again, before any others."""
        self._again.appendleft(chunk)
        self.n_left += chunk.stop - chunk.start


def split(chunk: Chunk) -> list[Chunk]:
    """Return a chunk in up to eight pieces, in order.

    Examples
    --------
    >>> split(Chunk(10, 13))
    [Chunk(start=10, stop=11), Chunk(start=11, stop=12), Chunk(start=12, stop=13)]
    """
    n = chunk.stop - chunk.start
    pieces = min(PIECES, n)
    ends = [chunk.start + n * i // pieces for i in range(pieces + 1)]
    return [Chunk(start, stop) for start, stop in pairwise(ends)]
