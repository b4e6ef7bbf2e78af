"""Cores: what scores inside an estimator, asked without the layers around it.

A forest of a hundred trees spends 5 ms on twenty rows, nearly all of it on a hundred rounds of
checks; walking its trees takes a hundredth of that.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from counterpoint.models.trees import add_up, of_boosting, of_forest


class Core:
    """The inside of an estimator, asked like the estimator.

    Parameters
    ----------
    score : callable
        Returns scores (n, c) or (n,) of an array (n, d).
    classes : ndarray or None
        The labels of a classifier.
    """

    def __init__(self, score: Callable[[Any], Any], classes: Any) -> None:
        self.score, self.classes = score, classes

    def predict_proba(self, rows: Any) -> Any:
        """Return the probability of each class, shape (n, c)."""
        scores = self.score(rows)
        return scores if scores.ndim == 2 else np.vstack([1.0 - scores, scores]).T

    def predict(self, rows: Any) -> Any:
        """Return the likeliest class, or the score of a regressor, shape (n,)."""
        if self.classes is None:
            return self.score(rows).reshape(-1)
        return self.classes.take(np.argmax(self.predict_proba(rows), axis=1), axis=0)


def core_of(model: Any) -> Any:
    """Return what scores inside `model`: its trees or its booster; None if it shows neither."""
    if hasattr(model, "_predictors") and hasattr(model, "_raw_predict"):
        return boosting_core(model) if model._preprocessor is None else None
    classes = getattr(model, "classes_", None)
    trees = [model] if hasattr(model, "tree_") else getattr(model, "estimators_", None)
    if isinstance(trees, list) and trees and all(hasattr(tree, "tree_") for tree in trees):
        return Core(forest_score([tree.tree_ for tree in trees]), classes)
    booster: Any = getattr(model, "booster_", None)
    return Core(booster.predict, classes) if hasattr(booster, "predict") else None


def forest_score(trees: list[Any]) -> Callable[[Any], Any]:
    """Return the function that averages the leaves of scikit-learn's trees."""
    forest, n_outputs = of_forest(trees), trees[0].value.shape[2]

    def score(rows: Any) -> Any:
        total = np.zeros((len(rows), n_outputs))
        add_up(np.ascontiguousarray(rows, dtype=np.float32), forest, total)
        return total / len(trees)

    return score


def boosting_core(model: Any) -> Any:
    """Return a copy of scikit-learn's histogram boosting that adds up its trees in one go."""
    forest, start = of_boosting(model), model._baseline_prediction

    def raw_predict(rows: Any, n_threads: int | None = None) -> Any:  # noqa: ARG001 - its name
        total = np.zeros((len(rows), model.n_trees_per_iteration_))
        total += start
        add_up(np.ascontiguousarray(rows, dtype=np.float64), forest, total)
        return np.asfortranarray(total)

    core = copy.copy(model)
    core._raw_predict = raw_predict  # what it is made of stays; only the walk is ours
    return core
