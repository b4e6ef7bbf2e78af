"""ONNX Runtime: an estimator converted and asked there, quicker and a little different.

Single precision makes its scores differ from the model's by about 1e-6. So they may guide a search,
but what is returned is scored again by the model itself (`result/rescoring.py`).
"""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.errors import MissingDependency
from counterpoint.models.columns import as_dense
from counterpoint.models.ways import Way, bare_ways, peel
from counterpoint.table.encoding import Encoding

BOOSTERS = ("xgboost", "lightgbm")  # packages whose models are converted by onnxmltools


class Session:
    """A converted model in ONNX Runtime, on one thread; asked like the estimator.

    Parameters
    ----------
    graph : bytes
        The converted model: one input, then outputs as scikit-learn's converter names them.
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


def ways(model: Any, encoding: Encoding, observed: Floats) -> Iterator[Way]:
    """Yield what of `model` may be converted: all of it, or the last step of a pipeline."""
    for whole in bare_ways(model, encoding, observed):
        yield Way(getattr(whole.to_rows, "dense", whole.to_rows), whole.model)
        if hasattr(whole.model, "steps"):
            yield peel(whole)


def in_runtime(way: Way, observed: Floats) -> Way:
    """Return the way converted to ONNX Runtime."""

    def to_rows(genomes: Floats) -> Any:
        return as_dense(way.to_rows(genomes)).astype(np.float32)

    return Way(to_rows, Session(convert(way.model, to_rows(observed[:1]).shape[1])))


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
