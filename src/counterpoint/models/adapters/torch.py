"""PyTorch modules: asked in evaluation mode, without gradients, in their own precision."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.errors import PredictorError
from counterpoint.models.adapters.network import as_matrix, as_outputs, in_parts
from counterpoint.models.adapters.scorer import is_loaded

REMEDY = (
    "end the module with torch.nn.Softmax(dim=1), or torch.nn.Sigmoid() for a single output, "
    "for example torch.nn.Sequential(module, torch.nn.Softmax(dim=1))"
)


class TorchModule:
    """A module from a matrix of numbers (n, d) to scores.

    Parameters
    ----------
    module : torch.nn.Module
        The module; its training flags are put back after each call.
    classes : sequence, optional
        The class labels.
    """

    is_shared = False  # evaluation mode is a flag of the module, seen by all threads

    def __init__(self, module: Any, classes: Sequence[Any] | None = None) -> None:
        self.module, self.classes_ = module, classes
        self._who = f"the PyTorch module {type(module).__name__}"

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the module's outputs."""
        numbers = as_matrix(rows, self._who)
        with evaluating(self.module), sys.modules["torch"].no_grad():
            outputs = in_parts(self._ask, numbers)
        return as_outputs(outputs, self.classes_, self._who, REMEDY)

    def _ask(self, numbers: Floats) -> Any:
        """Return the raw outputs of a part of the rows."""
        torch = sys.modules["torch"]
        dtype, device = self._kind()
        # Converted first: not every device knows float64.
        answer = self.module(torch.as_tensor(numbers, dtype=dtype).to(device))
        if not isinstance(answer, torch.Tensor):
            raise PredictorError(
                f"{self._who} returned {type(answer).__name__} instead of a tensor; pass a "
                "function that asks the module and returns its scores."
            )
        return answer.cpu().double().numpy()

    def _kind(self) -> tuple[Any, Any]:
        """Return dtype and device of the weights; without weights, PyTorch's defaults."""
        weights = (weight for weight in self.module.parameters() if weight.is_floating_point())
        first = next(weights, None)
        if first is None:
            return sys.modules["torch"].get_default_dtype(), "cpu"
        return first.dtype, first.device


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Put a module into evaluation mode for a while, and each of its parts back as it was."""
    before = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, was_training in before:  # `train()` would also wake parts that were frozen
            part.training = was_training


def adapted(model: Any, classes: Sequence[Any] | None) -> TorchModule | None:
    """Return the adapter of a module; one with a `predict_proba` of its own is asked by that."""
    is_module = is_loaded(model, "torch.nn", "Module")
    return (
        TorchModule(model, classes) if is_module and not hasattr(model, "predict_proba") else None
    )
