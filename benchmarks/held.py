"""How much memory a process holds; of any checkout, so nothing of the package is imported here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Memory:
    """The memory of this process in MiB: before a block, and the most while it runs."""

    def __init__(self) -> None:
        self.before = self.most = held_mib()


def held_mib() -> float:
    """Return the memory this process holds now, as Linux tells it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


@contextmanager
def memory() -> Iterator[Memory]:
    """Watch the memory of this process while the block runs; a look every few milliseconds."""
    taken, is_done = Memory(), threading.Event()

    def look() -> None:
        while not is_done.wait(0.005):
            taken.most = max(taken.most, held_mib())

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield taken
    finally:
        is_done.set()
        watcher.join()
