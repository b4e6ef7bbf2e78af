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
from counterpoint.kernels import kernel
from counterpoint.table.distance import LANES, gower, gower_to_all, nearest_distances
from counterpoint.table.space import Space

OBJECTIVES = ("gap", "distance", "changes", "implausibility")
GAP, DISTANCE, CHANGES, IMPLAUSIBILITY = range(4)


class Surroundings(NamedTuple):
    """The observed rows as seen from each of r explained rows.

    Attributes
    ----------
    blocks : ndarray of shape (r, n_blocks, d, LANES)
        The observed rows minus the explained one, times `weight`, by ascending distance to it.
    radius : ndarray of shape (r, n_blocks * LANES)
        Those distances; the padding repeats the last.
    order : ndarray of shape (r, n_blocks * LANES)
        Which observed row stands in each place.
    weight : ndarray of shape (r, d)
        1 / R_j of Gower's distance, over the observed rows and the explained one; 0 if constant.
    cap : ndarray of shape (d,)
        The most a feature contributes: 1 for levels, which are equal or not.
    shares : ndarray of shape (k,)
        Weights of the k nearest rows, the nearest first, summing to one.
    n_observed : int
        How many observed rows there are; the rest of the last block is padding.
    """

    blocks: Floats
    radius: Floats
    order: Ints
    weight: Floats
    cap: Floats
    shares: Floats
    n_observed: int

    def of_rows(self, which: Ints) -> Surroundings:
        """Return the surroundings of some of the rows only."""
        return self._replace(
            blocks=self.blocks[which],
            radius=self.radius[which],
            order=self.order[which],
            weight=self.weight[which],
        )


def surround(rows: Floats, observed: Floats, space: Space, shares: Floats) -> Surroundings:
    """Sort the observed rows (n, d) around each explained row (r, d), once per search."""
    weight, cap = gower_weights(rows, space)
    (r, d), n = rows.shape, len(observed)
    n_blocks = -(-n // LANES)
    order = np.empty((r, n_blocks * LANES), dtype=np.int64)
    radius, sorted_rows = np.empty((r, n_blocks * LANES)), np.empty((r, n_blocks * LANES, d))
    for a, row in enumerate(rows):
        distances = gower_to_all(row, observed, weight[a], cap)
        order[a, :n] = np.argsort(distances, kind="stable")
        order[a, n:] = order[a, n - 1]
        radius[a] = distances[order[a]]
        sorted_rows[a] = (observed[order[a]] - row) * weight[a]  # small numbers keep their digits
    blocks = sorted_rows.reshape(r, n_blocks, LANES, d).transpose(0, 1, 3, 2)
    return Surroundings(np.ascontiguousarray(blocks), radius, order, weight, cap, shares, n)


def gower_weights(rows: Floats, space: Space) -> tuple[Floats, Floats]:
    """Return the weights (r, d) and caps (d,) of Gower's distance around each row (r, d)."""
    ranges = np.maximum(space.high, rows) - np.minimum(space.low, rows)
    weight = np.where(ranges > 0, 1.0 / np.where(ranges > 0, ranges, 1.0), 0.0)
    weight = np.ascontiguousarray(np.where(space.is_level, 1.0, weight))
    return weight, np.where(space.is_level, 1.0, np.inf)


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
    """Return objectives (r, n, 4) of genomes (r, n, d) around rows (r, d); the gap is left 0."""
    r, n, d = genomes.shape
    measured = np.zeros((r, n, 4))
    scaled, nearest = np.empty(d), np.empty(len(around.shares))
    places = np.empty(len(around.shares), dtype=np.int64)
    for a in range(r):
        weight = around.weight[a]
        for i in range(n):
            own = gower(genomes[a, i], rows[a], weight, around.cap)
            measured[a, i, DISTANCE] = own
            for j in range(d):
                scaled[j] = (genomes[a, i, j] - rows[a, j]) * weight[j]
                measured[a, i, CHANGES] += genomes[a, i, j] != rows[a, j]
            nearest_distances(
                scaled,
                own,
                around.blocks[a],
                around.radius[a],
                around.cap,
                around.n_observed,
                nearest,
                places,
            )
            for q in range(len(nearest)):
                measured[a, i, IMPLAUSIBILITY] += nearest[q] * around.shares[q]
    return measured
