"""Measuring: every method on every row, in turns, on one thread; errors are kept, not hidden."""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.peers.methods import METHODS, Method, Runs
from benchmarks.peers.reporting import summarize
from benchmarks.peers.scoring import Ruler, Score, score
from benchmarks.peers.subjects import Explain, Subject, subjects

QUICK_ROWS = 2


def measure(rows: int = 5, quick: bool = False) -> list[dict[str, Any]]:
    """Return one record per subject and method; `quick` takes two rows and the forest only."""
    records = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' many, which are not the subject
        for subject in subjects(quick):
            explained = subject.rows.iloc[: min(rows, QUICK_ROWS) if quick else rows]
            runs = run(subject, explained)
            records += [summarize(subject.name, r, ours=runs[0]) for r in runs]
    return records


def run(subject: Subject, rows: pd.DataFrame) -> list[Runs]:
    """Let all methods take turns on each row, a different one first each time."""
    runs = [warm_up(subject, method) for method in METHODS]
    for i in range(len(rows)):
        row = rows.iloc[[i]]
        ruler = Ruler(subject, row)
        turn = i % len(runs)
        for r in runs[turn:] + runs[:turn]:
            if r.explain is not None:
                take_turn(r, r.explain, row, ruler)
        print(f"{subject.name}: row {i + 1} of {len(rows)} done", file=sys.stderr, flush=True)
    return runs


def warm_up(subject: Subject, method: Method) -> Runs:
    """Wire a method and explain an observed row: imports, fitting and compiling happen here."""
    runs, row = Runs(method), subject.data.iloc[[0]]
    start = time.perf_counter()
    try:
        with silence():
            wire = import_module(f"benchmarks.peers.{method.module}").wire
            runs.explain = wire(subject, method.setting)
    except Exception as error:  # whatever a peer raises is its result
        runs.errors.append(f"does not run: {named(error)}")
        return runs
    # An error here would come again on the rows that count.
    answer(runs.explain, row, subject.target_of(row), seed=0)
    runs.first_seconds = time.perf_counter() - start
    return runs


def take_turn(runs: Runs, explain: Explain, row: pd.DataFrame, ruler: Ruler) -> None:
    """Time and score one method on one row; a failure scores 0 and has no time."""
    place = len(runs.scores)
    found, seconds = answer(explain, row, ruler.target, seed=1 + place)
    worth = found if isinstance(found, Exception) else judge(found, ruler)
    has_failed = isinstance(worth, Exception)
    if isinstance(worth, Exception):
        runs.errors.append(f"row {place + 1}: {named(worth)}")
        worth = Score()
    runs.scores.append(worth)
    runs.seconds.append(None if has_failed else seconds)


def judge(found: pd.DataFrame, ruler: Ruler) -> Score | Exception:
    """Score an answer; one that the model cannot be asked about is an error of the method."""
    try:
        return score(found, ruler)
    except (KeyError, TypeError, ValueError) as error:
        return error


def answer(
    explain: Explain, row: pd.DataFrame, target: int, seed: int
) -> tuple[pd.DataFrame | Exception, float]:
    """Return what a method answers, or the error it raises, and the seconds it took."""
    random.seed(seed)  # several peers draw from the global generators
    np.random.seed(seed)  # noqa: NPY002, TID251
    row = row.copy()  # some write to what they are given
    with silence():
        start = time.perf_counter()
        try:
            found: pd.DataFrame | Exception = explain(row, target)
        except Exception as error:  # whatever a peer raises is its result
            found = error
        return found, time.perf_counter() - start


def named(error: Exception) -> str:
    """Return an error's kind and the first line of its message."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"


@contextmanager
def silence() -> Iterator[None]:
    """Keep progress bars and messages of the peers out of the output."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        yield
