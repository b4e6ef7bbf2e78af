"""Accelerator: a predictor whose scores come from ONNX Runtime, where these are the model's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.errors import AcceleratorWarning, InvalidInput, MissingDependency, did_you_mean
from counterpoint.models import onnx
from counterpoint.models.ways import Ask, Way
from counterpoint.problem.predictor import Predictor

TOLERANCE = 1e-4  # how far its scores may be from the model's, as a share of the outputs' range
DECIMALS = 6  # of its probabilities: single precision must not break a tie at 0.5


def accelerated(predictor: Predictor, accelerate: str | None) -> Predictor:
    """Return a predictor that asks ONNX Runtime in the model's place; its `own` is the given one.

    If the model cannot be converted, or its converted self disagrees with it on the observed rows,
    a warning says so, and the given predictor is returned.
    """
    if accelerate is None:
        return predictor
    if accelerate != "onnx":
        hint = did_you_mean(accelerate, ["onnx"]) or "None asks the model itself."
        raise InvalidInput(f"accelerate must be 'onnx' or None, got {accelerate!r}; {hint}")
    onnx.check_installed()
    tolerance = tolerance_of(predictor)
    why = "it is neither an estimator that takes arrays nor one whose columns can be tabulated"
    for way in onnx.ways(predictor.model, predictor.encoding, predictor.observed):
        try:
            ask = ask_in_runtime(way, predictor)
            ask(predictor.observed[:1])  # an error of its own must not be covered by the model
            quick = predictor.scored_by(ask, tolerance)
            difference = float(np.abs(quick.score_observed() - predictor.observed_outputs).max())
        except MissingDependency:
            raise
        except Exception as error:  # of whatever kind: converters raise many
            first_line = str(error).strip().partition("\n")[0]
            why = f"it could not be converted ({type(error).__name__}: {first_line[:200]})"
            continue
        if difference <= tolerance:
            return quick
        why = (
            f"its ONNX scores differ by up to {difference:.2g} on the observed rows, where "
            f"{tolerance:.2g} is allowed"
        )
    name = getattr(predictor.model, "__name__", type(predictor.model).__name__)
    warnings.warn(
        f"accelerate='onnx' is not used for {name}: {why}; the model itself is used.",
        AcceleratorWarning,
        stacklevel=4,
    )
    return predictor


def tolerance_of(predictor: Predictor) -> float:
    """Return how far scores may differ: for a regressor a share of the range it predicts."""
    if predictor.classes is not None:
        return TOLERANCE
    return TOLERANCE * float(np.ptp(predictor.observed_outputs))


def ask_in_runtime(way: Way, predictor: Predictor) -> Ask:
    """Return the function that asks the converted model for scores; probabilities are rounded."""
    ask = onnx.in_runtime(way, predictor.observed).ask(predictor.method)
    if ask is None:
        raise TypeError(f"{predictor.method} has no counterpart in ONNX")
    if predictor.classes is None or predictor.gives_only_labels:
        return ask

    def rounded(genomes: Floats) -> Any:
        return np.round(np.asarray(ask(genomes), dtype=np.float64), DECIMALS)

    return rounded
