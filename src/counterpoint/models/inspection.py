"""Inspection: what can be told of a model beforehand, and what is wrong with its answers.

Which columns and classes it has, whether it is known, and whether it says the same when asked
twice, in company, or by two threads at once. A model is shared between threads only if all it is
made of is known to bear that.
"""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from counterpoint.arrays import LARGEST, MISSING, Floats, Ints
from counterpoint.errors import InvalidInput, PredictorError, listed, named_columns, told_by
from counterpoint.table.features import Kind
from counterpoint.table.schema import Encoding

IDLE = (None, "passthrough")  # steps of a pipeline that do nothing
REPEATED_ROWS = 64  # observed rows that a model nobody knows is asked about twice
N_PARTS = 8  # of the observed rows, about which two threads ask
MANY = 20  # rows of which a model that can tell anything apart does not say the same
SAME, REPEATED = 1e-9, 1e-6  # how far answers that count as the same may be apart
TOLERANCE = 1e-6  # how far a probability may lie outside 0 and 1; for their sum a hundred times it
# Packages whose fitted models and their parts write to nothing of theirs when they predict …
ESTIMATORS = {"sklearn", "xgboost", "lightgbm", "counterpoint"}
# … and those of what else such models are made of.
DATA = {"builtins", "numpy", "scipy", "pandas", "ctypes", "math", "operator"}
NAMED = (type, FunctionType, BuiltinFunctionType, np.ufunc)


MOST_ASKED = 20  # rows a model that raised is asked about one by one
# what to do about rows that a model cannot score
AVOID = (
    "Leave out such rows of the data, and keep the search away from them with ranges= or "
    "constraints=."
)
Ask: TypeAlias = Callable[[Floats], Any]  # from genomes (n, d) to a model's raw answers


class ModelMethod(NamedTuple):
    """A method of a model, asked as its user would and by the quickest way that is exact."""

    plain: Ask
    quick: Ask


def in_turns(method: ModelMethod, lock: threading.Lock) -> ModelMethod:
    """Return a method that one thread asks at a time."""

    def waiting(ask: Ask) -> Ask:
        def ask_alone(genomes: Floats) -> Any:
            with lock:
                return ask(genomes)

        return ask_alone

    plain = waiting(method.plain)
    is_plain = method.quick is method.plain
    return ModelMethod(plain, plain if is_plain else waiting(method.quick))


def not_numbers(error: Exception, raw: Any) -> PredictorError:
    """Build the error for an answer that cannot be made numbers, such as one of labels."""
    if label := next((label for label in _answers(raw) if isinstance(label, str)), ""):
        return PredictorError(
            f"the model returned values that are not numbers but labels, first {label!r}. Did you "
            "pass predict instead of predict_proba? Pass the fitted model itself, or "
            "classes=[...] with all of its labels to Explainer if it has no probabilities."
        )
    return PredictorError(
        f"the model returned values that are not numbers ({told_by(error)}). "
        "Did you pass predict instead of predict_proba?"
    )


def _answers(raw: Any) -> list[Any]:
    """Return answers one per row as a list; none if they are not of that shape."""
    try:
        answers = np.asarray(raw)
    except Exception:  # a ragged list, or a tensor on another device
        return []
    return answers.tolist() if answers.ndim == 1 else []


def wrong_shape(shape: tuple[int, ...], n: int) -> PredictorError:
    """Build the error for an answer of another shape than scores of n rows have."""
    return PredictorError(
        f"the model returned an array of shape {shape} for {n} rows; expected "
        f"({n},), ({n}, 1) or ({n}, classes)."
    )


def wrong_columns(n_columns: int, classes: tuple[Any, ...]) -> PredictorError:
    """Build the error for outputs that are not one for each class."""
    return PredictorError(
        f"the model returned {n_columns} columns, but there are {len(classes)} classes "
        f"({listed(classes)}); expected one probability per class."
    )


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


