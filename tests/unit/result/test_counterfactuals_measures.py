from __future__ import annotations

from itertools import combinations
from typing import Any

import moocore
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from tests.strategies import generator

import counterpoint as cp
from counterpoint.search.front import covered, hypervolume, hypervolume_history

NAMES = ["a", "b", "c", "d"]
SLOPES = np.array([3.0, 2.0, 1.0, 0.0])
SEARCH = cp.Search(method="nsga2", generations=12)


def table() -> pd.DataFrame:
    return pd.DataFrame(generator(0).integers(0, 10, (120, 4)), columns=NAMES)


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    data = table()
    return cp.Explainer(LinearRegression().fit(data, data.to_numpy() @ SLOPES), data)


@pytest.fixture(scope="module")
def found(explainer: cp.Explainer) -> cp.Counterfactuals:
    return explainer.explain(dict.fromkeys(NAMES, 1), (20.5, None), SEARCH)


def test_minimality_counts_the_changes_that_are_not_needed(found: cp.Counterfactuals) -> None:
    """A change of feature j moves a linear prediction by slope times the step."""
    genomes = found.genomes
    without = (genomes @ SLOPES)[:, None] - SLOPES * (genomes - 1.0)
    expected = ((without >= 20.5) & (genomes != 1.0)).sum(axis=1)

    undone = found.minimality()

    np.testing.assert_array_equal(undone, expected)
    assert undone.max() > 0
    assert found.valid().minimality().min() == 0


def test_minimality_of_hand_made_counterfactuals(found: cp.Counterfactuals) -> None:
    genomes = np.array([[8.0, 1, 1, 1], [8.0, 9, 1, 1], [8.0, 1, 1, 5], [9.0, 9, 9, 9]])
    judged = found.problem.evaluate(genomes[None])
    made = found.take([0] * 4)
    object.__setattr__(made, "genomes", genomes)
    object.__setattr__(made, "objectives", judged.objectives[0])

    undone = made.minimality()

    # 27; 43 and 22 or 27 without one; 27 and d is idle; 54 + any three of four.
    assert undone.tolist() == [0, 2, 1, 4]


def test_minimality_asks_one_row_for_each_change() -> None:
    asked: list[int] = []

    def model(rows: pd.DataFrame) -> Any:
        asked.append(len(rows.drop_duplicates()))
        return rows.to_numpy() @ SLOPES

    found = cp.Explainer(model, table()).explain(dict.fromkeys(NAMES, 1), (20.5, None), SEARCH)
    asked.clear()

    found.minimality()

    assert len(asked) == 1
    assert asked[0] <= found.changed.sum()


def test_minimality_of_a_class_asks_predict() -> None:
    """With a threshold of 0.7 a probability of 0.6 does not reach the class."""
    data = table()
    score = data.to_numpy() @ SLOPES
    machine = FixedThresholdClassifier(LogisticRegression(C=0.01), threshold=0.7)
    model = machine.fit(data, np.where(score > 27, "high", "low"))
    assert model.classes_.tolist() == ["high", "low"]
    found = cp.Explainer(model, data).explain(dict.fromkeys(NAMES, 9), "low", SEARCH).valid()
    assert len(found.genomes) > 0

    undone = found.minimality()

    frame, expected = found.to_frame(near_misses=True)[NAMES], []
    for i, changes in enumerate(found.changed):
        back = pd.concat([frame.iloc[[i]]] * int(changes.sum()), ignore_index=True)
        for k, j in enumerate(np.flatnonzero(changes).tolist()):
            back.loc[k, NAMES[j]] = 9
        reached = (model.predict(back) == "low") & (model.predict_proba(back)[:, 1] > 0.5)
        expected.append(int(reached.sum()))
    assert undone.tolist() == expected


def test_minimality_of_nothing_is_empty(found: cp.Counterfactuals) -> None:
    assert found.take([]).minimality().tolist() == []


