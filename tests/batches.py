"""Small batch jobs: a model that answers at once, files of rows, and what a folder ends with."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.logistic import Logistic, square

import counterpoint as cp
from counterpoint.batch.engines.engine import Recipe
from counterpoint.batch.files import Batch, engine_named
from counterpoint.batch.job import ChunkSizes, Summary
from counterpoint.batch.rows import Order
from counterpoint.progress import StopFlag

N_ROWS, PART_ROWS = 40, 16
SEARCH = cp.Search(evaluations=60, population=12)
POISON = 7.0  # a value of x that no other row's candidates have


class Poisonous(Logistic):
    """Answers as its like, but does something else when it is asked about the poison."""

    def __init__(self, harm: Callable[[], None]) -> None:
        super().__init__(-0.9, x=1.0, y=1.0)
        self.harm = harm

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return a probability per row, if it comes to that."""
        if (rows["x"] == POISON).any():
            self.harm()
        return super().__call__(rows)


class StopAfter(StopFlag):
    """Asks a job to stop when it has looked some times."""

    def __init__(self, n_looks: int) -> None:
        super().__init__()
        self.n_looks = n_looks

    @property
    def is_stopped(self) -> bool:
        """Whether that is now."""
        self.n_looks -= 1
        return super().is_stopped or self.n_looks < 0


class Meanwhile(StopFlag):
    """Never asks a job to stop, but does something when it has looked some times."""

    def __init__(self, n_looks: int, deed: Callable[[], object]) -> None:
        super().__init__()
        self.n_looks, self.deed = n_looks, deed

    @property
    def is_stopped(self) -> bool:
        """Whether somebody asked."""
        self.n_looks -= 1
        if self.n_looks == 0:
            self.deed()
        return super().is_stopped


@lru_cache(maxsize=1)
def explainer() -> cp.Explainer:
    """Return an explainer of the unit square, whose model says yes above the diagonal."""
    return cp.Explainer(Logistic(-0.9, x=1.0, y=1.0), square())


def hanging(release: threading.Event) -> cp.Explainer:
    """Return the same with a model that hangs on the poison until it is released."""

    def hang() -> None:
        release.wait(300.0)

    return cp.Explainer(Poisonous(hang), square())


def raising() -> cp.Explainer:
    """Return the same with a model that fails on the poison."""

    def fail() -> None:
        raise ValueError("the model does not like this")

    return cp.Explainer(Poisonous(fail), square())


def rows_of_square(n: int = N_ROWS) -> pd.DataFrame:
    """Return rows with an id, most of them below the diagonal."""
    rng = np.random.default_rng(5)  # noqa: TID251 - made-up data, not a search
    values = rng.uniform(0.0, 0.6, (n, 2)).round(2)
    return pd.DataFrame(values, columns=["x", "y"]).assign(loan=[f"L{i:04d}" for i in range(n)])


def write_rows(folder: Path, rows: pd.DataFrame | None = None, ending: str = "parquet") -> Path:
    """Write rows as two files, those of Parquet with several row groups; return their folder."""
    place = folder / "in"
    place.mkdir(exist_ok=True)
    table = rows_of_square() if rows is None else rows
    write_table(table.iloc[:23], place / f"a.{ending}")
    write_table(table.iloc[23:], place / f"b.{ending}")
    return place


def write_table(table: pd.DataFrame, file: Path) -> None:
    """Write a table by the ending of its file."""
    if file.suffix == ".parquet":
        table.to_parquet(file, row_group_size=9)
    elif file.suffix == ".csv":
        table.to_csv(file, index=False)
    else:
        table.reset_index(drop=True).to_feather(file)


def run_batch(rows: Any, out: Path, **changes: Any) -> Summary:
    """Run a small job, with some settings changed."""
    settings: dict[str, Any] = {
        "whom": explainer(),
        "order": {},
        "workers": 1,
        "chunk": 7,
        "part_rows": PART_ROWS,
        "row_timeout": 120.0,
        "stop": StopFlag(),
    } | changes
    order = Order(**({"target": (0.5, 1.0), "search": SEARCH, "id": "loan"} | settings["order"]))
    batch = Batch(
        Recipe.of(settings["whom"]),
        order,
        out,
        engine_named("threads", None, settings["workers"]),
        settings["part_rows"],
        settings["row_timeout"],
        progress=False,
        sizes=ChunkSizes(rows=settings["chunk"]),
        stop=settings["stop"],
    )
    return batch.run(rows)


def contents(out: Path) -> dict[str, bytes]:
    """Return what a job ends with: the bytes of all files but the log."""
    files = (path for path in out.rglob("*") if path.is_file() and path.name != "log.jsonl")
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def lines_of(out: Path) -> pd.DataFrame:
    """Return all parts as one table."""
    return pd.concat(map(pd.read_parquet, sorted(out.glob("part-*.parquet"))), ignore_index=True)


def mount(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Mount something."""
    command = shutil.which("mount")
    if command is None or os.name != "posix":
        pytest.skip("there is no mount command here")
    return subprocess.run(  # noqa: S603
        [command, *arguments], capture_output=True, text=True, check=False
    )
