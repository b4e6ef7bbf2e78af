"""Plan: which rows are still to be done, and what is tried again, split and given up."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import pairwise

from counterpoint.scale.engine import Chunk

TRIES = 2  # of a chunk, before it is split; of a single row, before it is marked
PIECES = 8


class Plan:
    """Hands out rows in order, those that are tried again first.

    Parameters
    ----------
    gaps : iterator of Chunk
        Stretches of rows that are not done; none goes beyond a part.
    n_left : int
        How many rows they have together.

    Examples
    --------
    >>> plan = Plan(iter([Chunk(0, 5), Chunk(10, 12)]), n_left=7)
    >>> plan.next(3), plan.next(3), plan.next(3), plan.next(3)
    (Chunk(start=0, stop=3), Chunk(start=3, stop=5), Chunk(start=10, stop=12), None)
    >>> plan.fail(Chunk(0, 3)), plan.next(9)
    (None, Chunk(start=0, stop=3))
    >>> plan.fail(Chunk(0, 3)), plan.next(9)
    (None, Chunk(start=0, stop=1))
    >>> plan.fail(Chunk(0, 1)), plan.fail(Chunk(0, 1))
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
