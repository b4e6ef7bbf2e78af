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

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import kernel
from counterpoint.table.distance import gower, gower_to_all, nearest_distances

OBJECTIVES = ("gap", "distance", "changes", "implausibility")
GAP, DISTANCE, CHANGES, IMPLAUSIBILITY = range(4)


class Surroundings(NamedTuple):
    """The observed rows as seen from each of r explained rows.

    Attributes
    ----------
    observed : ndarray of shape (n, d)
        The observed rows.
    order, radius : ndarray of shape (r, n)
        The observed rows sorted by distance to each explained row, and those distances.
    inverse_range : ndarray of shape (r, d)
        1 / R_j of Gower's distance, over the observed rows and the explained one; 0 if constant.
    is_level : ndarray of shape (d,)
        Features compared by equality.
    weights : ndarray of shape (k,)
        Weights of the k nearest rows, the nearest first, summing to one.
    """

    observed: Floats
    order: Ints
    radius: Floats
    inverse_range: Floats
    is_level: Bools
    weights: Floats


def surround(
    rows: Floats, observed: Floats, is_level: Bools, low_high: tuple[Floats, Floats],
    weights: Floats,
) -> Surroundings:
    """Sort the observed rows (n, d) around each explained row (r, d), once per search."""
    low, high = low_high
    ranges = np.maximum(high, rows) - np.minimum(low, rows)
    inverse_range = np.where(ranges > 0, 1.0 / np.where(ranges > 0, ranges, 1.0), 0.0)
    distances = np.stack([
        gower_to_all(row, observed, inverse, is_level)
        for row, inverse in zip(rows, inverse_range, strict=True)
    ])
    order = np.argsort(distances, axis=1, kind="stable")
    radius = np.take_along_axis(distances, order, axis=1)
    return Surroundings(observed, order, radius, inverse_range, is_level, weights)


def gap(predictions: Floats, low: Floats, high: Floats) -> Floats:
    """Return the distance of each prediction to its target interval [low, high] (o1).

    Examples
    --------
    >>> gap(np.array([0.2, 0.9]), np.array(0.5), np.array(1.0))
    array([0.3, 0. ])
    """
    return np.maximum(0.0, np.maximum(low - predictions, predictions - high))


@kernel
def closeness(genomes: Floats, rows: Floats, around: Surroundings) -> Floats:
    """Return o2, o3 and o4 of genomes (r, n, d) against their rows (r, d), shape (r, n, 3)."""
    r, n, d = genomes.shape
    k = len(around.weights)
    measured = np.empty((r, n, 3))
    for a in range(r):
        inverse = around.inverse_range[a]
        for i in range(n):
            genome = genomes[a, i]
            changes = 0
            for j in range(d):
                changes += genome[j] != rows[a, j]
            own = gower(genome, rows[a], inverse, around.is_level)
            near = nearest_distances(
                genome, own, around.observed, around.order[a], around.radius[a],
                inverse, around.is_level, k,
            )
            measured[a, i, 0] = own
            measured[a, i, 1] = changes
            measured[a, i, 2] = np.dot(near, around.weights)
    return measured
