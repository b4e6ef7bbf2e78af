"""The store: one file per finished cell, written whole or not at all, under one set of settings."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = (
    *("numpy", "pandas", "scikit-learn", "xgboost", "xgboost-cpu", "scipy", "numba", "moocore"),
    *("dice-ml", "NICEx"),
)


class Cell(NamedTuple):
    """One place of the grid."""

    dataset: str
    model: str
    row: int
    method: str


@dataclass(frozen=True)
class Outcome:
    """What a method did in one cell.

    Attributes
    ----------
    status : {"found", "nothing", "not applicable", "failed"}
        What happened; "found" also if no row reaches the target.
    message : str
        Why not, if so.
    seconds : float
        Time of the method alone.
    reference : list of float
        The reference point of hypervolume.
    objectives : list of list
        The four objectives of each distinct row.
    chosen : list of int
        The positions of the ten the paper would report.
    rows : list of list
        The rows of the chosen, in the order of `columns`.
    columns : list of str
        The features.
    history : list of float
        Hypervolume of all candidates over generations of 20, of searches that have it.
    """

    status: str
    message: str = ""
    seconds: float = 0.0
    reference: list[float] = field(default_factory=list)
    objectives: list[list[float]] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    history: list[float] = field(default_factory=list)


class Store:
    """A folder of outcomes; all were made with the settings in its `settings.json`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, settings: dict[str, Any]) -> None:
        """Start a store with settings, or go on with one that was started with the same.

        Raises
        ------
        ValueError
            If what is stored was made with other settings.
        """
        file = self.folder / "settings.json"
        if not file.exists():
            write_whole(file, json.dumps(settings, indent=1, sort_keys=True))
            return
        stored = json.loads(file.read_text())
        for name in sorted(stored.keys() | settings.keys()):
            if stored.get(name) != settings.get(name):
                raise ValueError(
                    f"the results in {str(self.folder)!r} were made with {name} = "
                    f"{stored.get(name)!r}, not {settings.get(name)!r}; pass another --store, or "
                    "the settings they were made with."
                )

    def note_machine(self) -> None:
        """Keep what the latest run was made with, for the report."""
        write_whole(self.folder / "machine.txt", machine())

    def machine(self) -> str:
        """Return what the latest run was made with."""
        return (self.folder / "machine.txt").read_text()

    def settings(self) -> dict[str, Any]:
        """Return the settings all cells were made with."""
        stored: dict[str, Any] = json.loads((self.folder / "settings.json").read_text())
        return stored

    def file_of(self, cell: Cell) -> Path:
        """Return where a cell is kept."""
        name = f"{cell.row}-{cell.method.replace(' ', '_')}.json"
        return self.folder / "cells" / cell.dataset / cell.model / name

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return the cells that are not finished."""
        return [cell for cell in cells if not self.file_of(cell).exists()]

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Keep the outcome of a cell."""
        text = json.dumps({"cell": cell._asdict(), "outcome": asdict(outcome)})
        write_whole(self.file_of(cell), text)

    def get(self, cell: Cell) -> Outcome:
        """Return the outcome of a cell."""
        return Outcome(**json.loads(self.file_of(cell).read_text())["outcome"])

    def __iter__(self) -> Iterator[tuple[Cell, Outcome]]:
        """Yield every finished cell, in the order of names."""
        for file in sorted(self.folder.glob("cells/*/*/*.json")):
            stored = json.loads(file.read_text())
            yield Cell(**stored["cell"]), Outcome(**stored["outcome"])


def machine() -> str:
    """Return machine and versions of the packages that matter and are installed."""
    said = [f"{platform.machine()} with {os.cpu_count()} cores, {platform.system()}"]
    said.append(f"Python {platform.python_version()}")
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            said.append(f"{name} {version(name)}")
    return ", ".join(said)


def write_whole(file: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_text(text)
    part.replace(file)
