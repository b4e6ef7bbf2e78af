"""A small table and a model that can be told to fail, wait, hang or die on some rows.

What a row does to the model stands in its column `deed`, which is fixed, so that every candidate
of the row has it. Rows at the gate wait until the gate is open: while one does, the run is surely
not over. The model is a plain class of this module, which workers import.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import counterpoint as cp
from counterpoint.batch.rows import Order

CALM, RAISES, HANGS, KILLS, WAITS, LEAVES, HUNGRY = range(7)
PATIENCE = 120.0  # seconds: against a machine under load, never a measure


class Model:
    """A probability, but for rows that have other plans."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return a probability per row."""
        for deed in sorted(set(rows["deed"]) - {CALM}):
            DEEDS[int(deed)](Path(self.folder))
        total = rows["a"] / 10 - rows["b"] / 7 + (rows["c"] == "y")
        return 1.0 / (1.0 + np.exp(-(np.asarray(total, dtype=float))))


def fail(_: Path) -> None:
    raise ArithmeticError("no such row")


def hang(folder: Path) -> None:
    here(folder, "hangs")
    time.sleep(PATIENCE * 10)


def kill_yourself(_: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_at_gate(folder: Path) -> None:
    here(folder, "waits")
    until = time.monotonic() + PATIENCE
    while not (folder / "open").exists() and time.monotonic() < until:
        time.sleep(0.01)


def leave(_: Path) -> None:
    sys.exit(3)


def ask_for_too_much(_: Path) -> None:
    raise MemoryError


DEEDS: dict[int, Callable[[Path], None]] = {
    RAISES: fail,
    HANGS: hang,
    KILLS: kill_yourself,
    WAITS: wait_at_gate,
    LEAVES: leave,
    HUNGRY: ask_for_too_much,
}


def here(folder: Path, deed: str) -> None:
    """Leave a trace of this process."""
    (folder / f"{deed}-{os.getpid()}").touch()


def those_who(folder: Path, deed: str) -> list[int]:
    """Return the processes that have done something."""
    return sorted(int(file.name.split("-")[1]) for file in folder.glob(f"{deed}-*"))


def open_gate(folder: Path) -> None:
    """Let those who wait go on."""
    (folder / "open").touch()


def observed(n: int = 40) -> pd.DataFrame:
    """Return the data of the explainer."""
    i = np.arange(n)
    return pd.DataFrame(
        {"a": i % 11, "b": (i * 3 % 17) / 2, "c": np.where(i % 3 == 0, "y", "x"), "deed": CALM}
    )


def applicants(n: int, **deeds: int) -> pd.DataFrame:
    """Return rows to explain, with ids; ``r7=KILLS`` says what row 7 does."""
    rows = observed(n).assign(a=np.arange(n) % 4, b=3.0 + np.arange(n) % 5, c="x")
    for name, deed in deeds.items():
        rows.loc[int(name[1:]), "deed"] = deed
    rows.insert(0, "id", [f"app-{i:04d}" for i in range(n)])
    return rows


class Factory:
    """Makes the explainer, and leaves traces of who unpacks it and who builds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with (self.folder / "unpacked").open("a") as file:
            file.write(f"{os.getpid()}\n")

    def __call__(self) -> cp.Explainer:
        """Build it."""
        with (self.folder / "built").open("a") as file:
            file.write(f"{os.getpid()}\n")
        with warnings.catch_warnings():  # of the one deed that the data have
            warnings.simplefilter("ignore", cp.DataWarning)
            return cp.Explainer(Model(self.folder), observed())


ORDER = Order(
    target=(0.6, 1.0),
    search=cp.Search(evaluations=150),
    limits=cp.Limits(fixed=["deed"]),
    keep=3,
    id="id",
)


def wait_until(holds: Callable[[], Any], what: str) -> Any:
    """Return the first true answer."""
    until = time.monotonic() + PATIENCE
    while not (answer := holds()):
        assert time.monotonic() < until, f"waited in vain until {what}"
        time.sleep(0.02)
    return answer
