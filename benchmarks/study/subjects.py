"""Subjects: a dataset with one of its models, as the cases every method is given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import published
from benchmarks.methods import Background, Case
from benchmarks.peers.subjects import Floats
from benchmarks.study import data, models
from benchmarks.study.data import Dataset

ABOVE = float(np.nextafter(0.5, 1.0))  # the target is open at 0.5 from above
SAME = 1.5e-8  # numbers nearer than this are unchanged, as the authors judged other methods
PUBLISHED = "published-"  # before the kind of a model that is one of the paper's networks


@dataclass(frozen=True, eq=False)
class Subject:
    """A dataset and a model of it."""

    dataset: Dataset
    kind: str
    model: Any

    @cached_property
    def background(self) -> Background:
        """What all rows share; the paper's searches worked on real numbers."""
        return Background(self.model, self.dataset.data, self.dataset.classes, precision="full")

    def probability(self, rows: pd.DataFrame) -> Floats:
        """Return the probability of the first class, shape (n,)."""
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(rows)[:, 1], dtype=np.float64)
        return np.asarray(self.model(rows), dtype=np.float64)

    def interval(self, row: pd.DataFrame) -> tuple[float, float]:
        """Return the other side of 0.5, as the paper's target."""
        return (ABOVE, 1.0) if self.probability(row)[0] <= 0.5 else (0.0, 0.5)

    def case(self, number: int, seed: int) -> Case:
        """Return the case of the row of this number."""
        row = self.dataset.rows.loc[[number]]
        low, high = self.interval(row)
        target = int(low > 0) if hasattr(self.model, "predict_proba") else (low, high)
        return Case(self.background, row, target, seed)


def load(name: str, kind: str, folder: Path | None, n_tried: int, cache: Path) -> Subject:
    """Return a subject by the names of its dataset and kind of model."""
    dataset = data.load(name, folder)
    if kind.startswith(PUBLISHED):
        run = published.load(f"{name}/{kind.removeprefix(PUBLISHED)}")
        return Subject(dataset, kind, run.network)
    return Subject(dataset, kind, models.tuned(kind, dataset, n_tried, cache))


class Ruler:
    """The paper's four objectives around one row, the same for every method.

    Gower's ranges are those of the observed rows and the row. The reference point of hypervolume is
    (gap of the row, 1, number of features, 1).
    """

    def __init__(self, subject: Subject, number: int) -> None:
        self.subject = subject
        self.codec, self.observed = subject.background.codec, subject.background.observed
        row = subject.dataset.rows.loc[[number]]
        self.target, self.row = subject.interval(row), self.codec.encode(row)[0]
        seen = np.vstack([self.observed, self.row])
        width = np.ptp(seen, axis=0)
        self.weight = np.where(self.codec.is_level, 1.0, 1.0 / np.where(width > 0, width, 1.0))
        self.cap = np.where(self.codec.is_level, 1.0, np.inf)
        gap = float(self.gaps(row)[0])
        self.reference = np.array([gap, 1.0, float(len(self.row)), 1.0])

    def gaps(self, rows: pd.DataFrame) -> Floats:
        """Return the distances of predictions to the target, (n,)."""
        low, high = self.target
        scores = self.subject.probability(rows)
        return np.maximum(0.0, np.maximum(low - scores, scores - high))

    def objectives(self, rows: pd.DataFrame) -> Floats:
        """Return gap, distance, changes and implausibility of each row, shape (n, 4)."""
        if len(rows) == 0:
            return np.empty((0, 4))
        genomes = self.codec.encode(rows)
        apart = np.abs(genomes - self.row)
        parts = np.minimum(apart * self.weight, self.cap)
        # Feature by feature, so that no array of n x observed x d is made.
        sums = np.zeros((len(genomes), len(self.observed)))
        for j, (weight, cap) in enumerate(zip(self.weight, self.cap, strict=True)):
            gaps = np.abs(genomes[:, j, None] - self.observed[None, :, j])
            sums += np.minimum(gaps * weight, cap)
        return np.column_stack(
            [
                self.gaps(self.codec.decode(genomes)),
                parts.mean(axis=1),
                (apart > SAME).sum(axis=1),
                sums.min(axis=1) / genomes.shape[1],
            ]
        )
