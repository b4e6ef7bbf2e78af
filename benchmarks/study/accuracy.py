"""Accuracy of the tuned models by nested resampling, beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import as_completed
from pathlib import Path

from tqdm import tqdm

from benchmarks.study import data, models
from benchmarks.study.runs import pool
from benchmarks.study.store import write_whole

N_NESTED = 10  # settings tried in each outer fold, as many as for the models themselves


def measure(
    pairs: Sequence[tuple[str, str]], folder: Path | None, store: Path, n: int, workers: int
) -> None:
    """Measure and store what is not stored yet."""
    open_ = [pair for pair in pairs if not file_of(store, *pair, n).exists()]
    with tqdm(total=len(open_), unit="accuracy") as bar, pool(workers) as processes:
        jobs = [processes.submit(_measured, *pair, folder, store, n) for pair in open_]
        for job in as_completed(jobs):
            job.result()
            bar.update()


def _measured(name: str, kind: str, folder: Path | None, store: Path, n: int) -> None:
    """Measure and store one accuracy."""
    value = models.nested_accuracy(kind, data.load(name, folder), n)
    said = {"dataset": name, "model": kind, "tried": n, "accuracy": value}
    write_whole(file_of(store, name, kind, n), json.dumps(said))


def file_of(store: Path, name: str, kind: str, n: int) -> Path:
    """Return where an accuracy is kept."""
    return store / "accuracy" / f"{name}-{kind}-{n}.json"


def stored(store: Path) -> dict[tuple[str, str], float]:
    """Return the measured accuracies by dataset and model; of more tried settings if several."""
    found = [json.loads(file.read_text()) for file in store.glob("accuracy/*.json")]
    found.sort(key=lambda entry: entry["tried"])
    return {(entry["dataset"], entry["model"]): entry["accuracy"] for entry in found}
