"""Predictor: the caller's model behind one door, asked in blocks, its answers checked."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import InvalidInput, PredictorError, listed
from counterpoint.table.encoding import Encoding

# A row's candidates are scored in blocks padded to a multiple of this: matrix products of such
# blocks give the same bits alone and merged with others (tested in `is_batch_invariant`).
BLOCK = 8
CHUNK = 65_536  # rows of the observed data scored in one call
TOLERANCE = 1e-6  # how far probabilities may stray from summing to one


class Scorer(Protocol):
    """What we ask of a model: outputs of shape (n, c) for n rows given as a frame or array."""

    def __call__(self, rows: Any, /) -> Any:
        """Return one score, or one probability per class, for each row."""


class Predictor:
    """Scores genomes with the caller's model.

    Parameters
    ----------
    model : callable, or object with `predict_proba` or `predict`
        The model.
    encoding : Encoding
        Turns genomes into the rows the model expects.
    observed : ndarray of shape (n, d)
        The observed rows, which the model is asked once.
    classes : sequence, optional
        Class labels of a callable, in the order of its outputs; estimators bring their own.

    Attributes
    ----------
    observed_outputs : ndarray of shape (n, c)
        What the model says of the observed rows.
    classes : tuple or None
        The class labels; None for a model with a single output that is not a class.
    gives_only_labels : bool
        Whether the model has classes but no probabilities, so that outputs are 0 or 1.
    """

    def __init__(
        self,
        model: Any,
        encoding: Encoding,
        observed: Floats,
        classes: Sequence[Any] | None = None,
    ) -> None:
        model = unbound(model)
        self.encoding = encoding
        self.gives_only_labels = False
        self._predict: Callable[[Any], Any] | None = None
        self._score: Callable[[Any], Any]
        own = getattr(model, "classes_", None)
        if hasattr(model, "predict_proba"):
            self._score, self._predict = model.predict_proba, getattr(model, "predict", None)
        elif hasattr(model, "predict"):
            self._score = model.predict
            self.gives_only_labels = own is not None
        elif callable(model):
            self._score = model
        else:
            raise InvalidInput(
                f"model must be a callable or have predict_proba or predict, "
                f"got {type(model).__name__}."
            )
        self.classes = check_classes(own if classes is None else classes)
        self._wants_array = wants_array(model, encoding)
        self._threads = ThreadpoolController()
        self._observed = observed
        self.observed_outputs = self._score_observed()

    def outputs(self, genomes: Floats) -> Floats:
        """Return the model's outputs for `genomes` (n, d): shape (n, c), finite, checked."""
        raw = self._ask(self._score, genomes)
        if self.gives_only_labels:
            codes = self._codes(raw, len(genomes))
            return np.eye(len(self.classes or ()))[codes]
        outputs = as_scores(raw, genomes.shape[0])
        self._check_finite(outputs, genomes)
        return outputs if self.classes is None else self._as_probabilities(outputs)

    def blocks(self, genomes: Floats) -> Floats:
        """Return outputs (r, n, c) of genomes (r, n, d), all rows asked in one call."""
        return np.asarray(self._in_blocks(self.outputs, genomes))

    def label_blocks(self, genomes: Floats) -> Ints:
        """Return `labels` (r, n) of genomes (r, n, d), all rows asked in one call."""
        return np.asarray(self._in_blocks(self.labels, genomes))

    def _in_blocks(self, ask: Callable[[Floats], Any], genomes: Floats) -> Any:
        """Ask for genomes (r, n, d) with each row's block padded, merged if that changes no bit."""
        r, n, d = genomes.shape
        padded = -(-n // BLOCK) * BLOCK
        merged = np.empty((r, padded, d))
        merged[:, :n] = genomes
        merged[:, n:] = genomes[:, -1:]  # repeats an asked row: no new question
        if r > 1 and not self.is_batch_invariant:
            answers = np.concatenate([ask(block) for block in merged])
        else:
            answers = ask(merged.reshape(r * padded, d))
        return answers.reshape(r, padded, *answers.shape[1:])[:, :n]

    def labels(self, genomes: Floats) -> Ints:
        """Return the class code the model's own `predict` gives each genome (n, d)."""
        if self._predict is None:  # a bare callable: its likeliest class is its decision
            return np.asarray(np.argmax(self.outputs(genomes), axis=-1))
        return self._codes(self._ask(self._predict, genomes), len(genomes))

    @cached_property
    def observed_labels(self) -> Ints:
        """The class codes `predict` gives the observed rows."""
        return self.labels(self._observed)

    @cached_property
    def is_consistent(self) -> bool:
        """Whether on all observed rows `predict` names a class just when its probability leads."""
        if self._predict is None:
            return True
        outputs, labels = self.observed_outputs, self.observed_labels
        named = outputs[np.arange(len(labels)), labels]
        return bool((named >= outputs.max(axis=1)).all())

    @property
    def has_decision(self) -> bool:
        """Whether the class decided for may not be the one with a probability above 0.5.

        A model's own `predict` may decide otherwise, and of three classes none may exceed 0.5.
        """
        return self._predict is not None or len(self.classes or ()) > 2

    @cached_property
    def is_batch_invariant(self) -> bool:
        """Whether a row's block gets the same bits alone and merged with other rows.

        Checked once, on observed rows, in blocks and calls of the sizes a search uses.
        """
        observed = self._observed
        for n in (BLOCK, 3 * BLOCK, 100 * 3 * BLOCK):
            order = np.arange(n) * (1 + np.arange(n) // BLOCK)  # no two blocks alike
            rows = np.ascontiguousarray(observed[order % len(observed)])
            merged = self.outputs(rows)
            for start in range(0, n, max(BLOCK, n // 4 // BLOCK * BLOCK)):
                alone = self.outputs(rows[start : start + BLOCK])
                if not np.array_equal(alone, merged[start : start + BLOCK]):
                    return False
        return True

    @property
    def is_known_variant(self) -> bool:
        """Whether merged scores were tried and found to differ from scores alone."""
        return not self.__dict__.get("is_batch_invariant", True)

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Keep the model's libraries on one thread.

        How threads split a matrix product changes its last bits, and on small calls starting them
        costs more than they save; rows are shared among `workers` instead.
        """
        with _THREADS_LOCK:
            _THREADS_USERS.append(None)
            if len(_THREADS_USERS) == 1:
                _THREADS_LIMIT.append(self._threads.limit(limits=1))
        try:
            yield
        finally:
            with _THREADS_LOCK:
                _THREADS_USERS.pop()
                if not _THREADS_USERS:
                    _THREADS_LIMIT.pop().restore_original_limits()

    def _score_observed(self) -> Floats:
        """Ask the model for the observed rows, in large chunks; a callable's columns are named."""
        chunks = [self._observed[i : i + CHUNK] for i in range(0, len(self._observed), CHUNK)]
        if self.classes is None:
            few = self._observed[:BLOCK]
            n_columns = as_scores(self._ask(self._score, few), len(few)).shape[1]
            self.classes = tuple(range(n_columns)) if n_columns > 1 else None
        return np.concatenate([self.outputs(chunk) for chunk in chunks])

    def _ask(self, function: Callable[[Any], Any], genomes: Floats) -> Any:
        """Call the model on decoded rows; an error of its own gets the row count added."""
        genomes = genomes.copy()  # the model may write to its rows
        rows = genomes if self._wants_array else self.encoding.decode(genomes)
        try:
            return function(rows)
        except Exception as error:
            raise PredictorError(
                f"the model raised {type(error).__name__} on {len(genomes)} rows: {error}"
            ) from error

    def _as_probabilities(self, outputs: Floats) -> Floats:
        """Return one probability per class, or refuse what is none."""
        n_classes = len(self.classes or ())
        if outputs.shape[1] == 1 and n_classes == 2:  # the probability of the second class
            outputs = np.column_stack([1.0 - outputs, outputs])
        if outputs.shape[1] != n_classes:
            raise PredictorError(
                f"the model returned {outputs.shape[1]} columns, but there are {n_classes} classes "
                f"({listed(self.classes or ())}); expected one probability per class."
            )
        bad = (outputs < -TOLERANCE) | (outputs > 1.0 + TOLERANCE)
        bad |= np.abs(outputs.sum(axis=1, keepdims=True) - 1.0) > 100 * TOLERANCE
        if bad.any():
            i = int(np.flatnonzero(bad.any(axis=1))[0])
            raise PredictorError(
                f"the model returned {outputs[i].tolist()} for one row, which are not "
                "probabilities: each must lie between 0 and 1 and they must sum to 1. "
                "Did you pass a decision function instead of predict_proba?"
            )
        return np.clip(outputs, 0.0, 1.0)  # so that round-off cannot leave a target up to 1

    def _check_finite(self, outputs: Floats, genomes: Floats) -> None:
        """Refuse NaN and infinite scores, showing the first row that got one."""
        finite = np.isfinite(outputs).all(axis=1)
        if not finite.all():
            first = self.encoding.decode(genomes[~finite][:1]).to_dict("records")[0]
            raise PredictorError(
                f"the model returned NaN or infinite scores for {int((~finite).sum())} of "
                f"{len(genomes)} rows, first for {first}."
            )

    def _codes(self, labels: Any, n: int) -> Ints:
        """Return the class codes of predicted labels."""
        labels = np.asarray(labels, dtype=object).reshape(-1)
        if len(labels) != n:
            raise PredictorError(f"predict returned {len(labels)} labels for {n} rows.")
        codes = {label: code for code, label in enumerate(self.classes or ())}
        try:
            return np.array([codes[label] for label in labels], dtype=np.int64)
        except (KeyError, TypeError) as error:
            raise PredictorError(
                f"predict returned the label {error.args[0]!r}, which is not one of the classes "
                f"{listed(codes)}; pass classes=[...] with the model's own labels."
            ) from error


_THREADS_LOCK = threading.Lock()  # one setting per process, so its users are counted
_THREADS_USERS: list[None] = []
_THREADS_LIMIT: list[Any] = []


def unbound(model: Any) -> Any:
    """Return the estimator when its bound `predict_proba` was passed: it knows the classes."""
    if inspect.ismethod(model) and model.__name__ == "predict_proba":
        return model.__self__
    return model


def wants_array(model: Any, encoding: Encoding) -> bool:
    """Whether an estimator was fitted on a bare array, so that a frame would make it warn."""
    model = getattr(model, "__self__", model)  # a bound method such as predict
    is_fitted_on_array = hasattr(model, "n_features_in_") and not hasattr(
        model, "feature_names_in_"
    )
    return is_fitted_on_array and all(f.is_numeric for f in encoding.schema.features)


def check_classes(classes: Any) -> tuple[Any, ...] | None:
    """Return the classes as a tuple of plain Python labels."""
    if classes is None:
        return None
    if isinstance(classes, list) and classes and isinstance(classes[0], np.ndarray):
        raise InvalidInput("model has several outputs per row, which are not supported yet.")
    labels = np.asarray(classes, dtype=object)
    if labels.ndim != 1 or len(labels) < 2 or len(set(labels.tolist())) != len(labels):
        raise InvalidInput(
            f"classes must be a list of at least two different labels, got {classes!r}."
        )
    return tuple(labels.tolist())


def as_scores(raw: Any, n: int) -> Floats:
    """Return the model's answer as float64 of shape (n, c), or say which shape is wrong."""
    try:
        answers = np.asarray(raw)
        is_object = answers.dtype.kind == "O"  # else text and complex numbers would be converted
        scores = answers.astype(np.float64, casting="unsafe" if is_object else "same_kind")
    except (TypeError, ValueError) as error:
        raise PredictorError(
            f"the model returned values that are not numbers ({error}). "
            "Did you pass predict instead of predict_proba?"
        ) from error
    if scores.ndim == 1:
        scores = scores[:, None]
    if scores.ndim != 2 or len(scores) != n or scores.shape[1] == 0:
        raise PredictorError(
            f"the model returned an array of shape {np.shape(raw)} for {n} rows; expected "
            f"({n},), ({n}, 1) or ({n}, classes)."
        )
    return scores
