"""XGBoost's own boosters, which take a matrix of XGBoost; its estimators need no adapter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pandas as pd

from counterpoint.models.adapters.scorer import is_loaded


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


def adapted(model: Any, classes: Sequence[Any] | None) -> XGBoostBooster | None:
    """Return the adapter of a booster."""
    is_booster = is_loaded(model, "xgboost", "Booster")
    return XGBoostBooster(model, classes) if is_booster else None
