"""Long work: how far it is, and how it is asked to stop.

A `Watch` follows searches and ends them; `Progress` and `JobProgress` show a bar where somebody
sees it, and lines for jobs elsewhere. Ctrl-C and SIGTERM only ask work to stop, and a second Ctrl-C
stops it now: a signal that raised would come anywhere, between a file and its line in the journal
or in a model's own code, and work of many seconds that is about to end would be lost. A `Channel`
is how processes that share work talk to each other, and `Reports` what one tells of its searches.
"""

from __future__ import annotations

import logging
import pickle
import queue
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Protocol, Self

from counterpoint.errors import InvalidInput

DELAY = 1.0  # seconds of work before a bar appears: short work shows none
SECONDS_BETWEEN_LINES = 30.0  # where a job has no terminal
BETWEEN = 0.2  # seconds between two reports of progress from another process
HEADER = 8  # bytes that tell how long a message is
LAYOUT = "explaining {percentage:3.0f}% |{bar}| {desc} [{elapsed}<{remaining}]"


Heard = Callable[[int, int], None]
Seen = Callable[[Any], None]  # of an archive, which this layer knows nothing about
Signals = tuple[signal.Signals, ...]


class Watch:
    """Watches one or several searches, also from other threads.

    After every generation `heard` is called with the number of rows the model was asked in it, and
    of explained rows whose search has ended; `seen` with the archive, to look at and not to keep.
    """

    def __init__(self, heard: Heard | None = None, seen: Seen | None = None) -> None:
        self._heard, self._seen, self._stopped = heard, seen, threading.Event()

    def quietly(self) -> Watch:
        """Return a watch that is stopped with this one and tells nobody of what it hears."""
        quiet = Watch()
        quiet._stopped = self._stopped
        return quiet

    def stop(self) -> None:
        """Ask the searches to end after their generation, with the best so far."""
        self._stopped.set()

    def wait(self, seconds: float) -> bool:
        """Wait until the searches should end; return whether they should."""
        return self._stopped.wait(seconds)

    @property
    def is_stopped(self) -> bool:
        """Whether the searches should end."""
        return self._stopped.is_set()

    def hear(self, n_asked: int, n_ended: int, archive: object = None) -> None:
        """Note what happened in a generation."""
        if self._heard is not None:
            self._heard(n_asked, n_ended)
        if self._seen is not None and archive is not None:
            self._seen(archive)


def deadline_of(seconds: float | None) -> float:
    """Return when work that starts now must end, on the clock of `time.monotonic`; None is never.

    Examples
    --------
    >>> deadline_of(None)
    inf
    """
    return float("inf") if seconds is None else time.monotonic() + float(seconds)


class Stoppable(Protocol):
    """Long work that can be asked to stop, such as a `Watch` or the flag of a job."""

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to stop."""

    def stop(self) -> None:
        """Ask it to stop."""


class StopFlag:
    """Whether a batch job is asked to stop."""

    def __init__(self) -> None:
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether somebody asked."""
        return self._is_stopped

    def stop(self) -> None:
        """Ask the job to stop."""
        self._is_stopped = True


@contextmanager
def stopped_by_signals(work: Stoppable, signals: Signals = (signal.SIGINT,)) -> Iterator[None]:
    """Let signals stop some work, where Python's own handling of them is in force.

    Somebody else's handler is left alone, and so is every thread but the main one, which alone may
    set handlers. A second Ctrl-C raises KeyboardInterrupt as usual.
    """

    def handle(number: int, frame: Any) -> None:
        if work.is_stopped and number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        work.stop()

    defaults: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    is_main = threading.current_thread() is threading.main_thread()
    ours = [n for n in signals if is_main and signal.getsignal(n) is defaults[n]]
    for number in ours:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, defaults[number])


def tell_interrupted(n_done: int, n_rows: int) -> None:
    """Say how many rows were explained before the interrupt."""
    logging.getLogger("counterpoint").warning(
        "interrupted: the first %d of %d rows are explained, the last of them as far as the "
        "search had come.",
        n_done,
        n_rows,
    )


