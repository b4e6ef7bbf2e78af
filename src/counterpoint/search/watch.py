"""Watch: what a running search tells of itself, and how it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterpoint.search.archive import Archive


Heard = Callable[[int, int], None]
Seen = Callable[["Archive"], None]


class Watch:
    """Watches one or several searches, also from other threads.

    Parameters
    ----------
    heard : callable, optional
        Called after every generation with the number of rows the model was asked in it, and of
        explained rows whose search has ended.
    seen : callable, optional
        Called after every generation with the archive, to look at and not to keep.
    """

    def __init__(self, heard: Heard | None = None, seen: Seen | None = None) -> None:
        self._heard, self._seen, self._stopped = heard, seen, threading.Event()

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

    def hear(self, n_asked: int, n_ended: int, archive: Archive | None = None) -> None:
        """Note what happened in a generation."""
        if self._heard is not None:
            self._heard(n_asked, n_ended)
        if self._seen is not None and archive is not None:
            self._seen(archive)
