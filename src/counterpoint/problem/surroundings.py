"""The observed rows as an explained row sees them: the nearest at hand, the rest fetched on demand.

`implausibility` asks every candidate for its nearest observed rows, exactly. Candidates stay near
the row they explain, and then so do their neighbours: the nearest few thousand observed rows,
sorted once per search, answer nearly all. By the triangle inequality a candidate knows when they
may not suffice; only then are rows farther out looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import kernel
from counterpoint.table.distance import LANES, SLACK, gower_to_all, insert
from counterpoint.table.identity import first_copies
from counterpoint.table.space import Space

NEAR = 4096  # observed rows kept at hand for each explained row
WIDE_BYTES = 2**24  # memory of the observed rows fetched for one explained row
N_BINS = 1024  # of distances, to select the nearest rows without sorting all


class Crowd(NamedTuple):
    """The observed rows that count for nearness.

    Attributes
    ----------
    genomes : ndarray of shape (n, d)
        Them, without needless copies.
    which : ndarray of shape (n,)
        Which observed row each is.
    """

    genomes: Floats
    which: Ints


class Surroundings(NamedTuple):
    """The nearest observed rows of each of r explained rows, as kernels read them.

    Attributes
    ----------
    at : ndarray of shape (r,)
        Where each row stands in the arrays below; they may hold rows no longer searched.
    blocks : ndarray of shape (rows, n_blocks, d, LANES)
        The observed rows minus the explained one, times `weight`, by ascending distance to it.
    radius : ndarray of shape (rows, n_blocks * LANES)
        Those distances; the padding repeats the last.
    order : ndarray of shape (rows, n_blocks * LANES)
        Which observed row stands in each place.
    weight : ndarray of shape (rows, d)
        1 / R_j of Gower's distance, over the observed rows and the explained one; 0 if constant.
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
    blocks: Floats
    radius: Floats
    order: Ints
    weight: Floats
    cap: Floats
    shares: Floats
    n_near: int
    horizon: Floats

    def of_rows(self, which: Ints) -> Surroundings:
        """Return the surroundings of some of the rows only; nothing is copied."""
        return self._replace(at=self.at[which])


def gather_crowd(genomes: Floats, k: int) -> Crowd:
    """Return the observed rows (n, d), equal ones k times at most: more copies tell nothing new.

    Where few are dropped, all stay: the copy would cost memory and save no time.
    """
    kept = np.flatnonzero(first_copies(genomes, k))
    if 2 * len(kept) > len(genomes):
        return Crowd(genomes, np.arange(len(genomes)))
    return Crowd(np.ascontiguousarray(genomes[kept]), kept)


def surround(
    rows: Floats, crowd: Crowd, space: Space, shares: Floats, most: int = NEAR
) -> Surroundings:
    """Sort the nearest observed rows around each explained row (r, d), once per search."""
    weight, cap = gower_weights(rows, space)
    r, n_near = len(rows), min(most, len(crowd.genomes))
    around = empty_surroundings(weight, cap, shares, n_near)
    for a in range(r):
        distances = gower_to_all(rows[a], crowd.genomes, weight[a], cap)
        fill_shell(around, a, rows[a], crowd, nearest_first(distances, n_near), distances)
    if n_near == len(crowd.genomes):
        around.horizon[:] = np.inf
    return around


