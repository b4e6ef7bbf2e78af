from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.ensemble import RandomForestClassifier

import counterpoint as cp
from counterpoint.progress import Watch
from counterpoint.search.explore import loop
from counterpoint.search.explore.knowledge import Plans
from counterpoint.search.explore.loop import plan_candidates
from counterpoint.search.explore.small_steps import NOBODY
from counterpoint.search.settings import Explore

SPREAD = np.outer(np.arange(298), np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])) % 1.0
DATA = pd.DataFrame(np.vstack([np.zeros(6), np.ones(6), SPREAD.round(4)]), columns=list("abcdef"))
LABELS = (DATA.sum(axis=1) + np.sin(np.arange(300)) / 4 > 3).astype(int)


def plans_of(found: cp.Counterfactuals) -> list[Plans]:
    """Search a result's problem again and return its plans after every wave."""
    made: list[Plans] = []
    after: list[Plans] = []
    started = loop.start

    def keep(*given: object) -> object:
        archive, source, plans = started(*given)  # type: ignore[arg-type]
        made.append(plans)
        return archive, source, plans

    def note(*given: object) -> None:
        plan_candidates(*given)  # type: ignore[arg-type]
        finish = made[0].finish
        copies = copy.deepcopy(finish)
        after.append(made[0]._replace(finish=copies))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "start", keep)
        patch.setattr(loop, "plan_candidates", note)
        loop.explore(found.problem, Explore(evaluations=1500, patience=None), Watch())
    return after


@settings(max_examples=40)  # each is a whole search
@given(weights=arrays(float, 6, elements=st.floats(1.0, 2.0)), n_small=st.integers(2, 4))
def test_several_small_steps_are_found_where_one_is_not_enough(
    weights: np.ndarray, n_small: int
) -> None:
    """Of a sum with narrow ranges the nearest is known: the features that gain most, to the end."""
    explainer = cp.Explainer(lambda rows: rows.to_numpy() @ weights, DATA, precision="full")
    room = 0.1
    needed = room * np.sort(weights)[::-1][:n_small].sum()
    ranges = dict.fromkeys("abcdef", (0.0, room))

    found = explainer.explain(DATA[:1], (needed * 0.999, None), ranges=ranges)

    best = needed * 0.999
    least = 0.0
    for weight in np.sort(weights)[::-1]:
        step = min(room, best / weight)
        best, least = best - step * weight, least + step / 6
    assert least * (1 - 1e-9) <= found.to_frame()["distance"].min() <= least * 1.02


def test_planned_candidates_are_nearer_than_the_nearest() -> None:
    model = RandomForestClassifier(30, random_state=0).fit(DATA, LABELS)
    found = cp.Explainer(model, DATA).explain(DATA[:1], 1)
    anchor = DATA.iloc[0].to_numpy()

    n_planned = 0
    for plans in plans_of(found):
        finish = plans.finish
        for slot in np.flatnonzero(finish.parent[0] != NOBODY):
            steps = np.abs(finish.candidate[0, slot] - anchor) * finish.lists["weight"][0]
            paid = np.minimum(steps, finish.lists["cap"][0]).sum()
            assert 0.0 < paid < finish.rows["least"][0]
            n_planned += 1
    assert n_planned > 100


def test_lists_are_ascending_and_within_reach() -> None:
    model = RandomForestClassifier(30, random_state=0).fit(DATA, LABELS)
    found = cp.Explainer(model, DATA).explain(DATA[:1], 1)
    finish = plans_of(found)[-1].finish

    for j in range(6):
        own = finish.lists[0, j]
        home, values = own["home"], own["value"][: own["n_values"]]
        assert (np.diff(values) > 0).all()
        assert values[home] == DATA.iloc[0, j]
        reach = np.abs(values - values[home]) * own["weight"]
        assert (reach < finish.rows["listed"][0]).all()
