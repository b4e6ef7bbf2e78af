"""Scorer: what the predictor needs of a model that is not an estimator, and whose adapter gives it.

An adapter is chosen by what the model is able to do, and by what is loaded. Of models with several
outputs per row one is explained, which `one_output` chooses. `pyfunc` models of MLflow, whose one
`predict` returns labels, probabilities or numbers, have their adapter here.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from counterpoint.checks import is_loaded, is_whole
from counterpoint.errors import InvalidInput, PredictorError, did_you_mean, listed
from counterpoint.models.adapters.frameworks import (
    adapted_booster,
    adapted_catboost,
    adapted_keras,
    adapted_onnx,
    adapted_torch,
)
from counterpoint.models.inspection import codes_of, several_outputs


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
