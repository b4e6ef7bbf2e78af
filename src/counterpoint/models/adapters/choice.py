"""The choice of an adapter: by what the model is able to do, and by what is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterpoint.models.adapters import catboost, keras, mlflow, multi_output, onnx_file, torch
from counterpoint.models.adapters import xgboost as booster
from counterpoint.models.adapters.scorer import Scorer

KINDS = (onnx_file, mlflow, keras, torch, catboost, booster)  # the first that knows the model


def adapt(model: Any, classes: Sequence[Any] | None = None) -> Any:
    """Return the `Scorer` of a model that needs one, else the model itself.

    Parameters
    ----------
    model : object
        The caller's model.
    classes : sequence, optional
        The class labels the caller gave.

    Examples
    --------
    >>> def accept(rows):
    ...     return rows["income"] / 100
    >>> adapt(accept) is accept
    True
    """
    if isinstance(model, Scorer):
        return model
    for kind in KINDS:
        scorer = kind.adapted(model, classes)
        if scorer is not None:
            return scorer
    multi_output.check_single(model)
    return model
