"""Measures on a result: hypervolume, diversity, coverage, frequency of changes, minimality."""

from __future__ import annotations

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats, Ints
from counterpoint.errors import InvalidInput, listed
from counterpoint.kernels import kernel
from counterpoint.neighbours.gower import gower, gower_weights, gower_with_missing
from counterpoint.problem.objectives import GAP
from counterpoint.result.data import ResultData
from counterpoint.search import front


def hypervolume(found: ResultData) -> float:
    """Return the hypervolume of the set with the paper's reference point."""
    return front.hypervolume(found.objectives, found.reference)


def diversity(found: ResultData) -> float:
    """Return the mean Gower distance over all pairs; 0 for fewer than two."""
    if len(found.genomes) < 2:
        return 0.0
    weight, cap = gower_weights(found.genome[None], found.space)
    if (found.genomes == MISSING).any():
        n, apart = (
            len(found.genomes),
            gower_with_missing(found.genomes, found.genomes, weight[0], cap),
        )
        return float(np.tril(apart, -1).sum() / (n * (n - 1) / 2))
    return float(_mean_pairwise(found.genomes, weight[0], cap))


@kernel
def _mean_pairwise(genomes: Floats, weight: Floats, cap: Floats) -> float:
    """Return the mean Gower distance of all pairs of genomes (n, d)."""
    n, total = len(genomes), 0.0
    for i in range(n):
        for j in range(i):
            total += gower(genomes[i], genomes[j], weight, cap)
    return total / (n * (n - 1) / 2)


def coverage(found: ResultData, other: ResultData) -> float:
    """Return the share of `other`'s valid set dominated by `found`'s; NaN if either is empty."""
    if found.objective_names != other.objective_names:
        raise InvalidInput(
            "coverage_of compares results with the same objectives; one has "
            f"{listed(found.objective_names)}, the other {listed(other.objective_names)}."
        )
    ours, theirs = found.valid().objectives, other.valid().objectives
    if len(ours) == 0 or len(theirs) == 0:
        return float("nan")
    return float(front.covered(theirs, ours).mean())


def change_frequency(found: ResultData) -> pd.Series[float]:
    """Return the share of counterfactuals that change each feature, descending."""
    names = list(found.encoding.schema.names)
    shares = found.changed.mean(axis=0) if len(found.genomes) else np.zeros(len(names))
    frequency = pd.Series(shares, index=pd.Index(names), name="frequency")
    return frequency.sort_values(ascending=False, kind="stable")


def minimality(found: ResultData) -> Ints:
    """Return how many single changes of each could be put back while reaching the target.

    Asks the model one row per change of each counterfactual.
    """
    which, feature = np.nonzero(found.changed)
    undone = np.zeros(len(found.genomes), dtype=np.int64)
    if len(which) == 0:
        return undone
    genomes = found.genomes[which]
    genomes[np.arange(len(which)), feature] = found.genome[feature]
    problem = found.problem.with_labels() if found.target.is_decision else found.problem
    reaches = problem.evaluate(genomes[None]).objectives[0, :, GAP] <= 0.0
    np.add.at(undone, which[reaches], 1)
    return undone
