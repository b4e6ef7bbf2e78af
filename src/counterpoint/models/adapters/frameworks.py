"""Models of frameworks: networks of PyTorch and Keras 3, CatBoost, boosters of XGBoost, ONNX files.

A matrix of numbers goes into a network, and logits may come out. An ONNX model is a file, its bytes
or a session of ONNX Runtime. Other boosting estimators need no adapter.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.checks import is_loaded, require_package
from counterpoint.errors import InvalidInput, PredictorError, listed
from counterpoint.models.inspection import TOLERANCE, several_outputs

HALF_PRECISION = 0.02  # how far rounding to 16 bits may take the sum of probabilities from 1
MOST_ROWS = 8192  # in one call: a network's inner layers may be far wider than the table


def as_matrix(rows: pd.DataFrame, who: str) -> Floats:
    """Return a frame of numbers as a matrix (n, d); `who` cannot take anything else.

    Examples
    --------
    >>> as_matrix(pd.DataFrame({"age": [30, 40], "owns": [True, False]}), "the module Net")
    array([[30.,  1.],
           [40.,  0.]])
    """
    texts = [
        name
        for name, dtype in rows.dtypes.items()
        if not pd.api.types.is_numeric_dtype(dtype)  # truth values count as numbers
    ]
    if texts:
        raise InvalidInput(
            f"{who} takes numbers, but {listed(texts)} of the data are no numbers; pass a function "
            "that turns a frame into the model's input and returns its scores."
        )
    return rows.to_numpy(dtype=np.float64, copy=True)  # a view is read-only, which PyTorch minds


def in_parts(ask: Callable[[Floats], Any], numbers: Floats) -> Any:
    """Return the answers of a network that is asked about a bounded number of rows at a time.

    Examples
    --------
    >>> in_parts(lambda part: part.sum(axis=1), np.ones((20_000, 2))).shape
    (20000,)
    """
    starts = range(0, len(numbers), MOST_ROWS)
    return np.concatenate([ask(numbers[start : start + MOST_ROWS]) for start in starts])


def as_outputs(raw: Any, classes: Any, who: str, remedy: str) -> Any:
    """Return a network's outputs as float64; where they must be probabilities, refuse logits.

    They must be if the caller named classes or if there are several per row; shapes and NaN are
    checked by the predictor.

    Examples
    --------
    >>> as_outputs([[0.8125, 0.1865]], None, "the module Net", "add softmax").sum()  # bfloat16
    np.float64(1.0)
    """
    outputs = np.asarray(raw, dtype=np.float64)
    is_single = outputs.ndim < 2 or outputs.shape[1] == 1
    if outputs.ndim > 2 or not np.isfinite(outputs).all() or (is_single and classes is None):
        return outputs
    table = outputs.reshape(len(outputs), -1)
    sums = np.ones((len(table), 1)) if is_single else table.sum(axis=1, keepdims=True)
    is_outside = ((table < -TOLERANCE) | (table > 1.0 + TOLERANCE)).any(axis=1, keepdims=True)
    is_bad = is_outside | (np.abs(sums - 1.0) > HALF_PRECISION)
    if is_bad.any():
        first = outputs[int(np.flatnonzero(is_bad)[0])].tolist()
        raise PredictorError(
            f"{who} returned {first} for one row, which are no probabilities but look like "
            f"logits; {remedy}."
        )
    is_rough = np.abs(sums - 1.0) > 100 * TOLERANCE
    return np.where(is_rough, table / sums, table).reshape(outputs.shape)


KERAS_REMEDY = "give its last layer activation='softmax', or 'sigmoid' for a single output"


class KerasModel:
    """A model from a matrix of numbers (n, d) to scores."""

    is_shared = False  # layers may hold state, and no backend promises otherwise

    def __init__(self, model: Any, classes: Sequence[Any] | None = None) -> None:
        self.model, self.classes_ = model, classes
        self._who = f"the Keras model {model.name!r}"
        n_inputs = len(getattr(model, "inputs", None) or [None])
        if n_inputs > 1:
            raise InvalidInput(
                f"{self._who} has {n_inputs} inputs; pass a function that splits a frame into "
                "them and returns the model's scores."
            )

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the model's outputs."""
        numbers = as_matrix(rows, self._who).astype(self.model.variable_dtype)
        return as_outputs(in_parts(self._ask, numbers), self.classes_, self._who, KERAS_REMEDY)

    def _ask(self, numbers: Any) -> Any:
        """Return the raw outputs of a part of the rows."""
        with without_gradients():
            answer = self.model(numbers, training=False)
        if isinstance(answer, list | tuple | dict):
            raise PredictorError(
                f"{self._who} has {len(answer)} outputs; pass a function that asks the model and "
                "returns the scores of one."
            )
        if is_loaded(answer, "torch", "Tensor"):  # Keras' own conversion warns since NumPy 2
            return answer.detach().cpu().double().numpy()  # NumPy knows no bfloat16
        return sys.modules["keras"].ops.convert_to_numpy(answer)


def without_gradients() -> AbstractContextManager[Any]:
    """Return a context in which the backend records nothing for gradients."""
    is_torch = sys.modules["keras"].config.backend() == "torch"
    return sys.modules["torch"].no_grad() if is_torch else nullcontext()


