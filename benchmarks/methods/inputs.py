"""Inputs: what a model behind preprocessing really gets, as numbers and indicators of levels.

Methods that look inside a model (Recourse, Tweaking, the exact optimum) need to know which feature
each of its inputs comes from. An input is a number moved and scaled, or the indicator of a level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from benchmarks.methods.case import Case, NotApplicable
from benchmarks.peers.subjects import Codec, Floats
from benchmarks.published import Network


@dataclass(frozen=True)
class Input:
    """One input: ``(value - shift) / scale`` of a feature, or of the indicator of its level."""

    feature: int
    level: int | None = None
    shift: float = 0.0
    scale: float = 1.0

    def value(self, genomes: Floats) -> Floats:
        """Return the input of genomes (n, d), shape (n,)."""
        genes = genomes[:, self.feature]
        raw = genes if self.level is None else (genes == self.level).astype(np.float64)
        return np.asarray((raw - self.shift) / self.scale)

    def scaled(self, shift: float, scale: float) -> Input:
        """Return this input after a further ``(value - shift) / scale``."""
        return replace(self, shift=self.shift + shift * self.scale, scale=self.scale * scale)


def unwrap(model: Any, codec: Codec) -> tuple[Any, tuple[Input, ...]]:
    """Return the model without its preprocessing, and its inputs in order.

    Understood are the paper's networks, scikit-learn estimators on numbers, and pipelines of a
    `ColumnTransformer` of one-hot encoders and scalers, scalers, and an estimator.
    """
    if isinstance(model, Network):
        return model, tuple(_of_network(entry, codec) for entry in model.inputs)
    model = getattr(model, "best_estimator_", model)  # a search over settings
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    inputs: list[Input] | None = None
    for step in steps[:-1]:
        if isinstance(step, ColumnTransformer):
            inputs = _of_columns(step, codec)
        else:
            inputs = _scaled(step, inputs or _plain(codec))
    return steps[-1], tuple(inputs or _plain(codec))


def _plain(codec: Codec) -> list[Input]:
    """Return the features as they are, which must be numbers."""
    if codec.levels:
        names = [codec.columns[j] for j in codec.levels]
        raise NotApplicable(f"the model gets the levels of {names} in a way that is not known.")
    return [Input(j) for j in range(len(codec.columns))]


def _of_network(entry: dict[str, Any], codec: Codec) -> Input:
    """Return one input of the paper's networks."""
    j = codec.columns.index(entry["feature"])
    if "level" in entry:
        return Input(j, list(codec.levels[j]).index(entry["level"]))
    low, high = float(entry["min"]), float(entry["max"])
    return Input(j, shift=low, scale=high - low)


def _of_columns(transformer: ColumnTransformer, codec: Codec) -> list[Input]:
    """Return the inputs a `ColumnTransformer` makes, in its order."""
    inputs: list[Input] = []
    for _, step, columns in transformer.transformers_:
        if len(columns) == 0 or (isinstance(step, str) and step == "drop"):
            continue
        places = [codec.columns.index(c) if isinstance(c, str) else int(c) for c in columns]
        if isinstance(step, OneHotEncoder):
            inputs += _of_levels(step, places, codec)
        else:
            inputs += _scaled(step, [Input(j) for j in places])
    return inputs


def _of_levels(encoder: OneHotEncoder, places: list[int], codec: Codec) -> list[Input]:
    """Return the indicators of a one-hot encoder; what it drops has none."""
    dropped = encoder.drop_idx_ if encoder.drop_idx_ is not None else [None] * len(places)
    return [
        Input(j, list(codec.levels[j]).index(level))
        for j, levels, left_out in zip(places, encoder.categories_, dropped, strict=True)
        for i, level in enumerate(levels)
        if i != left_out
    ]


def _scaled(step: Any, inputs: list[Input]) -> list[Input]:
    """Return inputs after a scaler."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return inputs
    name = type(step).__name__
    if isinstance(step, MinMaxScaler):
        shifts, scales = -step.min_ / step.scale_, 1.0 / step.scale_
    elif isinstance(step, StandardScaler):
        n = len(inputs)
        shifts = step.mean_ if step.with_mean else np.zeros(n)
        scales = step.scale_ if step.with_std else np.ones(n)
    elif name == "FunctionTransformer" and step.func is None:  # how "passthrough" is kept
        return inputs
    else:
        raise NotApplicable(f"the model's step {name} is neither a one-hot encoder nor a scaler.")
    both = zip(inputs, shifts, scales, strict=True)
    return [entry.scaled(float(shift), float(scale)) for entry, shift, scale in both]


@dataclass(frozen=True)
class LinearScore:
    """A score that is linear in numbers and levels; positive where the target is reached.

    Attributes
    ----------
    slopes : ndarray of shape (d,)
        What one unit of each number adds; 0 for levels.
    levels : dict of feature to ndarray
        What each level of a feature adds.
    intercept : float
        What is added to all.
    """

    slopes: Floats
    levels: dict[int, Floats]
    intercept: float

    def at(self, genomes: Floats) -> Floats:
        """Return the scores of genomes (n, d), shape (n,)."""
        numbers = np.where(self.slopes == 0.0, 0.0, genomes) @ self.slopes
        parts = [worth[genomes[:, j].astype(int)] for j, worth in self.levels.items()]
        return np.asarray(numbers + sum(parts) + self.intercept)


def linear_score(case: Case) -> LinearScore:
    """Return the linear score of a case's model towards its target."""
    estimator, inputs = unwrap(case.model, case.codec)
    weights, intercept = _coefficients(estimator)
    sign = _direction(case, estimator)
    slopes = np.zeros(len(case.genome))
    levels = {j: np.zeros(len(names)) for j, names in case.codec.levels.items()}
    total = intercept
    for weight, entry in zip(weights, inputs, strict=True):
        total -= weight * entry.shift / entry.scale
        if entry.level is None:
            slopes[entry.feature] += weight / entry.scale
        else:
            levels[entry.feature][entry.level] += weight / entry.scale
    turned = {j: sign * worth for j, worth in levels.items()}
    return LinearScore(sign * slopes, turned, sign * total)


def _coefficients(estimator: Any) -> tuple[Floats, float]:
    """Return weights and intercept of a score that is positive for the second class, or above."""
    if isinstance(estimator, Network) and len(estimator.layers) == 1:
        kernel, bias = estimator.layers[0]
        return kernel[:, 0], float(bias[0])
    weights = getattr(estimator, "coef_", None)
    if weights is None or np.ndim(weights) != 2 or len(weights) != 1:
        raise NotApplicable(f"{type(estimator).__name__} has no linear score of two classes.")
    return np.asarray(weights[0], dtype=np.float64), float(estimator.intercept_[0])


def _direction(case: Case, estimator: Any) -> float:
    """Return 1 if the target lies where the score is positive, else -1."""
    if not case.is_interval:
        return 1.0 if list(estimator.classes_).index(case.target) == 1 else -1.0
    low, high = case.target
    if (low >= 0.5) == (high <= 0.5):
        raise NotApplicable(f"a linear score needs a target on one side of 0.5, got {case.target}.")
    return 1.0 if low >= 0.5 else -1.0
