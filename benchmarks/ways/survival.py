"""Survival: in what share of bootstrap refits what is shown first still reaches the target.

The refits are never seen by a search. Beside what is shown first stand the whole Pareto set, the
nearest of each way, What-If's row, the rows found that survive most, which nobody can know without
the refits, and a curve: how survival grows with distance among all valid rows found. Distances are
shares of the distance of What-If's row, so that rows can be averaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

import counterpoint as cp
from benchmarks.methods import Case
from benchmarks.peers.subjects import Floats
from benchmarks.study.subjects import SAME
from benchmarks.ways.answers import SEARCHES, frames_of
from benchmarks.ways.subjects import Subject

N_REFITS = 20
N_SHOWN = 3  # as many as a letter names
N_BINS = 4  # of the curve

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Refits:
    """Models fitted to bootstrap samples of what a subject's model was fitted to."""

    models: Sequence[Any]
    target: Any

    @classmethod
    def of(cls, subject: Subject, cache: Path, n: int = N_REFITS) -> Refits:
        """Fit them; networks, which take longest, are kept on disk."""
        file = cache / "refits" / f"{subject.table}-{subject.kind}-{subject.fingerprint}-{n}.joblib"
        if file.exists():
            return cls(joblib.load(file), subject.target)
        models = [subject.refit(seed) for seed in range(n)]
        if subject.kind == "network":
            file.parent.mkdir(parents=True, exist_ok=True)
            joblib.dump(models, file)
        return cls(models, subject.target)

    def held(self, rows: pd.DataFrame) -> Floats:
        """Return for each row the share of models that say the target, shape (n,)."""
        if len(rows) == 0:
            return np.empty(0)
        said = [np.asarray(model.predict(rows)) == self.target for model in self.models]
        return np.asarray(np.mean(said, axis=0), dtype=np.float64)


def shown_first(found: Any, n: int = N_SHOWN) -> pd.DataFrame:
    """Return what a result shows first: the best of n different ways."""
    frame: pd.DataFrame = found.select(n, by="ways").to_frame()
    return frame


def measure(subject: Subject, n_rows: int, cache: Path) -> Record:
    """Return the survival of what is shown first, and of all it is compared with."""
    refits, explainer = Refits.of(subject, cache), subject.background.explainer
    rows = subject.rows.iloc[:n_rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on rows with ties
        ours, what_if = (
            explainer.explain_many(rows, subject.target, SEARCHES[name], workers=1, progress=False)
            for name in ("ours", "whatif")
        )
    named = [frames(*both) for both in zip(ours, what_if, strict=True)]
    asked = [(subject.case(i), frame) for i in range(n_rows) for frame in named[i].values()]
    points = by_name(named, judged(refits, asked))
    every = points.pop("all")
    points["safest"] = [each[each[:, 1] == each[:, 1].max(initial=0.0)] for each in every]
    record = {"rows": n_rows, "curve": curve(every)}
    return record | {name: mean_point(parts) for name, parts in points.items()}


def by_name(named: Sequence[Mapping[str, Any]], parts: Sequence[Floats]) -> dict[str, list[Floats]]:
    """Return distances and survival by name, row by row, as shares of What-If's distance."""
    points: dict[str, list[Floats]] = {}
    left = iter(parts)
    for names in named:
        own = {name: next(left) for name in names}
        unit = own["whatif"][:, 0].min(initial=np.inf)
        for name, part in own.items():
            points.setdefault(name, []).append(part / [unit, 1.0])
    return points


def frames(found: Any, what_if: cp.Counterfactuals) -> dict[str, pd.DataFrame]:
    """Return what is compared, by name."""
    every = pd.concat([found.to_frame(), *frames_of(found)])
    named = {"first": shown_first(found, 1), "shown": shown_first(found), "set": found.to_frame()}
    named["nearest"] = pd.concat([found.to_frame()[:0], *(way.closest for way in found.ways())])
    return named | {"whatif": what_if.to_frame(), "all": every}


def judged(refits: Refits, asked: Sequence[tuple[Case, pd.DataFrame]]) -> list[Floats]:
    """Return distance and survival, (n, 2), of the rows of each frame that reach the target.

    Rows of all frames are asked about at once, since every call of a model costs some time.
    """
    changed = [_changed(case, rows) for case, rows in asked]
    case, everything = asked[0][0], np.vstack(changed)
    reaches = case.reaches(everything)
    held = np.zeros(len(everything))
    held[reaches] = refits.held(case.frame(everything[reaches]))
    ends = np.cumsum([len(genomes) for genomes in changed])[:-1]
    parts = zip(asked, changed, np.split(reaches, ends), np.split(held, ends), strict=True)
    return [
        np.column_stack([case.gower(genomes), share])[valid]
        for (case, _), genomes, valid, share in parts
    ]


def _changed(case: Case, rows: pd.DataFrame) -> Floats:
    """Return the different genomes of rows that change anything."""
    genomes = case.codec.encode(rows[list(case.train.columns)].drop_duplicates())
    return np.asarray(genomes[(np.abs(genomes - case.genome) > SAME).any(axis=1)])


def mean_point(judged: Sequence[Floats]) -> list[float]:
    """Return the mean distance and survival over rows of the means of each row; NaN if none."""
    means = [each.mean(axis=0) for each in judged if len(each)]
    return [float(value) for value in np.mean(means, axis=0)] if means else [np.nan, np.nan]


def curve(judged: Sequence[Floats]) -> list[list[float]]:
    """Return mean distance and survival of the rows in each of the bins of equal size."""
    every = np.vstack(judged)
    every = every[np.argsort(every[:, 0], kind="stable")]
    return [part.mean(axis=0).tolist() for part in np.array_split(every, N_BINS) if len(part)]
