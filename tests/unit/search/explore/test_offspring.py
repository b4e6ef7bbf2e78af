from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.kernels import called

import counterpoint as cp
from counterpoint.search.explore import offspring
from counterpoint.search.explore.knowledge import MoveWeights, probabilities_of
from counterpoint.search.explore.loop import after, make_offspring, start

DATA = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30) % 7, "c": list("xyz") * 10})
EXPLAINER = cp.Explainer(lambda rows: rows["a"] / 30, DATA)
PROBLEM = EXPLAINER.explain(DATA[:1], (0.8, 1.0), cp.WhatIf(), max_changed=2).problem
share_to_boundary = called(offspring.share_to_boundary)


def test_children_are_new_distinct_and_within_the_limits() -> None:
    archive, source, _ = start(PROBLEM, 200, 24)
    made: list[Any] = []
    for wave in range(4):
        children, is_new = make_offspring(source, wave, 12)
        judged = PROBLEM.evaluate(children)
        archive.add(children, judged, np.arange(1), wave, counts=is_new)
        source = after(source, 12)
        made += [tuple(child) for child in children[0][is_new[0]]]

    assert len(made) > 20
    assert len(set(made)) == len(made)
    assert all(1 <= (np.array(child) != PROBLEM.rows[0]).sum() <= 2 for child in made)


def test_the_first_candidates_change_one_feature_each() -> None:
    _, source, _ = start(PROBLEM, 50, 24)

    children, is_new = make_offspring(source, 0, len(source.first.feature))

    first = children[0][is_new[0]]
    n_single = ((first != PROBLEM.rows[0]).sum(axis=1) == 1).sum()
    assert n_single >= 0.5 * len(first) > 0


def test_weights_add_up_and_few_changes_are_preferred() -> None:
    probabilities = probabilities_of(MoveWeights(mix=0.0, sparse=2.0), 3)

    np.testing.assert_array_equal(probabilities.limits, [2.0, 4.0, 6.0, 9.0, 9.0, 12.0])
    np.testing.assert_array_equal(probabilities.odds, [1.0, 1.0, 0.25, 1.0 / 9.0])


@pytest.mark.parametrize(("prediction", "share"), [(0.8, 0.5), (0.5, 1.0), (0.1, 3.0), (0.2, 3.0)])
def test_a_straight_line_tells_how_much_of_a_change_is_needed(
    prediction: float, share: float
) -> None:
    assert share_to_boundary(prediction, 0.2, 0.5) == pytest.approx(share)