def check_classes(classes: Any, own: Any = None) -> tuple[Any, ...] | None:
    """Return the given classes, else the model's own, as a tuple of plain Python labels.

    The model's own labels in another order would give each class the probability of another one.
    """
    if classes is None:
        classes, own = own, None
    if classes is None:
        return None
    labels = np.asarray(classes, dtype=object)
    is_flat = labels.ndim == 1 and all(isinstance(label, Hashable) for label in labels)
    if not is_flat or len(labels) < 2 or len(set(labels.tolist())) != len(labels):
        raise InvalidInput(
            f"classes must be a list of at least two different labels, got {classes!r}."
        )
    told = () if own is None else tuple(np.ravel(np.asarray(own, dtype=object)).tolist())
    if told != tuple(labels) and len(told) == len(labels) and all(name in told for name in labels):
        raise InvalidInput(
            f"classes has the model's own classes in another order: its columns are {listed(told)},"
            f" got {list(classes)!r}; leave classes out, for the model knows them."
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


def hint_on(model: Any, encoding: Encoding, genomes: Floats, ask: Ask | None = None) -> str:
    """Say what may be why a model fails: columns that the data lack, missing values, or some rows.

    A model that raises is `ask`ed one by one about the first rows.
    """
    columns = [column.name for column in encoding.schema.columns]
    if lacking := lacking_columns(model, columns):
        return (
            f" The data lack the {named_columns(lacking)}, which the model was fitted to; give "
            "the table that it was fitted to, without the outcome."
        )
    is_missing = (genomes == MISSING).any(axis=0)
    if not is_missing.any():
        return "" if ask is None else hint_on_rows(ask, encoding, genomes[:MOST_ASKED])
    names = [encoding.schema.names[j] for j in np.flatnonzero(is_missing)]
    return (
        f" Values of {listed(names)} are missing in the data: give a model that takes them, "
        "such as one of gradient boosting or a pipeline that fills them, or fill or drop those "
        "rows."
    )


def hint_on_rows(ask: Ask, encoding: Encoding, genomes: Floats) -> str:
    """Name the first row on which a model raises, if it does not raise on all of them."""
    failed, is_all = None, True
    for i in range(len(genomes)):
        try:
            ask(genomes[i : i + 1])
            is_all = False
        except Exception:
            failed = i if failed is None else failed
        if failed is not None and not is_all:
            first = encoding.by_feature(genomes[failed : failed + 1]).to_dict("records")[0]
            return f"; asked row by row, it fails first for {first}. {AVOID}"
    return ""


def not_usable(outputs: Floats, genomes: Floats, model: Any, encoding: Encoding) -> PredictorError:
    """Build the error for scores nobody can compute with, showing the first row with one."""
    is_bad, what = ~np.isfinite(outputs).all(axis=1), "NaN or infinite scores"
    if not is_bad.any():
        is_bad, what = (np.abs(outputs) > LARGEST).any(axis=1), f"scores beyond {LARGEST:g}"
    first = encoding.by_feature(genomes[is_bad][:1]).to_dict("records")[0]
    return PredictorError(
        f"the model returned {what} for {int(is_bad.sum())} of "
        f"{len(genomes)} rows, first for {first}.{hint_on(model, encoding, genomes)}"
        f"{'' if is_bad.all() else ' ' + AVOID}"
    )


def wants_array(model: Any, encoding: Encoding) -> bool:
    """Whether an estimator was fitted on a bare array, so that a frame would make it warn."""
    if encoding.form.kind == "numpy":  # rows are arrays anyway, in the data's own dtype
        return False
    first = awake(model)
    has_names = hasattr(first, "feature_names_in_")
    is_fitted_on_array = hasattr(first, "n_features_in_") and not has_names
    return is_fitted_on_array and all(
        column.is_numeric and column.kind is not Kind.DATE for column in encoding.columns
    )


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


def are_likeliest(labels: Ints, outputs: Floats) -> bool:
    """Whether labels (n,) name the likeliest class of outputs (n, c), the first on ties."""
    leading = np.argmax(outputs, axis=1)
    if outputs.shape[1] == 2:  # as a search decides: by the second probability alone
        leading = np.where(outputs[:, 1] > 0.5, 1, np.where(outputs[:, 0] >= 0.5, 0, -1))
    return bool(np.array_equal(leading, labels))


def is_invariant(ask: Ask, observed: Floats, block: int) -> bool:
    """Whether blocks of rows get the same bits alone and merged, in the sizes a search uses."""
    for n in (block, 3 * block, 100 * 3 * block):
        order = np.arange(n) * (1 + np.arange(n) // block)  # no two blocks alike
        rows = np.ascontiguousarray(observed[order % len(observed)])
        merged = ask(rows)
        for start in range(0, n, max(block, n // 4 // block * block)):
            if not np.array_equal(ask(rows[start : start + block]), merged[start : start + block]):
                return False
    return True


def remarks_on(outputs: Floats, observed: Floats, ask: Ask | None) -> list[str]:
    """Return what a caller should know of how a model answers; one that is known is not asked."""
    told = [remark_on(outputs, observed)]
    if ask is not None:
        few = observed[:REPEATED_ROWS]
        told.append(remark_on_repeats(ask(few), ask(few)))
    return [each for each in told if each]


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


def answers_alike(ask: Ask, observed: Floats) -> bool:
    """Whether two threads that ask at once about observed rows are told the same as one."""
    parts = [np.ascontiguousarray(observed[i::N_PARTS][:64]) for i in range(N_PARTS)]
    questions = [rows for rows in parts if len(rows)]
    n, alone = len(questions), [ask(rows) for rows in questions]
    together = threading.Barrier(2)

    def ask_all(order: range) -> dict[int, Any]:
        together.wait()
        return {i: ask(questions[i]) for i in order}

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(ask_all, (range(n), range(n - 1, -1, -1))))
    return all(np.array_equal(alone[i], told[i]) for told in answers for i in range(n))


def several_outputs(n_outputs: int) -> InvalidInput:
    """Build the error for a model with several outputs."""
    return InvalidInput(
        f"model has several outputs per row ({n_outputs}); choose one: "
        "Explainer(counterpoint.one_output(model, 0), data)."
    )
