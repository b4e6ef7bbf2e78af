"""The interview finds what simulated users want; a benchmark measures it at length."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.interview import FAMILIES, Case, alone, as_seen, interviewed, line_of, regrets
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoint as cp


@pytest.fixture(scope="module")
def case() -> Case:
    wine, grape = load_wine(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(wine, grape)
    found = cp.Explainer(model, wine, groups={}).explain(wine[:1], "opposite")
    return as_seen(alone(found))


def test_the_interview_beats_the_knee_for_users_of_every_family(case: Case) -> None:
    knee, means = case.found.representatives()["balanced"], []
    for cost in FAMILIES.values():
        lost = []
        for user in range(10):
            rng = np.random.default_rng([1, user])  # noqa: TID251 - made-up users
            regret = regrets(cost(case, rng))
            path, n_asked = interviewed(case, regret, [], None)
            assert n_asked <= 8
            lost.append((path[-1], regret[knee]))
        means.append(np.mean(lost, axis=0))

    interview, picked = np.transpose(means)

    assert (interview < picked).all()
    assert interview.mean() < 0.05


def test_a_line_of_the_table_is_in_percent() -> None:
    users = pd.DataFrame({"interview": [0.0, 0.1], "knee": [0.5, 0.1], "random": [1.0, 0.0]})
    users["questions"] = [2, 4]

    assert line_of("all", users) == "| all | 2 | 3.0 | 4 | 5.0 | 30.0 | 50.0 | 9.0 |"