def is_watched() -> bool:
    """Whether somebody sees the bar: in a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def new_bar(shown: bool | None, total: int, words: str, **options: Any) -> Any:
    """Return a bar that counts to a total, or None; without a wish it is shown if it is seen.

    It says the words beside it from the start.
    """
    if shown is not None and not isinstance(shown, bool):
        raise InvalidInput(f"progress must be True, False or None, got {shown!r}.")
    if not (is_watched() if shown is None else shown):
        return None
    from tqdm.auto import tqdm  # only where a bar is shown

    bar = tqdm(total=total, bar_format=LAYOUT, **options)
    bar.set_description_str(words, refresh="delay" not in options)
    return bar


class Progress:
    """Shows rows done, evaluations per second and time left, from any thread.

    Each of the `n_rows` may take `budget` evaluations. `shown=None` shows a bar in a terminal or a
    notebook only.

    Examples
    --------
    >>> with Progress(n_rows=2, budget=100, shown=False) as progress:
    ...     progress.hear(n_asked=150, n_ended=1)
    >>> progress.n_asked, progress.n_ended
    (150, 1)
    """

    def __init__(self, n_rows: int, budget: int, shown: bool | None = None) -> None:
        self.n_rows, self.budget = n_rows, budget
        self.n_asked = self.n_ended = 0
        self._lock, self._start = threading.Lock(), time.monotonic()
        # The bar counts evaluations; rows that end early count in full.
        self._bar = new_bar(shown, n_rows * budget, self._words(), delay=DELAY)

    def hear(self, n_asked: int, n_ended: int) -> None:
        """Note evaluations made and rows ended; fits `Watch`."""
        with self._lock:
            self.n_asked += n_asked
            self.n_ended += n_ended
            if self._bar is not None:
                self._bar.set_description_str(self._words(), refresh=False)
                self._bar.update(max(self.n_asked, self.n_ended * self.budget) - self._bar.n)

    def _words(self) -> str:
        """Return rows and rate, for example "37/1000 rows, 1.3M evaluations/s"."""
        rate = self.n_asked / max(time.monotonic() - self._start, 1e-9)
        return f"{self.n_ended}/{self.n_rows} rows, {in_short(rate)} evaluations/s"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def in_short(number: float) -> str:
    """Return a number in three digits or so.

    Examples
    --------
    >>> in_short(12.3), in_short(4_560.0), in_short(1_300_000.0)
    ('12', '4.6k', '1.3M')
    """
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


class JobProgress:
    """Shows rows done, how fast, how long it will take, and how many failed.

    `n_done` rows were done before. `shown=None` shows a bar in a terminal or a notebook, and
    elsewhere lines, `every` so many seconds; False shows nothing.
    """

    def __init__(
        self,
        n_rows: int,
        n_done: int,
        shown: bool | None = None,
        every: float = SECONDS_BETWEEN_LINES,
    ) -> None:
        self.n_rows, self.n_done, self.n_before, self.n_failed = n_rows, n_done, n_done, 0
        self._start = self._last = time.monotonic()
        self._every, self._has_lines = every, shown is None and not is_watched()
        self._bar = new_bar(shown, n_rows, self._words(), initial=n_done, leave=False)

    def say(self, text: str) -> None:
        """Say something above the bar, or on a line of its own."""
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        elif self._has_lines:
            sys.stderr.write(f"counterpoint: {text}\n")

    def tell(self, n_rows: int, n_failed: int) -> None:
        """Note rows that were done, and how many of them failed."""
        self.n_done += n_rows
        self.n_failed += n_failed
        if self._bar is not None:
            self._bar.set_description_str(self._words(), refresh=False)
            self._bar.update(n_rows)
        elif self._has_lines and time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            self.say(f"{self._words()}{self._left()}")

    def _rate(self) -> float:
        """Return rows per second of this run."""
        return (self.n_done - self.n_before) / max(time.monotonic() - self._start, 1e-9)

    def _words(self) -> str:
        """Return for example "1,200/5,000 rows, 31.5 rows/s, 2 failed"."""
        failed = f", {self.n_failed:,} failed" if self.n_failed else ""
        return f"{self.n_done:,}/{self.n_rows:,} rows, {self._rate():.1f} rows/s{failed}"

    def _left(self) -> str:
        """Return the time that is left, as far as one can say."""
        if not self._rate():
            return ""
        seconds = (self.n_rows - self.n_done) / self._rate()
        return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


class Channel:
    """One end of a connection: pickles through a socket, sent by any thread and read by one.

    The system puts a long message together, which `multiprocessing.connection` reads in pieces:
    before each of them a reader waits for Python's lock, which a thread that searches holds.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end, self._lock = end, threading.Lock()
        end.settimeout(None)  # whatever the caller's default is

    @classmethod
    def pair(cls) -> tuple[Self, Self]:
        """Return both ends of a new connection."""
        one, other = socket.socketpair()
        return cls(one), cls(other)

    @classmethod
    def of(cls, number: int) -> Self:
        """Return the end that another process has handed over by its number."""
        return cls(socket.socket(fileno=number))

    @property
    def number(self) -> int:
        """What the system calls this end."""
        return self._end.fileno()

    def send(self, message: Any) -> None:
        """Send a message."""
        self.send_packed(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def send_packed(self, packed: bytes) -> None:
        """Send a message that is pickled already."""
        with self._lock:
            self._end.sendall(len(packed).to_bytes(HEADER, "little"))
            self._end.sendall(packed)

    def receive(self) -> Any:
        """Wait for a message; EOFError if the other end is closed."""
        return pickle.loads(self.receive_packed())  # noqa: S301 - of a process of ours

    def receive_packed(self) -> bytearray:
        """Wait for a message, and leave it pickled."""
        return self._read(int.from_bytes(self._read(HEADER), "little"))

    def has_message(self, seconds: float) -> bool:
        """Wait at most so long for a message, or for the end; return whether there is one."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._end, selectors.EVENT_READ)
            return bool(selector.select(seconds))

    def end(self) -> None:
        """Send nothing more; whoever waits for a message at this end learns that none will come."""
        with suppress(OSError):  # the other end may be closed already
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close this end, of which nobody reads any more."""
        self._end.close()

    def _read(self, n: int) -> bytearray:
        """Return the next n bytes."""
        content, n_read = bytearray(n), 0
        while n_read < n:  # nearly always once; a signal or a very long message may end it sooner
            got = self._end.recv_into(memoryview(content)[n_read:], 0, socket.MSG_WAITALL)
            if not got:
                raise EOFError
            n_read += got
        return content


class Outbox:
    """Sends messages through a channel in their order, while who sends them goes on.

    A long message is gone only when it was read, by a process that may be busy.
    """

    def __init__(self, channel: Channel) -> None:
        self._waiting = queue.SimpleQueue[bytes]()
        threading.Thread(target=self._send_all, args=(channel,), daemon=True).start()

    def send(self, message: Any) -> None:
        """Send a message after those before it."""
        self._waiting.put(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def _send_all(self, channel: Channel) -> None:
        """Send what waits until nobody reads it any more."""
        with suppress(OSError):
            while True:
                channel.send_packed(self._waiting.get())


class Reports:
    """What a process that helps tells of its searches, a few times a second."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox, self._last = outbox, 0.0
        self._asked = self._ended = 0

    def hear(self, n_asked: int, n_ended: int) -> None:
        """Note what happened in a generation."""
        self._asked += n_asked
        self._ended += n_ended
        if time.monotonic() - self._last > BETWEEN:
            self.tell()

    def tell(self) -> None:
        """Tell what was heard."""
        if self._asked or self._ended:
            self._outbox.send(("heard", (self._asked, self._ended)))
        self._asked = self._ended = 0
        self._last = time.monotonic()
