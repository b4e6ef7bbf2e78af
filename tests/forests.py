"""Forests of random shapes, rows for them, and what their trees say by the words of `Forest`."""

from __future__ import annotations

import numpy as np
from tests.strategies import generator

from counterpoint.arrays import MISSING, Floats
from counterpoint.models.trees import BY_THRESHOLD, Forest, goes_left_at, small

N_SETS, N_CATEGORIES = 3, 4


def draw_forest(seed: int, n_trees: int, n_outputs: int, n_more: int = 0) -> Forest:
    """Return trees of random shapes that split two numbers by threshold and one feature by sets.

    A tree has up to 20 splits, and `n_more`.
    """
    rng = generator(seed)
    children: list[list[int]] = []
    roots = []
    for _ in range(n_trees):
        root = len(children)
        roots.append(root)
        children.append([root, root])
        first = int(rng.integers(0, 2))  # 1 makes a tree deeper than its complete levels
        for _ in range(n_more + int(rng.integers(0, 12 + 8 * first))):  # a leaf becomes a split
            ends = [node for node in range(root, len(children)) if children[node][0] == node]
            n, node = len(children), int(rng.choice(ends[-1:] if first else ends))
            children[node] = [n, n + 1]
            children += [[n, n], [n + 1, n + 1]]
    n = len(children)
    feature = rng.integers(0, 3, n)
    by_set = np.where(feature == 2, rng.integers(0, N_SETS, n), BY_THRESHOLD)
    return Forest(
        small(roots),
        small(children),
        small(feature),
        rng.integers(-3, 4, n) / 2.0,
        small(by_set),
        rng.random(n) < 0.5,
        rng.random((N_SETS, N_CATEGORIES)) < 0.5,
        rng.normal(size=(n, n_outputs)),
    )


def draw_rows(seed: int, n: int) -> Floats:
    """Return rows at, between and beyond thresholds, of known and unknown categories, or none."""
    rng = generator(seed)
    rows = np.column_stack([rng.integers(-9, 10, (n, 2)) / 4.0, rng.integers(-1, 6, n)])
    rows[rng.random((n, 3)) < 0.2] = MISSING
    rows[rng.random((n, 3)) < 0.1] = np.nan
    return np.ascontiguousarray(rows)


def sums_by_hand(forest: Forest, rows: Floats, *, is_single: bool) -> Floats:
    """Walk rows one by one as the words of `Forest` say."""
    total = np.zeros((len(rows), forest.value.shape[1]))
    for i, row in enumerate(rows):
        for root in forest.roots.tolist():
            node = root
            while forest.children[node, 0] != node:
                value = np.array([[row[forest.feature[node]]]])
                goes_left = goes_left_at(forest, np.array([node]), value)[0, 0]
                node = forest.children[node, 0 if goes_left else 1]
            total[i] += forest.value[node]
            total[i] = total[i].astype(np.float32) if is_single else total[i]
    return total
