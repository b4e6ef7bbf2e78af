"""The solver runs in a thread: what it says, what it raises, and when nobody waits for it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from counterpoint.progress import Watch
from counterpoint.search.exact.program import MatrixRows, TimeLimit, in_thread, solve_rows

LIMIT = TimeLimit(10.0, Watch())


def ask(low: float) -> Any:
    """Ask for the cheapest of two columns whose sum is at least `low`."""
    rows = MatrixRows()
    rows.add([0, 1], [1.0, 1.0], low, np.inf)
    return solve_rows(rows, np.array([2.0, 1.0]), np.ones(2, np.bool_), np.ones(2), LIMIT)


def test_the_cheapest_columns_are_found_and_known_to_be_the_best() -> None:
    x, bound, is_best = ask(1.0)

    assert (x.tolist(), bound, is_best) == ([0.0, 1.0], 1.0, True)


def test_that_there_is_no_solution_is_an_infinite_bound() -> None:
    assert ask(3.0) == (None, np.inf, True)


def test_what_the_solver_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("Buffer dtype mismatch")

    monkeypatch.setattr("scipy.optimize.milp", refuse)

    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        ask(1.0)


def test_nobody_waits_for_a_thread_after_the_search_was_stopped() -> None:
    watch, end = Watch(), threading.Event()
    watch.stop()

    assert in_thread(end.wait, watch) is None
    end.set()
