"""Keras 3 models: called directly, for `predict` sets up a loop with a progress bar each time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pandas as pd

from counterpoint.errors import InvalidInput, PredictorError
from counterpoint.models.adapters.network import as_matrix, as_outputs, in_parts
from counterpoint.models.adapters.scorer import is_loaded

REMEDY = "give its last layer activation='softmax', or 'sigmoid' for a single output"


class KerasModel:
    """A model from a matrix of numbers (n, d) to scores.

    Parameters
    ----------
    model : keras.Model
        The model, with one input.
    classes : sequence, optional
        The class labels.
    """

    is_shared = False  # layers may hold state, and no backend promises otherwise

    def __init__(self, model: Any, classes: Sequence[Any] | None = None) -> None:
        self.model, self.classes_ = model, classes
        self._who = f"the Keras model {model.name!r}"
        n_inputs = len(getattr(model, "inputs", None) or [None])
        if n_inputs > 1:
            raise InvalidInput(
                f"{self._who} has {n_inputs} inputs; pass a function that splits a frame into "
                "them and returns the model's scores."
            )

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the model's outputs."""
        numbers = as_matrix(rows, self._who).astype(self.model.variable_dtype)
        return as_outputs(in_parts(self._ask, numbers), self.classes_, self._who, REMEDY)

    def _ask(self, numbers: Any) -> Any:
        """Return the raw outputs of a part of the rows."""
        with without_gradients():
            answer = self.model(numbers, training=False)
        if isinstance(answer, list | tuple | dict):
            raise PredictorError(
                f"{self._who} has {len(answer)} outputs; pass a function that asks the model and "
                "returns the scores of one."
            )
        if is_loaded(answer, "torch", "Tensor"):  # Keras' own conversion warns since NumPy 2
            return answer.detach().cpu().double().numpy()  # NumPy knows no bfloat16
        return sys.modules["keras"].ops.convert_to_numpy(answer)


def without_gradients() -> AbstractContextManager[Any]:
    """Return a context in which the backend records nothing for gradients."""
    is_torch = sys.modules["keras"].config.backend() == "torch"
    return sys.modules["torch"].no_grad() if is_torch else nullcontext()


def adapted(model: Any, classes: Sequence[Any] | None) -> KerasModel | None:
    """Return the adapter of a Keras 3 model."""
    is_model = is_loaded(model, "keras", "Model") and hasattr(sys.modules["keras"], "ops")
    return KerasModel(model, classes) if is_model else None
