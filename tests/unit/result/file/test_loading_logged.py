"""Results logged to MLflow come back as they were; without MLflow one is told what to install."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.frameworks import framework

import counterpoint as cp

DATA = pd.DataFrame({"age": range(20, 60), "debt": [9.5, 5.0, 3.0, 1.0] * 10})


@pytest.fixture(scope="module")
def results() -> list[cp.Counterfactuals]:
    """Return the results of two rows."""
    explainer = cp.Explainer(lambda rows: (rows["age"] - rows["debt"]) / 100, DATA)
    return explainer.explain_many(DATA[:2], (0.4, None), cp.Search(evaluations=60))


@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_what_is_logged_comes_back(
    results: list[cp.Counterfactuals], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = framework("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs the whole of MLflow
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.create_experiment("ours", artifact_location=str(tmp_path / "artefacts"))
    mlflow.set_experiment("ours")

    with mlflow.start_run():
        one, many = cp.log_result(results[0], "one"), cp.log_result(results, "many")

    assert one.endswith("/one.json")
    single, several = cp.load_logged(one), cp.load_logged(many)
    assert isinstance(several, list)
    assert single == several[0]
    assert [len(each) for each in several] == [len(each) for each in results]


@pytest.mark.parametrize("use", [cp.log_result, cp.load_logged])
def test_without_mlflow_its_extra_is_named(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)

    with pytest.raises(cp.MissingDependency, match=r'pip install "counterpoint\[mlflow\]"'):
        use("runs:/1/x.json")
