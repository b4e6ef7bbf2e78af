"""Models in files and in pickles: read without running code from them unless that is asked for."""

from __future__ import annotations

import importlib
import io
import json
import pickle
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, is_zipfile

from counterpoint.checks import check_whole, require_package
from counterpoint.errors import CounterpointError, InvalidInput, Signal, listed, told_by
from counterpoint.models.adapters.frameworks import OnnxModel


def pickled(value: object, what: str, instead: str) -> bytes:
    """Return a value as bytes that `pickle.loads` reads, or say what to do instead.

    cloudpickle, where it is installed, takes functions of scripts and notebooks, too.

    Examples
    --------
    >>> import threading
    >>> pickled(threading.Lock(), "the model", "load it in the worker")
    Traceback (most recent call last):
        ...
    counterpoint.errors.InvalidInput: the model cannot be sent to another process (TypeError: \
cannot pickle '_thread.lock' object); load it in the worker.
    """
    try:
        pickler: Any = importlib.import_module("cloudpickle")
    except ImportError:
        pickler = pickle
    try:
        data: bytes = pickler.dumps(value)
    except (CounterpointError, MemoryError):
        raise
    except Exception as error:  # of whatever kind: every library has its own
        told = told_by(error).strip().partition("\n")[0]
        raise InvalidInput(
            f"{what} cannot be sent to another process ({type(error).__name__}: {told}); {instead}."
        ) from error
    return data


PICKLES = (".joblib", ".pkl", ".pickle")

# Types that skops leaves to us, and that hold numbers or call nothing but themselves. They are
# listed one by one: a whole package would let a file call any of its functions.
TRUSTED = frozenset(
    {
        "collections.OrderedDict",
        "functools.partial",  # of a function that must be trusted itself
        "sklearn._loss.link.IdentityLink",
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogLink",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.AbsoluteError",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfGammaLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn._loss.loss.HalfPoissonLoss",
        "sklearn._loss.loss.HalfSquaredError",
        "sklearn._loss.loss.PinballLoss",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.compose._column_transformer._RemainderColsList",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils.validation.check_array",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRegressor",
        "xgboost.sklearn.XGBRFClassifier",
        "xgboost.sklearn.XGBRFRegressor",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "lightgbm.sklearn.LGBMRegressor",
    }
)


MOST_BYTES: Final = 2**30
SCHEMA = "schema.json"  # of a skops file: what is made of what, read as one document
SCHEMA_SHARE = 16  # it may have a sixteenth of the bytes: as values they take some dozen times more
PLAIN, OTHER = 2**20, 4096  # bytes at a time; what other methods pack can grow a thousandfold


def load_model(
    path: str | Path,
    *,
    allow_pickle: bool = False,
    trusted: Iterable[str] = (),
    most_bytes: int = MOST_BYTES,
) -> Any:
    """Return the model in a file, by the file's ending.

    Parameters
    ----------
    path : str or Path
        A file of skops (``.skops``) or ONNX (``.onnx``); with `allow_pickle` also of joblib or
        pickle (``.joblib``, ``.pkl``, ``.pickle``).
    allow_pickle : bool, default=False
        Whether a pickle may be loaded. Loading one runs code from the file: allow it only for
        files whose origin you trust as you trust a program you start.
    trusted : iterable of str, default=()
        Types a skops file may use beyond those known to be harmless, by their full names.
    most_bytes : int, default=1073741824
        Refuse a skops file that unpacks to more; loading takes some times that in memory.

    Returns
    -------
    object
        A model for `Explainer`.

    Raises
    ------
    InvalidInput
        If the file is not there, is of another kind, cannot be read, or may not be loaded.
    MissingDependency
        If the package that reads it is not installed.

    Examples
    --------
    >>> load_model("model.h5")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    counterpoint.errors.InvalidInput: path must end in .skops or .onnx, got 'model.h5'; save ...
    """
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in (".skops", ".onnx", *PICKLES):
        raise InvalidInput(
            f"path must end in .skops or .onnx, got {str(path)!r}; save a scikit-learn model with "
            "skops.io.dump(model, 'model.skops')."
        )
    if not file.is_file():
        raise InvalidInput(f"path {str(path)!r} is not a file.")
    if ending == ".onnx":
        return OnnxModel(file)
    if ending == ".skops":
        return load_skops(file, trusted, check_whole("most_bytes", most_bytes, 1))
    if not allow_pickle:
        raise InvalidInput(
            f"path {str(path)!r} is a pickle, and loading a pickle runs code from the file; save "
            "the model as .skops or .onnx, or, if you trust whoever made the file, pass "
            "allow_pickle=True (--allow-pickle)."
        )
    return load_pickle(file)


