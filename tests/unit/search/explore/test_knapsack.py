"""The knapsack is judged by what it finds: the cheapest whole numbers that gain enough."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.kernels import called

import counterpoint as cp
from counterpoint.search.explore import knapsack
from counterpoint.search.explore.knapsack import STEP_WORK
from counterpoint.search.explore.small_steps import N_LISTED, PER_PEAK, STEP_LIST

ALL = np.array([*product(range(9), repeat=5)], dtype=np.float64)
DATA = pd.DataFrame(np.vstack([np.zeros(5), np.full(5, 8.0), ALL[::97]]), columns=list("abcde"))


@settings(max_examples=40)  # each is a whole search
@given(
    gains=arrays(float, (5, 8), elements=st.floats(0.1, 2.0)),
    share=st.floats(0.15, 0.6),
)
def test_the_cheapest_steps_that_gain_enough_are_found(gains: np.ndarray, share: float) -> None:
    """Every step of each feature gains something of its own, so that no slope tells the best."""
    heights = np.concatenate([np.zeros((5, 1)), gains.cumsum(axis=1)], axis=1)

    def score(rows: pd.DataFrame) -> Any:
        return heights[np.arange(5), rows.to_numpy().astype(int)].sum(axis=1)

    needed = share * heights[:, -1].sum()
    found = cp.Explainer(score, DATA).explain(DATA[:1], (needed, None))

    holds = heights[np.arange(5), ALL.astype(int)].sum(axis=1) >= needed
    least = ALL[holds].sum(axis=1).min() / 8 / 5
    assert found.to_frame().query("valid")["distance"].min() <= least + 1.0 / 8 / 5 + 1e-9


@settings(max_examples=200)
@given(
    home=st.integers(0, N_LISTED - 1),
    drawn=arrays(float, N_LISTED, elements=st.floats(-2.0, 2.0, width=16)),
    dearer=arrays(float, N_LISTED, elements=st.floats(0.0, 1.0, width=16)),
)
def test_a_features_first_step_gains_no_more_than_was_said_before_its_hull_was_looked_for(
    home: int, drawn: np.ndarray, dearer: np.ndarray
) -> None:
    own, work = np.zeros(1, STEP_LIST), np.zeros(1, STEP_WORK)
    below, above = dearer[:home][::-1].cumsum()[::-1], dearer[home + 1 :].cumsum()
    own["home"], own["n_values"] = home, N_LISTED
    own["paid"] = np.concatenate([below, [0.0], above])
    drawn[home] = 0.0
    work["drawn"], work["last"] = drawn, N_LISTED - 1

    said = called(knapsack.steepest)(own[0], work[0])
    called(knapsack.find_hull)(own[0], work[0])
    first = called(knapsack.steepness)(own[0], work[0], 0)

    assert first == pytest.approx(said)
    assert first <= said
    assert (said > 0.0) == (drawn > 0.0).any()


@given(steep=arrays(float, st.integers(1, 70), elements=st.sampled_from([0.0, 1e-300, 0.5, 2.0])))
def test_the_first_of_those_that_gain_most_by_their_cost_is_taken(steep: np.ndarray) -> None:
    blocks = np.pad(steep, (0, -len(steep) % PER_PEAK)).reshape(-1, PER_PEAK)
    peak = np.array([called(knapsack.peak_of)(block) for block in blocks])

    which = called(knapsack.first_steepest)(blocks, peak, len(blocks))

    assert which == (int(np.argmax(steep)) if steep.any() else -1)
