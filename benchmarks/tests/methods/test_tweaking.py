"""Tweaking: rows that take another path, by hand and as laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case, NotApplicable
from benchmarks.methods.inputs import unwrap
from benchmarks.methods.tweaking import Tweaking, apart, into, move, paths_to, tweaks
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from tests.cases import fitted, other_class
from tests.logistic import square

FOREST = RandomForestClassifier(9, max_depth=4, random_state=0)


def stump(rows: pd.DataFrame) -> Background:
    """Return a forest of one tree that asks whether x is above 0.475."""
    forest = RandomForestClassifier(1, max_depth=1, bootstrap=False, max_features=None)
    return Background(forest.fit(rows, (rows["x"] > 0.46).astype(int)), rows)


def test_a_stump_moves_the_row_half_a_deviation_beyond_its_threshold() -> None:
    rows = square()
    case = Case(stump(rows), pd.DataFrame({"x": [0.2], "y": [0.3]}), 1)

    found = Tweaking(epsilon=0.5).explain(case)

    expected = 0.475 + 0.5 * rows["x"].std(ddof=0)
    np.testing.assert_allclose(found.to_numpy(), [[expected, 0.3]], atol=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.6, np.inf, 0.8),  # one margin beyond
        (-np.inf, 0.4, 0.2),
        (0.6, 0.7, 0.65),  # too narrow for the margin: the middle
        (0.3, 0.4, 0.35),
    ],
)
def test_a_number_moves_just_into_its_bounds(low: float, high: float, expected: float) -> None:
    assert into(0.5, low, high, 0.2) == pytest.approx(expected)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), i=st.integers(0, 149))
@example(seed=412, i=90)  # a value that equals its threshold in single precision only
def test_every_tweak_takes_its_path(seed: int, i: int) -> None:
    background = fitted(RandomForestClassifier(3, max_depth=4, random_state=seed), seed, 3)
    case = other_class(background, i)
    forest, inputs = unwrap(case.model, case.codec)

    for member in forest.estimators_:
        for bounds in paths_to(member.tree_, int(case.target)):
            moved = move(case, inputs, bounds, 0.5)

            if moved is not None:
                signal = [[entry.value(moved[None])[0] for entry in inputs]]
                shares = member.predict_proba(np.array(signal, dtype=np.float32))[0]
                assert np.argmax(shares) == case.target


@settings(max_examples=10, deadline=None)
@given(i=st.integers(0, 149))
def test_the_nearest_tweak_that_turns_the_forest_is_returned(i: int) -> None:
    case = other_class(fitted(FOREST, 0), i)

    found = Tweaking().explain(case)

    candidates = tweaks(case, 0.5)
    valid = candidates[case.reaches(candidates)]
    if len(valid) == 0:
        assert len(found) == 0
        assert found.attrs["reason"] == "no tweak turns the forest"
    else:
        genome = case.codec.encode(found)
        assert case.reaches(genome).all()
        assert apart(case, genome)[0] == pytest.approx(apart(case, valid).min())


@pytest.mark.parametrize("estimator", [LogisticRegression(), GradientBoostingClassifier()])
def test_other_models_are_refused(estimator: Any) -> None:
    case = other_class(fitted(estimator, 0), 0)
    name = type(estimator).__name__

    with pytest.raises(NotApplicable, match=f"needs a forest of classes, got {name}"):
        Tweaking().explain(case)
