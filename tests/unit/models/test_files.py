from __future__ import annotations

import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.frameworks import framework

import counterpoint as cp
from counterpoint.models.files import TRUSTED

DATA = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0)[::-1] % 7})
LABELS = np.where(DATA["a"] + DATA["b"] > 22, "good", "bad")
MODEL = LogisticRegression().fit(DATA, LABELS)


@pytest.mark.parametrize("ending", ["joblib", "pkl", "pickle", "PKL"])
def test_a_pickle_is_refused_with_the_reason(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"model.{ending}"
    file.write_bytes(pickle.dumps(MODEL))
    message = (
        r"is a pickle, and loading a pickle runs code from the file; save the model as \.skops or "
        r"\.onnx, or, if you trust .* pass allow_pickle=True \(--allow-pickle\)"
    )

    with pytest.raises(cp.InvalidInput, match=message):
        cp.load_model(file)


class Bomb:
    """Leaves a trace if it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def test_a_refused_pickle_runs_nothing(tmp_path: Path) -> None:
    file, trace = tmp_path / "model.pkl", tmp_path / "trace"
    file.write_bytes(pickle.dumps(Bomb(trace)))

    with pytest.raises(cp.InvalidInput, match="runs code from the file"):
        cp.load_model(file)

    assert not trace.exists()


@pytest.mark.parametrize("ending", ["joblib", "pkl", "pickle"])
def test_a_pickle_is_loaded_if_that_is_allowed(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"model.{ending}"
    joblib.dump(MODEL, file) if ending == "joblib" else file.write_bytes(pickle.dumps(MODEL))

    loaded = cp.load_model(str(file), allow_pickle=True)

    np.testing.assert_array_equal(loaded.predict_proba(DATA), MODEL.predict_proba(DATA))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.h5", r"path must end in \.skops or \.onnx, got '.*model\.h5'; save a scikit-learn"),
        ("model", "path must end in"),
        ("missing.skops", "path '.*missing.skops' is not a file"),
        ("missing.onnx", "path '.*missing.onnx' is not a file"),
    ],
)
def test_what_is_no_model_file_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(cp.InvalidInput, match=message):
        cp.load_model(tmp_path / name)


@pytest.mark.parametrize("ending", ["onnx", "joblib", "skops"])
def test_a_damaged_file_is_told(tmp_path: Path, ending: str) -> None:
    readers = {"onnx": "onnxruntime", "joblib": "joblib", "skops": "skops.io"}
    framework(readers[ending])
    file = tmp_path / f"model.{ending}"
    file.write_bytes(b"nothing of the kind")

    with pytest.raises(cp.InvalidInput, match=r"cannot be (loaded \(|read as an ONNX model: )"):
        cp.load_model(file, allow_pickle=True)


@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        RandomForestClassifier(3, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
        CalibratedClassifierCV(LogisticRegression()),
        make_pipeline(
            make_column_transformer(
                (StandardScaler(), make_column_selector(dtype_include="number"))
            ),
            LogisticRegression(),
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_skops_file_of_known_types_is_loaded(tmp_path: Path, model: Any) -> None:
    skops = framework("skops.io")
    skops.dump(model.fit(DATA, LABELS), tmp_path / "model.skops")

    loaded = cp.load_model(tmp_path / "model.skops")

    np.testing.assert_array_equal(loaded.predict_proba(DATA), model.predict_proba(DATA))


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_a_skops_file_of_a_booster_is_loaded(tmp_path: Path, package: str) -> None:
    skops = framework("skops.io")
    library = framework(package)
    kind = library.XGBClassifier if package == "xgboost" else library.LGBMClassifier
    model = kind(n_estimators=3, max_depth=2).fit(DATA, LABELS == "good")
    skops.dump(model, tmp_path / "model.skops")

    loaded = cp.load_model(tmp_path / "model.skops")

    np.testing.assert_array_equal(loaded.predict_proba(DATA), model.predict_proba(DATA))


@pytest.mark.parametrize("function", [json.dumps, partial(json.dumps, indent=1)])
def test_a_skops_file_of_strange_types_is_refused_by_their_names(
    tmp_path: Path, function: Any
) -> None:
    """A partial is trusted itself, but does not carry a function past the check."""
    skops = framework("skops.io")
    file = tmp_path / "model.skops"
    skops.dump(FunctionTransformer(function), file)
    strange = [name for name in skops.get_untrusted_types(file=file) if name not in TRUSTED]
    message = (
        r"uses the types '.*', which are not known to be harmless; if you trust them, pass "
        r"trusted=\['.*'\] \(--trust once for each\)"
    )

    with pytest.raises(cp.InvalidInput, match=message) as caught:
        cp.load_model(file)

    assert strange == ["json.dumps"]
    assert all(name in str(caught.value) for name in strange)
    assert isinstance(cp.load_model(file, trusted=strange), FunctionTransformer)
