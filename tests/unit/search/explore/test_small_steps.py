from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.search.explore.knowledge import step_costs

SPREAD = np.outer(np.arange(298), np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])) % 1.0
DATA = pd.DataFrame(np.vstack([np.zeros(6), np.ones(6), SPREAD.round(4)]), columns=list("abcdef"))


@pytest.mark.parametrize(
    ("power", "function"),
    [
        (1.0, lambda rows, row: (abs(rows - row.to_numpy()) * [1, 2, 3, 4, 5, 6]).sum(axis=1)),
        (2.0, lambda rows, row: np.sqrt(((rows - row.to_numpy()) ** 2).sum(axis=1))),
        (0.0, lambda rows, row: abs(rows - row.to_numpy()).max(axis=1)),
    ],
)
def test_a_distance_of_the_callers_is_known_where_its_powers_add_up(
    power: float, function: Any
) -> None:
    distance = cp.Distance("own", function)
    explainer = cp.Explainer(lambda rows: rows.to_numpy().sum(axis=1), DATA, distance=distance)
    problem = explainer.explain(DATA[5:6], (4.0, None), cp.Search(evaluations=100)).problem

    costs = step_costs(problem)

    assert costs.power.tolist() == [power]
    if power:
        other = DATA.iloc[9].to_numpy()
        expected = function(DATA[9:10], DATA.iloc[5]).iloc[0] ** power
        steps = np.abs(other - DATA.iloc[5].to_numpy()) * costs.weight[0]
        assert (steps**power).sum() == pytest.approx(expected, rel=1e-6)


def test_the_nearest_by_euclid_is_found_in_many_small_steps() -> None:
    distance = cp.Distance(
        "euclid", lambda rows, row: np.linalg.norm(rows - row.to_numpy(), axis=1)
    )
    explainer = cp.Explainer(
        lambda rows: rows.to_numpy().sum(axis=1), DATA, distance=distance, precision="full"
    )

    found = explainer.explain(DATA[:1], (1.2, None))

    assert found.to_frame()["euclid"].min() == pytest.approx(1.2 / np.sqrt(6), rel=0.02)
