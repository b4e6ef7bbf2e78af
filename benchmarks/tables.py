"""The paper's datasets with models we train ourselves, for tuning and for other kinds of model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.svm import SVC

from benchmarks import published

MOST_ROWS = 2000  # of a table; larger ones are thinned evenly to keep runs short


class Table(NamedTuple):
    """One dataset: observed rows, their classes, and the ten rows to explain."""

    data: pd.DataFrame
    classes: pd.Series[Any]
    rows: pd.DataFrame


def names(study: str, data: Path | None = None) -> list[str]:
    """Return the datasets at hand of one study, "tuning" or "benchmark"."""
    if data is None and not published.is_at_hand():
        return []
    files = sorted((data or published.folder() / "data").glob("*/schema.json"))
    return [f.parent.name for f in files if json.loads(f.read_text())["study"] == study]


def load(name: str, data: Path | None = None) -> Table:
    """Load one dataset; the ten explained rows are left out of the data."""
    folder = (data or published.folder() / "data") / name
    schema = json.loads((folder / "schema.json").read_text())
    levels = schema["categorical"]
    text = dict.fromkeys(levels, str)
    table = pd.read_csv(folder / "data.csv", dtype=text, keep_default_na=False)
    classes = table.pop(schema["target"])
    table = table.astype(dict.fromkeys(schema["numeric"], float))
    table = table.astype(dict.fromkeys(levels, "category"))
    explained = [i - 1 for i in schema["x_interest_rows"]]
    rest = np.delete(np.arange(len(table)), explained)
    kept = rest[np.linspace(0, len(rest) - 1, min(len(rest), MOST_ROWS)).astype(int)]
    return Table(table.iloc[kept], classes.iloc[kept], table.iloc[explained])


def train(name: str, table: Table) -> Any:
    """Train one kind of model on a table, with plain settings and a fixed seed."""
    levels = list(table.data.select_dtypes("category").columns)
    numbers = [column for column in table.data.columns if column not in levels]
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels),
        (MinMaxScaler(), numbers),
    )
    model = make_pipeline(encode, _estimator(name))
    return model.fit(table.data, table.classes)


def _estimator(name: str) -> Any:
    """Return an untrained estimator by name."""
    return {
        "logistic regression": LogisticRegression(C=10.0, max_iter=1000),
        "network": MLPClassifier((16,), random_state=0, max_iter=1000),
        "forest": RandomForestClassifier(100, random_state=0),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0, max_iter=100),
        "support vectors": CalibratedClassifierCV(SVC(C=10.0), ensemble=False),
    }[name]
