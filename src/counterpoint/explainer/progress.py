"""Progress: a bar for long work, where somebody can see it."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

DELAY = 1.0  # seconds of work before a bar appears: short work shows none
LAYOUT = "{desc} {percentage:3.0f}% |{bar}| {postfix} [{elapsed}<{remaining}]"


def is_watched() -> bool:
    """Whether somebody sees the bar: in a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


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
        self._bar = self._new_bar() if (is_watched() if shown is None else shown) else None

    def _new_bar(self) -> Any:
        """Return a bar that counts evaluations; rows that end early count in full."""
        from tqdm.auto import tqdm  # only where a bar is shown

        return tqdm(
            desc="explaining", total=self.n_rows * self.budget, bar_format=LAYOUT, delay=DELAY
        )

    def hear(self, n_asked: int, n_ended: int) -> None:
        """Note evaluations made and rows ended; fits `Watch`."""
        with self._lock:
            self.n_asked += n_asked
            self.n_ended += n_ended
            if self._bar is not None:
                self._bar.set_postfix_str(self._words(), refresh=False)
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
