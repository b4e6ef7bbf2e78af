"""Batch jobs measured: the command itself, with its processes watched from outside."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event, Thread

import pandas as pd
import psutil
import skops.io
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

N_OBSERVED, N_FEATURES = 2_000, 12
EVERY = 0.1  # seconds between two looks at the processes
MIB = 2.0**20


@dataclass(frozen=True)
class Run:
    """One job: what it had to do, and what it took.

    Attributes
    ----------
    engine : str
        Threads or dask.
    workers, rows, evaluations : int
        How many of each; evaluations per row.
    seconds : float
        From the start of the command to its end.
    busy_seconds : float
        Without start and end: from the first chunk begun to the last one kept.
    driver_cpu : float
        Seconds of computing of the command's own process; with threads all work is in it.
    driver_mib, worker_mib : float
        Most memory of it, and of the largest process it started.
    written : int
        Bytes of the parts.
    chunks : list of (rows, seconds)
        What was worked on, in the order it came back.
    """

    engine: str
    workers: int
    rows: int
    evaluations: int
    seconds: float
    busy_seconds: float
    driver_cpu: float
    driver_mib: float
    worker_mib: float
    written: int
    chunks: list[tuple[int, float]]

    @property
    def rate(self) -> float:
        """Rows per second while busy."""
        return self.rows / self.busy_seconds

    @property
    def row_seconds(self) -> float:
        """Mean time of a row on one worker."""
        return sum(seconds for _, seconds in self.chunks) / self.rows


def prepare(folder: Path, most_rows: int) -> None:
    """Write a model, its data and rows it declines, once."""
    if (folder / f"rows-{most_rows}.parquet").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    n_drawn = N_OBSERVED + 5 * most_rows // 2
    values, outcome = make_classification(
        n_drawn, N_FEATURES, n_informative=8, n_redundant=2, random_state=0
    )
    table = pd.DataFrame(values.round(2), columns=[f"x{j}" for j in range(N_FEATURES)])
    data = table[:N_OBSERVED]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data, outcome[:N_OBSERVED])
    skops.io.dump(model, folder / "model.skops")
    data.to_parquet(folder / "data.parquet")
    others = table[N_OBSERVED:]
    declined = others[model.predict(others) == 0].head(most_rows)
    assert len(declined) == most_rows, "half of the drawn rows are declined"
    declined = declined.assign(application=range(most_rows)).reset_index(drop=True)
    declined.to_parquet(folder / f"rows-{most_rows}.parquet", row_group_size=10_000)


def rows_of(folder: Path, most_rows: int, n: int) -> Path:
    """Return a file of the first n of the rows."""
    file = folder / f"rows-{n}.parquet"
    if not file.exists():
        rows = pd.read_parquet(folder / f"rows-{most_rows}.parquet").head(n)
        rows.to_parquet(file, row_group_size=10_000)
    return file


def run(folder: Path, rows: Path, engine: str, workers: int, evaluations: int) -> Run:
    """Run one job with nothing done before, and watch it."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [
        *(sys.executable, "-m", "counterpoint", "batch", "--json", "--id", "application"),
        *("--model", str(folder / "model.skops"), "--data", str(folder / "data.parquet")),
        *("--rows", str(rows), "--target", "1", "--out", str(out)),
        *("--engine", engine, "--workers", str(workers), "--evaluations", str(evaluations)),
    ]
    start = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        with watched(job.pid) as seen:
            told, errors = job.communicate()
        seconds = time.monotonic() - start
    if job.returncode not in (0, 1):
        raise RuntimeError(f"the job ended with status {job.returncode}:\n{errors}")
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    done = [line for line in log if line["event"] == "done"]
    ends = [datetime.fromisoformat(line["time"]).timestamp() for line in done]
    begun = min(end - line["seconds"] for end, line in zip(ends, done, strict=True))
    return Run(
        engine=engine,
        workers=workers,
        rows=json.loads(told)["done"],
        evaluations=evaluations,
        seconds=seconds,
        busy_seconds=max(ends) - begun,
        driver_cpu=seen.driver_cpu,
        driver_mib=seen.driver_mib,
        worker_mib=seen.worker_mib,
        written=sum(part.stat().st_size for part in out.glob("part-*.parquet")),
        chunks=[(line["rows"][1] - line["rows"][0], line["seconds"]) for line in done],
    )


@dataclass
class Seen:
    """The most that was seen of a process and those it started."""

    driver_cpu: float = 0.0
    driver_mib: float = 0.0
    worker_mib: float = 0.0

    def look(self, process: psutil.Process) -> None:
        """Look once."""
        times = process.cpu_times()
        self.driver_cpu = max(self.driver_cpu, times.user + times.system)
        self.driver_mib = max(self.driver_mib, process.memory_info().rss / MIB)
        for child in process.children(recursive=True):
            self.worker_mib = max(self.worker_mib, child.memory_info().rss / MIB)


@contextmanager
def watched(pid: int) -> Iterator[Seen]:
    """Watch a process while the block runs."""
    seen, is_over = Seen(), Event()

    def watch() -> None:
        process = psutil.Process(pid)
        while not is_over.wait(EVERY):
            try:
                seen.look(process)
            except psutil.Error:
                continue  # one of them has just ended

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()
