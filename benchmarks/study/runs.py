"""Runs: every method on every row of every model, resumable, on two processes.

A cell that fails is stored as a failure; one that is stored is not run again. Work is handed out by
dataset, model and method, so that a process prepares a model once for many cells.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import counterpoint as cp
from benchmarks.methods import METHODS, Case, Method, NotApplicable
from benchmarks.methods.ours import BUDGET, VARIANTS, Counterpoint
from benchmarks.methods.packages import Package
from benchmarks.study import data, subjects
from benchmarks.study.coverage import places_of_ten
from benchmarks.study.store import Cell, Outcome, Store
from benchmarks.study.subjects import Ruler, Subject

STEP = 20  # evaluations of one of the paper's generations
PACKAGES = {"with_dice": "dice_ml", "with_nice": "nice"}


@dataclass(frozen=True)
class Plan:
    """What every cell of a store has in common.

    Parameters
    ----------
    seed : int, default=0
        Of all methods.
    n_tried : int, default=10
        Settings tried in tuning a model.
    limit : int, default=20
        Seconds of computing after which a method has failed on a row.
    budget : int, default=3520
        Model evaluations of our searches, as in the paper.
    version : str
        Of counterpoint.
    """

    seed: int = 0
    n_tried: int = 10
    limit: int = 20
    budget: int = BUDGET
    version: str = cp.__version__


@dataclass(frozen=True)
class Places:
    """Where data, models and results lie; none of it changes a result."""

    store: Path
    cache: Path
    folder: Path | None = None


class OutOfTime(BaseException):
    """A method took longer than it may; adapters that catch every Exception must not catch this."""


def usable_methods(wanted: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the wanted methods that can run here, and those whose package is not installed.

    Raises
    ------
    ValueError
        If there is no method of that name.
    """
    unknown = [name for name in wanted if name not in METHODS]
    if unknown:
        raise ValueError(f"there is no method {unknown[0]!r}; the methods are {sorted(METHODS)}.")
    absent = [name for name in wanted if not is_installed(METHODS[name])]
    return [name for name in wanted if name not in absent], absent


def is_installed(method: Method) -> bool:
    """Return whether the package behind a method, if any, can be imported."""
    return not isinstance(method, Package) or find_spec(PACKAGES[method.module]) is not None


def grid(pairs: Sequence[tuple[str, str]], methods: Sequence[str], rows: int, folder: Any) -> Any:
    """Return the cells of pairs of dataset and model, the first `rows` explained rows of each."""
    numbers = {name: list(data.load(name, folder).rows.index[:rows]) for name, _ in pairs}
    return [
        Cell(name, model, int(number), method)
        for name, model in pairs
        for method in methods
        for number in numbers[name]
    ]


def tune(pairs: Sequence[tuple[str, str]], plan: Plan, places: Places, workers: int = 2) -> None:
    """Tune and keep every model, before cells on several processes would do it twice."""
    with tqdm(total=len(pairs), unit="model") as bar, pool(workers) as processes:
        jobs = [processes.submit(_tuned, name, kind, plan, places) for name, kind in pairs]
        for job in as_completed(jobs):
            job.result()
            bar.update()


def _tuned(name: str, kind: str, plan: Plan, places: Places) -> None:
    """Tune one model; the cache keeps it."""
    subjects.load(name, kind, places.folder, plan.n_tried, places.cache)


