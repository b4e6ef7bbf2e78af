"""ONNX Runtime in a model's place: converted, tried against the model, and asked."""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.errors import (
    AcceleratorWarning,
    InvalidInput,
    MissingDependency,
    did_you_mean,
    told_by,
)
from counterpoint.models.fast_paths import FastPath, bare_ways, peel
from counterpoint.models.inspection import Ask
from counterpoint.models.known_models import as_dense
from counterpoint.models.predictor import Predictor
from counterpoint.table.schema import Encoding

BOOSTERS = ("xgboost", "lightgbm")  # packages whose models are converted by onnxmltools


class Session:
    """A converted model in ONNX Runtime, on one thread; asked like the estimator.

    The graph has one input, and outputs as scikit-learn's converter names them.
    """

    def __init__(self, graph: bytes) -> None:
        runtime = imported("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # rows share `workers`
        options.log_severity_level = 3
        self._session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._outputs = [output.name for output in self._session.get_outputs()]

    def predict_proba(self, rows: Any) -> Any:
        """Return the probability of each class, shape (n, c)."""
        return self._session.run(self._outputs[1:2], {self._input: rows})[0]

    def predict(self, rows: Any) -> Any:
        """Return the class, or the score of a regressor."""
        return self._session.run(self._outputs[:1], {self._input: rows})[0]


def ways(model: Any, encoding: Encoding, observed: Floats) -> Iterator[FastPath]:
    """Yield what of `model` may be converted: all of it, or the last step of a pipeline."""
    for whole in bare_ways(model, encoding, observed):
        yield FastPath(getattr(whole.to_rows, "dense", whole.to_rows), whole.model)
        if hasattr(whole.model, "steps"):
            yield peel(whole)


def in_runtime(way: FastPath, observed: Floats) -> FastPath:
    """Return the way converted to ONNX Runtime."""

    def to_rows(genomes: Floats) -> Any:
        return as_dense(way.to_rows(genomes)).astype(np.float32)

    return FastPath(to_rows, Session(convert(way.model, to_rows(observed[:1]).shape[1])))


def convert(model: Any, n_columns: int) -> bytes:
    """Return a fitted estimator of `n_columns` numbers as an ONNX graph."""
    package = type(model).__module__.partition(".")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the converters' own, on their dependencies
        graph = _convert_booster if package in BOOSTERS else _convert_estimator
        return bytes(graph(model, n_columns).SerializeToString())


def _convert_estimator(model: Any, n_columns: int) -> Any:
    """Convert what scikit-learn's converter knows."""
    types = imported("skl2onnx.common.data_types")
    return imported("skl2onnx").to_onnx(
        model,
        initial_types=[("rows", types.FloatTensorType([None, n_columns]))],
        options={"zipmap": False} if hasattr(model, "predict_proba") else None,
    )


def _convert_booster(model: Any, n_columns: int) -> Any:
    """Convert a model of XGBoost or LightGBM."""
    tools = imported("onnxmltools")
    types = imported("onnxmltools.convert.common.data_types")
    initial_types = [("rows", types.FloatTensorType([None, n_columns]))]
    if hasattr(model, "booster_"):
        return tools.convert_lightgbm(model, initial_types=initial_types, zipmap=False)
    bare = copy.copy(model)  # the converter wants numbered features
    bare._Booster = model.get_booster().copy()
    bare._Booster.feature_names = None
    return tools.convert_xgboost(bare, initial_types=initial_types)


def check_installed() -> None:
    """Refuse to go on without the packages of the extra."""
    for name in ("onnxruntime", "skl2onnx"):
        imported(name)


def imported(name: str) -> Any:
    """Import a module of the extra, or say what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        needed = "onnxmltools" if package == "onnxmltools" else "onnxruntime and skl2onnx"
        are = "is" if package == "onnxmltools" else "are"
        raise MissingDependency(
            f"accelerate='onnx' needs {needed}, which {are} not installed; "
            'run: pip install "counterpoint[onnx]".'
        ) from error


TOLERANCE = 1e-4  # how far its scores may be from the model's, as a share of the outputs' range
DECIMALS = 6  # of its probabilities: single precision must not break a tie at 0.5


def accelerated(predictor: Predictor, accelerate: str) -> Predictor:
    """Return a predictor that asks ONNX Runtime in the model's place; its `own` is the given one.

    If the model cannot be converted, or its converted self disagrees with it on the observed rows,
    a warning says so, and the given predictor is returned.
    """
    if accelerate != "onnx":
        hint = did_you_mean(accelerate, ["onnx"]) or "None asks the model itself."
        raise InvalidInput(f"accelerate must be 'onnx' or None, got {accelerate!r}; {hint}")
    check_installed()
    tolerance = tolerance_of(predictor)
    why = "it is neither an estimator that takes arrays nor one whose columns can be tabulated"
    for way in ways(predictor.model, predictor.encoding, predictor.observed):
        try:
            ask = ask_in_runtime(way, predictor)
            ask(predictor.observed[:1])  # an error of its own must not be covered by the model
            quick = predictor.scored_by(ask, tolerance)
            scores = quick.in_chunks(predictor.observed)
            difference = float(np.abs(scores - predictor.observed_outputs).max())
        except MissingDependency:
            raise
        except Exception as error:  # of whatever kind: converters raise many
            first_line = told_by(error).strip().partition("\n")[0]
            why = f"it could not be converted ({type(error).__name__}: {first_line[:200]})"
            continue
        if difference <= tolerance:
            return quick
        why = (
            f"its ONNX scores differ by up to {difference:.2g} on the observed rows, where "
            f"{tolerance:.2g} is allowed"
        )
    name = getattr(predictor.model, "__name__", type(predictor.model).__name__)
    warnings.warn(
        f"accelerate='onnx' is not used for {name}: {why}; the model itself is used.",
        AcceleratorWarning,
        stacklevel=4,
    )
    return predictor


def tolerance_of(predictor: Predictor) -> float:
    """Return how far scores may differ: for a regressor a share of the range it predicts."""
    if predictor.classes is not None:
        return TOLERANCE
    return TOLERANCE * float(np.ptp(predictor.observed_outputs))


def ask_in_runtime(way: FastPath, predictor: Predictor) -> Ask:
    """Return the function that asks the converted model for scores; probabilities are rounded."""
    ask = in_runtime(way, predictor.observed).ask(predictor.method)
    if ask is None:
        raise TypeError(f"{predictor.method} has no counterpart in ONNX")
    if predictor.classes is None or predictor.gives_only_labels:
        return ask

    def rounded(genomes: Floats) -> Any:
        return np.round(np.asarray(ask(genomes), dtype=np.float64), DECIMALS)

    return rounded
