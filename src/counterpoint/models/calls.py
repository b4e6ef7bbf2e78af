"""One call of a model: on one thread, its answer as numbers of the expected shape, or refused.

How many threads a library runs must not change its answers. A model is shared between threads only
if all it is made of is known to bear that.
"""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import InvalidInput, PredictorError, listed, named_columns, told_by

IDLE = (None, "passthrough")  # steps of a pipeline that do nothing
MANY = 20  # rows of which a model that can tell anything apart does not say the same
SAME, REPEATED = 1e-9, 1e-6  # how far answers that count as the same may be apart
TOLERANCE = 1e-6  # how far a probability may lie outside 0 and 1; for their sum a hundred times it
# Packages whose fitted models and their parts write to nothing of theirs when they predict …
ESTIMATORS = {"sklearn", "xgboost", "lightgbm", "counterpoint"}
# … and those of what else such models are made of.
DATA = {"builtins", "numpy", "scipy", "pandas", "ctypes", "math", "operator"}
NAMED = (type, FunctionType, BuiltinFunctionType, np.ufunc)


def as_scores(raw: Any, n: int) -> Floats:
    """Return the model's answer as float64 of shape (n, c), or say which shape is wrong."""
    try:
        answers = np.asarray(raw)
        is_object = answers.dtype.kind == "O"  # else text and complex numbers would be converted
        scores = answers.astype(np.float64, casting="unsafe" if is_object else "same_kind")
    except Exception as error:  # a tensor on another device raises what it likes
        raise PredictorError(
            f"the model returned values that are not numbers ({told_by(error)}). "
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


def as_probabilities(outputs: Floats, classes: tuple[Any, ...]) -> Floats:
    """Return finite outputs as one probability per class, or refuse what is none."""
    if outputs.shape[1] == 1 and len(classes) == 2:  # the probability of the second class
        outputs = np.column_stack([1.0 - outputs, outputs])
    if outputs.shape[1] != len(classes):
        raise PredictorError(
            f"the model returned {outputs.shape[1]} columns, but there are {len(classes)} classes "
            f"({listed(classes)}); expected one probability per class."
        )
    low, high, sums = outputs.min(), outputs.max(), np.asarray(sum(outputs.T))
    is_outside = low < -TOLERANCE or high > 1.0 + TOLERANCE
    if is_outside or max(sums.max() - 1.0, 1.0 - sums.min()) > 100 * TOLERANCE:
        raise no_probabilities(outputs)
    if low < 0.0 or high > 1.0:  # round-off must not leave a target up to 1
        return np.clip(outputs, 0.0, 1.0)
    return outputs


def no_probabilities(outputs: Floats) -> PredictorError:
    """Build the error for outputs that are no probabilities, showing the first of them."""
    is_bad = (outputs < -TOLERANCE) | (outputs > 1.0 + TOLERANCE)
    is_bad |= np.abs(outputs.sum(axis=1, keepdims=True) - 1.0) > 100 * TOLERANCE
    i = int(np.flatnonzero(is_bad.any(axis=1))[0])
    return PredictorError(
        f"the model returned {outputs[i].tolist()} for one row, which are not probabilities: each "
        "must lie between 0 and 1 and they must sum to 1. Did you pass a decision function "
        "instead of predict_proba?"
    )


def codes_of(labels: Any, n: int, classes: tuple[Any, ...] | None) -> Ints:
    """Return the class codes of predicted labels."""
    labels = np.asarray(labels, dtype=None if isinstance(labels, np.ndarray) else object)
    labels = labels.reshape(-1)
    if len(labels) != n:
        raise PredictorError(f"predict returned {len(labels)} labels for {n} rows.")
    codes = {label: code for code, label in enumerate(classes or ())}
    try:
        if labels.dtype.kind in "iub" and n > len(codes):  # each class is looked up once
            told, which = np.unique(labels, return_inverse=True)
            return np.array([codes[label] for label in told.tolist()], dtype=np.int64)[which]
        return np.array([codes[label] for label in labels.tolist()], dtype=np.int64)
    except (KeyError, TypeError) as error:
        raise PredictorError(
            f"predict returned the label {error.args[0]!r}, which is not one of the classes "
            f"{listed(codes)}; pass classes=[...] with the model's own labels."
        ) from error


def are_labels(raw: Any, classes: tuple[Any, ...]) -> bool:
    """Whether answers are labels of classes, one per row, and not scores.

    Numbers from 0 to 1 are taken for probabilities of the second of two classes: where they are
    labels, 0 and 1, that is the same.

    Examples
    --------
    >>> are_labels(["a", "b"], ("a", "b")), are_labels([0.0, 1.0], (0, 1))
    (True, False)
    """
    try:
        answers = np.asarray(raw)
    except Exception:  # a tensor on another device raises what it likes; `as_scores` says so
        return False
    if answers.ndim > 2 or (answers.ndim == 2 and answers.shape[1] != 1):
        return False
    is_share = answers.dtype.kind in "iuf" and len(classes) == 2
    if is_share and bool(np.all((answers >= 0) & (answers <= 1))):
        return False
    known = set(classes)
    return all(isinstance(label, Hashable) and label in known for label in answers.ravel().tolist())


def check_classes(classes: Any) -> tuple[Any, ...] | None:
    """Return the classes as a tuple of plain Python labels."""
    if classes is None:
        return None
    labels = np.asarray(classes, dtype=object)
    is_flat = labels.ndim == 1 and all(isinstance(label, Hashable) for label in labels)
    if not is_flat or len(labels) < 2 or len(set(labels.tolist())) != len(labels):
        raise InvalidInput(
            f"classes must be a list of at least two different labels, got {classes!r}."
        )
    return tuple(labels.tolist())


def unknown_columns(model: Any, columns: Sequence[Any]) -> list[Any]:
    """Return the columns of a table that a model was not trained on, if it has more than that.

    Some models pass over columns they do not know, such as an outcome left in the data. Names alone
    tell nothing: some models change them.
    """
    known = getattr(awake(model), "feature_names_in_", None)
    if known is None or len(columns) <= len(known):
        return []
    names = set(known)
    return [name for name in columns if name not in names]


def lacking_columns(model: Any, columns: Sequence[Any]) -> list[Any]:
    """Return the columns a model was trained on that a table lacks, if the table has fewer."""
    known = getattr(awake(model), "feature_names_in_", None)
    if known is None or len(columns) >= len(known):
        return []
    names = set(columns)
    return [name for name in known if name not in names]


def check_columns(model: Any, columns: list[Any]) -> None:
    """Refuse columns the model was not trained on: they would be searched for nothing."""
    if unknown := unknown_columns(model, columns):
        raise InvalidInput(
            f"data has the {named_columns(unknown)}, which the model was not trained on; leave "
            f"{'it' if len(unknown) == 1 else 'them'} out, as in data.drop(columns={unknown!r})."
        )


def awake(model: Any) -> Any:
    """Return a pipeline without the steps that pass everything through: its first tells of columns.

    Any other model is returned as it is.
    """
    steps = getattr(model, "steps", None)
    if not isinstance(steps, list) or all(step not in IDLE for _, step in steps[:-1]):
        return model
    bare = copy.copy(model)
    bare.steps = [*((name, step) for name, step in steps[:-1] if step not in IDLE), steps[-1]]
    return bare


def order_of(model: Any, columns: Sequence[Any]) -> list[int] | None:
    """Return where the columns a model was trained on stand, if that is in another order.

    A ColumnTransformer picks its columns by their names, so that their order says nothing.
    """
    model = awake(model)
    known = list(getattr(model, "feature_names_in_", ()))
    first = model.steps[0][1] if hasattr(model, "steps") else model
    if hasattr(first, "transformers_") or known == list(columns):
        return None
    if len(known) != len(columns) or set(known) != set(columns):
        return None
    place = {name: j for j, name in enumerate(columns)}
    return [place[name] for name in known]


def remark_on(outputs: Floats, observed: Floats) -> str:
    """Say that a model says the same of all observed rows, if it does and they are many."""
    n, apart = len(outputs), np.ptp(outputs, axis=0).max()
    if n < MANY or apart > SAME * max(1.0, np.abs(outputs).max()) or not np.ptp(observed, 0).any():
        return ""
    return (
        f"the model says the same of all {n} observed rows ({outputs[0].tolist()}). Was it trained "
        "on scaled or otherwise prepared data? Give the pipeline with all its steps, or the data "
        "as they were when it was trained."
    )


def remark_on_repeats(outputs: Floats, again: Floats) -> str:
    """Say that a model answers differently when asked twice, if it does."""
    apart = float(np.abs(outputs - again).max())
    if apart <= REPEATED * max(1.0, np.abs(outputs).max()):
        return ""
    return (
        f"the model answers differently when asked twice about the same rows, by up to "
        f"{apart:.2g}; results cannot be repeated, and few will hold. Is it in training mode, or "
        "does it draw random numbers? Fix its mode or its seed."
    )


def is_known(model: Any) -> bool:
    """Whether a model is made of known types and functions only, all the way down.

    A class of the caller's may keep a work buffer, and a function may call anything: of neither
    anybody knows what it does when two threads ask at once, or where no data lie.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> own = type("Own", (), {"__module__": "shop"})()
    >>> is_known(FunctionTransformer(np.log1p)), is_known(own)
    (True, False)
    """
    waiting, seen = [model], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, list | tuple | set | frozenset):
            waiting += thing
        elif isinstance(thing, np.ndarray):
            waiting += thing.ravel().tolist() if thing.dtype == object else ()
        elif isinstance(thing, MethodType):
            waiting += (thing.__func__, thing.__self__)
        elif isinstance(thing, partial):
            waiting += (thing.func, thing.args, thing.keywords)
        elif (package := package_of(thing)) not in ESTIMATORS | DATA:
            return False
        elif not isinstance(thing, NAMED) and (package in ESTIMATORS or callable(thing)):
            waiting += getattr(thing, "__dict__", {}).values()
    return True