def pool(workers: int) -> ProcessPoolExecutor:
    """Return processes of one thread each; more threads would only wait for each other."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def run(cells: Sequence[Cell], plan: Plan, places: Places, workers: int = 2) -> None:
    """Finish the cells that are not stored yet."""
    store = Store(places.store)
    store.open(asdict(plan))
    store.note_machine()
    open_ = store.missing(cells)
    parts = [list(part) for _, part in groupby(open_, key=lambda c: (c.dataset, c.model, c.method))]
    with tqdm(total=len(cells), initial=len(cells) - len(open_), unit="cell") as bar:
        for finished in _worked(parts, plan, places, workers):
            bar.update(finished)


def _worked(parts: list[list[Cell]], plan: Plan, places: Places, workers: int) -> Iterator[int]:
    """Yield how many cells each finished part had."""
    if workers == 1:
        yield from (work(part, plan, places) for part in parts)
        return
    with pool(workers) as processes:
        jobs = [processes.submit(work, part, plan, places) for part in parts]
        for job in as_completed(jobs):
            yield job.result()


def work(cells: list[Cell], plan: Plan, places: Places) -> int:
    """Run and store cells of one dataset, model and method."""
    store = Store(places.store)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn on names and convergence
        subject = _subject(cells[0].dataset, cells[0].model, plan, places)
        for cell in cells:
            store.put(cell, outcome(subject, cell, plan))
    return len(cells)


@lru_cache(maxsize=2)
def _subject(dataset: str, model: str, plan: Plan, places: Places) -> Subject:
    """Return a subject; the last ones are kept, since their preparation is costly."""
    return subjects.load(dataset, model, places.folder, plan.n_tried, places.cache)


def outcome(subject: Subject, cell: Cell, plan: Plan) -> Outcome:
    """Run one cell; whatever goes wrong is its outcome."""
    case, method = subject.case(cell.row, plan.seed), METHODS[cell.method]
    _ = case.schema, case.background.observed  # prepared before the clock starts
    start = time.perf_counter()
    try:
        with limited(plan.limit):
            rows, history = answer(method, case, plan.budget)
        seconds = time.perf_counter() - start
        return judged(subject, cell, rows, history, seconds)
    except NotApplicable as reason:
        return Outcome("not applicable", str(reason))
    except OutOfTime:
        return Outcome("failed", f"no answer after {plan.limit} s of computing", float(plan.limit))
    except Exception as error:  # a failing method is a result of the study
        message = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return Outcome("failed", message, time.perf_counter() - start)


def answer(method: Method, case: Case, budget: int) -> tuple[pd.DataFrame, list[float]]:
    """Return a method's rows, and the hypervolume of our searches over the paper's generations.

    The paper's searches are read off by generation: evaluations for ICE curves before the first do
    not count, as in its figures. Our default is read off by evaluations, all of which count.
    """
    if not isinstance(method, Counterpoint) or isinstance(method.search, cp.WhatIf):
        return method.explain(case), []
    found = case.background.explainer.explain(
        case.row, case.target, search=method.search, seed=case.seed, progress=False
    )
    rows: pd.DataFrame = found.to_frame(near_misses=True)[list(case.train.columns)]
    if method in VARIANTS:
        return rows, [round(float(volume), 9) for volume in found.history["hypervolume"]]
    return rows, at_steps(found.history, budget)


def at_steps(history: pd.DataFrame, budget: int) -> list[float]:
    """Return the hypervolume after 20, 40, ... evaluations."""
    steps = np.arange(STEP, budget + 1, STEP)
    places = np.searchsorted(history["evaluations"], steps, side="right") - 1
    volumes = history["hypervolume"].to_numpy(dtype=float)
    return [round(float(volumes[place]), 9) if place >= 0 else 0.0 for place in places]


def judged(
    subject: Subject, cell: Cell, rows: pd.DataFrame, history: list[float], seconds: float
) -> Outcome:
    """Return the outcome of rows a method returned; repeated ones count once."""
    ruler, reason = Ruler(subject, cell.row), str(rows.attrs.get("reason", ""))[:200]
    rows = rows.drop_duplicates().reset_index(drop=True)
    objectives = ruler.objectives(rows)
    moved = objectives[:, 2] > 0  # the row itself is no counterfactual of it
    rows, objectives = rows[moved], objectives[moved]
    chosen = list(dict.fromkeys(places_of_ten(objectives)))  # one may be chosen twice
    return Outcome(
        "found" if len(rows) else "nothing",
        reason,
        seconds=round(seconds, 4),
        reference=ruler.reference.tolist(),
        objectives=objectives.tolist(),
        chosen=chosen,
        rows=rows.iloc[chosen].astype(object).to_numpy().tolist(),
        columns=list(rows.columns),
        history=history,
    )


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `OutOfTime` in the block after some seconds of computing, or a hundred times that.

    Computing is what counts: by the clock on the wall, whatever else a machine does would decide
    which methods fail. That clock only ends what waits for something that never comes.
    """

    def stop(_number: int, _frame: Any) -> None:
        raise OutOfTime

    timers = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
    before = {number: signal.signal(number, stop) for number in timers}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 100 * seconds)
    try:
        yield
    finally:
        for number, timer in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])
