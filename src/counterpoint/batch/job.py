"""The job: rows go out to an engine in chunks and come back, until all are on the disk.

This is the loop. What may go wrong with a chunk is one of three things: its worker is lost, it
takes too long, or its answer is damaged. Each time it is tried once more, then split, down to the
single row that is to blame, which is marked as failed. Whatever else goes wrong ends the job,
which can be taken up again: see `ledger`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from counterpoint.batch.engines.engine import Chunk, Done, Engine
from counterpoint.batch.inputs import Inputs
from counterpoint.batch.ledger import Damaged, Ledger
from counterpoint.batch.schedule import ChunkSchedule, ChunkSizes

WAIT = 0.5  # seconds between two looks at the clock
ENDING = 5.0  # seconds that chunks begun have to be finished when the job is to stop
DIED = "its worker died while it was explained"

Mark = Callable[[Chunk, str], bytes]  # rows, and why they failed -> what to write for them
Tell = Callable[[int, int], None]  # rows done since the last time, and how many of them failed


def no_answer(seconds: float) -> str:
    """Return what is said of a row that took too long.

    Examples
    --------
    >>> no_answer(120.0)
    'no answer within 120 s'
    """
    return f"no answer within {seconds:g} s"


@dataclass
class Job:
    """A job that is set up: `run` does what is left of it.

    Parameters
    ----------
    inputs : Inputs
        The rows.
    ledger : Ledger
        What is done.
    engine : Engine
        Who does it.
    sizes : ChunkSizes
        How many rows go into a chunk, and how long it may take.
    mark : callable
        Makes the answer for a row that failed.
    tell : callable
        Hears what was done.
    must_stop : callable
        Says whether somebody wants it to stop.
    say : callable
        Says something to people.
    """

    inputs: Inputs
    ledger: Ledger
    engine: Engine
    sizes: ChunkSizes
    mark: Mark
    tell: Tell
    must_stop: Callable[[], bool]
    say: Callable[[str], None]
    in_flight: set[Chunk] = field(default_factory=set)

    def run(self) -> None:
        """Do the rows that are not done, until all are or it must stop."""
        self._finish_parts()
        gaps = (gap for part in range(self.ledger.n_parts) for gap in self.ledger.missing(part))
        self.schedule = ChunkSchedule(gaps, self.ledger.n_rows - self.ledger.counts().rows)
        while not self.must_stop():
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
            elif not self.must_stop():  # who ends a service ends its workers, too: nobody's fault
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
        self.tell(n_rows, counts.failed)
        self._finish(done.chunk.start // self.ledger.part_rows)

    def _give_up_late_ones(self) -> None:
        """Stop chunks that take longer than they may."""
        for chunk, seconds in self.engine.running().items():
            limit = self.sizes.limit(chunk.stop - chunk.start)
            if chunk in self.in_flight and seconds > limit:
                self.engine.give_up(chunk)
                self.in_flight.remove(chunk)
                self._fail(chunk, no_answer(self.sizes.row_timeout), f"no answer in {limit:.0f} s")

    def _fail(self, chunk: Chunk, message: str, reason: str) -> None:
        """Try a chunk again, whole or in pieces; mark a row that is to blame."""
        self.ledger.folder.log("lost", rows=list(chunk), reason=reason)
        if (row := self.schedule.fail(chunk)) is None:
            return
        payload = self.mark(row, message)
        counts = self.ledger.check(row, payload)
        assert counts is not None, "a row that is marked has the columns of all"
        self.ledger.keep(row, payload, counts)
        self.tell(1, 1)
        self._finish(row.start // self.ledger.part_rows)

    def _finish_parts(self) -> None:
        """Write parts whose rows were done by a run that ended before it came to that."""
        for part in sorted(self.ledger.chunks):
            if not self.ledger.missing(part):
                try:
                    self.ledger.finish(part)
                except Damaged as error:
                    self.ledger.folder.log("damaged", file=str(error))

    def _finish(self, part: int) -> None:
        """Write a part if all its rows are done."""
        if self.ledger.missing(part):
            return
        try:
            self.ledger.finish(part)
        except Damaged as error:
            self.ledger.folder.log("damaged", file=str(error))
            for gap in self.ledger.missing(part):
                self.tell(gap.start - gap.stop, 0)
                self.schedule.put_back(gap)

    def _end(self) -> None:
        """Let the chunks that are worked on be finished, for a while."""
        self.say("stopping when the rows begun are done, in some seconds; Ctrl-C stops it now")
        begun, until = set(self.engine.running()), time.monotonic() + ENDING
        while begun & self.in_flight and time.monotonic() < until:
            self._hear(0.1)