def package_of(thing: Any) -> str:
    """Return the package that a class or function is of, or else the type of a value."""
    if isinstance(thing, np.ufunc):  # `np.frompyfunc` makes one of any function
        return "numpy" if getattr(np, thing.__name__, None) is thing else ""
    named = thing if isinstance(thing, NAMED) else type(thing)
    # Before scikit-learn 1.9 its compiled losses say that their module is `_loss`.
    if getattr(sys.modules.get("sklearn._loss._loss"), named.__name__, None) is named:
        return "sklearn"
    return (named.__module__ or "").partition(".")[0]


def answers_alike(ask: Callable[[int], Any], n: int) -> bool:
    """Whether questions 0 to n - 1 get the same answers from two threads at once as from one."""
    alone = [ask(i) for i in range(n)]
    together = threading.Barrier(2)

    def ask_all(order: range) -> dict[int, Any]:
        together.wait()
        return {i: ask(i) for i in order}

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(ask_all, (range(n), range(n - 1, -1, -1))))
    return all(np.array_equal(alone[i], told[i]) for told in answers for i in range(n))


@contextmanager
def one_thread(threads: ThreadpoolController) -> Iterator[None]:
    """Keep the libraries found by `threads` on one thread, while this thread asks the model.

    How threads split a matrix product changes its last bits, and on small calls starting them
    costs more than they save; rows are shared among `workers` instead. Linear algebra has one
    setting per process, OpenMP and joblib have one per thread.
    """
    _KEEPER.enter(threads)
    try:
        with threads.limit(limits=1, user_api="openmp"), without_joblib():
            yield
    finally:
        _KEEPER.leave()


