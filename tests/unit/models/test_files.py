from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
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


def dumped(file: Path, model: Any = MODEL, compression: int = zipfile.ZIP_STORED) -> dict[str, Any]:
    """Write a skops file and return the schema it has."""
    pytest.importorskip("skops.io").dump(model, file, compression=compression)
    with zipfile.ZipFile(file) as archive:
        schema: dict[str, Any] = json.loads(archive.read("schema.json"))
    return schema


def with_entry(file: Path, name: str, content: bytes) -> None:
    """Put an entry into an archive, packed, in the place of another of that name."""
    with zipfile.ZipFile(file) as archive:
        entries = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, old in (entries | {name: content}).items():
            archive.writestr(each, old)


def zeros(file: Path) -> None:
    """Add three million zeros, which take some thousand bytes."""
    dumped(file)
    with_entry(file, "zeros.npy", bytes(3_000_000))


def again(file: Path) -> None:
    """Name an entry a thousand times."""
    schema = dumped(file)
    with_entry(file, "zeros.npy", bytes(3_000))
    with_entry(
        file, "schema.json", json.dumps(schema | {"more": [{"file": "zeros.npy"}] * 1000}).encode()
    )


def inside(file: Path) -> None:
    """Put an archive into the archive, as sparse matrices are."""
    schema = dumped(file)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", bytes(3_000_000))
    with_entry(file, "matrix.npz", inner.getvalue())
    with_entry(file, "schema.json", json.dumps(schema | {"more": {"file": "matrix.npz"}}).encode())


def long_schema(file: Path) -> None:
    """Have a schema whose values take much more memory than its text."""
    schema = dumped(file)
    with_entry(file, "schema.json", json.dumps(schema | {"more": [{}] * 50_000}).encode())


def lying(file: Path) -> None:
    """Say in the table of contents that an entry is shorter than it is."""
    zeros(file)
    content = file.read_bytes()
    assert content.count(struct.pack("<I", 3_000_000)) == 2
    file.write_bytes(content.replace(struct.pack("<I", 3_000_000), struct.pack("<I", 3_000)))


@pytest.mark.parametrize("bomb", [zeros, again, inside, long_schema])
def test_what_unpacks_to_more_than_allowed_is_refused(
    tmp_path: Path, bomb: Callable[[Path], None]
) -> None:
    file = tmp_path / "model.skops"
    bomb(file)
    assert file.stat().st_size < 40_000

    with pytest.raises(
        cp.InvalidInput,
        match=r"^'.*model.skops' unpacks to more than 1,000,000 bytes; if you trust it and have "
        r"the memory, raise most_bytes \(--most-bytes\)\.$",
    ):
        cp.load_model(file, most_bytes=1_000_000)

    assert (cp.load_model(file, most_bytes=20_000_000).coef_ == MODEL.coef_).all()


def test_an_entry_is_not_believed_its_size(tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    lying(file)

    with pytest.raises(cp.InvalidInput, match=r"model.skops' cannot be loaded \(BadZipFile: "):
        cp.load_model(file, most_bytes=1_000_000)


@pytest.mark.parametrize("compression", [0, 8, 12, 14], ids=["none", "deflate", "bzip2", "lzma"])
def test_packed_models_are_loaded(tmp_path: Path, compression: int) -> None:
    dumped(tmp_path / "model.skops", compression=compression)

    assert (cp.load_model(tmp_path / "model.skops").coef_ == MODEL.coef_).all()


def test_most_bytes_is_a_number(tmp_path: Path) -> None:
    dumped(tmp_path / "model.skops")

    with pytest.raises(cp.InvalidInput, match="most_bytes must be"):
        cp.load_model(tmp_path / "model.skops", most_bytes=0)
