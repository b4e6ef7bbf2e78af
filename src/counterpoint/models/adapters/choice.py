"""The choice of an adapter: by what the model is able to do, and by what is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterpoint.models.adapters.boosters import adapted_booster, adapted_catboost
from counterpoint.models.adapters.mlflow import adapted_mlflow
from counterpoint.models.adapters.multi_output import check_single
from counterpoint.models.adapters.networks import adapted_keras, adapted_torch
from counterpoint.models.adapters.onnx_file import adapted_onnx
from counterpoint.models.adapters.scorer import Scorer

ADAPTERS = (  # the first that knows the model
    adapted_onnx,
    adapted_mlflow,
    adapted_keras,
    adapted_torch,
    adapted_catboost,
    adapted_booster,
)


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
    for adapted in ADAPTERS:
        scorer = adapted(model, classes)
        if scorer is not None:
            return scorer
    check_single(model)
    return model
