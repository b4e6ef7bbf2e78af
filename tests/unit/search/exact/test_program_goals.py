"""Goals: a raw score meets one of them if and only if the outputs reach the target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.arrays import Floats
from counterpoint.models.additive import AdditiveModel, Link
from counterpoint.problem.target import Target, decision
from counterpoint.search.exact.program import ROUNDED, Goal, goals_of, widened

SCORES = st.lists(st.floats(-4.0, 4.0), min_size=3, max_size=3)


def model(link: Link, c: int) -> AdditiveModel:
    """Return a model of c raw scores without anything that is added up."""
    nothing = np.zeros((0, c))
    return AdditiveModel(None, np.zeros(c), nothing, nothing[:, None], 1.0, link)


def meets(goal: Goal, raw: Floats) -> bool:
    """Whether raw scores (c,) meet a goal."""
    values = goal.weights @ raw
    return bool(((values >= goal.low) & (values <= goal.high)).all())


@given(raw=SCORES, wanted=st.sampled_from([(0,), (2,), (0, 1)]))
def test_a_class_of_several_is_wanted_by_comparing_raw_scores(
    raw: list[float], wanted: tuple[int, ...]
) -> None:
    scores = np.array(raw)
    target = decision(wanted, ("a", "b", "c"))

    goals = goals_of(target, model("softmax", 3), 3)

    assert goals is not None
    best = scores.max()
    assert any(meets(goal, scores) for goal in goals) == any(scores[b] == best for b in wanted)


@pytest.mark.parametrize("column", [0, 1])
@given(raw=st.floats(-4.0, 4.0), low=st.floats(0.05, 0.5), high=st.floats(0.55, 0.95))
def test_a_probability_of_two_classes_is_wanted_by_the_logit(
    column: int, raw: float, low: float, high: float
) -> None:
    p = 1.0 / (1.0 + np.exp(-raw))
    p = p if column else 1.0 - p

    goals = goals_of(Target(low, high, column, "x"), model("logistic", 1), 2)

    assert goals is not None
    if min(abs(p - low), abs(p - high)) > 2 * ROUNDED:  # nearer to an end, both may be said
        assert meets(goals[0], np.array([raw])) == (low <= p <= high)


@pytest.mark.parametrize("wanted", [0, 1])
@pytest.mark.parametrize("raw", [-2.0, 3.0])
def test_a_label_of_two_is_wanted_by_the_side_of_the_raw_score(wanted: int, raw: float) -> None:
    goals = goals_of(decision((wanted,), ("a", "b")), model("labels", 1), 2)

    assert goals is not None
    assert meets(goals[0], np.array([raw])) == ((raw > 0.0) == (wanted == 1))


def test_an_interval_of_what_gives_only_labels_is_no_linear_condition() -> None:
    assert goals_of(Target(0.6, 1.0, 1, "x"), model("labels", 1), 2) is None


@pytest.mark.parametrize("raw", [-1.0, 0.5, 2.0])
@pytest.mark.parametrize("low", [0.0, 1.0])
def test_an_interval_of_counts_is_wanted_by_its_logarithms(raw: float, low: float) -> None:
    goals = goals_of(Target(low, 3.0, 0, "x"), model("exp", 1), 1)

    assert goals is not None
    assert meets(goals[0], np.array([raw])) == (low <= np.exp(raw) <= 3.0)


def test_an_interval_of_a_softmax_is_no_linear_condition() -> None:
    assert goals_of(Target(0.2, 0.4, 1, "b"), model("softmax", 3), 3) is None


def test_a_number_should_lie_in_its_interval() -> None:
    goals = goals_of(Target(2.0, 3.0), model("identity", 1), 1)

    assert goals is not None
    assert [meets(goals[0], np.array([value])) for value in (1.9, 2.0, 3.1)] == [False, True, False]


def test_a_widened_goal_is_not_missed_by_rounding() -> None:
    goal = Goal(np.ones((1, 1)), np.array([2.0]), np.array([np.inf]))

    assert meets(widened(goal, np.array([100.0])), np.array([2.0 - 1e-5]))
    assert not meets(widened(goal, np.array([1.0])), np.array([2.0 - 1e-5]))
