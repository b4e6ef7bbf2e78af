from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.neighbours.gower import weighted_distances
from counterpoint.problem.limits import Limits
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP, IMPLAUSIBILITY
from counterpoint.table.schema import Schema

DATA = pd.DataFrame(
    {
        "age": [20, 30, 40, 60],
        "pay": [1.0, 2.0, 5.0, 9.0],
        "job": ["clerk", "nurse", "smith", "clerk"],
    }
)
SCHEMA = Schema.infer(DATA)
ROW = {"age": 25, "pay": 3.0, "job": "clerk"}


def score(rows: pd.DataFrame) -> Any:
    return rows["age"] / 100 + rows["pay"] / 20


def test_a_distance_is_the_weighted_mean_of_the_shares() -> None:
    rows, genomes = np.array([[25.0, 3.0, 0.0]]), np.array([[[45.0, 3.0, 2.0], [25.0, 5.0, 0.0]]])
    weight, cap = np.array([[1 / 40, 1 / 8, 1.0]]), np.array([np.inf, np.inf, 1.0])
    at = np.zeros(1, dtype=np.int64)

    found = weighted_distances(genomes, rows, weight, cap, np.array([3.0, 1.0, 4.0]), at)

    np.testing.assert_allclose(found, [[(3 * 0.5 + 4 * 1.0) / 8, 0.25 / 8]], rtol=1e-15)


@pytest.mark.parametrize("method", ["explore", "nsga2", "random"])
def test_costs_weigh_the_distance_and_nothing_else(method: Any) -> None:
    search, costs = cp.Search(method=method, evaluations=200), {"age": 5.0, "job": 0}

    found = cp.Explainer(score, DATA).explain(ROW, (0.5, 0.8), search, costs=costs)

    frame = found.to_frame(near_misses=True)
    apart = (frame["age"] - 25).abs() / 40 * 5 + (frame["pay"] - 3.0).abs() / 8
    np.testing.assert_allclose(frame["distance"], apart / 6, rtol=1e-12)
    plain = cp.Explainer(score, DATA).explain(ROW, (0.5, 0.8), cp.WhatIf()).problem
    own = plain.evaluate(found.genomes[None]).objectives[0]
    rest = [GAP, CHANGES, IMPLAUSIBILITY]
    np.testing.assert_array_equal(found.objectives[:, rest], own[:, rest])
    assert (found.objectives[:, DISTANCE] != own[:, DISTANCE]).any()
    assert found.costs == {"age": 5.0, "pay": 1.0, "job": 0.0}


def test_a_dear_feature_is_changed_less() -> None:
    explainer, search = cp.Explainer(score, DATA), cp.Search(evaluations=400)

    nearest = [
        found.to_frame(near_misses=True).sort_values("distance").iloc[0]
        for found in (
            explainer.explain(ROW, (0.5, 0.8), search, costs={name: 10.0}).valid()
            for name in ("age", "pay")
        )
    ]

    assert (nearest[0]["age"], nearest[1]["pay"]) == (25, 3.0)


def test_equal_costs_are_gowers_distance() -> None:
    explainer, search = cp.Explainer(score, DATA), cp.Search(evaluations=100)

    equal = explainer.explain(ROW, (0.5, 0.8), search, costs={"age": 1.0})

    plain = explainer.explain(ROW, (0.5, 0.8), search)
    assert plain.costs == {}
    again = plain.problem.evaluate(equal.genomes[None]).objectives[0]
    np.testing.assert_allclose(equal.objectives, again, rtol=1e-14)


def test_costs_are_saved(tmp_path: Any) -> None:
    found = cp.Explainer(score, DATA).explain(
        ROW, (0.5, 0.8), cp.Search(evaluations=100), costs={"pay": 2.5}
    )
    found.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")

    assert loaded.costs == found.costs == {"age": 1.0, "pay": 2.5, "job": 1.0}
    assert str(loaded) == str(found)


def test_no_costs_are_none() -> None:
    assert Limits(costs=None).check(SCHEMA).costs is None
    assert Limits(costs={}).check(SCHEMA).costs is None


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([1.0], "costs must be a dict of column name to number, got [1.0]; for example costs={'a"),
        ({"agee": 1}, "costs names 'agee', which is not a column of the data; did you mean 'age'?"),
        ({"age": -1}, "costs['age'] must be a finite number of at least 0, got -1."),
        ({"age": np.inf}, "costs['age'] must be a finite number of at least 0, got inf."),
        ({"age": "dear"}, "costs['age'] must be a finite number of at least 0, got 'dear'."),
        ({"age": True}, "costs['age'] must be a finite number of at least 0, got True."),
        ({"age": 0, "pay": 0, "job": 0}, "costs must not all be 0"),
        ({"age": 1e308, "pay": 1e308}, "nor add up to more than a float can hold."),
    ],
)
def test_what_is_no_cost_is_refused(costs: Any, message: str) -> None:
    with pytest.raises(cp.CounterpointError) as raised:
        Limits(costs=costs).check(SCHEMA)

    assert message in str(raised.value)
