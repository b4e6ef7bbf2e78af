"""CatBoost models and XGBoost's own boosters; other boosting estimators need no adapter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.models.adapters.multi_output import several_outputs
from counterpoint.models.adapters.scorer import is_loaded

SEVERAL = ("MultiLogloss", "MultiCrossEntropy")  # losses of several yes or no per row


class CatBoostModel:
    """A fitted CatBoost model.

    Parameters
    ----------
    model : catboost.CatBoost
        The fitted model; its own `classes_` are an empty list if it is of numbers.
    """

    is_shared = True

    def __init__(self, model: Any) -> None:
        self.model = model
        labels = np.asarray(model.classes_, dtype=object).tolist()
        self.classes_: Sequence[Any] | None = labels or None


class CatBoostRegression(CatBoostModel):
    """A CatBoost model of numbers."""

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the predicted numbers."""
        numbers = np.asarray(self.model.predict(rows, thread_count=1))
        if numbers.ndim > 1:
            raise several_outputs(numbers.shape[1])
        return numbers


class CatBoostClassification(CatBoostModel):
    """A CatBoost model of classes, be it `CatBoostClassifier` or `CatBoost` itself."""

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the probability of each class."""
        # CatBoost has threads of its own, which no limit of ours reaches.
        return self.model.predict(rows, prediction_type="Probability", thread_count=1)

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the label of each row; of several classes CatBoost gives a column of them."""
        labels = self.model.predict(rows, prediction_type="Class", thread_count=1)
        return np.asarray(labels, dtype=object).reshape(-1)


def adapted_catboost(
    model: Any,
    classes: Sequence[Any] | None,  # noqa: ARG001 - the model brings its own
) -> CatBoostClassification | CatBoostRegression | None:
    """Return the adapter of a fitted CatBoost model; one that is not fitted says so itself."""
    if not is_loaded(model, "catboost", "CatBoost") or not model.is_fitted():
        return None
    if model.get_all_params().get("loss_function") in SEVERAL:
        raise several_outputs(len(model.classes_))
    has_classes = len(model.classes_) > 0
    return CatBoostClassification(model) if has_classes else CatBoostRegression(model)


class XGBoostBooster:
    """A booster: one score per row, or the probability of each class.

    Parameters
    ----------
    booster : xgboost.Booster
        The trained booster.
    classes : sequence, optional
        The class labels; a booster knows their numbers only.
    """

    is_shared = True

    def __init__(self, booster: Any, classes: Sequence[Any] | None = None) -> None:
        self.booster, self.classes_ = booster, classes

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the booster's predictions; categories keep the codes of the data's dtype."""
        matrix = sys.modules["xgboost"].DMatrix
        is_named = self.booster.feature_names is not None
        table = rows if is_named else rows.to_numpy()
        return self.booster.predict(matrix(table, enable_categorical=is_named, nthread=1))


def adapted_booster(model: Any, classes: Sequence[Any] | None) -> XGBoostBooster | None:
    """Return the adapter of a booster."""
    is_booster = is_loaded(model, "xgboost", "Booster")
    return XGBoostBooster(model, classes) if is_booster else None
