"""Warm-up: all kernels that a default search can need are compiled together, once on a machine.

The first explainer of a process looks for the mark that an earlier warm-up left beside the cache of
kernels. If there is none, tiny problems are solved that use every kernel: with and without rules,
costs and missing values, with rows far away, models of trees, and the choice among results. Where
there is a second core, another process compiles half of the kernels meanwhile; `counterpoint
warm-up` does all of it ahead of time, and what the paper's searches need, too.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.explainer.group import has_interpreter, n_cores
from counterpoint.kernels import (
    completeness_mark,
    heard_compiling,
    kernel_names,
    mark_as_complete,
    sole_compiler,
)
from counterpoint.models.leaf_bits import add_up_leaves, leaf_bits_of
from counterpoint.models.trees import Forest, add_up, small, walk_of
from counterpoint.neighbours.index import find_near_rows
from counterpoint.neighbours.tree import search_far
from counterpoint.problem.problem import Observed
from counterpoint.progress import StopFlag, is_watched, stopped_by_signals
from counterpoint.search.explore.loop import plan_candidates, start
from counterpoint.search.explore.offspring import FIRST_FINISH
from counterpoint.search.settings import NSGA2, Search, WhatIf

# What other searches, samplers and objectives use is compiled when it is first needed.
ON_DEMAND = (
    "counterpoint.density.",
    "counterpoint.models.known_models.",
    "counterpoint.search.nsga2.",
    "counterpoint.search.feasibility._repair_all",
    "counterpoint.problem.objectives._measure_near",
    "counterpoint.rules.repair._repair_all",
)
TOLD = "compiling the kernels of counterpoint, once on this machine"
USUALLY = "about 15 seconds"
TARGET = (0.97, 1.0)
RULES = ("income <= 90", "debt < income / 10 + 9")
N = 64
HELP = (
    "from counterpoint.explainer.explainer import Explainer\n"
    "from counterpoint.explainer.warm_up import help_to_compile\n"
    "import gc; gc.freeze()\n"
    "help_to_compile(Explainer)\n"
)

_lock = threading.RLock()
_is_done: list[bool] = []


def warm_up(explainer: Callable[..., Any]) -> None:
    """Compile what a default search can need, unless that was done on this machine before.

    It is handed the class `Explainer`, whose searches are the first users of this function.
    """
    with _lock:  # which the searches below, that come here too, may take again
        if _is_done:
            return
        _is_done.append(True)
        mark = completeness_mark(names_of_default_kernels())
        if mark is None or mark.exists():
            return
        try:
            with sole_compiler(mark):
                if not mark.exists():
                    compile_all(explainer, mark)
        except BaseException:
            _is_done.clear()  # the next search goes on with it
            raise


def compile_all(explainer: Callable[..., Any], mark: Path) -> None:
    """Compile the kernels, tell how far that is, and leave the mark.

    Ctrl-C ends it between two functions: raised anywhere, it could be lost in LLVM's calls of
    Python, and the searches below would take it for their own.
    """
    report, flag = CompilationReport(names_of_default_kernels()), StopFlag()

    def hear(name: str) -> None:
        report.hear(name)
        raise_if_stopped(flag)

    try:
        with stopped_by_signals(flag), heard_compiling(hear), helped(), uncollected():
            use_all(explainer)
            raise_if_stopped(flag)
    finally:
        report.end()
    mark_as_complete(mark)


@contextlib.contextmanager
def helped() -> Iterator[None]:
    """Have another process compile meanwhile what a search comes to last, if there is a core.

    Locks see to it that each kernel is compiled once. If the process does not start, or fails, all
    is compiled in this one.
    """
    if n_cores() < 2 or not has_interpreter():
        yield
        return
    try:
        helper = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", HELP],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        yield
        return
    try:
        yield
    finally:
        helper.terminate()  # whatever it still does is done
        helper.wait()


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep what exists from the garbage collector, which looks through it after each kernel."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def help_to_compile(explainer: Callable[..., Any]) -> None:
    """Compile what the default search comes to last: its plans and all that it rarely needs."""
    _is_done.append(True)  # or the search below would wait for the process that is helped
    use_trees()  # while the other process compiles what both need
    data = toy_data(misses=False)
    whole = explainer(toy_scores, data)
    use_far_rows(whole.observed)  # still meanwhile
    found = whole.explain(data.iloc[[0]], TARGET, WhatIf())
    _, source, plans = start(found.live.problem, 2 * N, Search().population)
    plan_candidates(source, plans, FIRST_FINISH)
    use_choices(found)


def raise_if_stopped(flag: StopFlag) -> None:
    """Raise what Ctrl-C raises, if it was pressed."""
    if flag.is_stopped:
        raise KeyboardInterrupt


def names_of_default_kernels() -> set[str]:
    """Return the names of the kernels that a default search can need."""
    return {name for name in kernel_names() if not name.startswith(ON_DEMAND)}


class CompilationReport:
    """Tells how many kernels are compiled: in one line of a terminal, or in two of a log.

    Those of the `awaited` kernels that are in the cache never come.
    """

    def __init__(self, awaited: set[str]) -> None:
        self.awaited, self.done = awaited, set[str]()
        self.start = time.monotonic()
        self.is_line = is_watched()

    def hear(self, name: str) -> None:
        """Count a function that has been compiled, if it is one of those to come."""
        is_first = not self.done
        self.done.add(name)
        if self.is_line:
            sys.stderr.write(f"\r{TOLD}: {self.progress}")
            sys.stderr.flush()
        elif is_first:
            logging.getLogger("counterpoint").warning("%s: %s.", TOLD, USUALLY)

    @property
    def progress(self) -> str:
        """How many are compiled."""
        return f"{len(self.done & self.awaited)} of {len(self.awaited)}"

    def end(self) -> None:
        """Tell how many were compiled and how long it took, if anything was told."""
        if not self.done:
            return
        if self.is_line:
            sys.stderr.write("\n")
        else:
            seconds, log = time.monotonic() - self.start, logging.getLogger("counterpoint")
            log.warning("compiled %s kernels in %.0f seconds.", self.progress, seconds)


def toy_data(*, misses: bool) -> pd.DataFrame:
    """Return rows with a column of each kind of feature."""
    at = np.arange(N)
    debt = np.where(at % 7 == 0, np.nan, at % 13 / 4.0) if misses else at % 13 / 4.0
    return pd.DataFrame(
        {
            "income": at * 11 % N,
            "debt": debt,
            "share": (at % 5 / 8.0).astype(np.float32),
            "housing": np.array(["free", "own", "rent"])[at % 3],
            "member": at % 2 == 0,
        }
    )


def toy_scores(rows: pd.DataFrame) -> Floats:
    """Return a score between 0 and 1 that only some rows bring near 1."""
    debt = rows["debt"].fillna(1.0).to_numpy(dtype=np.float64)
    income = rows["income"].to_numpy(dtype=np.float64)
    return np.asarray(1.0 / (1.0 + np.exp(debt - income / 12.0)))


def use_all(explainer: Callable[..., Any]) -> None:
    """Use every kernel of default searches, for the types they are used for."""
    search = Search(evaluations=900)  # which looks for ways and for the nearest, too
    plain, gappy = toy_data(misses=False), toy_data(misses=True)
    whole, missing = explainer(toy_scores, plain), explainer(toy_scores, gappy)
    row = plain.iloc[[0]]

    found = whole.explain(row, TARGET, search)
    whole.explain(row, TARGET, search, constraints=RULES, costs={"income": 2.0})
    whole.explain(row, TARGET, WhatIf(), constraints=RULES)
    missing.explain(row, TARGET, search)
    missing.explain(gappy.iloc[[0]], TARGET, search)
    use_far_rows(whole.observed)
    use_trees()
    use_choices(found)


def use_choices(found: Any) -> None:
    """Choose among the counterfactuals of a result."""
    found.select(3, "hypervolume")
    found.representatives()
    found.diversity()


def use_paper(explainer: Callable[..., Any]) -> None:
    """Use the kernels of the paper's search and of its sampler."""
    data = toy_data(misses=False)
    whole = explainer(toy_scores, data)
    whole.explain(data.iloc[[0]], TARGET, NSGA2(generations=3), constraints=RULES)


def use_far_rows(observed: Observed) -> None:
    """Look for neighbours farther out than a search of so few rows needs to."""
    rows, shares = observed.genomes[:1].copy(), observed.shares  # which may be written to
    near = find_near_rows(rows, observed.indexed, observed.space, shares, most=8)
    distances = np.full((1, 1, len(shares)), np.inf)
    genomes = observed.genomes[None, -1:].copy()
    search_far(genomes, rows, near, observed.tree, np.ones((1, 1)), distances)


def use_trees() -> None:
    """Ask a tree of one leaf."""
    zero, off = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.bool_)
    one = np.zeros((1, 1))
    leaf = Forest(zero, small([[0, 0]]), zero, one[0], zero, off, off[None], one)
    add_up(one, walk_of(leaf), one.copy())
    if (bits := leaf_bits_of(leaf)) is not None:
        add_up_leaves(one, bits, one.copy())
