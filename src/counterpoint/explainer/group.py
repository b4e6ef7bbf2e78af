"""Groups of rows: how many are searched side by side, on how many threads, in which memory.

A model scores a thousand candidates in one call far faster than in fifty calls. So rows are
searched side by side, generation by generation, and groups of rows on several threads, within a
memory limit: kernels and most models release Python's lock. Where they do not, other processes take
the place of threads (`explainer/processes.py`). What is found for a row depends on nothing of this.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.checks import check_number, check_whole
from counterpoint.errors import InvalidInput
from counterpoint.neighbours.index import SINGLE, bytes_per_near_row
from counterpoint.neighbours.nearest import NEAR
from counterpoint.progress import Watch, stopped_by_signals
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.rules.domains import DOMAIN
from counterpoint.rules.rules import Rules
from counterpoint.search.feasibility import RETRIES
from counterpoint.search.settings import Search, WhatIf

MEMORY = 4.0  # GiB a call may use for rows in flight and for results, unless told otherwise
# Rows in one group: more fill no larger calls worth having, but spill caches. Where a quick way
# asks the model a call costs little, so groups are smaller, the wider the table the more …
MOST_TOGETHER = 96
MOST_QUICK, LEAST_QUICK = 64, 32
CACHED = 96 * 2**20  # … up to so many bytes in flight
ENOUGH = 0.85  # share of the cores that threads must fill to be left alone
MOST_WAITS = 8000  # times a second that they may wait: more, and handing the lock over costs most
GIB = 2.0**30
MOST_WORKERS = 1024  # threads or processes of this machine
MOST_MEMORY = 2.0**20  # GiB: no limit at all

SearchGroup = Callable[[Ints], list[Counterfactuals]]


@dataclass(frozen=True)
class Grouping:
    """How many rows are searched side by side, and what that takes."""

    n_rows: int  # rows to explain
    together: int  # rows in one group
    workers: int  # groups searched at a time
    row_bytes: int  # most memory of one row in flight
    result_bytes: int  # estimated memory of one row's result

    @property
    def groups(self) -> list[Ints]:
        """The rows of each group, by position."""
        starts = range(0, self.n_rows, self.together)
        return [np.arange(i, min(i + self.together, self.n_rows)) for i in starts]


def plan_groups(
    n_rows: int, row_bytes: int, result_bytes: int, workers: int, memory: float, *, is_quick: bool
) -> Grouping:
    """Choose the size of the groups so that all in flight fit into half of `memory` GiB.

    The other half is for the model and for results that wait to be taken. Each row takes up to
    `row_bytes` in flight; `is_quick` says that calls of the model cost little.
    """
    room = int(min(memory, MOST_MEMORY) * GIB / 2)
    if row_bytes > room:
        raise InvalidInput(
            f"memory={memory:g} GiB is too little: the search of one row takes up to "
            f"{2 * row_bytes / GIB:.2g} GiB; raise memory or lower evaluations."
        )
    workers = max(1, min(workers, n_rows, room // row_bytes))
    best = MOST_TOGETHER
    if is_quick:
        best = min(best, MOST_QUICK, max(CACHED // row_bytes, LEAST_QUICK))
    most = max(1, min(best, room // (workers * row_bytes), -(-n_rows // workers)))
    n_groups = -(-n_rows // most)
    return Grouping(n_rows, -(-n_rows // n_groups), workers, row_bytes, result_bytes)


def bytes_in_flight(d: int, n_observed: int, search: Search | WhatIf) -> int:
    """Return the most memory the search of one row takes: its candidates and its near rows."""
    n = search.most_candidates
    candidates = n * (8 * (d + 12) + 32)  # genomes, objectives, front, indices, memory of hashes
    near = bytes_per_near_row(d) * min(n_observed, NEAR)
    return candidates + near + SINGLE * n_observed  # its distances to all, from which near ones are


def bytes_of_rules(rules: Rules, n_candidates: int) -> int:
    """Return what the rules of one row take: its domains, and the memory of refused candidates."""
    if not rules.rules:
        return 0
    most_levels = max(len(feature.levels) for feature in rules.schema.features)
    domains = len(rules.schema) * (DOMAIN.itemsize + most_levels)
    return domains + (32 * RETRIES * n_candidates if rules.functions else 0)


def bytes_of_result(d: int, search: Search | WhatIf) -> int:
    """Return about what one result takes: a third of the candidates, a trace, and all replies."""
    n = search.most_candidates
    return 4096 + 8 * n + 8 * (d + 10) * (n // 3 + 1)


def check_results_fit(grouping: Grouping, memory: float) -> None:
    """Refuse to gather more results than fit into `memory` GiB, with the estimate."""
    needed = grouping.n_rows * grouping.result_bytes / GIB
    if needed > memory:
        raise InvalidInput(
            f"the results of {grouping.n_rows:,} rows would take about {needed:.2g} GiB, more than "
            f"memory={memory:g} allows; use explain_each, which yields one result after the other, "
            "or raise memory."
        )


def check_memory(memory: object) -> float:
    """Return the memory limit in GiB, or say what it should be."""
    return check_number("memory", memory, 0.0, above=True, unit="GiB")


def check_workers(workers: object, *, is_shared: bool) -> int:
    """Return the number of threads; None means all cores if the model may be shared among them."""
    if workers is None:
        return n_cores() if is_shared else 1
    right = f"from 1 to {MOST_WORKERS:,}, or None for all cores"
    return check_whole("workers", workers, 1, MOST_WORKERS, said=right)


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def has_interpreter() -> bool:
    """Whether another interpreter can be started: not where this one is part of a program."""
    python = Path(sys.executable or "").name.lower()
    return python.startswith("python") and not getattr(sys, "frozen", False)


def can_start() -> bool:
    """Whether processes that help can be started: not where there is no interpreter, or Windows."""
    return has_interpreter() and os.name == "posix"


class Meter:
    """Tells whether threads of this process have waited for each other since the meter was made.

    They leave cores idle where a model holds Python's lock for long. Where it is handed over
    thousands of times a second, the cores look busy, but two threads do little more than one.
    """

    def __init__(self) -> None:
        self._start = self._now()

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return float(self._now()[0] - self._start[0])

    def shows_waiting(self, n_threads: int) -> bool:
        """Whether `n_threads` did less than they could."""
        seconds, cpu, n_waits = self._now() - self._start
        return bool(cpu < ENOUGH * n_threads * seconds or n_waits > MOST_WAITS * seconds)

    @staticmethod
    def _now() -> Floats:
        """Return seconds of the wall and of the processor, and how often a thread has waited."""
        n_waits = 0
        if os.name == "posix":  # others do not have the module, and no process is started there
            import resource

            n_waits = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        return np.array([time.monotonic(), time.process_time(), n_waits])


def search_groups(
    grouping: Grouping, search_group: SearchGroup, watch: Watch, n_ahead: int = 0
) -> Iterator[list[Counterfactuals]]:
    """Yield the results of each group in order, until all are searched or `watch` says stop.

    Then the groups in flight end with the best so far, and no other is begun. `n_ahead` more groups
    than there are workers are handed over, for processes that have their next one beforehand.
    """
    if grouping.workers == 1:
        for group in grouping.groups:
            if watch.is_stopped:
                return
            with stopped_by_signals(watch):
                results = search_group(group)
            yield results
        return
    n_threads = grouping.workers + n_ahead
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            yield from _in_order(pool, grouping.groups, n_threads + 2, search_group, watch)
        finally:  # also when the caller takes no more: nothing goes on unseen
            watch.stop()
            pool.shutdown(cancel_futures=True)


def _in_order(
    pool: ThreadPoolExecutor,
    groups: list[Ints],
    most_begun: int,
    search_group: SearchGroup,
    watch: Watch,
) -> Iterator[list[Counterfactuals]]:
    """Yield the groups in order; two more than there are threads may be begun, none waits idly."""
    waiting = deque(groups)
    begun: deque[Future[list[Counterfactuals]]] = deque()
    while (waiting and not watch.is_stopped) or begun:
        while waiting and len(begun) < most_begun and not watch.is_stopped:
            begun.append(pool.submit(search_group, waiting.popleft()))
        with stopped_by_signals(watch):
            results = begun.popleft().result()
        yield results
