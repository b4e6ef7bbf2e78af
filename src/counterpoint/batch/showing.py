"""Showing a job: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from counterpoint.explainer.progress import is_watched

LAYOUT = "explaining {percentage:3.0f}% |{bar}| {desc} [{elapsed}<{remaining}]"
EVERY = 30.0  # seconds between two lines where there is no terminal


class Display:
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
        self, n_rows: int, n_done: int, shown: bool | None = None, every: float = EVERY
    ) -> None:
        self.n_rows, self.n_done, self.n_before, self.n_failed = n_rows, n_done, n_done, 0
        self._start = self._last = time.monotonic()
        self._every, self._bar = every, None
        self._has_lines = shown is None and not is_watched()
        if shown or (shown is None and is_watched()):
            self._bar = self._new_bar()

    def _new_bar(self) -> Any:
        """Return a bar over all rows that knows what was done before."""
        from tqdm.auto import tqdm  # only where a bar is shown

        return tqdm(
            desc=self._words(),
            total=self.n_rows,
            initial=self.n_done,
            bar_format=LAYOUT,
            leave=False,
        )

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