def load_skops(file: Path, trusted: Iterable[str], most_bytes: int) -> Any:
    """Load a skops file whose types are all trusted; name those that are not."""
    skops = require_package("skops.io", "a .skops file", '"counterpoint[skops]"')
    try:
        content = unpacked(file, most_bytes)
        used = set(skops.get_untrusted_types(data=content))
    except TooLarge:
        raise InvalidInput(
            f"{str(file)!r} unpacks to more than {most_bytes:,} bytes; if you trust it and have "
            "the memory, raise most_bytes (--most-bytes)."
        ) from None
    except Exception as error:  # of a damaged archive, of whatever kind
        raise unreadable(file, error) from error
    strange = sorted(used - TRUSTED - set(trusted))
    if strange:
        raise InvalidInput(
            f"{str(file)!r} uses the types {listed(strange)}, which are not known to be harmless; "
            f"if you trust them, pass trusted={strange!r} (--trust once for each)."
        )
    try:
        return skops.load(io.BytesIO(content), trusted=sorted(used))
    except Exception as error:
        raise unreadable(file, error) from error


class TooLarge(Signal):
    """An archive unpacks to more than is allowed."""


def unpacked(file: Path, most_bytes: int) -> bytes:
    """Return an archive that packs nothing, with the entries of another; none is believed its size.

    Raises TooLarge if the entries, each as often as the schema names it, have more bytes than
    allowed.
    """
    plain = io.BytesIO()
    with ZipFile(file) as packed, ZipFile(plain, "w", ZIP_STORED) as archive:
        left = most_bytes
        if sum(info.file_size for info in packed.infolist()) > most_bytes:
            raise TooLarge
        for info in {info.filename: info for info in packed.infolist()}.values():
            size = PLAIN if info.compress_type in (ZIP_STORED, ZIP_DEFLATED) else OTHER
            with packed.open(info) as source, archive.open(info.filename, "w") as entry:
                while block := source.read(size):
                    left -= len(block) * (SCHEMA_SHARE if info.filename == SCHEMA else 1)
                    if left < 0:
                        raise TooLarge
                    entry.write(block)
    with ZipFile(plain) as archive:
        named = _named(json.loads(archive.read(SCHEMA)))
        if sum(n * _size(archive, name) for name, n in named.items()) > most_bytes:
            raise TooLarge
    return plain.getvalue()


def _named(schema: Any) -> Counter[str]:
    """Return how often a schema names which entry."""
    named: Counter[str] = Counter()
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            named.update(file for key, file in value.items() if key == "file" and type(file) is str)
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return named


def _size(archive: ZipFile, name: str) -> int:
    """Return the bytes of an entry, and of what is packed in it, if it is an archive itself."""
    info = archive.NameToInfo.get(name)
    if info is None:
        return 0
    with archive.open(info) as entry:
        if not is_zipfile(entry):
            return info.file_size
        entry.seek(0)
        with ZipFile(entry) as inner:
            return info.file_size + sum(each.file_size for each in inner.infolist())


def load_pickle(file: Path) -> Any:
    """Load a pickle by joblib, which reads plain ones too."""
    joblib = require_package("joblib", f"a {file.suffix} file", "joblib")
    try:
        return joblib.load(file)
    except Exception as error:
        raise unreadable(file, error) from error


def unreadable(file: Path, error: Exception) -> InvalidInput:
    """Build the error for a file that cannot be read."""
    told = told_by(error).strip().partition("\n")[0]
    return InvalidInput(f"{str(file)!r} cannot be loaded ({type(error).__name__}: {told}).")
