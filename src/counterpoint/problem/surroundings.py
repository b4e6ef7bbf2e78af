"""The observed rows as an explained row sees them: the nearest at hand, the rest fetched on demand.

`implausibility` asks every candidate for its nearest observed rows, exactly. Candidates stay near
the row they explain, and then so do their neighbours: the nearest few thousand observed rows,
sorted once per search, answer nearly all. By the triangle inequality a candidate knows when they
may not suffice; only then are rows farther out looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Floats, Ints, Singles
from counterpoint.kernels import inner
from counterpoint.problem.crowd import (
    SINGLE,
    Crowd,
    gower_weights,
    nearest_first,
    padded,
    rough_distances,
    slack_of,
)
from counterpoint.table.distance import LANES, Circle, fill_blocks
from counterpoint.table.space import Space

NEAR = 4096  # observed rows kept at hand for each explained row
WIDE_BYTES = 2**24  # memory of the observed rows fetched for one explained row, and of distances
SHARED = 8  # explained rows measured in one pass over the observed ones


class Surroundings(NamedTuple):
    """The nearest observed rows of each of r explained rows, as kernels read them.

    Attributes
    ----------
    at : ndarray of shape (r,)
        Where each row stands in the arrays below; they may hold rows no longer searched.
    crowd : Crowd
        All observed rows.
    blocks, radius, order : ndarray of shape (rows, …)
        Those near each row; see `Circle`.
    weight : ndarray of shape (rows, d)
        1 / R_j of Gower's distance, over the observed rows and the explained one; 0 if constant or
        missing in the explained row.
    ratio : ndarray of shape (rows, d)
        The same in the crowd's units, in single precision.
    cap : ndarray of shape (d,)
        The most a feature contributes: 1 for levels, which are equal or not.
    shares : ndarray of shape (k,)
        Weights of the k nearest rows, the nearest first, summing to one.
    n_near : int
        How many observed rows are at hand; the rest of the last block is padding.
    horizon : ndarray of shape (rows,)
        How near to the explained row an observed row that is not at hand may be.
    """

    at: Ints
    crowd: Crowd
    blocks: Singles
    radius: Floats
    order: Ints
    weight: Floats
    ratio: Singles
    cap: Floats
    shares: Floats
    n_near: int
    horizon: Floats

    def of_rows(self, which: Ints) -> Surroundings:
        """Return the surroundings of some of the rows only; nothing is copied."""
        return self._replace(at=self.at[which])

    @property
    def last_place(self) -> int:
        """Which of the crowd is the farthest at hand, of the first row."""
        return int(self.order[self.at[0], self.n_near - 1])


@inner
def circle_at(around: Surroundings, at: int, row: Floats) -> Circle:
    """Return what is at hand around the explained row that stands at `at`."""
    return Circle(
        row,
        around.weight[at],
        around.cap,
        around.crowd.origin,
        around.ratio[at],
        around.blocks[at],
        around.radius[at],
        around.order[at],
        around.n_near,
        around.crowd.genomes,
        -1.0,
        -1,
    )


def surround(
    rows: Floats,
    crowd: Crowd,
    space: Space,
    shares: Floats,
    most: int = NEAR,
    kept: dict[int, Singles] | None = None,
) -> Surroundings:
    """Sort the nearest observed rows around each explained row (r, d), once per search.

    The distances of all observed rows to each are put into `kept` if it is given, if they may be
    needed again and if they are not too large.
    """
    weight, cap = gower_weights(rows, space)
    weight = np.where(rows == MISSING, 0.0, weight)  # nothing is near or far in what it lacks
    n_near = min(most, len(crowd.genomes))
    around = empty_surroundings(crowd, weight, cap, shares, n_near)
    is_kept = n_near < len(crowd.genomes) and SINGLE * len(crowd.genomes) <= WIDE_BYTES
    for first in range(0, len(rows), SHARED):
        some = slice(first, first + SHARED)
        for a, distances in enumerate(rough_distances(rows[some], crowd, weight[some], cap), first):
            fill_shell(around, a, nearest_first(distances, n_near), distances)
            if is_kept and kept is not None:
                kept[a] = distances
    return around


def empty_surroundings(
    crowd: Crowd, weight: Floats, cap: Floats, shares: Floats, n_near: int
) -> Surroundings:
    """Return surroundings of rows with these weights (r, d), with room for n observed rows."""
    (r, d), n_blocks = weight.shape, -(-n_near // LANES)
    return Surroundings(
        at=np.arange(r),
        crowd=crowd,
        blocks=np.empty((r, n_blocks, d, LANES), dtype=np.float32),
        radius=np.empty((r, n_blocks * LANES)),
        order=np.empty((r, n_blocks * LANES), dtype=np.int64),
        weight=weight,
        ratio=(weight / crowd.unit).astype(np.float32),
        cap=cap,
        shares=shares,
        n_near=n_near,
        horizon=np.empty(r),
    )


def fill_shell(around: Surroundings, a: int, nearest: Ints, distances: Singles) -> None:
    """Write the `nearest` of the crowd, in that order, to place a; rough `distances` (n,)."""
    crowd, order = around.crowd, padded(nearest)
    fill_blocks(crowd.genomes, order, crowd.origin, crowd.unit, around.blocks[a])
    around.radius[a], around.order[a] = distances[order], order
    is_all = len(nearest) == len(crowd.genomes)
    farthest = float(distances[nearest[-1]])
    around.horizon[a] = np.inf if is_all else farthest - slack_of(crowd.genomes.shape[1])


def bytes_at_hand(d: int) -> int:
    """Return the memory of one observed row at hand: its values, its distance and its place."""
    return SINGLE * d + 16
