"""The four objectives of Dandl et al. (2020), all minimised.

==================  =======  ==================================================================
``gap``             o1       distance of the prediction to the target interval
``distance``        o2       Gower distance to the explained row
``changes``         o3       number of features that differ from the explained row
``implausibility``  o4       weighted mean Gower distance to the k nearest observed rows
==================  =======  ==================================================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import kernel, part
from counterpoint.problem.surroundings import Beyond, Surroundings
from counterpoint.table.distance import LANES, SLACK, nearest_distances

OBJECTIVES = ("gap", "distance", "changes", "implausibility")
GAP, DISTANCE, CHANGES, IMPLAUSIBILITY = range(4)


def gap(predictions: Floats, low: Floats, high: Floats) -> Floats:
    """Return the distance of each prediction to its target interval [low, high] (o1).

    Examples
    --------
    >>> gap(np.array([0.2, 0.9]), np.array(0.5), np.array(1.0))
    array([0.3, 0. ])
    """
    return np.maximum(0.0, np.maximum(low - predictions, predictions - high))


def closeness(genomes: Floats, rows: Floats, around: Surroundings, beyond: Beyond) -> Floats:
    """Return objectives (r, n, 4) of genomes (r, n, d) around rows (r, d); the gap is left 0."""
    measured, reach = _closeness(np.ascontiguousarray(genomes), rows, around)
    for a in np.flatnonzero((reach > 0.0).any(axis=1)).tolist():
        short, at = np.flatnonzero(reach[a]), int(around.at[a])
        far = np.ascontiguousarray(genomes[None, a, short])
        wide = beyond.fetched(at, float(reach[a].max()))
        again, still = _closeness(far, rows[None, a], wide)
        measured[a, short, IMPLAUSIBILITY] = again[0, :, IMPLAUSIBILITY]
        if still.any():
            farthest = np.flatnonzero(still[0])
            measured[a, short[farthest], IMPLAUSIBILITY] = beyond.scan(at, far[0, farthest])
    return measured


def _closeness(genomes: Floats, rows: Floats, around: Surroundings) -> tuple[Floats, Floats]:
    """Return objectives (r, n, 4) as far as the observed rows at hand tell, and what they lack.

    The second is 0 where `implausibility` is exact, else the distance from the explained row up to
    which observed rows would have to be known (r, n).
    """
    (r, n, d), k = genomes.shape, len(around.shares)
    measured, reach = np.zeros((r, n, 4)), np.empty((r, n))
    scratch = Scratch(np.empty(d), np.empty(k), np.empty(k, dtype=np.int64), np.empty(LANES))
    _measure_all(genomes, rows, around, scratch, measured, reach)
    return measured, reach


class Scratch(NamedTuple):
    """Room for one candidate's search of its nearest observed rows."""

    scaled: Floats
    nearest: Floats
    places: Ints
    sums: Floats


@kernel
def _measure_all(
    genomes: Floats,
    rows: Floats,
    around: Surroundings,
    scratch: Scratch,
    measured: Floats,
    reach: Floats,
) -> None:
    """Write what `_closeness` returns."""
    for a in range(genomes.shape[0]):
        for i in range(genomes.shape[1]):
            reach[a, i] = measure(genomes[a, i], rows[a], around, a, scratch, measured[a, i])


@part
def measure(
    genome: Floats,
    row: Floats,
    around: Surroundings,
    a: int,
    scratch: Scratch,
    measured: Floats,
) -> float:
    """Write distance, changes and implausibility of a candidate of row a; see `_closeness`."""
    at = around.at[a]
    weight, nearest = around.weight[at], scratch.nearest
    own, n_changed = 0.0, 0
    for j in range(len(genome)):
        scratch.scaled[j] = (genome[j] - row[j]) * weight[j]
        own += min(abs(genome[j] - row[j]) * weight[j], around.cap[j])
        n_changed += genome[j] != row[j]
    own /= len(genome)
    measured[DISTANCE], measured[CHANGES] = own, n_changed
    nearest_distances(
        scratch.scaled,
        own,
        around.blocks[at],
        around.radius[at],
        around.cap,
        around.n_near,
        nearest,
        scratch.places,
        scratch.sums,
    )
    for q in range(len(nearest)):
        measured[IMPLAUSIBILITY] += nearest[q] * around.shares[q]
    farthest = own + nearest[-1] + SLACK
    return farthest if farthest > around.horizon[at] else 0.0
