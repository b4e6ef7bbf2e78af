"""The choice of an adapter: by what the model is able to do, and by what is loaded.

MLflow's `pyfunc` models, whose one `predict` returns labels, probabilities or numbers, have theirs
here.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.errors import InvalidInput, PredictorError
from counterpoint.models.adapters.frameworks import (
    adapted_booster,
    adapted_catboost,
    adapted_keras,
    adapted_torch,
)
from counterpoint.models.adapters.onnx_file import adapted_onnx
from counterpoint.models.adapters.scorer import check_single, is_loaded, is_scorer
from counterpoint.models.calls import codes_of


class PyFunc:
    """A `pyfunc` model, of which only its answers tell what it predicts.

    With `classes`, labels count as certain, and the columns of a frame named after them are put
    into their order.
    """

    is_shared = False  # whatever code the model was saved with

    def __init__(self, model: Any, classes: Sequence[Any] | None = None) -> None:
        self.model, self.classes_ = model, classes

    def score(self, rows: pd.DataFrame) -> Any:
        """Return probabilities or numbers; labels as probabilities of 0 and 1."""
        answer = self.model.predict(self._as_signed(rows))
        if self.classes_ is None:
            return refused_if_labels(answer)
        classes = list(self.classes_)
        if isinstance(answer, pd.DataFrame) and set(answer.columns) == set(classes):
            answer = answer[classes]
        answers = np.asarray(answer)
        if answers.size == len(rows) and answers.dtype.kind not in "fc":
            return np.eye(len(classes))[codes_of(answers, len(rows), tuple(classes))]
        return answers

    def _as_signed(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows as a signature wants them: it knows texts, but refuses pandas' categories."""
        if getattr(self.model.metadata, "signature", None) is None:
            return rows
        categories = rows.select_dtypes("category").columns
        return rows.astype(dict.fromkeys(categories, object))


def refused_if_labels(answer: Any) -> Any:
    """Return numbers as they are; labels mean nothing as long as their order is not known."""
    first = np.ravel(answer)[:1].tolist()
    if any(isinstance(value, str | bool) for value in first):
        raise PredictorError(
            f"the MLflow model returned labels, first {first[0]!r}; pass classes=[...] with all of "
            "them, or save the model with pyfunc_predict_fn='predict_proba'."
        )
    return answer


def adapted_mlflow(model: Any, classes: Sequence[Any] | None) -> PyFunc | None:
    """Return the adapter of a `pyfunc` model."""
    return PyFunc(model, classes) if is_loaded(model, "mlflow.pyfunc", "PyFuncModel") else None


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

    Examples
    --------
    >>> def accept(rows):
    ...     return rows["income"] / 100
    >>> adapt(accept) is accept
    True
    """
    if is_scorer(model):
        return model
    for adapted in ADAPTERS:
        scorer = adapted(model, classes)
        if scorer is not None:
            return scorer
    check_single(model)
    return model


def asked_method(model: Any) -> tuple[Any, str]:
    """Return whom to ask for scores, and by which method."""
    if is_scorer(model):
        return model, "score"
    for method in ("predict_proba", "predict"):
        if hasattr(model, method):
            return model, method
    if inspect.ismethod(model) and getattr(model.__self__, model.__name__, None) == model:
        return model.__self__, model.__name__
    if callable(model):
        return model, "__call__"
    raise InvalidInput(
        f"model must be a callable or have predict_proba or predict, got {type(model).__name__}"
        + (
            f"; load a file with load_model({str(model)!r})."
            if isinstance(model, str | PathLike)
            else "."
        )
    )


def unbound(model: Any) -> Any:
    """Return the estimator when its bound `predict_proba` was passed: it knows the classes."""
    if inspect.isclass(model):
        raise InvalidInput(
            f"model is the class {model.__name__}, not a model; pass a fitted one, such as "
            f"{model.__name__}(...).fit(rows, outcomes)."
        )
    if inspect.ismethod(model) and model.__name__ == "predict_proba":
        return model.__self__
    return model