def test_diversity_is_the_mean_distance_of_all_pairs(found: cp.Counterfactuals) -> None:
    data = table()
    ranges = (data.max() - data.min()).to_numpy()  # the row lies within the data
    distances = [
        np.mean(np.abs(found.genomes[i] - found.genomes[j]) / ranges)
        for i, j in combinations(range(len(found.genomes)), 2)
    ]

    assert found.diversity() == pytest.approx(np.mean(distances), rel=1e-12)


def test_diversity_counts_levels_as_equal_or_not() -> None:
    data = pd.DataFrame({"a": list("abcde"), "b": [0.0, 1.0, 2.0, 3.0, 4.0]})
    explainer = cp.Explainer(lambda rows: rows["b"] / 4.0, data)
    found = explainer.explain(data[:1], (0.7, 1.0), cp.WhatIf(n=2))

    assert found.diversity() == pytest.approx((1.0 + 0.25) / 2.0)


def test_fewer_than_two_are_not_diverse(found: cp.Counterfactuals) -> None:
    assert found.take([0]).diversity() == 0.0
    assert found.take([]).diversity() == 0.0


def test_the_hypervolume_of_a_result_is_that_of_moocore(found: cp.Counterfactuals) -> None:
    reference = np.array([20.5 - found.row_prediction, 1.0, 4.0, 1.0])
    inside = found.objectives[(found.objectives < reference).all(axis=1)]

    assert found.hypervolume() == pytest.approx(moocore.hypervolume(inside, ref=reference))
    assert 0.0 < found.valid().hypervolume() <= found.hypervolume()
    assert found.take([]).hypervolume() == 0.0


def test_points_on_the_reference_add_no_hypervolume() -> None:
    reference = np.array([1.0, 1.0])

    volume = hypervolume(np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0], [2.0, -5.0]]), reference)

    assert volume == 0.25
    assert hypervolume(np.zeros((0, 2)), reference) == 0.0


def test_generations_without_new_points_repeat_the_hypervolume() -> None:
    objectives = np.array([[0.5, 0.5], [0.25, 0.75]])

    history = hypervolume_history(objectives, np.array([1, 3]), 5, np.array([1.0, 1.0]))

    assert history.tolist() == [0.0, 0.25, 0.25, 0.3125, 0.3125]


def dominated_share(points: Any, by: Any) -> float:
    hits = [any((b <= p).all() and (b < p).any() for b in by) for p in points]
    return float(np.mean(hits))


def test_coverage_is_the_share_of_the_others_valid_ones_that_ours_dominate(
    explainer: cp.Explainer,
) -> None:
    row, target = dict.fromkeys(NAMES, 1), (20.5, None)
    ours = explainer.explain(row, target, cp.Search(method="nsga2", generations=40))
    other = explainer.explain(row, target, cp.WhatIf(n=40))

    share = ours.coverage_of(other)

    assert share == dominated_share(other.valid().objectives, ours.valid().objectives)
    assert 0.0 < share < 1.0
    assert other.coverage_of(ours) < share


def test_a_result_does_not_cover_itself(found: cp.Counterfactuals) -> None:
    assert found.coverage_of(found) == 0.0
    assert not covered(np.ones((2, 3)), np.ones((1, 3))).any()


def test_coverage_of_or_by_nothing_is_not_a_number(found: cp.Counterfactuals) -> None:
    assert np.isnan(found.coverage_of(found.take([])))
    assert np.isnan(found.take(~found.reaches).coverage_of(found))


def test_the_frequency_of_changes_is_a_share_in_descending_order(
    found: cp.Counterfactuals,
) -> None:
    frequency = found.change_frequency()

    frame = found.to_frame(near_misses=True)[NAMES]
    assert sorted(frequency.index) == NAMES
    assert frequency.name == "frequency"
    assert frequency.is_monotonic_decreasing
    for name in NAMES:
        assert frequency[name] == (frame[name] != 1).mean()


def test_nothing_changes_nothing(found: cp.Counterfactuals) -> None:
    frequency = found.take([]).change_frequency()

    assert frequency.to_dict() == dict.fromkeys(NAMES, 0.0)
