"""Scoring: the four objectives in plain NumPy, and hypervolume, the same for every method."""

from __future__ import annotations

from dataclasses import dataclass

import moocore
import numpy as np
import pandas as pd

from benchmarks.peers.subjects import Bools, Floats, Subject

SAME = 1e-6  # share of a feature's range below which a number counts as unchanged
N_BEST = 10  # size at which sets are compared with sets of equal size


class Ruler:
    """The four objectives around one row: gap, distance, changes, implausibility."""

    def __init__(self, subject: Subject, row: pd.DataFrame) -> None:
        self.subject, self.target = subject, subject.target_of(row)
        self.observed = subject.codec.encode(subject.data)
        self.row = subject.codec.encode(row)[0]
        seen = np.vstack([self.observed, self.row])
        self.low, self.high = seen.min(axis=0), seen.max(axis=0)
        width = self.high - self.low
        is_level, varies = subject.codec.is_level, width > 0
        weight = np.divide(1.0, width, out=np.zeros_like(width), where=varies)
        self.weight = np.where(is_level, 1.0, weight)
        self.cap = np.where(is_level, 1.0, np.inf)
        gap = float(self.gaps(self.row[None])[0])
        self.reference = np.array([gap, 1.0, float(len(self.row)), 1.0])

    def gaps(self, genomes: Floats) -> Floats:
        """Return how much the target's probability lacks to 0.5, shape (n,)."""
        return np.maximum(0.0, 0.5 - self.subject.probabilities(genomes)[:, self.target])

    def differences(self, genomes: Floats, row: Floats) -> Floats:
        """Return each feature's part of Gower's distance, shape (n, d)."""
        parts: Floats = np.minimum(np.abs(genomes - row) * self.weight, self.cap)
        return parts

    def objectives(self, genomes: Floats) -> Floats:
        """Return the four objectives, all minimised, shape (n, 4)."""
        parts = self.differences(genomes, self.row)
        # Feature by feature, so that no array of n x observed x d is made.
        sums = np.zeros((len(genomes), len(self.observed)))
        for j, (weight, cap) in enumerate(zip(self.weight, self.cap, strict=True)):
            apart = np.abs(genomes[:, j, None] - self.observed[None, :, j]) * weight
            sums += np.minimum(apart, cap)
        implausibility = sums.min(axis=1) / genomes.shape[1]
        changes = (parts > SAME).sum(axis=1)
        return np.column_stack([self.gaps(genomes), parts.mean(axis=1), changes, implausibility])

    def reaches(self, genomes: Floats) -> Bools:
        """Return which genomes the model's own `predict` puts into the target class."""
        return np.asarray(
            self.subject.model.predict(self.subject.codec.decode(genomes)) == self.target
        )


@dataclass(frozen=True)
class Score:
    """What one method's answer for one row is worth."""

    n: int = 0
    n_valid: int = 0
    hypervolume: float = 0.0
    hypervolume_valid: float = 0.0
    hypervolume_best: float = 0.0


def score(found: pd.DataFrame, ruler: Ruler) -> Score:
    """Score what a method returned; repeated ones count once, the row itself not at all."""
    genomes = np.unique(ruler.subject.codec.encode(found), axis=0)
    genomes = genomes[(ruler.differences(genomes, ruler.row) > SAME).any(axis=1)]
    if len(genomes) == 0:
        return Score()
    objectives, valid = ruler.objectives(genomes), ruler.reaches(genomes)
    best = choose_best(objectives[valid], ruler.reference, N_BEST)
    return Score(
        n=len(genomes),
        n_valid=int(valid.sum()),
        hypervolume=hypervolume(objectives, ruler.reference),
        hypervolume_valid=hypervolume(objectives[valid], ruler.reference),
        hypervolume_best=hypervolume(best, ruler.reference),
    )


def hypervolume(objectives: Floats, reference: Floats) -> float:
    """Return the share of the box below `reference` (m,) that `objectives` (n, m) dominate."""
    inside = objectives[(objectives < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    return float(moocore.hypervolume(inside, ref=reference) / np.prod(reference))


def choose_best(objectives: Floats, reference: Floats, n: int) -> Floats:
    """Return the n objective vectors that greedily add most hypervolume, or all if fewer."""
    left = objectives[moocore.is_nondominated(objectives)] if len(objectives) else objectives
    if len(left) <= n:
        return left
    chosen = left[:0]
    for _ in range(n):
        gains = [hypervolume(np.vstack([chosen, point]), reference) for point in left]
        chosen = np.vstack([chosen, left[int(np.argmax(gains))]])
    return chosen
