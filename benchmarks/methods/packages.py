"""DiCE and NICEx, the packages themselves, wired as in the comparison of speed."""

from __future__ import annotations

import random
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.methods.case import Case, NotApplicable
from benchmarks.peers.subjects import Floats, Subject

NONE_FOUND = "No counterfactuals found"  # DiCE says so by an error; every other is a fault


class AsEstimator:
    """A function's probability of class 1 as an estimator of classes 0 and 1, for packages."""

    classes_ = np.array([0, 1])

    def __init__(self, function: Any) -> None:
        self.function = function

    def predict_proba(self, rows: pd.DataFrame) -> Floats:
        """Return the probabilities of both classes, (n, 2)."""
        second = np.asarray(self.function(rows), dtype=np.float64)
        return np.column_stack([1.0 - second, second])

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the classes; 0.5 is class 0, as in the paper."""
        return (np.asarray(self.function(rows)) > 0.5).astype(int)


@dataclass(frozen=True)
class Package:
    """One setting of a package that `benchmarks/peers` wires, for two classes."""

    name: str
    module: str
    setting: str

    def explain(self, case: Case) -> pd.DataFrame:
        """Return what it answers; what it raises is raised, unless it says that it found none."""
        subject, target = as_subject(case)
        random.seed(case.seed)  # both draw from the global generators
        np.random.seed(case.seed % 2**32)  # noqa: NPY002, TID251
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wire = import_module(f"benchmarks.peers.{self.module}").wire
            try:
                found = wire(subject, self.setting)(case.row.copy(), target)
            except Exception as error:
                if NONE_FOUND not in str(error):
                    raise
                return case.none(f"{type(error).__name__}: {error}")
        rows: pd.DataFrame = found[list(case.train.columns)].reset_index(drop=True)
        return rows


def as_subject(case: Case) -> tuple[Subject, int]:
    """Return a case as the peers' subject, and its target as 0 or 1."""
    model = AsEstimator(case.model) if case.is_interval else case.model
    labels = list(model.classes_)
    if len(labels) != 2:
        raise NotApplicable(f"the packages are wired for two classes, not {len(labels)}.")
    target = int(case.target[0] >= 0.5) if case.is_interval else labels.index(case.target)
    if labels != [0, 1]:
        model = AsEstimator(lambda rows: case.model.predict_proba(rows)[:, 1])
    known = case.background.classes
    classes = model.predict(case.train) if known is None else [labels.index(c) for c in known]
    series = pd.Series(np.asarray(classes, dtype=int), index=case.train.index)
    return Subject("case", case.train, series, case.row, model, case.codec), target


DICE_RANDOM = Package("dice random", "with_dice", "random")
DICE_GENETIC = Package("dice genetic", "with_dice", "genetic")
DICE_TREE = Package("dice kd-tree", "with_dice", "kdtree")
NICEX_SPARSITY = Package("nicex sparsity", "with_nice", "sparsity")
NICEX_PROXIMITY = Package("nicex proximity", "with_nice", "proximity")
