"""Tweaking (Tolomei et al. 2017): the nearest row that takes another path through a tree.

For every tree that votes for the row's class and every leaf of it that votes for the target, the
row is moved just far enough to reach that leaf: what violates a condition ends `epsilon` beyond its
threshold, in standard deviations of the observed feature. Of these rows the nearest that turns the
forest is the answer. Where a path bounds a number so narrowly that `epsilon` would overshoot, it
gets the middle, so that every such row really takes its path. A feature of levels takes the level a
path asks for, or, where the path refuses the row's, the most frequent it allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from benchmarks.methods.case import Case, NotApplicable
from benchmarks.methods.inputs import Input, unwrap
from benchmarks.peers.subjects import Floats

FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
Bounds = dict[int, tuple[float, float]]  # input -> (above, up to)


@dataclass(frozen=True)
class Tweaking:
    """The nearest tweak of a row by scikit-learn's forests of two or more classes."""

    epsilon: float = 0.5
    name: str = "tweaking"

    def explain(self, case: Case) -> pd.DataFrame:
        """Return one row, or none if no tweak turns the forest."""
        candidates = tweaks(case, self.epsilon)
        candidates = candidates[case.reaches(candidates)]
        if len(candidates) == 0:
            return case.none("no tweak turns the forest")
        nearest = np.argmin(apart(case, candidates))
        return case.frame(candidates[nearest])


def apart(case: Case, genomes: Floats) -> Floats:
    """Return the Euclidean distance to the row in standard deviations, a level counting 1, (n,)."""
    parts = (genomes - case.genome) / deviations(case)
    parts = np.where(case.codec.is_level, genomes != case.genome, parts)
    return np.asarray(np.sqrt((parts**2).sum(axis=1)))


def deviations(case: Case) -> Floats:
    """Return each feature's observed standard deviation, 1 where it is constant, (d,)."""
    spread = case.background.observed.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def tweaks(case: Case, epsilon: float) -> Floats:
    """Return the row moved to every leaf that would turn a tree, shape (n, d)."""
    forest, inputs = unwrap(case.model, case.codec)
    if not isinstance(forest, FORESTS):
        raise NotApplicable(f"Tweaking needs a forest of classes, got {type(forest).__name__}.")
    wanted = list(forest.classes_).index(case.target)
    own = list(forest.classes_).index(case.model.predict(case.row)[0])
    signal = np.array([[entry.value(case.genome[None])[0] for entry in inputs]])
    found = [
        moved
        for member in forest.estimators_
        if np.argmax(member.predict_proba(signal.astype(np.float32))[0]) == own
        for bounds in paths_to(member.tree_, wanted)
        if (moved := move(case, inputs, bounds, epsilon)) is not None
    ]
    return np.reshape(found, (-1, len(case.genome)))


def paths_to(tree: Any, wanted: int) -> Iterator[Bounds]:
    """Yield the bounds on inputs of each leaf whose largest class is `wanted`."""
    stack: list[tuple[int, Bounds]] = [(0, {})]
    while stack:
        node, bounds = stack.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left < 0:
            if int(np.argmax(tree.value[node][0])) == wanted:
                yield bounds
            continue
        entry, threshold = int(tree.feature[node]), float(tree.threshold[node])
        above, upto = bounds.get(entry, (-np.inf, np.inf))
        stack.append((left, bounds | {entry: (above, min(upto, threshold))}))
        stack.append((right, bounds | {entry: (max(above, threshold), upto)}))


def move(case: Case, inputs: tuple[Input, ...], bounds: Bounds, epsilon: float) -> Floats | None:
    """Return the row moved into the bounds, or None if levels contradict each other."""
    genome, spread = case.genome.copy(), deviations(case)
    asked: dict[int, dict[int, bool]] = {}
    for place, (above, upto) in bounds.items():
        entry = inputs[place]
        low, high = (end * entry.scale + entry.shift for end in (above, upto))
        j = entry.feature
        if entry.level is None:
            # Trees round values to single precision and compare them with thresholds in double.
            value = float(np.float32(entry.value(case.genome[None])[0]))
            if not above < value <= upto:
                genome[j] = into(float(genome[j]), low, high, epsilon * float(spread[j]))
        else:
            asked.setdefault(j, {})[entry.level] = low >= 0.0  # the indicator must be 1
    for j, answers in asked.items():
        level = choose_level(case, j, answers)
        if level is None:
            return None
        genome[j] = level
    return genome


def into(value: float, low: float, high: float, margin: float) -> float:
    """Return what lies one `margin` inside the nearer of two ends, or in the middle if narrow."""
    middle = (low + high) / 2.0  # infinite if one side is open
    return min(low + margin, middle) if value < middle else max(high - margin, middle)


def choose_level(case: Case, j: int, answers: dict[int, bool]) -> int | None:
    """Return the level a path asks for, else the row's, else the most frequent it allows."""
    wanted = [level for level, is_wanted in answers.items() if is_wanted]
    if wanted:
        return wanted[0] if len(wanted) == 1 else None
    own = int(case.genome[j])
    if own not in answers:
        return own
    codes = case.background.observed[:, j].astype(int)
    counts = np.bincount(codes, minlength=len(case.codec.levels[j]))
    allowed = [level for level in range(len(counts)) if level not in answers]
    return max(allowed, key=lambda level: int(counts[level])) if allowed else None
