"""Scorer: what the predictor needs of a model that is not an estimator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import pandas as pd


@runtime_checkable
class Scorer(Protocol):
    """A model behind one method; a `predict` that returns labels may be added.

    Attributes
    ----------
    classes_ : sequence or None
        The class labels in the order of the scores' columns; None if the model has or knows none.
    is_shared : bool
        Whether several threads may ask at once; if not, they are made to wait for each other.

    Examples
    --------
    >>> class Rule:
    ...     classes_ = ("bad", "good")
    ...     is_shared = True
    ...
    ...     def score(self, rows):
    ...         return (rows["income"] > 20).to_numpy(float)
    >>> isinstance(Rule(), Scorer)
    True
    """

    classes_: Sequence[Any] | None
    is_shared: bool

    def score(self, rows: pd.DataFrame) -> Any:
        """Return scores of shape (n,), (n, 1) or (n, classes)."""
        ...


def is_scorer(model: Any) -> bool:
    """Whether a model is asked by its `score`; the `score` of an estimator is another.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[1], [2]], [0, 1])
    >>> tree.is_shared = True
    >>> is_scorer(tree)
    False
    """
    return isinstance(model, Scorer) and not hasattr(model, "predict_proba")


def is_loaded(model: Any, module: str, name: str) -> bool:
    """Whether `model` is an instance of a class of a framework, which is not imported for that.

    Examples
    --------
    >>> is_loaded(3.5, "builtins", "float")
    True
    >>> is_loaded(3.5, "a_framework_nobody_loaded", "Model")
    False
    """
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)
