"""The four objectives of Dandl et al. (2020), all minimised.

==================  =======  ==================================================================
``gap``             o1       distance of the prediction to the target interval
``distance``        o2       Gower distance to the explained row
``changes``         o3       number of features that differ from the explained row
``implausibility``  o4       weighted mean Gower distance to the k nearest observed rows
==================  =======  ==================================================================
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.kernels import kernel, part
from counterpoint.problem.surroundings import Beyond, Surroundings, circle_at
from counterpoint.table.distance import (
    SLACK,
    Neighbours,
    empty_neighbours,
    find_nearest,
    gower,
)

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
    unbounded = np.full(genomes.shape[:2], np.inf)
    measured, reach, bounds = _closeness(np.ascontiguousarray(genomes), rows, around, unbounded)
    lacking = np.flatnonzero((reach > 0.0).any(axis=1))
    beyond.measure(around.at[lacking])
    for a in lacking.tolist():
        short = np.flatnonzero(reach[a])
        far = np.ascontiguousarray(genomes[a, short])
        found = _look_farther(
            far, rows[a], int(around.at[a]), reach[a, short], bounds[a, short], beyond
        )
        measured[a, short, IMPLAUSIBILITY] = found
    return measured


def nearness(genomes: Floats, rows: Floats, around: Surroundings) -> Floats:
    """Return what `closeness` does but for the implausibility, which is left 0 too."""
    measured = np.zeros((*genomes.shape[:2], 4))
    _measure_near(np.ascontiguousarray(genomes), rows, around, measured)
    return measured


@kernel
def _measure_near(genomes: Floats, rows: Floats, around: Surroundings, measured: Floats) -> None:
    """Write distance and changes of genomes (r, n, d)."""
    for a in range(genomes.shape[0]):
        weight = around.weight[around.at[a]]
        for i in range(genomes.shape[1]):
            n_changed = 0
            for j in range(genomes.shape[2]):
                n_changed += genomes[a, i, j] != rows[a, j]
            measured[a, i, DISTANCE] = gower(genomes[a, i], rows[a], weight, around.cap)
            measured[a, i, CHANGES] = n_changed


def _look_farther(
    genomes: Floats, row: Floats, at: int, reach: Floats, bounds: Floats, beyond: Beyond
) -> Floats:
    """Return the `implausibility` (n,) of genomes (n, d) that need rows out to `reach` (n,).

    Rows are fetched step by step: each brings closer neighbours, and with them the reach shrinks.
    """
    found, short = np.empty(len(genomes)), np.arange(len(genomes))
    while len(short):
        wide = beyond.fetched(at, float(reach.max()))
        judged = _closeness(genomes[None, short], row[None], wide, bounds[None])
        found[short], reach, bounds = judged[0][0, :, IMPLAUSIBILITY], judged[1][0], judged[2][0]
        lacks = reach > 0.0
        short, reach, bounds = short[lacks], reach[lacks], bounds[lacks]
        if wide.n_near == beyond.most:
            found[short] = beyond.scan(at, genomes[short], bounds)
            break
    return found


def _closeness(
    genomes: Floats, rows: Floats, around: Surroundings, bounds: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return objectives (r, n, 4) as far as the observed rows at hand tell, and what they lack.

    The second is 0 where `implausibility` is exact, else the distance from the explained row up to
    which observed rows would have to be known (r, n). The third is the distance to the farthest
    neighbour that counts (r, n), of which `bounds` (r, n) is what was known before.
    """
    (r, n, _), k = genomes.shape, len(around.shares)
    measured, reach, bounds = np.zeros((r, n, 4)), np.empty((r, n)), bounds.copy()
    _measure_all(genomes, rows, around, empty_neighbours(around.cap, k), measured, reach, bounds)
    return measured, reach, bounds


@kernel
def _measure_all(
    genomes: Floats,
    rows: Floats,
    around: Surroundings,
    near: Neighbours,
    measured: Floats,
    reach: Floats,
    bounds: Floats,
) -> None:
    """Write what `_closeness` returns."""
    for a in range(genomes.shape[0]):
        for i in range(genomes.shape[1]):
            reach[a, i] = measure(
                genomes[a, i], rows[a], bounds[a, i], around, a, near, measured[a, i]
            )
            bounds[a, i] = near.distances[-1]


@part
def measure(
    genome: Floats,
    row: Floats,
    bound: float,
    around: Surroundings,
    a: int,
    near: Neighbours,
    measured: Floats,
) -> float:
    """Write distance, changes and implausibility of a candidate of row a; see `_closeness`."""
    circle = circle_at(around, around.at[a], row)
    own, n_changed = gower(genome, row, circle.weight, circle.cap), 0
    for j in range(len(genome)):
        n_changed += genome[j] != row[j]
    measured[DISTANCE], measured[CHANGES] = own, n_changed
    find_nearest(genome, own, bound, circle, near)
    for q in range(len(near.distances)):
        measured[IMPLAUSIBILITY] += near.distances[q] * around.shares[q]
    farthest = own + near.distances[-1] + SLACK
    return farthest if farthest > around.horizon[around.at[a]] else 0.0
