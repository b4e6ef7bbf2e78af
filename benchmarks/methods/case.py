"""Cases: what every compared method is given, and the one thing it must do with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

import counterpoint as cp
from benchmarks.peers.subjects import Bools, Codec, Floats
from counterpoint.table.features import Precision


class NotApplicable(ValueError):  # noqa: N818 - a statement about a method, not a mistake
    """The method cannot be used with this model, data or target."""


@dataclass(frozen=True, eq=False)
class Background:
    """What the cases of one model share; what is costly to prepare is prepared once.

    Parameters
    ----------
    model : estimator, or function from a frame to scores of shape (n,)
        What is explained: a classifier for targets that are classes, else a regression or function.
    train : DataFrame
        The observed rows: numbers and pandas categories, none missing.
    classes : Series, optional
        Their observed classes, which some packages want.
    precision : {"observed", "full"}, default="observed"
        The decimals our searches work on; the paper's runs search the reals.
    """

    model: Any
    train: pd.DataFrame
    classes: pd.Series[Any] | None = None
    precision: Precision = "observed"

    @cached_property
    def codec(self) -> Codec:
        """Rows as genomes and back."""
        return Codec(self.train)

    @cached_property
    def observed(self) -> Floats:
        """The observed rows as genomes (n, d)."""
        return self.codec.encode(self.train)

    @cached_property
    def explainer(self) -> cp.Explainer:
        """Our explainer; columns stay apart, since every method must see the same features."""
        return cp.Explainer(self.model, self.train, precision=self.precision, groups={})

    @property
    def schema(self) -> cp.Schema:
        """What each column is."""
        return self.explainer.schema


@dataclass(frozen=True, eq=False)
class Case:
    """One row to explain.

    Parameters
    ----------
    background : Background
        Model and observed rows.
    row : DataFrame of one row
        What is explained.
    target : class label or (low, high)
        The class `predict` should say, or the interval of a function's or a regression's score.
    seed : int, default=0
        Same seed, same answer.
    """

    background: Background
    row: pd.DataFrame
    target: Any
    seed: int = 0

    @property
    def model(self) -> Any:
        """What is explained."""
        return self.background.model

    @property
    def train(self) -> pd.DataFrame:
        """The observed rows."""
        return self.background.train

    @property
    def codec(self) -> Codec:
        """Rows as genomes and back."""
        return self.background.codec

    @property
    def schema(self) -> cp.Schema:
        """What each column is."""
        return self.background.schema

    @cached_property
    def genome(self) -> Floats:
        """The row as a genome (d,)."""
        return np.asarray(self.codec.encode(self.row)[0])

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """The smallest and largest gene of each feature over observed rows and the row, (d,)."""
        seen = np.vstack([self.background.observed, self.genome])
        return seen.min(axis=0), seen.max(axis=0)

    def frame(self, genomes: Floats) -> pd.DataFrame:
        """Return rows of genomes (n, d), as the model takes them."""
        return self.codec.decode(np.reshape(genomes, (-1, len(self.genome))))

    def gower(self, genomes: Floats, to: Floats | None = None) -> Floats:
        """Return Gower's distance of genomes (n, d) to a genome, by default the row, shape (n,)."""
        low, high = self.box
        apart = np.abs(genomes - (self.genome if to is None else to))
        width = np.where(high > low, high - low, 1.0)
        parts = np.where(self.codec.is_level, apart > 0, apart / width)
        return np.asarray(parts.mean(axis=1), dtype=np.float64)

    def merit(self, genomes: Floats) -> Floats:
        """Return how near predictions come to the target, more is better, shape (n,)."""
        rows = self.frame(genomes)
        if self.is_interval:
            low, high = self.target
            ask = self.model if callable(self.model) else self.model.predict
            scores = np.asarray(ask(rows), dtype=np.float64)
            gaps: Floats = np.maximum(0.0, np.maximum(low - scores, scores - high))
            return -gaps
        place = list(self.model.classes_).index(self.target)
        return np.asarray(self.model.predict_proba(rows)[:, place], dtype=np.float64)

    def reaches(self, genomes: Floats) -> Bools:
        """Return which genomes (n, d) reach the target, shape (n,)."""
        if len(genomes) == 0:
            return np.zeros(0, dtype=bool)
        if self.is_interval:
            return np.asarray(self.merit(genomes) >= 0.0)
        return np.asarray(self.model.predict(self.frame(genomes)) == self.target)

    @property
    def is_interval(self) -> bool:
        """Whether the target is an interval of a function's scores, not a class."""
        return isinstance(self.target, tuple)

    def none(self, reason: str) -> pd.DataFrame:
        """Return the answer of a method that failed: no rows, and why in `attrs["reason"]`."""
        rows = self.frame(np.empty((0, len(self.genome))))
        rows.attrs["reason"] = reason
        return rows


class Method(Protocol):
    """One way to explain a row."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def explain(self, case: Case) -> pd.DataFrame:
        """Return rows with the columns of the data; none if the method failed, and why."""
