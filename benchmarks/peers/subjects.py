"""Subjects: a table, a model fitted to it, and the rows to explain; rows as genomes and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import simulated, tables
from counterpoint.datasets import load_credit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Explain = Callable[[pd.DataFrame, int], pd.DataFrame]  # row, target class -> counterfactuals

N_ROWS = 10  # left out of the data, to be explained


class Codec:
    """Rows as genomes: float64, levels as codes; independent of counterpoint's own encoding."""

    def __init__(self, data: pd.DataFrame) -> None:
        self.columns = list(data.columns)
        self.levels = {
            j: data[column].cat.categories
            for j, column in enumerate(self.columns)
            if isinstance(data[column].dtype, pd.CategoricalDtype)
        }
        self.is_level = np.array([j in self.levels for j in range(len(self.columns))])
        self.is_whole = self.is_level | np.array(
            [pd.api.types.is_integer_dtype(data[column].dtype) for column in self.columns]
        )

    def encode(self, rows: pd.DataFrame) -> Floats:
        """Return genomes of shape (n, d); a level that is not in the data becomes -1."""
        genomes = np.empty((len(rows), len(self.columns)))
        for j, column in enumerate(self.columns):
            values = rows[column]
            if j in self.levels:
                genomes[:, j] = self.levels[j].get_indexer(pd.Index(values))
            else:
                genomes[:, j] = values.to_numpy(dtype=np.float64)
        return genomes

    def decode(self, genomes: Floats) -> pd.DataFrame:
        """Return rows; numbers stay floats, so that no answer is rounded before it is scored."""
        if not self.levels:
            return pd.DataFrame(genomes, columns=self.columns)
        values: dict[Any, Any] = {}
        for j, column in enumerate(self.columns):
            values[column] = genomes[:, j]
            if j in self.levels:
                codes = np.rint(genomes[:, j]).astype(np.int64)
                values[column] = pd.Categorical.from_codes(codes, categories=self.levels[j])
        return pd.DataFrame(values)


@dataclass(frozen=True, eq=False)
class Subject:
    """What all methods are given: observed rows with classes 0 and 1, a model, rows to explain."""

    name: str
    data: pd.DataFrame
    classes: pd.Series[Any]
    rows: pd.DataFrame
    model: Any
    codec: Codec

    @classmethod
    def of(cls, name: str, table: tables.Table, model: Any) -> Subject:
        """Keep the rows whose probability is not a tie: a tie has no gap to close."""
        is_tie = np.abs(model.predict_proba(table.rows)[:, 1] - 0.5) < 1e-9
        rows = table.rows[~is_tie]
        return cls(name, table.data, table.classes, rows, model, Codec(table.data))

    def probabilities(self, genomes: Floats) -> Floats:
        """Return the model's probabilities of both classes, shape (n, 2)."""
        scores: Floats = self.model.predict_proba(self.codec.decode(genomes))
        return scores

    def target_of(self, row: pd.DataFrame) -> int:
        """Return the class the model does not predict for the row."""
        return 1 - int(self.model.predict(row)[0])


def subjects(quick: bool) -> list[Subject]:
    """Return the forest on numbers only; if not quick, two more models, mixed and wide."""
    name, table = numeric_table()
    estimators = {"forest": RandomForestClassifier(100, random_state=0)}
    if not quick:
        estimators |= {
            "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
            "network": make_pipeline(
                StandardScaler(), MLPClassifier((16,), random_state=0, max_iter=1000)
            ),
        }
    chosen = [
        Subject.of(f"{name}, {label}", table, estimator.fit(table.data, table.classes))
        for label, estimator in estimators.items()
    ]
    if not quick:
        mixed = credit_table()
        chosen.append(
            Subject.of("credit (mixed), one-hot forest", mixed, tables.train("forest", mixed))
        )
        wide = wide_table()
        forest = RandomForestClassifier(100, random_state=0).fit(wide.data, wide.classes)
        chosen.append(Subject.of("60 numbers (simulated), forest", wide, forest))
    return chosen


def numeric_table() -> tuple[str, tables.Table]:
    """Return the paper's diabetes data if at hand, else the numbers of the embedded credit data."""
    if "diabetes" in tables.names("benchmark"):
        return "diabetes", tables.load("diabetes")
    table = credit_table()
    numbers = list(table.data.select_dtypes("number").columns)
    return "credit (numbers)", table._replace(data=table.data[numbers], rows=table.rows[numbers])


def wide_table() -> tables.Table:
    """Return a simulated table of 60 numbers, ten rows spread over it left out."""
    data = simulated.table(1100, 120).iloc[:, :60]
    score = data.to_numpy() @ np.linspace(1.0, -1.0, 60)
    classes = pd.Series((score > np.median(score)).astype(int), index=data.index)
    explained = np.linspace(0, len(data) - 1, N_ROWS).astype(int)
    rest = np.delete(np.arange(len(data)), explained)
    return tables.Table(data.iloc[rest], classes.iloc[rest], data.iloc[explained])


def credit_table() -> tables.Table:
    """Return the embedded credit data, ten rows spread over it left out; "good" is class 1."""
    data, risk = load_credit()
    explained = np.linspace(0, len(data) - 1, N_ROWS).astype(int)
    rest = np.delete(np.arange(len(data)), explained)
    classes = (risk == "good").astype(int)
    return tables.Table(data.iloc[rest], classes.iloc[rest], data.iloc[explained])