def empty_surroundings(weight: Floats, cap: Floats, shares: Floats, n_near: int) -> Surroundings:
    """Return surroundings of rows with these weights (r, d), with room for n observed rows."""
    (r, d), n_blocks = weight.shape, -(-n_near // LANES)
    return Surroundings(
        at=np.arange(r),
        blocks=np.empty((r, n_blocks, d, LANES)),
        radius=np.empty((r, n_blocks * LANES)),
        order=np.empty((r, n_blocks * LANES), dtype=np.int64),
        weight=weight,
        cap=cap,
        shares=shares,
        n_near=n_near,
        horizon=np.empty(r),
    )


def fill_shell(
    around: Surroundings, a: int, row: Floats, crowd: Crowd, nearest: Ints, distances: Floats
) -> None:
    """Write the `nearest` of the crowd, in that order, to place a; `distances` (n,) are to row."""
    n_blocks, d, _ = around.blocks[a].shape
    padded = np.pad(nearest, (0, n_blocks * LANES - len(nearest)), mode="edge")
    shifted = (crowd.genomes[padded] - row) * around.weight[a]  # small numbers keep their digits
    around.blocks[a] = shifted.reshape(n_blocks, LANES, d).transpose(0, 2, 1)
    around.radius[a] = distances[padded]
    around.order[a] = crowd.which[padded]
    around.horizon[a] = distances[nearest[-1]]


def nearest_first(distances: Floats, n: int) -> Ints:
    """Return which are the n smallest of some distances, ascending, ties by index.

    Examples
    --------
    >>> nearest_first(np.array([0.5, 0.1, 0.3, 0.1]), 3)
    array([1, 3, 2])
    """
    if 4 * n >= len(distances):
        return np.argsort(distances, kind="stable")[:n]
    few = np.flatnonzero(distances <= radius_of(distances, n))
    return few[np.argsort(distances[few], kind="stable")][:n]


def radius_of(distances: Floats, n: int) -> float:
    """Return a radius within which at least n of the distances lie, and not many more."""
    highest = float(distances.max())
    counts = np.zeros(N_BINS + 1, dtype=np.int64)
    _count(distances, N_BINS / highest if highest > 0.0 else 0.0, counts)
    b = int(np.searchsorted(np.cumsum(counts), n))  # the first bin that makes n
    return min(highest, (b + 1.0) / N_BINS * highest * (1.0 + SLACK))


@kernel
def _count(distances: Floats, scale: float, counts: Ints) -> None:
    """Count the distances that fall into each bin of width 1 / scale."""
    for i in range(len(distances)):
        counts[int(distances[i] * scale)] += 1


def gower_weights(rows: Floats, space: Space) -> tuple[Floats, Floats]:
    """Return the weights (r, d) and caps (d,) of Gower's distance around each row (r, d)."""
    ranges = np.maximum(space.high, rows) - np.minimum(space.low, rows)
    weight = np.where(ranges > 0, 1.0 / np.where(ranges > 0, ranges, 1.0), 0.0)
    weight = np.ascontiguousarray(np.where(space.is_level, 1.0, weight))
    return weight, np.where(space.is_level, 1.0, np.inf)


class Beyond:
    """The observed rows that are not at hand, for the few candidates that may need them.

    Parameters
    ----------
    rows : ndarray of shape (r, d)
        The explained rows.
    crowd : Crowd
        The observed rows.
    around : Surroundings
        What is at hand.
    wide_bytes : int, default=WIDE_BYTES
        Memory of what may be fetched for one row.
    """

    def __init__(
        self, rows: Floats, crowd: Crowd, around: Surroundings, wide_bytes: int = WIDE_BYTES
    ) -> None:
        self.rows, self.crowd, self.around = rows, crowd, around
        self.most = max(around.n_near, wide_bytes // (8 * (rows.shape[1] + 2)))
        self._fetched: dict[int, Surroundings] = {}

    def fetched(self, at: int, reach: float) -> Surroundings:
        """Return more observed rows around the row at `at`: all within `reach`, if not too many.

        What was fetched once is kept. A row that asks again gets at least twice as many, so that
        it does not ask often.
        """
        known = self._fetched.get(at)
        if known is not None and (known.horizon[0] >= reach or known.n_near == self.most):
            return known
        weight, crowd, row = self.around.weight[at], self.crowd, self.rows[at]
        distances = gower_to_all(row, crowd.genomes, weight, self.around.cap)
        n_now = self.around.n_near if known is None else known.n_near
        n_wanted = max(2 * int(np.count_nonzero(distances <= reach)), 2 * n_now)
        n = min(n_wanted, self.most, len(crowd.genomes))
        wide = empty_surroundings(weight[None], self.around.cap, self.around.shares, n)
        fill_shell(wide, 0, row, crowd, nearest_first(distances, n), distances)
        if n == len(crowd.genomes):
            wide.horizon[:] = np.inf
        self._fetched[at] = wide
        return wide

    def scan(self, at: int, genomes: Floats) -> Floats:
        """Return the `implausibility` (n,) of genomes (n, d) by looking at every observed row."""
        weight, cap = self.around.weight[at], self.around.cap
        nearest = np.full((len(genomes), len(self.around.shares)), np.inf)
        places = np.empty(nearest.shape, dtype=np.int64)
        scan_nearest(genomes, self.rows[at], self.crowd.genomes, weight, cap, nearest, places)
        return np.asarray(sum(nearest[:, q] * share for q, share in enumerate(self.around.shares)))


@kernel
def scan_nearest(
    genomes: Floats,
    row: Floats,
    observed: Floats,
    weight: Floats,
    cap: Floats,
    nearest: Floats,
    places: Ints,
) -> None:
    """Write the k smallest distances (n, k) of genomes (n, d) to the observed rows, ascending.

    `nearest` starts infinite; `places` are those of the rows. Differences are taken to the row
    first, so that the digits are those of `nearest_distances`.
    """
    (n, d), k = genomes.shape, nearest.shape[1]
    for i in range(n):
        for t in range(len(observed)):
            limit, total = nearest[i, k - 1] * d, 0.0
            for j in range(d):
                scaled = (genomes[i, j] - row[j]) * weight[j]
                total += min(abs(scaled - (observed[t, j] - row[j]) * weight[j]), cap[j])
                if total > limit + SLACK:
                    break
            if total / d < nearest[i, k - 1]:
                insert(nearest[i], places[i], total / d, t)