def adapted_keras(model: Any, classes: Sequence[Any] | None) -> KerasModel | None:
    """Return the adapter of a Keras 3 model."""
    is_model = is_loaded(model, "keras", "Model") and hasattr(sys.modules["keras"], "ops")
    return KerasModel(model, classes) if is_model else None


TORCH_REMEDY = (
    "end the module with torch.nn.Softmax(dim=1), or torch.nn.Sigmoid() for a single output, "
    "for example torch.nn.Sequential(module, torch.nn.Softmax(dim=1))"
)


class TorchModule:
    """A module from a matrix of numbers (n, d) to scores."""

    is_shared = False  # evaluation mode is a flag of the module, seen by all threads

    def __init__(self, module: Any, classes: Sequence[Any] | None = None) -> None:
        self.module, self.classes_ = module, classes
        self._who = f"the PyTorch module {type(module).__name__}"

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the module's outputs."""
        numbers = as_matrix(rows, self._who)
        with evaluating(self.module), sys.modules["torch"].no_grad():
            outputs = in_parts(self._ask, numbers)
        return as_outputs(outputs, self.classes_, self._who, TORCH_REMEDY)

    def _ask(self, numbers: Floats) -> Any:
        """Return the raw outputs of a part of the rows."""
        torch = sys.modules["torch"]
        dtype, device = self._kind()
        # Converted first: not every device knows float64.
        answer = self.module(torch.as_tensor(numbers, dtype=dtype).to(device))
        if not isinstance(answer, torch.Tensor):
            raise PredictorError(
                f"{self._who} returned {type(answer).__name__} instead of a tensor; pass a "
                "function that asks the module and returns its scores."
            )
        return answer.cpu().double().numpy()

    def _kind(self) -> tuple[Any, Any]:
        """Return dtype and device of the weights; without weights, PyTorch's defaults."""
        weights = (weight for weight in self.module.parameters() if weight.is_floating_point())
        first = next(weights, None)
        if first is None:
            return sys.modules["torch"].get_default_dtype(), "cpu"
        return first.dtype, first.device


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Put a module into evaluation mode for a while, and each of its parts back as it was."""
    before = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, was_training in before:  # `train()` would also wake parts that were frozen
            part.training = was_training


def adapted_torch(model: Any, classes: Sequence[Any] | None) -> TorchModule | None:
    """Return the adapter of a module; one with a `predict_proba` of its own is asked by that."""
    is_module = is_loaded(model, "torch.nn", "Module")
    return (
        TorchModule(model, classes) if is_module and not hasattr(model, "predict_proba") else None
    )


SEVERAL = ("MultiLogloss", "MultiCrossEntropy")  # losses of several yes or no per row


class CatBoostModel:
    """A fitted CatBoost model, whose own `classes_` are an empty list if it is of numbers."""

    is_shared = True

    def __init__(self, model: Any) -> None:
        self.model = model
        labels = np.asarray(model.classes_, dtype=object).tolist()
        self.classes_: Sequence[Any] | None = labels or None


class CatBoostRegression(CatBoostModel):
    """A CatBoost model of numbers."""

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the predicted numbers."""
        numbers = np.asarray(self.model.predict(rows, thread_count=1))
        if numbers.ndim > 1:
            raise several_outputs(numbers.shape[1])
        return numbers


class CatBoostClassification(CatBoostModel):
    """A CatBoost model of classes, be it `CatBoostClassifier` or `CatBoost` itself."""

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the probability of each class."""
        # CatBoost has threads of its own, which no limit of ours reaches.
        return self.model.predict(rows, prediction_type="Probability", thread_count=1)

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the label of each row; of several classes CatBoost gives a column of them."""
        labels = self.model.predict(rows, prediction_type="Class", thread_count=1)
        return np.asarray(labels, dtype=object).reshape(-1)


def adapted_catboost(
    model: Any,
    classes: Sequence[Any] | None,  # noqa: ARG001 - the model brings its own
) -> CatBoostClassification | CatBoostRegression | None:
    """Return the adapter of a fitted CatBoost model; one that is not fitted says so itself."""
    if not is_loaded(model, "catboost", "CatBoost") or not model.is_fitted():
        return None
    if model.get_all_params().get("loss_function") in SEVERAL:
        raise several_outputs(len(model.classes_))
    has_classes = len(model.classes_) > 0
    return CatBoostClassification(model) if has_classes else CatBoostRegression(model)


class XGBoostBooster:
    """A booster: one score per row, or probabilities of classes, which it knows by number."""

    is_shared = True

    def __init__(self, booster: Any, classes: Sequence[Any] | None = None) -> None:
        self.booster, self.classes_ = booster, classes

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the booster's predictions; categories keep the codes of the data's dtype."""
        matrix = sys.modules["xgboost"].DMatrix
        is_named = self.booster.feature_names is not None
        table = rows if is_named else rows.to_numpy()
        return self.booster.predict(matrix(table, enable_categorical=is_named, nthread=1))


def adapted_booster(model: Any, classes: Sequence[Any] | None) -> XGBoostBooster | None:
    """Return the adapter of a booster."""
    is_booster = is_loaded(model, "xgboost", "Booster")
    return XGBoostBooster(model, classes) if is_booster else None


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
