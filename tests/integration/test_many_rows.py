"""Many rows: streamed, shared among threads, within memory, and interrupted without loss."""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from tests.strategies import generator
from threadpoolctl import ThreadpoolController

import counterpoint as cp
from counterpoint.explainer import group as groups
from counterpoint.progress import stopped_by_signals

SMALL = cp.Search(evaluations=150)


def table(n: int = 80) -> pd.DataFrame:
    rng = generator(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "debt": rng.gamma(2.0, 1.0, n).round(2),
            "job": rng.choice(["clerk", "nurse", "smith"], n),
        }
    )


DATA = table()


def accept(rows: pd.DataFrame) -> Any:
    return 1.0 / (1.0 + np.exp(rows["debt"] - rows["age"] / 30.0))


class Estimator:
    """Has the methods of an estimator, counts its calls, and does something before each."""

    classes_ = np.array([0, 1])

    def __init__(self, before: Any = lambda _: None) -> None:
        self.n_calls, self.before, self.lock = 0, before, threading.Lock()

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Count the call and score the rows."""
        with self.lock:
            self.n_calls += 1
        self.before(self)
        p = np.asarray(accept(rows))
        return np.column_stack([1.0 - p, p])


@pytest.fixture
def groups_of_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOST_TOGETHER", 10)


def same(a: cp.Counterfactuals, b: cp.Counterfactuals) -> bool:
    return np.array_equal(a.genomes, b.genomes) and np.array_equal(a.objectives, b.objectives)


@pytest.mark.usefixtures("groups_of_ten")
@pytest.mark.parametrize("workers", [1, 2])
def test_one_after_the_other_is_the_same_as_all_at_once(workers: int) -> None:
    explainer = cp.Explainer(accept, DATA)

    each = list(explainer.explain_each(DATA[:35], "opposite", SMALL, workers=workers))

    at_once = explainer.explain_many(DATA[:35], "opposite", SMALL, workers=1)
    assert len(each) == 35
    assert all(same(a, b) for a, b in zip(each, at_once, strict=True))


@pytest.mark.usefixtures("groups_of_ten")
def test_results_come_before_all_rows_are_searched() -> None:
    model = Estimator()
    explainer = cp.Explainer(model, DATA)
    results = explainer.explain_each(DATA[:40], "opposite", SMALL, workers=1)
    before = model.n_calls

    next(results)
    n_first = model.n_calls - before
    list(results)

    assert model.n_calls - before > 3 * n_first


def test_no_rows_give_no_results() -> None:
    explainer = cp.Explainer(accept, DATA)

    assert explainer.explain_many(DATA[:0], (0.5, 1.0)) == []
    assert list(explainer.explain_each(DATA[:0], (0.5, 1.0))) == []


def test_bad_arguments_are_refused_before_the_first_result_is_asked_for() -> None:
    explainer = cp.Explainer(accept, DATA)

    with pytest.raises(cp.InvalidInput, match="memory must be a number of GiB above 0, got -1"):
        explainer.explain_each(DATA, "opposite", memory=-1)
    with pytest.raises(cp.InvalidInput, match="workers must be a whole number"):
        explainer.explain_each(DATA, "opposite", workers=0)


def test_results_that_would_not_fit_are_refused_before_any_search() -> None:
    model = Estimator()
    explainer = cp.Explainer(model, DATA)
    rows = pd.concat([DATA] * 50)
    explainer.explain_many(DATA[:2], "opposite", SMALL)  # checks the model once
    before = model.n_calls

    with pytest.raises(cp.InvalidInput, match=r"4,000 rows would take about .* use explain_each"):
        explainer.explain_many(rows, "opposite", memory=0.1)

    assert model.n_calls - before == 1  # the rows themselves were scored


@pytest.mark.usefixtures("groups_of_ten")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_returns_what_is_done(workers: int, caplog: pytest.LogCaptureFixture) -> None:
    """The signal comes from within a model call, as it does when somebody presses the keys."""

    def interrupt(model: Estimator) -> None:
        if model.n_calls == start + (6 if workers == 1 else 40):  # two threads are tried before
            os.kill(os.getpid(), signal.SIGINT)

    model = Estimator(interrupt)
    start = 10**9
    explainer = cp.Explainer(model, DATA)
    complete = explainer.explain_many(DATA, "opposite", SMALL, workers=1)
    start = model.n_calls

    with caplog.at_level(logging.WARNING, "counterpoint"):
        found = explainer.explain_many(DATA, "opposite", SMALL, workers=workers)

    assert 0 < len(found) < len(DATA)
    assert f"interrupted: the first {len(found)} of 80 rows are explained" in caplog.text
    ended = [i for i, result in enumerate(found) if result.trace.stopped != "interrupt"]
    assert all(same(found[i], complete[i]) for i in ended)
    assert "interrupt" in {result.trace.stopped for result in found}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_between_two_groups_loses_nothing(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "MOST_TOGETHER", 10)
    waited, n_groups = stopped_by_signals, 0

    def pressed_before(watch: Any) -> Any:
        nonlocal n_groups
        n_groups += 1
        if n_groups == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return waited(watch)

    monkeypatch.setattr(groups, stopped_by_signals.__name__, pressed_before)

    found = cp.Explainer(Estimator(), DATA).explain_many(DATA, "opposite", SMALL, workers=workers)

    assert 20 <= len(found) < len(DATA)


def test_a_plain_function_is_asked_by_one_thread_unless_told_otherwise() -> None:
    asked_by: set[int] = set()

    def model(rows: pd.DataFrame) -> Any:
        asked_by.add(threading.get_ident())
        return accept(rows)

    cp.Explainer(model, DATA).explain_many(DATA, "opposite", SMALL)

    assert asked_by == {threading.get_ident()}


def test_in_every_thread_the_models_own_threads_are_kept_to_one() -> None:
    """Else each of our threads would start as many as there are cores."""
    HistGradientBoostingClassifier(max_iter=1).fit([[0.0], [1.0]], [0, 1])  # loads OpenMP
    controller = ThreadpoolController()
    seen: set[int] = set()
    asked_by: set[int] = set()

    def look(_: Estimator) -> None:
        asked_by.add(threading.get_ident())
        seen.update(entry["num_threads"] for entry in controller.info())

    model = Estimator()
    explainer = cp.Explainer(model, DATA)
    model.before = look
    explainer.explain_many(DATA, "opposite", SMALL, workers=2)

    assert len(asked_by) >= 2
    assert seen == {1}


def test_a_bar_is_shown_on_request_and_counts_every_row(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("counterpoint.progress.DELAY", 0.0)
    explainer = cp.Explainer(accept, DATA)

    explainer.explain_many(DATA, "opposite", SMALL, progress=True)
    shown = capfd.readouterr().err
    explainer.explain_many(DATA, "opposite", SMALL, progress=False)
    explainer.explain_many(DATA, "opposite", SMALL)  # no terminal

    assert "80/80 rows" in shown
    assert capfd.readouterr().err == ""
