"""Ensembles of a hundred trees and linear models: what the search finds, and what is proved.

The table of `benchmarks.optimality`: the default search alone, and with ``Search(prove=True)``, on
the same rows. What the solver proves is the measure of both, so rows of which it cannot prove the
nearest count by its bound.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterpoint as cp

BUDGET = 3520
SAME = 1e-6  # relative: what tells a better row from rounding
STATUSES = ("optimal", "within", "none", "unknown")


def models() -> dict[str, Any]:
    """Return the models; those of packages that are not installed are left out."""
    found: dict[str, Any] = {
        "forest of 100, depth 5": RandomForestClassifier(100, max_depth=5, random_state=0),
        "forest of 100, depth 8": RandomForestClassifier(100, max_depth=8, random_state=0),
    }
    try:
        from xgboost import XGBClassifier

        found["XGBoost of 100, depth 6"] = XGBClassifier(
            n_estimators=100, max_depth=6, learning_rate=0.3, random_state=0, n_jobs=1
        )
    except ImportError:
        pass
    try:
        from lightgbm import LGBMClassifier

        found["LightGBM of 100"] = LGBMClassifier(
            n_estimators=100, random_state=0, n_jobs=1, verbose=-1
        )
    except ImportError:
        pass
    return found | {"logistic regression": LogisticRegression(max_iter=1000)}


@dataclass(frozen=True)
class Proved:
    """One row: distances of the search alone and of the proof, its bound, and CPU seconds."""

    table: str
    model: str
    alone: float
    value: float
    bound: float
    fewest: bool  # whether the fewest changes are proved
    seconds_alone: float
    seconds: float
    claims: tuple[tuple[str, str], ...] = ()  # what was asked of the solver, and the status


def pipeline(model: Any, data: pd.DataFrame) -> Any:
    """Return a pipeline: levels one-hot, numbers scaled for the linear model."""
    levels = list(data.select_dtypes("category").columns)
    numbers = [column for column in data.columns if column not in levels]
    scale = StandardScaler() if isinstance(model, LogisticRegression) else "passthrough"
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), levels), (scale, numbers))
    return make_pipeline(encode, model)


def measure(tables: dict[str, tuple[pd.DataFrame, Any]], n_rows: int) -> Iterator[Proved]:
    """Yield what is found and proved of rows spread over each table, towards the runner-up."""
    warnings.simplefilter("ignore")
    for table, (data, classes) in tables.items():
        codes = pd.factorize(classes, sort=True)[0]
        for name, model in models().items():
            fitted = pipeline(model, data).fit(data, codes)
            explainer = cp.Explainer(fitted, data)
            explainer.explain(data[:1], "opposite", cp.Search(prove=True), progress=False)
            for i in np.linspace(0, len(data) - 1, n_rows).astype(int):
                row = data.iloc[[i]]
                target = int(np.argsort(fitted.predict_proba(row)[0])[-2])
                yield proved(table, name, explainer, row, target)
            print(f"{table}, {name}", flush=True)


def proved(
    table: str, model: str, explainer: cp.Explainer, row: pd.DataFrame, target: int
) -> Proved:
    """Return what is found and proved of one row."""
    seconds, least = [], []
    for search in (cp.Search(evaluations=BUDGET), cp.Search(evaluations=BUDGET, prove=True)):
        start = time.process_time()
        found = explainer.explain(row, target, search, progress=False)
        seconds.append(time.process_time() - start)
        least.append(found.to_frame()["distance"].min() if len(found) else np.inf)
    assert found.proof is not None
    nearest = found.proof.nearest
    is_fewest = found.proof.fewest.status == "optimal"
    claims = tuple(claims_of(found.proof))
    ends = (least[0], least[1], nearest.bound, is_fewest, seconds[0], seconds[1])
    return Proved(table, model, *ends, claims)


def claims_of(proof: cp.Proof) -> Iterator[tuple[str, str]]:
    """Yield every question of a proof, and what is claimed."""
    yield "the nearest", proof.nearest.status
    yield "the fewest changes", proof.fewest.status
    for claim in proof.by_changes.values():
        yield "the nearest of a number of changes", claim.status
    for claim in proof.ways.values():
        yield "the nearest of a way", claim.status


def count_claims(found: list[Proved]) -> str:
    """Return a table of what was asked and how often which status was the answer."""
    counts = Counter(claim for each in found for claim in each.claims)
    lines = [f"| asked | {' | '.join(STATUSES)} |", "|---|" + "---|" * len(STATUSES)]
    for question in dict.fromkeys(question for question, _ in counts):
        cells = [str(counts[question, status]) for status in STATUSES]
        lines.append(f"| {question} | {' | '.join(cells)} |")
    return "\n".join(lines)


def as_markdown(found: list[Proved]) -> str:
    """Return the table, one line per table and model, and one over all."""
    lines = [
        "| table | model | rows | search alone: optimal | within 1 % | excess of 90 % | worst "
        "| proved nearest | at worst within | proved fewest | seconds alone | with proof "
        "| at most |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for key in dict.fromkeys((each.table, each.model) for each in found):
        own = [each for each in found if (each.table, each.model) == key]
        lines.append(f"| {' | '.join(key)} | {cells(own)} |")
    return "\n".join([*lines, f"| **all** | | {cells(found)} |"])


def cells(own: list[Proved]) -> str:
    """Return the cells of some rows."""
    best = np.array([each.value for each in own])
    excess = np.array([each.alone for each in own]) / best - 1.0
    bounds = np.array([each.bound for each in own])
    gaps = np.divide(best, bounds, out=np.full(len(own), np.inf), where=bounds > 0.0) - 1.0
    alone, total = (
        np.array([getattr(each, name) for each in own]) for name in ("seconds_alone", "seconds")
    )
    within = f"{gaps.max():.1%}" if np.isfinite(gaps.max()) else "no bound"
    return (
        f"{len(own)} | {(excess < SAME).mean():.0%} | {(excess <= 0.01).mean():.0%} | "
        f"{np.quantile(excess, 0.9, method='higher'):.1%} | {excess.max():.1%} | "
        f"{(gaps < SAME).mean():.0%} | {within} | "
        f"{np.mean([each.fewest for each in own]):.0%} | {np.median(alone):.2f} | "
        f"{np.median(total):.2f} | {total.max():.1f}"
    )