def without_joblib() -> AbstractContextManager[Any]:
    """Return a context in which joblib starts no threads from this one.

    A forest's threads add up its trees in the order they finish, which changes the last bits.
    """
    joblib = sys.modules.get("joblib")
    return nullcontext() if joblib is None else joblib.parallel_config(backend="sequential")


class Keeper:
    """Keeps linear algebra on one thread from the first who needs it until the last.

    threadpoolctl lets only the thread that has set a limit lift it, and whoever comes first need
    not be the last to leave. So the limit is held by a thread of its own.
    """

    def __init__(self) -> None:
        self._lock, self._n_users = threading.Lock(), 0
        self._holder: threading.Thread | None = None
        self._done = threading.Event()

    def enter(self, threads: ThreadpoolController) -> None:
        """Return once the limit holds."""
        with self._lock:
            self._n_users += 1
            if self._n_users == 1:
                held, self._done = threading.Event(), threading.Event()
                arguments = (threads, held, self._done)
                self._holder = threading.Thread(target=_hold, args=arguments, daemon=True)
                self._holder.start()
                held.wait()

    def leave(self) -> None:
        """Lift the limit if nobody else needs it."""
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0 and self._holder is not None:
                self._done.set()
                self._holder.join()
                self._holder = None


def _hold(threads: ThreadpoolController, held: threading.Event, done: threading.Event) -> None:
    """Hold the limit until told that it is done."""
    with threads.limit(limits=1, user_api="blas"):
        held.set()
        done.wait()


_KEEPER = Keeper()  # one setting per process, so one keeper


def several_outputs(n_outputs: int) -> InvalidInput:
    """Build the error for a model with several outputs."""
    return InvalidInput(
        f"model has several outputs per row ({n_outputs}); choose one: "
        "Explainer(counterpoint.one_output(model, 0), data)."
    )
