"""The program of linear models: as near as can be, on grids of any size and on the reals."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.strategies import generator

import counterpoint as cp
from counterpoint.models.additive import AdditiveModel
from counterpoint.progress import Watch
from counterpoint.search.exact.linear import LinearSolver
from counterpoint.search.exact.program import goals_of
from counterpoint.search.exact.proof import Claim
from counterpoint.search.exact.solve import Clock, Found, Question

SLOPES = np.array([0.5, -2.0, 0.25])


def table(kind: str) -> pd.DataFrame:
    """Return three numbers of a kind, each from 0 to 10,000 but for the levels of a grid."""
    numbers = generator(2).uniform(0.0, 10_000.0, (60, 3))
    numbers[:2] = [0.0], [10_000.0]
    made = numbers if kind == "reals" else np.round(numbers)
    return pd.DataFrame(made, columns=["a", "b", "c"]).astype(float if kind == "reals" else int)


def asked(kind: str, least: float, most: int) -> tuple[Claim, Found]:
    """Return what is claimed of a row whose score is 0, if it should be `least`."""
    data = table(kind)
    explainer = cp.Explainer(
        lambda rows: (rows.to_numpy(dtype=float) - 5000.0) @ SLOPES,
        data,
        precision="full" if kind == "reals" else "observed",
    )
    row = dict.fromkeys(data, 5000.0 if kind == "reals" else 5000)
    problem = explainer.explain(row, (least, None), cp.WhatIf()).problem
    nothing = np.zeros((3, 1, 1))
    model = AdditiveModel(
        None, np.array([-5000.0 * SLOPES.sum()]), SLOPES[:, None], nothing, 1.0, "identity"
    )
    found = Found(problem, np.empty((0, 3)), np.empty((0, 4)))
    goals = goals_of(problem.targets[0], model, 1)
    assert goals is not None
    solver = LinearSolver(found, model, goals, Clock(time.monotonic() + 60.0, Watch()))
    return solver.answer(Question(np.ones(3, dtype=np.bool_), False, most)), found


# A solver takes a condition as met within a millionth or so of its size, here 20,000. Sums of steps
# that miss the goal by less it proposes too, and the bound is theirs.
ROUGHLY = 0.1


@settings(max_examples=10)
@given(least=st.floats(1.0, 9_000.0))
@example(least=2.03125)
def test_whole_numbers_go_along_the_steepest_feature(least: float) -> None:
    claim, found = asked("whole numbers", least, 3)

    steps = np.ceil(least / 2.0)
    best = min(steps, min(k + np.ceil((least - 2.0 * k) / 0.5) for k in (steps - 1, steps - 2)))
    assert claim.value == pytest.approx(best / 10_000 / 3)
    assert claim.bound <= claim.value
    assert claim.status == "optimal" or 0.0 < least % 0.25 < ROUGHLY
    assert found.n_asked < 9


def test_the_reals_are_as_near_as_rounding_lets_them() -> None:
    claim, found = asked("reals", 100.0, 3)

    assert claim.value == pytest.approx(50.0 / 10_000 / 3, rel=1e-6)
    assert claim.bound <= 50.0 / 10_000 / 3
    assert claim.gap < 1e-3
    assert len(found.genomes) == 1


def test_more_than_one_feature_must_change_where_one_ends() -> None:
    claim, found = asked("whole numbers", 11_000.0, 3)

    assert claim.value == pytest.approx((5000 + 2000) / 10_000 / 3)
    assert (found.genomes[-1] != 5000.0).tolist() == [True, True, False]
    assert asked("whole numbers", 11_000.0, 1)[0].status == "none"
