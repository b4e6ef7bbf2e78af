"""Subjects: tables, four kinds of model, and held-out rows that the model refuses."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from benchmarks import tables
from benchmarks.methods import Background, Case
from benchmarks.study import data

KINDS = {
    "linear": "logistic regression",
    "forest": "forest",
    "boosting": "gradient boosting",
    "network": "network",
}
BUNDLED = ("credit", "wine", "wisconsin")
WANTED, OTHER = 1, 0  # good credit, or the first class of the paper's data; the other one
MOST_ROWS = 2000  # that a model is fitted to
MOST_TO_ONE = 4  # rows of the more frequent class, or a model would never say the other
N_ROWS = 25


@dataclass(frozen=True, eq=False)
class Subject:
    """A table, a model fitted to two thirds of it, and rows of the rest that the model refuses.

    The target is class 1, or class 0 if the model refuses too few rows, as where it is rare.
    """

    table: str
    kind: str
    model: Any
    train: pd.DataFrame
    classes: pd.Series[Any]
    rows: pd.DataFrame
    target: int

    @cached_property
    def background(self) -> Background:
        """What all rows share."""
        return Background(self.model, self.train, self.classes)

    def case(self, place: int) -> Case:
        """Return the case of one of the rows."""
        return Case(self.background, self.rows.iloc[[place]], self.target)

    @property
    def has_two_answers(self) -> bool:
        """Whether the model gives any row it was fitted to the target, so that there are ways."""
        return bool((self.model.predict(self.train) == self.target).any())

    def refit(self, seed: int) -> Any:
        """Return the model fitted to a bootstrap sample, which keeps the classes' shares."""
        from sklearn.utils import resample

        sample, known = resample(self.train, self.classes, random_state=seed, stratify=self.classes)
        return fit(self.kind, sample, known)

    @cached_property
    def fingerprint(self) -> str:
        """A short name of what brute force depends on: the rows and what the model says."""
        seen = pd.concat([self.train, self.rows])
        rows = pd.util.hash_pandas_object(seen, index=False).to_numpy().tobytes()
        said = np.round(self.model.predict_proba(seen), 6) + 0.0
        return hashlib.sha256(rows + said.tobytes() + bytes([self.target])).hexdigest()[:12]


def names() -> list[str]:
    """Return the tables at hand: those that come with packages, and the paper's for tuning."""
    folder = data.default_folder()
    return [*BUNDLED, *(data.names("tuning", folder) if folder else [])]


def load(table: str, kind: str) -> Subject:
    """Return a subject by the names of its table and kind of model."""
    features, classes = whole_table(table)
    order = np.array(data.drawn_rows(features, len(features))) - 1
    order = order[is_kept(classes.iloc[order])]
    n_train = min(2 * len(order) // 3, MOST_ROWS)
    train, rest = order[:n_train], order[n_train:]
    data_of_model = features.iloc[train], classes.iloc[train]
    model = fit(kind, *data_of_model)
    held_out, said = features.iloc[rest], model.predict(features.iloc[rest])
    target = WANTED if (said != WANTED).sum() >= N_ROWS else OTHER
    refused = held_out[said != target].iloc[:N_ROWS]
    return Subject(table, kind, model, *data_of_model, refused, target)


def is_kept(classes: pd.Series[Any]) -> Any:
    """Return which rows are kept so that no class has many times the rows of the rarest."""
    most = MOST_TO_ONE * int(classes.value_counts().min())
    return (classes.groupby(classes).cumcount() < most).to_numpy()


def whole_table(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features and classes of a table."""
    if name == "wine":
        features, classes = load_wine(return_X_y=True, as_frame=True)
        return features.astype(float), classes
    found = data.load(name, data.default_folder())
    return found.data, found.classes


def fit(kind: str, train: pd.DataFrame, classes: pd.Series[Any]) -> Any:
    """Return a fitted pipeline of one of the four kinds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on convergence of networks
        return tables.train(KINDS[kind], tables.Table(train, classes, train[:0]))
