"""The job: rows go out to an engine in chunks and come back, until all are on the disk.

`Job` is the loop, `ChunkSchedule` knows which rows are still to be done, and `ChunkSizes` says
how many rows a chunk has and how long it may take. Three things can go wrong with a chunk: its
worker is lost, it takes too long, or its answer is damaged. Each time it is tried once more, then
split, down to the single row that is to blame, which is marked as failed. Whatever else goes wrong
ends the job, which can be continued later: see `ledger`. `Summary` tells what became of the rows.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from counterpoint.batch.engines.engine import Chunk, Done, Engine, packed
from counterpoint.batch.inputs import Inputs
from counterpoint.batch.ledger import Damaged, Ledger
from counterpoint.batch.rows import TOLD_OF, RowCounts, failed_rows
from counterpoint.progress import JobProgress, StopFlag
from counterpoint.result.long_table import OutputSchema

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

    # How long a chunk should take: long against the cost of sending it, short enough that little is
    # lost with one. With hundreds of workers it is longer, up to a minute.
    seconds: float = 5.0
    row_timeout: float = 120.0  # how long one row may take
    rows: int | None = None  # a fixed size for all chunks instead
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

    `gaps` are stretches of rows that are not done, `n_left` rows together; none goes beyond a part.

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


WAIT = 0.5  # seconds between two looks at the clock
ENDING = 5.0  # seconds that chunks begun have to be finished when the job is to stop
DIED = "its worker died while it was explained"


@dataclass
class Job:
    """A job that is set up: `run` does what is left of it."""

    inputs: Inputs  # the rows
    ledger: Ledger  # what is done
    engine: Engine  # who does it
    sizes: ChunkSizes  # how many rows go into a chunk, and how long it may take
    schema: OutputSchema  # the columns of what is written
    display: JobProgress  # shows people how far it is
    stop: StopFlag  # says whether somebody wants it to stop
    in_flight: set[Chunk] = field(default_factory=set)

    def run(self) -> None:
        """Do the rows that are not done, until all are or it must stop."""
        for part in sorted(self.ledger.chunks):  # a run may have ended before it came to that
            self._finish(part)
        gaps = (gap for part in range(self.ledger.n_parts) for gap in self.ledger.missing(part))
        self.schedule = ChunkSchedule(gaps, self.ledger.n_rows - self.ledger.counts().rows)
        while not self.stop.is_stopped:
            self._submit()
            if not self.in_flight:
                return
            self._hear(WAIT)
            self._give_up_late_ones()
        self._end()

    def _submit(self) -> None:
        """Keep as many chunks in flight as the engine has room for, and no more in memory."""
        n_slots = self.engine.slots()
        while len(self.in_flight) < n_slots:
            chunk = self.schedule.next(self.sizes.size(self.schedule.n_left, n_slots))
            if chunk is None:
                return
            self.engine.submit(chunk, self.inputs.read(*chunk))
            self.in_flight.add(chunk)

    def _hear(self, seconds: float) -> None:
        """Take up what the engine reports."""
        for event in self.engine.wait(seconds):
            if event.chunk not in self.in_flight:
                continue  # given up before
            self.in_flight.remove(event.chunk)
            if isinstance(event, Done):
                self._keep(event)
            elif (
                not self.stop.is_stopped
            ):  # who ends a service ends its workers, too: nobody's fault
                self._fail(event.chunk, DIED, event.reason)

    def _keep(self, done: Done) -> None:
        """Write what came back."""
        n_rows = done.chunk.stop - done.chunk.start
        counts = self.ledger.check(done.chunk, done.payload)
        if counts is None:
            self._fail(done.chunk, DIED, "its answer was damaged")
            return
        self.sizes.hear(n_rows, done.seconds)
        self.ledger.keep(done.chunk, done.payload, counts)
        self.ledger.folder.log("done", rows=list(done.chunk), seconds=round(done.seconds, 4))
        self.display.tell(n_rows, counts.failed)
        self._finish_or_redo(done.chunk.start // self.ledger.part_rows)

    def _give_up_late_ones(self) -> None:
        """Stop chunks that take longer than they may."""
        for chunk, seconds in self.engine.running().items():
            limit = self.sizes.limit(chunk.stop - chunk.start)
            if chunk in self.in_flight and seconds > limit:
                self.engine.give_up(chunk)
                self.in_flight.remove(chunk)
                message = f"no answer within {self.sizes.row_timeout:g} s"
                self._fail(chunk, message, f"no answer in {limit:.0f} s")

    def _fail(self, chunk: Chunk, message: str, reason: str) -> None:
        """Try a chunk again, whole or in pieces; mark a row that is to blame."""
        self.ledger.folder.log("lost", rows=list(chunk), reason=reason)
        if (row := self.schedule.fail(chunk)) is None:
            return
        failed = failed_rows(self.schema, self.inputs.read(*row), message)
        payload = packed(failed, self.schema)
        counts = self.ledger.check(row, payload)
        assert counts is not None, "a row that is marked has the columns of all"
        self.ledger.keep(row, payload, counts)
        self.display.tell(1, 1)
        self._finish_or_redo(row.start // self.ledger.part_rows)

    def _finish(self, part: int) -> list[Chunk]:
        """Write a part if all its rows are done; return those that are lost, if it is damaged."""
        if self.ledger.missing(part):
            return []
        try:
            self.ledger.finish(part)
        except Damaged as error:
            self.ledger.folder.log("damaged", file=str(error))
        return self.ledger.missing(part)

    def _finish_or_redo(self, part: int) -> None:
        for gap in self._finish(part):
            self.display.tell(gap.start - gap.stop, 0)
            self.schedule.put_back(gap)

    def _end(self) -> None:
        """Let the chunks that are worked on be finished, for a while."""
        self.display.say(
            "stopping when the rows begun are done, in some seconds; Ctrl-C stops it now"
        )
        begun, until = set(self.engine.running()), time.monotonic() + ENDING
        while begun & self.in_flight and time.monotonic() < until:
            self._hear(0.1)


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
        counts, new = self.counts.statuses, self.counts.rows - self.n_before
        first = f"{new:,} rows explained in {_duration(self.seconds)} ({self.rate:,.1f} rows/s"
        if new == 0 and self.n_before:
            first = f"All {self.n_rows:,} rows were done before; nothing was left to do"
        elif self.n_before:
            first += f"); {self.n_before:,} were done before"
        else:
            first += f", {self.evaluations:,} evaluations)"
        became = [f"{counts[key]:>8,}  {told}" for key, told in TOLD_OF.items() if counts[key]]
        why = [f"{n:>14,} x {_cut(text)}" for text, n in self.messages]
        files = "1 file" if self.n_parts == 1 else f"{self.n_parts:,} files"
        last = f"{self.counts.lines:,} lines in {files}: {self.out / 'part-*.parquet'}"
        if self.counts.rows < self.n_rows:
            last = (
                f"Interrupted: {self.counts.rows:,} of {self.n_rows:,} rows are done. The same "
                "command goes on from here."
            )
        return "\n".join([first, *became, *why, last])


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
