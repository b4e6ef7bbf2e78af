"""Explainers and results travel to other processes and back, with the same bits."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import joblib
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoint as cp

DATA = pd.DataFrame({"age": range(20, 60), "debt": [9.5, 5.0, 3.0, 1.0] * 10})
FEW = cp.Search(evaluations=80)


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    """Return the explainer of a model that can be pickled."""
    return cp.Explainer(LogisticRegression().fit(DATA, DATA["age"] > 40), DATA)


def test_spawned_processes_give_the_same_results(explainer: cp.Explainer) -> None:
    here = explainer.explain(DATA[:1], "opposite", FEW)

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(explainer.explain, DATA[:1], "opposite", FEW).result()

    assert there == here


def test_loky_gives_the_same_results(explainer: cp.Explainer) -> None:
    here = explainer.explain(DATA[1:2], "opposite", FEW)

    (there,) = joblib.Parallel(n_jobs=2, backend="loky")(
        joblib.delayed(explainer.explain)(DATA[1:2], "opposite", FEW) for _ in range(1)
    )

    assert there == here


def test_an_explainer_says_what_it_holds(explainer: cp.Explainer) -> None:
    assert repr(explainer) == (
        "<Explainer of LogisticRegression: 2 features, 40 observed rows, classes False and True>"
    )
    assert explainer.feature_names_in_.tolist() == ["age", "debt"]
