from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterpoint.errors import MissingDependency
from counterpoint.models import onnx
from counterpoint.table.schema import Encoding, Schema

DATA = pd.DataFrame({"a": [1, 2, 3, 4] * 8, "b": [0.5, 1.5, 2.0, 2.5] * 8, "c": list("xyxz") * 8})
LABELS = np.array(["no", "yes"] * 16)
NUMBERS = DATA[["a", "b"]].to_numpy()


def test_a_session_scores_and_decides_like_its_classifier() -> None:
    model = LogisticRegression().fit(NUMBERS, LABELS)

    session = onnx.Session(onnx.convert(model, 2))

    rows = NUMBERS.astype(np.float32)
    np.testing.assert_allclose(session.predict_proba(rows), model.predict_proba(rows), atol=1e-6)
    assert session.predict(rows).tolist() == model.predict(rows).tolist()


def test_a_session_scores_like_its_regressor() -> None:
    model = LinearRegression().fit(NUMBERS, NUMBERS[:, 0] * 2.0)

    session = onnx.Session(onnx.convert(model, 2))

    rows = NUMBERS.astype(np.float32)
    np.testing.assert_allclose(session.predict(rows)[:, 0], model.predict(rows), rtol=1e-5)


def test_a_pipeline_is_converted_whole_or_by_its_last_step() -> None:
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    model = make_pipeline(columns, StandardScaler(with_mean=False), LogisticRegression())
    model.fit(DATA, LABELS)
    encoding = Encoding(Schema.infer(DATA))
    genomes = encoding.encode(DATA)

    whole, last = onnx.ways(model, encoding, genomes)

    for way in (whole, last):
        ask = onnx.in_runtime(way, genomes).ask("predict_proba")
        assert ask is not None
        np.testing.assert_allclose(ask(genomes), model.predict_proba(DATA), atol=1e-6)
    assert isinstance(last.model, LogisticRegression)


@pytest.mark.parametrize("missing", ["onnxruntime", "skl2onnx"])
def test_a_package_that_is_not_installed_is_named_with_the_remedy(
    missing: str, monkeypatch: Any
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(MissingDependency) as caught:
        onnx.check_installed()

    assert str(caught.value) == (
        "accelerate='onnx' needs onnxruntime and skl2onnx, which are not installed; "
        'run: pip install "counterpoint[onnx]".'
    )
