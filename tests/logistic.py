"""A model whose answers can be worked out by hand, and the unit square it is asked about.

Batch jobs call it thousands of times, in processes of their own too: hence arrays, and few imports.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

UP, DOWN = (float(np.nextafter(0.5, 1.0)), 1.0), (0.0, 0.5)


class Logistic:
    """The logistic function of a weighted sum: above 0.5 where the sum is positive."""

    def __init__(self, intercept: float, **weights: float) -> None:
        self.intercept, self.weights = intercept, weights

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return a probability per row."""
        values, place = rows.to_numpy(), rows.columns.get_loc
        total: Any = sum(w * values[:, place(name)] for name, w in self.weights.items())
        return 1.0 / (1.0 + np.exp(-(total + self.intercept)))


def square(n: int = 21) -> pd.DataFrame:
    """Return a grid of rows over the unit square, x and y."""
    ticks = np.linspace(0.0, 1.0, n).round(2)
    x, y = np.meshgrid(ticks, ticks)
    return pd.DataFrame({"x": x.ravel(), "y": y.ravel()})
