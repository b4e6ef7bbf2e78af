from __future__ import annotations

from typing import Any

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import ThreadpoolController, threadpool_info

from counterpoint.models.threads import one_thread


def blas_threads() -> list[int]:
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_libraries_stay_on_one_thread_until_the_last_user_is_done() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    threads, before = ThreadpoolController(), blas_threads()

    with one_thread(threads):
        with one_thread(threads):
            pass
        within = blas_threads()

    assert set(within) == {1}
    assert blas_threads() == before


def n_jobs_of(model: Any, rows: Any, monkeypatch: Any) -> int:
    """Return how many jobs joblib really starts for a call of the model."""
    seen: list[int] = []
    original = joblib.Parallel.__call__

    def watch(self: Any, iterable: Any) -> Any:
        answers = original(self, iterable)
        seen.append(joblib.parallel.effective_n_jobs(self.n_jobs))
        return answers

    monkeypatch.setattr(joblib.Parallel, "__call__", watch)
    model.predict_proba(rows)
    return seen[-1]


def test_a_forest_of_several_jobs_starts_none(monkeypatch: Any) -> None:
    rows = np.arange(40.0).reshape(20, 2)
    forest = RandomForestClassifier(4, n_jobs=2, random_state=0).fit(rows, [0, 1] * 10)

    with one_thread(ThreadpoolController()):
        n_jobs = n_jobs_of(forest, rows, monkeypatch)

    assert n_jobs == 1
