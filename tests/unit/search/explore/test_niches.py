from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.search.explore.knowledge import _coarse_to_fine, trial_values
from counterpoint.search.explore.loop import make_offspring, start
from counterpoint.search.explore.niches import (
    EvaluatedWave,
    learn_niches,
)

DATA = pd.DataFrame({"a": np.arange(90.0), "b": np.arange(90) % 7, "c": list("xyz") * 30})
EXPLAINER = cp.Explainer(lambda rows: rows["a"] / 90, DATA)
PROBLEM = EXPLAINER.explain(DATA[:1], (0.8, 1.0), cp.WhatIf()).problem


@pytest.mark.parametrize("n", range(1, 40))
def test_trial_values_go_from_coarse_to_fine_and_are_all_there(n: int) -> None:
    order = _coarse_to_fine(n)

    assert sorted(order.tolist()) == list(range(n))
    assert set(order[:2].tolist()) == {0, n - 1}


def test_trial_values_are_levels_and_quantiles() -> None:
    trials = trial_values(PROBLEM.observed)

    assert trials.n_values.tolist() == [24, 7, 3]
    tried, _ = trials
    numbers = np.sort(tried[0, :24])
    assert (np.diff(numbers) > 2.0).all()
    assert set(tried[2, :3].tolist()) == {0.0, 1.0, 2.0}


def test_what_a_wave_tells_of_its_sets_is_noted() -> None:
    _, source, plans = start(PROBLEM, 200, 24)
    make_offspring(source, 0, 4)  # which makes the first sets
    row = PROBLEM.rows[0]
    children = np.repeat(row[None, None], 3, axis=1)
    children[0, 0, 0], children[0, 1, 0], children[0, 2, 1] = 40.0, 80.0, 3.0
    judged = PROBLEM.evaluate(children)
    is_new, room = np.ones((1, 3), dtype=bool), np.empty((3, 3), dtype=np.int64)
    wave = EvaluatedWave(children, is_new, judged.predictions, judged.objectives, 5, room)
    table, singles = plans.niches.table, plans.niches.singles
    known = source.knowledge

    learn_niches(table, singles, wave, source.places, source.space, known.origin, known.slopes)

    of_a = table.niche[0, 0]
    assert table.features[0, 0].tolist() == [0, -1, -1]
    assert of_a["is_way"]
    assert of_a["nearest"] == of_a["best"] == 6
    assert of_a["distance"] == pytest.approx(judged.objectives[0, 1, 1])
    assert singles["n_values"][0].tolist() == [2, 1, 0]
    assert singles[0, 0]["value"][singles[0, 0]["top"]] == 80.0
    assert not table.niche[0, 1]["is_way"]
    gains = singles[0, 0]["gain"][1], singles[0, 1]["gain"][0]  # of the last change of each
    steps = 80.0 - row[0], 3.0 - row[1]
    np.testing.assert_allclose(known.slopes[0, 1], [gains[0] / steps[0], gains[1] / steps[1], 0.0])
