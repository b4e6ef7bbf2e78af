"""Beyond the paper: numbers and several classes as targets, and counterfactuals after refitting.

Regression and multi-class problems run on scikit-learn's bundled data, so that they need no file.
Robustness asks of each counterfactual in how many bootstrap refits of its model it still reaches
the target. Plausibility against a known density is `benchmarks/plausibility.py`.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import resample

import counterpoint as cp
from benchmarks.methods.ours import BUDGET
from benchmarks.study.data import drawn_rows
from benchmarks.study.store import write_whole

SEARCHES: dict[str, Any] = {
    "counterpoint": cp.Search(evaluations=BUDGET),
    "mocmod": cp.Search.paper("mocmod"),
    "random": cp.Search.paper("random"),
    "whatif": cp.WhatIf(),
}
PROBLEMS = ("progression", "iris", "wine")


def measure(store: Path, n_rows: int = 5, n_refits: int = 20) -> None:
    """Measure and store what is not stored yet."""
    for problem in PROBLEMS:
        for kind in ("linear", "forest"):
            file = store / "beyond" / f"{problem}-{kind}-{n_rows}-{n_refits}.json"
            if not file.exists():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # rows with ties in iris
                    write_whole(file, json.dumps(measured(problem, kind, n_rows, n_refits)))


def table_of(problem: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return features and outcome of a bundled dataset."""
    load = {"progression": load_diabetes, "iris": load_iris, "wine": load_wine}[problem]
    options = {"scaled": False} if problem == "progression" else {}
    table, outcome = load(return_X_y=True, as_frame=True, **options)
    table.columns = [column.replace(" ", "_") for column in table.columns]
    return table.astype(float), outcome


def untrained(problem: str, kind: str) -> Any:
    """Return a model of numbers or of classes."""
    if problem == "progression":
        return LinearRegression() if kind == "linear" else RandomForestRegressor(random_state=0)
    if kind == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression())
    return RandomForestClassifier(random_state=0)


def target_of(problem: str, model: Any, row: pd.DataFrame, outcome: pd.Series[Any]) -> Any:
    """Return the outcome's other half, or the class after the predicted one."""
    if problem == "progression":
        middle = float(outcome.median())
        is_high = model.predict(row)[0] > middle
        return (float(outcome.min()), middle) if is_high else (middle, float(outcome.max()))
    classes = list(model.classes_)
    return classes[(classes.index(model.predict(row)[0]) + 1) % len(classes)]


def measured(problem: str, kind: str, n_rows: int, n_refits: int) -> list[dict[str, Any]]:
    """Return one record per search and row."""
    table, outcome = table_of(problem)
    places = [number - 1 for number in drawn_rows(table, n_rows)]
    rows, data = table.iloc[places], table.drop(index=table.index[places])
    known = outcome.drop(index=outcome.index[places])
    model = untrained(problem, kind).fit(data, known)
    refits = [refit(problem, kind, data, known, seed) for seed in range(n_refits)]
    explainer = cp.Explainer(model, data)
    records = []
    for place in range(n_rows):
        row = rows.iloc[[place]]
        target = target_of(problem, model, row, known)
        for name, search in SEARCHES.items():
            found = explainer.explain(row, target, search=search, progress=False)
            record = {"problem": problem, "model": kind, "method": name, "refits": n_refits}
            records.append(record | summary(found, refits))
    return records


def refit(problem: str, kind: str, data: pd.DataFrame, outcome: Any, seed: int) -> Any:
    """Return the model fitted to a bootstrap sample; of classes each keeps its share."""
    strata = None if problem == "progression" else outcome
    sample, known = resample(data, outcome, random_state=seed, stratify=strata)
    return untrained(problem, kind).fit(sample, known)


def summary(found: cp.Counterfactuals, refits: list[Any]) -> dict[str, Any]:
    """Return how many are valid, how near, and in what share of refits they stay valid."""
    valid = found.valid()
    out: dict[str, Any] = {
        "n_valid": len(valid),
        "volume": float(found.hypervolume()),
    }
    if len(valid):
        held = valid.safety(models=refits, neighbours=0)["models"].to_numpy(dtype=float)
        objectives = np.asarray(valid.objectives)
        out |= {
            "held": float(held.mean()),
            "held_best": float(held.max()),
            "distance": float(objectives[:, 1].min()),
            "changes": float(objectives[:, 2].min()),
        }
    return out


def stored(store: Path) -> pd.DataFrame:
    """Return all stored records."""
    files = sorted(store.glob("beyond/*.json"))
    return pd.DataFrame([record for file in files for record in json.loads(file.read_text())])
