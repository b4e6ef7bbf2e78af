"""Measures of a result: how different its candidates are, whom they dominate, what they change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Ints
from counterpoint.errors import InvalidInput, listed
from counterpoint.neighbours.gower import gower_weights, gower_with_missing, mean_pairwise
from counterpoint.problem.objectives import GAP
from counterpoint.result.data import ResultData
from counterpoint.search.front import covered
from counterpoint.table.frames import in_form


def diversity(found: ResultData) -> float:
    """Return the mean Gower distance between candidates; 0 for fewer than two."""
    n = len(found.genomes)
    if n < 2:
        return 0.0
    weight, cap = gower_weights(found.genome[None], found.space)
    if (found.genomes == MISSING).any():
        apart = gower_with_missing(found.genomes, found.genomes, weight[0], cap)
        return float(np.tril(apart, -1).sum() / (n * (n - 1) / 2))
    return float(mean_pairwise(found.genomes, weight[0], cap))


def coverage(found: ResultData, other: ResultData) -> float:
    """Return the share of another's counterfactuals that ours dominate; NaN if one has none."""
    if found.objective_names != other.objective_names:
        raise InvalidInput(
            "coverage_of compares results with the same objectives; one has "
            f"{listed(found.objective_names)}, the other {listed(other.objective_names)}."
        )
    ours, theirs = found.valid().objectives, other.valid().objectives
    if len(ours) == 0 or len(theirs) == 0:
        return float("nan")
    return float(covered(theirs, ours).mean())


def change_frequency(found: ResultData) -> Any:
    """Return how often each feature is changed; see `Counterfactuals.change_frequency`."""
    shares = found.changed.sum(axis=0) / max(1, len(found.genomes))
    names = pd.Index(list(found.encoding.schema.names), name="feature")
    frequency = pd.Series(shares, index=names, name="frequency")
    frequency = frequency.sort_values(ascending=False, kind="stable")
    form = found.encoding.form
    if form.kind in ("pandas", "numpy"):
        return frequency.rename_axis(None)
    return in_form(form, frequency.reset_index(), 0)  # other kinds of table have no index


def undoable_changes(found: ResultData) -> Ints:
    """Return for each how many changes could be undone singly and still reach the target."""
    which, feature = np.nonzero(found.changed)
    if len(which) == 0:
        return np.zeros(len(found.genomes), dtype=np.int64)
    genomes = found.genomes[which]
    genomes[np.arange(len(which)), feature] = found.genome[feature]
    problem = found.problem.with_labels() if found.target.is_decision else found.problem
    reaches = problem.evaluate(genomes[None]).objectives[0, :, GAP] <= 0.0
    return np.bincount(which[reaches], minlength=len(found.genomes))
