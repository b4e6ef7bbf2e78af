"""Progress of long work: a bar where somebody sees it, and lines for jobs elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

DELAY = 1.0  # seconds of work before a bar appears: short work shows none
SECONDS_BETWEEN_LINES = 30.0  # where a job has no terminal
LAYOUT = "explaining {percentage:3.0f}% |{bar}| {desc} [{elapsed}<{remaining}]"


def is_watched() -> bool:
    """Whether somebody sees the bar: in a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def new_bar(shown: bool | None, total: int, **options: Any) -> Any:
    """Return a bar that counts to a total, or None; without a wish it is shown if it is seen."""
    if not (is_watched() if shown is None else shown):
        return None
    from tqdm.auto import tqdm  # only where a bar is shown

    return tqdm(total=total, bar_format=LAYOUT, **options)


class Progress:
    """Shows rows done, evaluations per second and time left, from any thread.

    Parameters
    ----------
    n_rows : int
        Rows to explain.
    budget : int
        Evaluations each of them may take.
    shown : bool, optional
        None shows a bar in a terminal or a notebook only.

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
        self._bar = new_bar(shown, n_rows * budget, delay=DELAY)

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

    Parameters
    ----------
    n_rows : int
        Rows of the input.
    n_done : int
        Rows that were done before.
    shown : bool, optional
        None shows a bar in a terminal or a notebook, and lines elsewhere; False shows nothing.
    every : float, default=30.0
        Seconds between two lines.
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
        self._bar = new_bar(shown, n_rows, initial=n_done, desc=self._words(), leave=False)

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
