"""ONNX models: a file, its bytes, or a session of ONNX Runtime."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput, listed
from counterpoint.models.adapters.frameworks import as_matrix
from counterpoint.models.adapters.scorer import is_loaded

DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
OF_SCORES = ("tensor(float)", "tensor(double)", "tensor(float16)")
LABELS = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")


class OnnxModel:
    """A model in ONNX Runtime, with one matrix as input or one input per column.

    A file is opened on one thread; a session is used as it is. Classes are those of the file if it
    tells them and None are given.
    """

    is_shared = True
    predict: Callable[[pd.DataFrame], Any]  # only there if the model returns labels

    def __init__(self, source: Any, classes: Sequence[Any] | None = None) -> None:
        self._made_of = (source, classes)
        self._session = session_of(source)
        self._inputs = self._session.get_inputs()
        outputs = self._session.get_outputs()
        self._scores = scores_among(outputs)
        label = next((each for each in outputs if is_label(each)), None)
        own = None if label is None else labels_in(source, label.type)
        check_order(classes, own)
        self.classes_ = own if classes is None else classes
        if label is not None and are_labels(self.classes_, label.type):
            self.predict = lambda rows: self._run(label.name, rows)

    def __reduce__(self) -> tuple[Any, tuple[Any, Any]]:
        """Travel by the file's contents: no session can be pickled."""
        source, classes = self._made_of
        if isinstance(source, str | Path):
            source = Path(source).read_bytes()
        if not isinstance(source, bytes):
            raise TypeError("cannot pickle a session of ONNX Runtime; load the file instead")
        return OnnxModel, (source, classes)

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the scores, or the probability of each class."""
        answer = self._run(self._scores, rows)
        if isinstance(answer, list):  # a dict of label to probability per row
            order = self.classes_ if answer and set(self.classes_ or ()) == set(answer[0]) else None
            return np.array([[row[label] for label in order or row] for row in answer])
        return answer

    def _run(self, output: str, rows: pd.DataFrame) -> Any:
        """Return one output for the rows."""
        return self._session.run([output], self._feed(rows))[0]

    def _feed(self, rows: pd.DataFrame) -> dict[str, Any]:
        """Return the inputs: all columns as one matrix, or each by its name."""
        if len(self._inputs) == 1:
            return {self._inputs[0].name: cast(rows, self._inputs[0])}
        missing = [each.name for each in self._inputs if each.name not in rows.columns]
        if missing:
            raise InvalidInput(
                f"the ONNX model has the inputs {listed(missing)}, which are not columns of the "
                "data; rename the columns, or pass a function that feeds the model."
            )
        return {each.name: cast(rows[[each.name]], each) for each in self._inputs}


def session_of(source: Any) -> Any:
    """Return a session for a file or its bytes, on one thread: rows share `workers`."""
    if is_loaded(source, "onnxruntime", "InferenceSession"):
        return source
    runtime = require_package("onnxruntime", "an ONNX model", '"counterpoint[onnx]"')
    if not isinstance(source, bytes) and not Path(source).is_file():
        raise InvalidInput(f"the ONNX model {str(source)!r} is not a file.")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised; it need not be printed too
    graph = source if isinstance(source, bytes) else str(source)
    try:
        return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a dozen kinds without a common one
        name = "bytes given" if isinstance(source, bytes) else f"file {str(source)!r}"
        raise InvalidInput(f"the {name} cannot be read as an ONNX model: {error}") from error


def scores_among(outputs: Sequence[Any]) -> str:
    """Return the name of the output with scores: the probabilities, or the only numbers."""
    scores = [each.name for each in outputs if each.type in OF_SCORES or "map" in each.type]
    probable = [name for name in scores if "prob" in name.lower()]
    for names in (probable, scores):
        if len(names) == 1:
            return str(names[0])
    raise InvalidInput(
        f"the ONNX model has the outputs {listed(each.name for each in outputs)}, of which exactly "
        "one must hold scores; pass a function that runs the model and returns them."
    )


def cast(rows: pd.DataFrame, wanted: Any) -> Any:
    """Return columns as the tensor an input wants, shape (n, d), or (n,) if it has one axis."""
    dtype = DTYPES.get(wanted.type)
    if dtype is None:
        raise InvalidInput(
            f"the ONNX model's input {wanted.name!r} is a {wanted.type}, which no column can fill; "
            "pass a function that feeds the model."
        )
    if dtype is np.object_:
        table = rows.astype(str).to_numpy(dtype=object)
    else:
        numbers = as_matrix(rows, f"the ONNX model's input {wanted.name!r}")
        table = numbers.astype(dtype)
        if np.dtype(dtype).kind in "ib" and (table != numbers).any():  # cut, it is another row
            raise InvalidInput(
                f"the ONNX model's input {wanted.name!r} is a {wanted.type}, which cannot hold "
                f"{numbers[table != numbers][0]:g}; pass data of whole numbers, or a function "
                "that feeds the model."
            )
    return table[:, 0] if len(wanted.shape) == 1 else table


def is_label(output: Any) -> bool:
    """Whether an output holds the label of each row."""
    return "label" in output.name.lower() and output.type in ("tensor(string)", "tensor(int64)")


def are_labels(classes: Sequence[Any] | None, kind: str) -> bool:
    """Whether classes may be what a model returns as labels: texts, or else numbers."""
    is_text = kind == "tensor(string)"
    return classes is not None and all(isinstance(label, str) == is_text for label in classes)


def check_order(classes: Sequence[Any] | None, own: list[Any] | None) -> None:
    """Refuse the file's own labels in another order than that of its scores."""
    if classes is None or own is None or list(classes) == own:
        return
    if sorted(map(repr, classes)) == sorted(map(repr, own)):
        raise InvalidInput(
            f"classes must be in the order of the ONNX model's scores, {own!r}, got "
            f"{list(classes)!r}."
        )


def labels_in(source: Any, kind: str) -> list[Any] | None:
    """Return the class labels an ONNX file tells, if the package `onnx` is there to read them.

    They are of the kind its labels are: the parts of an ensemble may know numbers for them only.
    """
    if not isinstance(source, str | Path | bytes) or importlib.util.find_spec("onnx") is None:
        return None
    onnx = require_package("onnx", "an ONNX model", "onnx")
    is_bytes = isinstance(source, bytes)
    read = onnx.load_model_from_string if is_bytes else onnx.load_model
    model = read(source) if is_bytes else read(str(source), load_external_data=False)
    told = [
        [text.decode() for text in attribute.strings] or list(attribute.ints)
        for node in model.graph.node
        for attribute in node.attribute
        if attribute.name in LABELS
    ]
    fitting = [labels for labels in told if labels and are_labels(labels, kind)]
    return fitting[-1] if fitting else None  # the last node is the nearest to the output


def adapted_onnx(model: Any, classes: Sequence[Any] | None) -> OnnxModel | None:
    """Return the adapter of an ONNX file, of its bytes, or of a session."""
    is_file = isinstance(model, str | Path) and str(model).lower().endswith(".onnx")
    is_session = is_loaded(model, "onnxruntime", "InferenceSession")
    is_onnx = is_file or is_session or isinstance(model, bytes)
    return OnnxModel(model, classes) if is_onnx else None
