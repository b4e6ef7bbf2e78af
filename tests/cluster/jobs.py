"""Batch jobs as a user runs them, by the command, and what they leave behind."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tests.cluster import world

import counterpoint
from counterpoint.batch.engines.engine import Engine, Recipe, Threads
from counterpoint.batch.files import Batch
from counterpoint.batch.job import ChunkSizes
from counterpoint.batch.rows import Order

ROOT = Path(__file__).parents[2]
PART_ROWS = 16
STARTED: list[subprocess.Popen[str]] = []  # what a test that failed may have left behind
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(Path(counterpoint.__file__).parents[1]), str(ROOT)]),
}


@dataclass
class Job:
    """Rows in two files, a model, and a folder for the output.

    Parameters
    ----------
    folder : Path
        Where all of it is.
    rows : DataFrame
        The rows to explain.
    """

    folder: Path
    rows: pd.DataFrame

    def __post_init__(self) -> None:
        (self.folder / "rows").mkdir(parents=True)
        world.observed().to_csv(self.folder / "data.csv", index=False)
        (self.folder / "model.pkl").write_bytes(pickle.dumps(world.Model(self.folder)))
        half = len(self.rows) // 2
        self.rows.iloc[:half].to_parquet(self.folder / "rows" / "0.parquet", index=False)
        self.rows.iloc[half:].to_parquet(self.folder / "rows" / "1.parquet", index=False)
        self.out = self.folder / "out"

    def command(self, *options: str) -> list[str]:
        """Return the command of the job."""
        named: Mapping[str, Any] = {
            "model": self.folder / "model.pkl",
            "data": self.folder / "data.csv",
            "rows": self.folder / "rows",
            "target": "0.6..1",
            "fixed": "deed",
            "evaluations": 150,
            "keep": 3,
            "id": "id",
            "part-rows": PART_ROWS,
            "out": self.out,
        }
        words = [word for name, value in named.items() for word in (f"--{name}", str(value))]
        return [sys.executable, "-m", "counterpoint", "batch", *words, "--allow-pickle", *options]

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start the command in a session of its own."""
        process = subprocess.Popen(  # noqa: S603 - our own command
            self.command(*options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            start_new_session=True,
        )
        STARTED.append(process)
        return process

    def run(self, *options: str) -> tuple[int, str]:
        """Run the command to its end; return its status and what it said."""
        return ended(self.start(*options))

    def journal(self) -> list[dict[str, Any]]:
        """Return the whole lines of the journal."""
        with suppress(FileNotFoundError):
            text = (self.out / "work" / "journal.jsonl").read_text()
            return [json.loads(line) for line in text.splitlines(keepends=True) if line[-1] == "\n"]
        return []

    def log(self, event: str) -> list[dict[str, Any]]:
        """Return what the log says of one kind of event."""
        lines = map(json.loads, (self.out / "log.jsonl").read_text().splitlines())
        return [line for line in lines if line["event"] == event]

    def written(self) -> pd.DataFrame:
        """Return all lines of the output."""
        return pd.concat(map(pd.read_parquet, parts(self.out)), ignore_index=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the status and the words of a command that comes to its end."""
    out, err = process.communicate(timeout=2 * world.PATIENCE)
    return process.returncode, out + err


def end_all() -> None:
    """Kill what is still running of what was started, and its workers."""
    for process in STARTED:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    STARTED.clear()


def killed(process: subprocess.Popen[str]) -> None:
    """Kill a command, and it alone, at once."""
    process.kill()
    process.communicate()


def parts(folder: Path) -> list[Path]:
    """Return the files of the output."""
    return sorted(folder.glob("part-*.parquet"))


def bytes_of_parts(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each part."""
    return {part.name: part.read_bytes() for part in parts(folder)}


def explained(
    rows: Path,
    out: Path,
    engine: Any = None,
    *,
    chunk: int | None = None,
) -> dict[str, bytes]:
    """Explain the rows of files in this process; return the bytes of each part."""

    def new_engine(recipe: Recipe, order: Order) -> Engine:
        made: Engine = Threads(recipe, order, 1) if engine is None else engine(recipe, order)
        return made

    recipe = Recipe.of(world.Factory(out.parent))
    batch = Batch(recipe, world.ORDER, out, new_engine, PART_ROWS, progress=False)
    batch.sizes = ChunkSizes(rows=chunk)
    batch.run(rows)
    return bytes_of_parts(out)
