"""The nearest counterfactual of a small network: trying all rows is the oracle."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.network_ranks import CHOICES, nearest, ranks, steps_of

FEATURES: list[dict[str, Any]] = [
    {"kind": "binary", "columns": [0]},
    {"kind": "binary", "columns": [1]},
    {"kind": "group", "columns": [2, 3, 4]},
    {"kind": "group", "columns": [5, 6]},
]
TASK = SimpleNamespace(features=FEATURES)
ROW = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])


def score(weights: Any, rows: Any) -> Any:
    first, bias, second, last = weights
    return np.maximum(rows @ first + bias, 0.0) @ second + last


def every_row() -> Any:
    levels = [np.array([[0.0], [1.0]])] * 2 + [np.eye(3), np.eye(2)]
    return np.array([np.concatenate(parts) for parts in product(*levels)])


def changes(rows: Any) -> Any:
    return sum((rows[:, f["columns"]] != ROW[f["columns"]]).any(axis=1) for f in FEATURES)


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)  # noqa: TID251 - a made-up network
    sizes = [(7, 5), (5,), (5, 2), (2,)]
    weights = [rng.normal(size=size) for size in sizes]
    target = 1 - int(np.argmax(score(weights, ROW[None])[0]))
    rows = every_row()
    reached = rows[np.argmax(score(weights, rows), axis=1) == target]
    steps = steps_of(TASK, ROW, np.zeros(7), np.ones(7), 4.0)

    found = nearest(weights, ROW, target, steps, 4.0, 20.0)

    assert found is not None
    assert len(found) == (2 if len(reached) else 0)
    for row in found:
        assert np.argmax(score(weights, row[None])[0]) == target
        assert changes(row[None])[0] == changes(reached).min()
    if len(reached):
        near = reached[changes(reached) == changes(reached).min()]
        assert (found[1] != ROW).sum() == (near != ROW).sum(axis=1).min()


def test_numbers_step_no_farther_than_needed() -> None:
    task = SimpleNamespace(features=[{"kind": "numeric", "columns": [0]}])
    weights = [np.array([[1.0]]), np.zeros(1), np.array([[0.0, 1.0]]), np.array([0.5, 0.0])]
    row = np.zeros(1)  # of class 0; of class 1 above 0.5
    steps = steps_of(task, row, np.zeros(1), np.full(1, 2.0), 1.0)

    found = nearest(weights, row, 1, steps, 1.0, 20.0)

    assert found is not None
    assert found[0][0] == pytest.approx(0.5, abs=1e-4)
    assert nearest(weights, row, 1, steps_of(task, row, row, row + 2.0, 0.2), 0.2, 20.0) == ()


def test_ranks_are_means_over_rows() -> None:
    keys = {"dataset": ["a", "a"], "factual_class": [0, 0], "factual_index": [0, 1]}
    lines = pd.DataFrame(keys)
    found = lines.assign(proved=[True, False], **{name: [1.0, 3.0] for name in CHOICES})
    others = [lines.assign(method=m, l2=v, valid=True) for m, v in (("x", 2.0), ("y", 4.0))]

    table = ranks(found, pd.concat(others))

    assert table.to_numpy()[-1].tolist() == [1.5] * 4 + [0.5]
