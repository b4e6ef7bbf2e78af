"""Scorer: what the predictor needs of a model that is not an estimator, one output per row.

Of models with several outputs per row one is explained, which `one_output` chooses.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from counterpoint.checks import is_whole
from counterpoint.errors import InvalidInput, did_you_mean, listed


@runtime_checkable
class Scorer(Protocol):
    """A model behind one method; a `predict` that returns labels may be added.

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

    # the class labels in the order of the scores' columns; None if the model has or knows none
    classes_: Sequence[Any] | None
    # whether several threads may ask at once; if not, they are made to wait for each other
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


class OneOutput:
    """One output of an estimator with several: its label, or its number."""

    def __init__(self, model: Any, index: int) -> None:
        self.model, self.index = model, index

    @property
    def classes_(self) -> Any:
        """The labels of this output; a regressor has none."""
        classes = self.model.classes_
        if len(classes) == 0:  # CatBoost's regressors list none
            raise AttributeError("classes_")
        # Where the outputs are yes or no, networks and CatBoost list the outputs instead.
        return classes[self.index] if is_nested(classes) else np.array([0, 1])

    @property
    def n_features_in_(self) -> Any:
        """What the estimator says of the rows it was fitted on, so that it is asked alike."""
        return self.model.n_features_in_

    @property
    def feature_names_in_(self) -> Any:
        """The columns it was fitted on."""
        return self.model.feature_names_in_

    def predict(self, rows: Any) -> Any:
        """Return this output's prediction, shape (n,)."""
        answers = np.asarray(self.model.predict(rows))
        if answers.ndim != 2:
            raise InvalidInput("model has a single output per row; pass it without one_output.")
        return answers[:, self.index]


class OneProbableOutput(OneOutput):
    """One output of an estimator that gives the probabilities of all of them."""

    def predict_proba(self, rows: Any) -> Any:
        """Return the probability of each class of this output, shape (n, c)."""
        answers = self.model.predict_proba(rows)
        if isinstance(answers, list):
            return np.asarray(answers[self.index])
        second = np.asarray(answers)[:, self.index]  # of two classes some tell the second only
        return np.column_stack([1.0 - second, second])


def one_output(model: Any, which: int | str, names: Sequence[str] | None = None) -> OneOutput:
    """Return one output of an estimator with several, as a model of its own.

    Parameters
    ----------
    model : object
        A fitted estimator whose `predict` returns a column per output.
    which : int or str
        The output: its index, or its name among `names`.
    names : sequence of str, optional
        The outputs' names in order, for example the columns of the frame it was fitted on.

    Returns
    -------
    OneOutput
        With `predict`, and with `classes_` and `predict_proba` if the estimator has them.

    Raises
    ------
    InvalidInput
        If there is no such output.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0]], [[0.0, 5.0], [1.0, 7.0]])
    >>> one_output(model, "price", names=["size", "price"]).predict([[2.0]]).round(6)
    array([9.])
    """
    n_outputs = count_outputs(model)
    index = index_of(which, names)
    if n_outputs is not None and not -n_outputs <= index < n_outputs:
        raise InvalidInput(f"which must be one of the model's {n_outputs} outputs, got {which!r}.")
    kind = OneProbableOutput if hasattr(model, "predict_proba") else OneOutput
    return kind(model, index)


def index_of(which: int | str, names: Sequence[str] | None) -> int:
    """Return the index of an output that is given by index or name."""
    if is_whole(which):
        return int(which)
    known = list(names) if names is not None else []
    if which in known:
        return known.index(which)
    hint = did_you_mean(which, known) or (
        f"the names are {listed(known)}." if known else "pass names=[...] or an index."
    )
    raise InvalidInput(f"which names the output {which!r}, which is not known; {hint}")


def is_nested(classes: Any) -> bool:
    """Whether classes are told for each of several outputs."""
    return isinstance(classes, list) and len(classes) > 0 and isinstance(classes[0], np.ndarray)


def count_outputs(model: Any) -> int | None:
    """Return how many outputs a fitted estimator has, or None if it does not tell."""
    classes: Any = getattr(model, "classes_", None)
    if is_nested(classes):
        return len(classes)
    # A network for three classes has three `n_outputs_` too: only a regressor's are outputs.
    n_outputs: Any = getattr(model, "n_outputs_", None) if classes is None else None
    return int(n_outputs) if is_whole(n_outputs) else None


def check_single(model: Any) -> None:
    """Refuse an estimator with several outputs, and say how to choose one."""
    n_outputs = 1 if isinstance(model, OneOutput) else count_outputs(model)
    if n_outputs is not None and n_outputs > 1:
        raise several_outputs(n_outputs)


def several_outputs(n_outputs: int) -> InvalidInput:
    """Build the error for a model with several outputs."""
    return InvalidInput(
        f"model has several outputs per row ({n_outputs}); choose one: "
        "Explainer(counterpoint.one_output(model, 0), data)."
    )
