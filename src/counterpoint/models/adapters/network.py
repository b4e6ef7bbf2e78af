"""What networks have in common: a matrix of numbers goes in, and logits may come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput, PredictorError, listed
from counterpoint.models.answers import TOLERANCE

HALF_PRECISION = 0.02  # how far rounding to 16 bits may take the sum of probabilities from 1
MOST_ROWS = 8192  # in one call: a network's inner layers may be far wider than the table


def as_matrix(rows: pd.DataFrame, who: str) -> Floats:
    """Return a frame of numbers as a matrix (n, d); `who` cannot take anything else.

    Examples
    --------
    >>> as_matrix(pd.DataFrame({"age": [30, 40], "owns": [True, False]}), "the module Net")
    array([[30.,  1.],
           [40.,  0.]])
    """
    texts = [
        name
        for name, dtype in rows.dtypes.items()
        if not pd.api.types.is_numeric_dtype(dtype)  # truth values count as numbers
    ]
    if texts:
        raise InvalidInput(
            f"{who} takes numbers, but {listed(texts)} of the data are no numbers; pass a function "
            "that turns a frame into the model's input and returns its scores."
        )
    return rows.to_numpy(dtype=np.float64, copy=True)  # a view is read-only, which PyTorch minds


def in_parts(ask: Callable[[Floats], Any], numbers: Floats) -> Any:
    """Return the answers of a network that is asked about a bounded number of rows at a time.

    Examples
    --------
    >>> in_parts(lambda part: part.sum(axis=1), np.ones((20_000, 2))).shape
    (20000,)
    """
    starts = range(0, len(numbers), MOST_ROWS)
    return np.concatenate([ask(numbers[start : start + MOST_ROWS]) for start in starts])


def as_outputs(raw: Any, classes: Any, who: str, remedy: str) -> Any:
    """Return a network's outputs as float64; where they must be probabilities, refuse logits.

    They must be if the caller named classes or if there are several per row; shapes and NaN are
    checked by the predictor.

    Examples
    --------
    >>> as_outputs([[0.8125, 0.1865]], None, "the module Net", "add softmax").sum()  # bfloat16
    np.float64(1.0)
    """
    outputs = np.asarray(raw, dtype=np.float64)
    is_single = outputs.ndim < 2 or outputs.shape[1] == 1
    if outputs.ndim > 2 or not np.isfinite(outputs).all() or (is_single and classes is None):
        return outputs
    table = outputs.reshape(len(outputs), -1)
    sums = np.ones((len(table), 1)) if is_single else table.sum(axis=1, keepdims=True)
    is_outside = ((table < -TOLERANCE) | (table > 1.0 + TOLERANCE)).any(axis=1, keepdims=True)
    is_bad = is_outside | (np.abs(sums - 1.0) > HALF_PRECISION)
    if is_bad.any():
        first = outputs[int(np.flatnonzero(is_bad)[0])].tolist()
        raise PredictorError(
            f"{who} returned {first} for one row, which are no probabilities but look like "
            f"logits; {remedy}."
        )
    is_rough = np.abs(sums - 1.0) > 100 * TOLERANCE
    return np.where(is_rough, table / sums, table).reshape(outputs.shape)
