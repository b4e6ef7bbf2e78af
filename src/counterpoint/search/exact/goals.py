"""Goals: a target as linear conditions on the raw scores of an additive model."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.models.additive import AdditiveModel
from counterpoint.problem.target import Target
from counterpoint.search.exact.program import Goal

# How far raw scores may miss a goal, as a share of what leaves add: no counterfactual is lost by
# rounding, the model's or the solver's, and what the model then refuses is forbidden one by one.
SLACK = 4e-6
LEAST = 1e-300  # above 0, whose logarithm is infinite
ROUNDED = 2e-7  # how far a probability in single precision may be from what its score gives


def goals_of(target: Target, model: AdditiveModel, n_outputs: int) -> list[Goal] | None:
    """Return goals one of which every score that reaches the target meets; None if none are linear.

    Several are needed where any of several classes will do.
    """
    c = len(model.base)
    if model.link == "labels" and not target.is_decision:  # outputs are 0 and 1
        return None
    if c == 1 and model.link in ("logistic", "labels"):
        return [_of_logistic(target, n_outputs)]
    if target.is_decision:
        others = [a for a in range(c) if a not in target.wanted]
        return [_ahead(b, others, c) for b in target.wanted]
    if model.link == "softmax":
        return None
    weights = np.zeros((1, c))
    weights[0, target.column] = 1.0
    ends = [np.array([end]) for end in (target.low, target.high)]
    if model.link == "exp":
        ends = [np.where(end > 0.0, np.log(np.maximum(end, LEAST)), -np.inf) for end in ends]
    return [Goal(weights, *ends)]


def _ahead(b: int, others: list[int], c: int) -> Goal:
    """Return the goal that class b is no less likely than the others."""
    weights = np.zeros((len(others), c))
    weights[:, b] = 1.0
    weights[np.arange(len(others)), others] = -1.0
    return Goal(weights, np.zeros(len(others)), np.full(len(others), np.inf))


def _of_logistic(target: Target, n_outputs: int) -> Goal:
    """Return the goal of a score whose logistic function is the probability of the second class."""
    low, high = (0.5, 1.0) if target.is_decision else (target.low, target.high)
    if n_outputs == 2 and target.column == 0:
        low, high = 1.0 - high, 1.0 - low
    ends = _logit(low - ROUNDED), _logit(high + ROUNDED)
    return Goal(np.ones((1, 1)), np.array([ends[0]]), np.array([ends[1]]))


def _logit(p: float) -> float:
    """Return what the logistic function takes to p; infinite at its ends and beyond."""
    if p <= 0.0 or p >= 1.0:
        return -np.inf if p <= 0.0 else np.inf
    return float(np.log(p) - np.log1p(-p))


def widened(goal: Goal, sizes: Floats, rounding: Floats | float = 0.0) -> Goal:
    """Return a goal that scores of these sizes (k,) do not miss by rounding, or by more of it."""
    slack = SLACK * np.maximum(1.0, sizes) + rounding
    return Goal(goal.weights, goal.low - slack, goal.high + slack)
