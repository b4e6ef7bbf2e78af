"""Fast paths: ways to ask a model past what costs time, each believed after a trial only."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.kernels import kernel
from counterpoint.models.additive import AdditiveModel
from counterpoint.models.calls import awake, is_known
from counterpoint.models.column_tables import ColumnTables, is_plain, tabulate, without_names
from counterpoint.models.known_models import best_of, own_sums, steps_of
from counterpoint.models.trees import N_CATEGORIES
from counterpoint.streams import Stage, row_keys, uniforms
from counterpoint.table.encoding import Encoding


class Core:
    """The inside of an estimator, asked like the estimator.

    `score` returns scores (n, c) or (n,) of an array (n, d).
    """

    def __init__(self, score: Callable[[Any], Any], classes: Any) -> None:
        self.score, self.classes = score, classes

    def predict_proba(self, rows: Any) -> Any:
        """Return the probability of each class, shape (n, c)."""
        scores = self.score(rows)
        return scores if scores.ndim == 2 else np.vstack([1.0 - scores, scores]).T

    def predict(self, rows: Any) -> Any:
        """Return the likeliest class, or the score of a regressor, shape (n,)."""
        if self.classes is None:
            return self.score(rows).reshape(-1)
        return self.classes.take(np.argmax(self.predict_proba(rows), axis=1), axis=0)


class LinearCore:
    """A linear model of scikit-learn without its checks: the same operations, in the same order.

    It is a regressor, or a classifier of two classes.
    """

    def __init__(self, model: Any) -> None:
        self.weights, self.intercept = model.coef_.T, model.intercept_
        self.classes = getattr(model, "classes_", None)

    def decision_function(self, rows: Any) -> Any:
        """Return the sums (n,); what is not finite is left to the model itself."""
        sums = rows @ self.weights + self.intercept
        if not np.isfinite(sums).all():
            raise ValueError("what is not finite is the model's own business")
        return sums.reshape(-1) if sums.shape[1:] == (1,) else sums

    def predict_proba(self, rows: Any) -> Any:
        """Return the probability of each of two classes, shape (n, 2)."""
        from scipy.special import expit  # which the model has loaded

        second = expit(self.decision_function(rows))
        return np.stack([1.0 - second, second], axis=1)

    def predict(self, rows: Any) -> Any:
        """Return the class decided for, or the sum of a regressor, shape (n,)."""
        sums = self.decision_function(rows)
        return sums if self.classes is None else self.classes.take((sums > 0).astype(np.intp))


def core_of(model: Any, sums: AdditiveModel | None) -> Any:
    """Return what scores by the sums of an estimator, or its booster; None if it shows neither.

    What becomes of the sums is the business of scikit-learn's boosting itself. All other links are
    written here with the operations of the library, in its precision.
    """
    classes = getattr(model, "classes_", None)
    if sums is None:
        booster: Any = getattr(model, "booster_", None)
        return Core(booster.predict, classes) if hasattr(booster, "predict") else None
    if hasattr(model, "_raw_predict") and (hasattr(model, "_predictors") or classes is not None):
        core = copy.copy(model)  # what it is made of stays; only the walk is ours
        core._raw_predict = lambda rows, n_threads=None: np.asfortranarray(sums.raw(rows))  # noqa: ARG005
        core.decision_function = lambda rows: squeezed(sums.raw(rows))
        return core
    return Core(lambda rows: linked(sums, rows), classes)


def squeezed(raw: Floats) -> Floats:
    """Return raw scores (n, c), or (n,) if there is one of each row."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def linked(sums: AdditiveModel, rows: Floats) -> Any:
    """Return scores in the precision of the sums: of two classes that of the second."""
    raw: Any = sums.raw(rows)
    if sums.link == "softmax":
        powers = raw - raw.max(axis=1, keepdims=True)
        _exponentiate(powers.reshape(-1), sums.is_single)
        whole = np.cumsum(powers, axis=1)[:, -1:]  # one after the other
        dtype = np.float32 if sums.is_single else np.float64
        return powers.astype(dtype) / whole.astype(dtype)
    raw = raw.astype(np.float32) if sums.is_single else raw
    if sums.link != "logistic":
        return raw
    from scipy.special import expit  # which the model has loaded

    return expit(raw[:, 0])


