"""Tables of any size, and cheap models of them, for measuring how cost grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

LEVELS = ("a", "b", "c", "d")


def table(n: int, d: int = 20, *, is_correlated: bool = True, seed: int = 0) -> pd.DataFrame:
    """Return n rows of d features, half of them numbers and half of them levels.

    Correlated features follow four hidden factors, as real tables do; independent ones are the
    hard case, where every row is far from every other.
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


def heavy_tailed(n: int, d: int, n_outliers: int) -> pd.DataFrame:
    """Return n rows of d positive numbers, as amounts are; outliers are 10,000 times as large."""
    rng = np.random.default_rng(0)  # noqa: TID251 - made-up data, not a search
    values = np.exp(table(n, 2 * d).iloc[:, :d].to_numpy())
    values[rng.integers(0, n, n_outliers), rng.integers(0, d, n_outliers)] *= 1e4
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(d)])


class LogLinear:
    """A logistic model of the logarithms of all numbers, with fixed weights."""

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return a probability per row."""
        logs = np.log(np.abs(rows.to_numpy()) + 1e-9)
        return 1.0 / (1.0 + np.exp(1.0 - logs @ np.linspace(1.0, -1.0, rows.shape[1])))
