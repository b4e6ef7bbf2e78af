"""Tables of any size, and cheap models of them, for measuring how cost grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

LEVELS = ("a", "b", "c", "d")


def table(
    n: int, d: int = 20, *, is_correlated: bool = True, n_outliers: int = 0, seed: int = 0
) -> pd.DataFrame:
    """Return n rows of d features, half of them numbers and half of them levels.

    Correlated features follow four hidden factors, as real tables do; independent ones are the
    hard case, where every row is far from every other. Outliers are numbers 10,000 times as large.
    """
    rng = np.random.default_rng(seed)  # noqa: TID251 - made-up data, not a search
    shape = np.random.default_rng(1)  # noqa: TID251 - the same loadings for every size
    factors = rng.normal(size=(n, 4))
    values = rng.normal(size=(n, d))
    if is_correlated:
        values = factors @ shape.normal(size=(4, d)) + 0.5 * values
    n_numbers = d // 2
    numbers = values[:, :n_numbers].round(3)
    codes = np.digitize(values[:, n_numbers:], [-1.0, 0.0, 1.0])
    numbers[rng.integers(0, n, n_outliers), rng.integers(0, n_numbers, n_outliers)] *= 1e4
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(n_numbers)])
    levels = {
        f"c{j}": pd.Categorical.from_codes(codes[:, j], pd.Index(LEVELS))
        for j in range(codes.shape[1])
    }
    return pd.concat([frame, pd.DataFrame(levels)], axis=1)


class Linear:
    """A logistic model with fixed weights: a number costs one product, a level one lookup."""

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return a probability per row."""
        numbers = rows.select_dtypes("number").to_numpy()
        score = numbers @ np.linspace(1.0, -1.0, numbers.shape[1])
        for j, column in enumerate(rows.columns[numbers.shape[1] : numbers.shape[1] + 5]):
            score = score + 0.5 * (rows[column].cat.codes.to_numpy() == j % len(LEVELS))
        return 1.0 / (1.0 + np.exp(-(score - 2.0)))