@kernel
def _exponentiate(values: Floats, is_single: bool) -> None:
    """Replace values (n,) by their exponentials, as the C library has them in one precision."""
    for i in range(len(values)):
        values[i] = math.exp(np.float32(values[i])) if is_single else math.exp(values[i])


MOST_ROWS = 1024  # observed rows in a trial, evenly spaced
SIZES = (1, 8, 24, 40)  # rows of the calls a search makes, and one alone
FEW, LEAST_MET = 64, 512  # levels of a column whose pairs a trial tries, and in how many rows


def quickest(method: str, plain: Ask, ways: list[FastPath], questions: list[Floats]) -> Ask:
    """Return the first way that answers as `plain` does in every bit and does not warn.

    It is `plain` if none does, or if `plain` itself fails on a question of the trial.
    """
    asks = [ask for way in ways if (ask := way.ask(method)) is not None]
    if not asks:
        return plain
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of levels that never met
            expected = [plain(rows) for rows in questions]
    except Exception:
        return plain
    return next((ask for ask in asks if is_exact(ask, questions, expected)), plain)


def is_exact(ask: Ask, questions: list[Floats], expected: list[Any]) -> bool:
    """Whether `ask` gives the expected answers bit for bit, and raises or warns of nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return all(
                are_same(ask(rows), answers)
                for rows, answers in zip(questions, expected, strict=True)
            )
    except Exception:
        return False


def are_same(answers: Any, expected: Any) -> bool:
    """Whether two answers have the same form and bits."""
    answers, expected = np.asarray(answers), np.asarray(expected)
    return answers.dtype == expected.dtype and np.array_equal(answers, expected)


def trial_rows(observed: Floats) -> list[Floats]:
    """Return observed rows, and rows of values that never met, at once and in blocks."""
    n = len(observed)
    some = np.ascontiguousarray(observed[np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.int64)])
    mixed = mix_columns(some)
    long = np.resize(mixed, (3 * max(SIZES), observed.shape[1]))  # a small table is repeated
    blocks = [long[i * size : (i + 1) * size] for size in SIZES for i in range(2)]
    return [some, mixed, meetings(observed), *blocks]


def meetings(observed: Floats) -> Floats:
    """Return genomes (n, d) in which every two levels of two columns meet that have few of them.

    An orthogonal array of strength two (Bose 1938): of i = a + b p, with p a prime, column j has
    a + j b modulo p. Of columns with many values some are drawn.
    """
    values = [np.unique(column) for column in observed.T]
    few = [j for j, each in enumerate(values) if len(each) <= FEW]
    most = max([2, min(len(few), FEW), *(len(values[j]) for j in few)])
    p = next(k for k in range(most, 2 * most) if all(k % q for q in range(2, k)))
    i = np.arange(max(p * p, LEAST_MET))
    draws = uniforms(row_keys(0, observed[:1]), Stage.TRIAL, 0, len(i), len(values))[0]
    columns = [each[(draws[:, j] * len(each)).astype(np.int64)] for j, each in enumerate(values)]
    for k, j in enumerate(few):
        columns[j] = values[j][(i + k * (i // p)) % p % len(values[j])]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def mix_columns(genomes: Floats) -> Floats:
    """Return genomes (n, d) with every column shifted by another number of rows.

    Each column keeps its values; which of them meet is new.
    """
    n, d = genomes.shape
    shifts = 1 + np.arange(d) * max(1, n // (d + 1)) + np.arange(d) ** 2
    return np.ascontiguousarray(genomes[(np.arange(n)[:, None] + shifts) % n, np.arange(d)])


Ask: TypeAlias = Callable[[Floats], Any]  # from genomes (n, d) to a model's raw answers


class FastPath(NamedTuple):
    """One way to ask a model."""

    to_rows: Callable[[Floats], Any]  # turns genomes (n, d) into the rows `model` takes
    model: Any  # who is asked: a copy of the caller's estimator without names, or a part of it

    def ask(self, method: str) -> Ask | None:
        """Return the function that asks for `method`, or None if this model lacks it."""
        function = getattr(self.model, method, None)
        to_rows = self.to_rows
        return None if function is None else lambda genomes: function(to_rows(genomes))


def quick_ways(
    model: Any, encoding: Encoding, observed: Floats, sums: AdditiveModel | None = None
) -> list[FastPath]:
    """Return quick ways to ask `model`, the quickest first; none is known to be exact.

    With `sums` over genes the first needs nothing but genomes.
    """
    try:
        bare = [peel(way) for way in bare_ways(model, encoding, observed)]
        if sums is not None and sums.forest is not None:
            core = core_of(steps_of(model)[-1], sums)
            return [FastPath(lambda genomes: genomes, core), *bare]
        return [quick for way in bare for quick in cut_short(way)]
    except Exception:  # what looks like an estimator may be none: it is asked as it is
        return []


def cut_short(last: FastPath) -> list[FastPath]:
    """Return the ways past the layers of an estimator that takes arrays."""
    if not is_known(last.model):  # a subclass may do otherwise
        return [last]
    sums = own_sums(last.model, N_CATEGORIES)
    core: Any = None
    if sums is None or sums.forest is not None:
        core = core_of(last.model, sums)
    elif sums.link in ("logistic", "identity"):
        core = LinearCore(last.model)
    return [last] if core is None else [FastPath(last.to_rows, core), last]


def bare_ways(model: Any, encoding: Encoding, observed: Floats) -> Iterator[FastPath]:
    """Yield ways past the frame, to a model that takes a bare array."""
    model = awake(best_of(model))
    if not hasattr(model, "n_features_in_"):  # no estimator, or not fitted
        return
    # Tables have no place for a missing level.
    is_tabled = not encoding.has_missing
    tables, rest = past_columns(model, encoding, observed) if is_tabled else (None, model)
    if tables is not None:
        yield FastPath(tables, without_names(rest))
    elif all(map(is_plain, encoding.columns)):
        for to_array in array_layouts(encoding):
            yield FastPath(to_array, without_names(model))


def past_columns(
    model: Any, encoding: Encoding, observed: Floats
) -> tuple[ColumnTables | None, Any]:
    """Return tables of the ColumnTransformer a model begins with, and the model behind it."""
    if hasattr(model, "steps") and hasattr(model.steps[0][1], "transformers_"):
        rest = copy.copy(model)
        rest.steps = model.steps[1:]
        return tabulate(model.steps[0][1], encoding, observed), rest
    inner = getattr(model, "_preprocessor", None)  # histogram boosting encodes categories by one
    if hasattr(inner, "transformers_"):
        rest = copy.copy(model)
        rest._preprocessor = None
        return tabulate(inner, encoding, observed), rest
    return None, model


def peel(way: FastPath) -> FastPath:
    """Return the way past a pipeline: its transforming steps join `to_rows`, its last is asked."""
    if not hasattr(way.model, "steps"):
        return way
    *steps, last = [step for _, step in awake(way.model).steps]
    transforms = [transform_of(step) for step in steps]

    def to_rows(genomes: Floats) -> Any:
        rows = way.to_rows(genomes)
        for transform in transforms:
            rows = transform(rows)
        return rows

    return FastPath(to_rows, last)


def transform_of(step: Any) -> Callable[[Any], Any]:
    """Return how a step transforms rows; a scaler of known arrays does without its checks."""
    if type(step).__name__ != "StandardScaler" or not is_known(step):
        return step.transform  # type: ignore[no-any-return]

    def scaled(rows: Any) -> Any:
        if type(rows) is not np.ndarray or rows.dtype != np.float64:
            return step.transform(rows)
        rows = rows - step.mean_ if step.with_mean else rows.copy(order="K")
        if step.with_std:
            rows /= step.scale_
        return rows

    return scaled


def array_layouts(encoding: Encoding) -> Iterator[Callable[[Floats], Any]]:
    """Yield functions from genomes to arrays: in the dtype and order of the frame's, or plain.

    The order in memory decides how a matrix product adds up, and so its last bits.
    """
    dtypes, by_column = [column.dtype for column in encoding.columns], encoding.by_column
    if not encoding.is_float and all(isinstance(dtype, np.dtype) for dtype in dtypes):
        common = np.result_type(*dtypes)
        yield lambda genomes: by_column(genomes).astype(common, order="F")
    if not encoding.is_float:
        yield lambda genomes: by_column(genomes).copy(order="F")
    yield lambda genomes: np.copy(by_column(genomes))
