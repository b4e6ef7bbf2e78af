"""The nearest-neighbour index: all observed rows in blocks, and the near ones of each row.

The far rows, which are not kept near an explained row, are fetched ring by ring when a candidate
needs them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, NARROWEST, Floats, Ints, Singles
from counterpoint.kernels import assign, inner, kernel
from counterpoint.neighbours.gower import (
    LANES,
    fill_blocks,
    gower_to_all,
    gower_weights,
    measure_roughly,
    single_slack,
)
from counterpoint.neighbours.nearest import (
    BLOCK,
    NEAR,
    SLACK,
    Neighbourhood,
    Neighbours,
    ScannedRows,
    empty_neighbours,
    fill_near_blocks,
    find_nearest,
    scan_nearest,
)
from counterpoint.table.space import Space, first_copies

SINGLE = 4  # bytes of a number in single precision
N_BINS = 1024  # of distances, to select the nearest rows without sorting all


class IndexedRows(NamedTuple):
    """The observed rows that count for nearness.

    Attributes
    ----------
    genomes : ndarray of shape (n, d)
        Them, without needless copies.
    which : ndarray of shape (n,)
        Which observed row each is.
    origin, unit : ndarray of shape (d,)
        ``(value - origin) * unit`` stands in the blocks.
    blocks : ndarray of shape (n_blocks, d, LANES)
        The genomes in single precision: a look at all of them takes a fraction of the time.
    places : ndarray of shape (n,)
        0 … n - 1.
    slack : float
        How far a distance in single precision may be off.
    """

    genomes: Floats
    which: Ints
    origin: Floats
    unit: Floats
    blocks: Singles
    places: Ints
    slack: float


def index_rows(genomes: Floats, k: int, space: Space) -> IndexedRows:
    """Return the observed rows (n, d), equal ones k times at most: more copies tell nothing new.

    Where few are dropped, all stay: the copy would cost memory and save no time.
    """
    n_all, which = len(genomes), np.flatnonzero(first_copies(genomes, k))
    if 2 * len(which) > len(genomes):
        which = np.arange(len(genomes))
    else:
        genomes = np.ascontiguousarray(genomes[which])
    genomes = genomes.view()
    genomes.flags.writeable = False  # always, for kernels are compiled anew for what is not
    span = space.high - space.low
    origin = np.where(space.is_level, 0.0, space.low)
    lengths = np.where(space.width > 0.0, space.width, np.maximum(span, NARROWEST))
    unit = 1.0 / np.where(space.is_level | (span <= 0.0), 1.0, lengths)
    places = np.arange(len(genomes)) if len(genomes) < n_all else which
    blocks = empty_blocks(len(genomes), genomes.shape[1])
    fill_blocks(genomes, padded(places, LANES), origin, unit, blocks)
    wide = np.where(space.width > 0.0, span * unit, 0.0)
    return IndexedRows(genomes, which, origin, unit, blocks, places, single_slack(wide))


def empty_blocks(n: int, d: int) -> Singles:
    """Return room for n observed rows of d features."""
    return np.empty((-(-n // LANES), d, LANES), dtype=np.float32)


def padded(places: Ints, size: int) -> Ints:
    """Return places (n,) with the last repeated up to a whole block of some size."""
    return np.pad(places, (0, -len(places) % size), mode="edge")


def rough_distances(rows: Floats, indexed: IndexedRows, weight: Floats, cap: Floats) -> Singles:
    """Return the distances (r, n) of rows (r, d) to all indexed ones, off by its slack."""
    distances = np.empty((len(rows), len(indexed.blocks), LANES), dtype=np.float32)
    rough = ((rows - indexed.origin) * weight).astype(np.float32)
    ratio = ratio_of(weight, indexed)
    measure_roughly(indexed.blocks, rough, ratio, cap.astype(np.float32), distances)
    return distances.reshape(len(rows), -1)[:, : len(indexed.genomes)]


def ratio_of(weight: Floats, indexed: IndexedRows) -> Singles:
    """Return weights (r, d) in the units of the index: at most 1, for no range is narrower there.

    Where these are all the same, 0 stands in the blocks and any finite number will do.
    """
    ratio: Singles = np.minimum(weight / indexed.unit, 1.0).astype(np.float32)
    return ratio


def nearest_first(distances: Singles, n: int, after: int = -1) -> Ints:
    """Return which are the n smallest of some distances, ascending, ties by index.

    Those up to `after` in that order are left out.

    Examples
    --------
    >>> distances = np.array([0.5, 0.1, 0.3, 0.1], dtype=np.float32)
    >>> nearest_first(distances, 3), nearest_first(distances, 3, after=3)
    (array([1, 3, 2]), array([2]))
    """
    least = np.float32(0.0) if after < 0 else distances[after]
    is_some = distances >= least
    if 4 * n < len(distances):
        is_some &= distances <= radius_of(distances, n)
    some = np.flatnonzero(is_some)
    # Bits of floats above 0 are ordered as they are, and whole numbers are sorted far quicker.
    keys = distances[some].view(np.uint32).astype(np.uint64) << np.uint64(32) | some.astype(
        np.uint64
    )
    keys.sort()
    places = (keys & np.uint64(2**32 - 1)).astype(np.int64)
    if after < 0:
        return places[:n]
    n_before = int(np.count_nonzero(distances < least))
    n_known = int(np.flatnonzero(places == after)[0]) + 1
    return places[n_known : n - n_before]


def radius_of(distances: Singles, n: int) -> float:
    """Return a radius within which at least n of the distances lie, and not many more."""
    highest = float(distances.max())
    counts = np.zeros(N_BINS + 1, dtype=np.int64)
    _count(distances, N_BINS / highest if highest > 0.0 else 0.0, counts)
    b = int(np.searchsorted(np.cumsum(counts), n))  # the first bin that makes n
    return min(highest, (b + 1.0) / N_BINS * highest * (1.0 + SLACK))


@kernel
def _count(distances: Singles, scale: float, counts: Ints) -> None:
    """Count the distances that fall into each bin of width 1 / scale."""
    last = len(counts) - 1
    for i in range(len(distances)):
        counts[max(0, min(int(distances[i] * scale), last))] += 1  # whatever is measured


WIDE_BYTES = 2**24  # memory of the observed rows fetched for one explained row, and of distances
SHARED = 8  # explained rows measured in one pass over the observed ones


class NearRows(NamedTuple):
    """The nearest observed rows of each of r explained rows, as kernels read them.

    Attributes
    ----------
    at : ndarray of shape (r,)
        Where each row stands in the arrays below; they may hold rows no longer searched.
    indexed : IndexedRows
        All observed rows.
    blocks, radius, order : ndarray of shape (rows, …)
        Those near each row; see `Neighbourhood`.
    weight : ndarray of shape (rows, d)
        1 / R_j of Gower's distance, over the observed rows and the explained one; 0 if constant or
        missing in the explained row.
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
    indexed: IndexedRows
    blocks: Singles
    radius: Singles
    order: Ints
    weight: Floats
    cap: Floats
    shares: Floats
    n_near: int
    horizon: Floats

    def of_rows(self, which: Ints) -> NearRows:
        """Return what is near some of the rows only; nothing is copied."""
        return self._replace(at=self.at[which])

    @property
    def last_place(self) -> int:
        """Which indexed row is the farthest at hand, of the first row."""
        return int(self.order[self.at[0], self.n_near - 1])


@inner
def neighbourhood_at(near_rows: NearRows, at: int, row: Floats) -> Neighbourhood:
    """Return what is at hand around the explained row that stands at `at`."""
    return Neighbourhood(
        row,
        near_rows.weight[at],
        near_rows.cap,
        near_rows.indexed.origin,
        near_rows.blocks[at],
        near_rows.radius[at],
        near_rows.order[at],
        near_rows.n_near,
        near_rows.indexed.genomes,
        near_rows.indexed.slack,
    )


def find_near_rows(
    rows: Floats,
    indexed: IndexedRows,
    space: Space,
    shares: Floats,
    most: int = NEAR,
    kept: dict[int, Singles] | None = None,
) -> NearRows:
    """Sort the nearest observed rows around each explained row (r, d), once per search.

    The distances of all observed rows to each are put into `kept` if it is given, if they may be
    needed again and if they are not too large.
    """
    weight, cap = gower_weights(rows, space)
    weight = np.where(rows == MISSING, 0.0, weight)  # nothing is near or far in what it lacks
    n_near = min(most, len(indexed.genomes))
    near_rows = empty_near_rows(indexed, weight, cap, shares, n_near)
    is_kept = n_near < len(indexed.genomes) and SINGLE * len(indexed.genomes) <= WIDE_BYTES
    for first in range(0, len(rows), SHARED):
        some = slice(first, first + SHARED)
        for a, distances in enumerate(
            rough_distances(rows[some], indexed, weight[some], cap), first
        ):
            fill_near(near_rows, a, nearest_first(distances, n_near), distances)
            if is_kept and kept is not None:
                kept[a] = distances
    return near_rows


def empty_near_rows(
    indexed: IndexedRows, weight: Floats, cap: Floats, shares: Floats, n_near: int
) -> NearRows:
    """Return arrays for n observed rows near each row, of rows with these weights (r, d)."""
    (r, d), n_blocks = weight.shape, -(-n_near // BLOCK)
    return NearRows(
        at=np.arange(r),
        indexed=indexed,
        blocks=np.empty((r, n_blocks, d, BLOCK), dtype=np.float32),
        radius=np.empty((r, n_blocks * BLOCK), dtype=np.float32),
        order=np.empty((r, n_blocks * BLOCK), dtype=np.int64),
        weight=weight,
        cap=cap,
        shares=shares,
        n_near=n_near,
        horizon=np.empty(r),
    )


def fill_near(near_rows: NearRows, a: int, nearest: Ints, distances: Singles) -> None:
    """Write the `nearest` indexed rows, in that order, to place a; rough `distances` (n,)."""
    indexed, order, weight = near_rows.indexed, padded(nearest, BLOCK), near_rows.weight[a]
    near_rows.order[a], near_rows.radius[a] = order, distances[order]  # refuses other than it holds
    near_rows.radius[a, len(nearest) :] = np.inf
    unit = weight / len(weight)
    fill_near_blocks(indexed.genomes, order, indexed.origin, unit, near_rows.blocks[a])
    is_all = len(nearest) == len(indexed.genomes)
    farthest = float(distances[nearest[-1]])
    near_rows.horizon[a] = np.inf if is_all else farthest - indexed.slack


def bytes_per_near_row(d: int) -> int:
    """Return the memory of one observed row at hand: its values, its distance and its place."""
    return SINGLE * (d + 1) + 8


class FarRows:
    """The observed rows that are not at hand, for the few candidates that may need them.

    Parameters
    ----------
    rows : ndarray of shape (r, d)
        The explained rows.
    near_rows : NearRows
        What is at hand.
    kept : dict of int to ndarray, optional
        The distances of all observed rows to some of the explained ones, by their place.
    wide_bytes : int, default=WIDE_BYTES
        Memory of what may be fetched for one row.
    """

    def __init__(
        self,
        rows: Floats,
        near_rows: NearRows,
        kept: dict[int, Singles] | None = None,
        wide_bytes: int = WIDE_BYTES,
    ) -> None:
        self.rows, self.near_rows = rows, near_rows
        n_wide = wide_bytes // bytes_per_near_row(rows.shape[1])
        self.most = min(max(near_rows.n_near, n_wide), len(near_rows.indexed.genomes))
        self._distances = {} if kept is None else kept
        self._rings: dict[int, list[NearRows]] = {}

    def distances_of(self, at: int) -> Singles:
        """Return the distances (n,) of all indexed rows to one row; measured if not kept."""
        if at in self._distances:
            return self._distances[at]
        near_rows, one = self.near_rows, slice(at, at + 1)
        measured = rough_distances(
            self.rows[one], near_rows.indexed, near_rows.weight[one], near_rows.cap
        )
        return measured.reshape(-1)

    def complete(self, at: int, genomes: Floats, distances: Floats) -> None:
        """Bring the distances (m, k) of genomes (m, d) to their nearest rows to an end, in place.

        Ring after ring is looked at, each farther from the row at `at` than the one before: with
        the neighbours it brings, the reach of a genome shrinks.
        """
        rings, short = self._rings.setdefault(at, []), np.arange(len(genomes))
        weight, cap = self.near_rows.weight[at], self.near_rows.cap
        own = gower_to_all(self.rows[at], genomes, weight, cap)
        horizon, i = float(self.near_rows.horizon[at]), 0
        while True:
            reach = own[short] + distances[short, -1] + SLACK
            short, reach = short[reach > horizon], reach[reach > horizon]
            if len(short) == 0:
                return
            ring = rings[i] if i < len(rings) else self.fetch(at, float(reach.max()))
            some = distances[short]
            if ring is None:
                self._scan(at, genomes[short], some)
            else:
                near = empty_neighbours(cap, some.shape[1], ring.n_near)
                _look_at_ring(genomes[short], own[short], self.rows[at], ring, near, some)
                horizon, i = float(ring.horizon[0]), i + 1
            distances[short] = some
            if ring is None:
                return

    def fetch(self, at: int, reach: float) -> NearRows | None:
        """Return the next ring around a row: two to four times as many rows as before in all.

        There is none if there is no room for more; what was fetched is kept.
        """
        known = [self.near_rows.of_rows(np.array([at])), *self._rings.setdefault(at, [])]
        n_now = sum(each.n_near for each in known)
        if n_now >= self.most:
            return None
        distances, near_rows = self.distances_of(at), self.near_rows
        slack = 2.0 * near_rows.indexed.slack
        n_within = int(np.count_nonzero(distances <= reach + slack))
        n = min(max(2 * n_now, min(4 * n_now, n_within + n_within // 4)), self.most)
        next_ones = nearest_first(distances, n, after=known[-1].last_place)
        weight = near_rows.weight[[at]]
        ring = empty_near_rows(
            near_rows.indexed, weight, near_rows.cap, near_rows.shares, len(next_ones)
        )
        fill_near(ring, 0, next_ones, distances)
        if n == len(distances):
            ring.horizon[0] = np.inf
        self._rings[at].append(ring)
        return ring

    def _scan(self, at: int, genomes: Floats, distances: Floats) -> None:
        """Bring distances (m, k) to an end by a look at every row that is not at hand."""
        near_rows, rings = self.near_rows, self._rings[at]
        last = (rings[-1] if rings else near_rows.of_rows(np.array([at]))).last_place
        radius, indexed = self.distances_of(at), near_rows.indexed
        near = empty_neighbours(near_rows.cap, distances.shape[1])
        everything = ScannedRows(
            row=self.rows[at],
            weight=near_rows.weight[at],
            cap=near_rows.cap,
            origin=indexed.origin,
            ratio=ratio_of(near_rows.weight[[at]], indexed)[0],
            blocks=indexed.blocks,
            radius=radius,
            observed=indexed.genomes,
            slack=indexed.slack,
            least=float(radius[last]),
            after=int(last),
        )
        _scan_all(genomes, everything, near, distances)


@kernel
def _look_at_ring(
    genomes: Floats,
    own: Floats,
    row: Floats,
    ring: NearRows,
    near: Neighbours,
    distances: Floats,
) -> None:
    """Put the rows of a ring among the nearest of genomes (m, d), at distances (m, k)."""
    neighbourhood = neighbourhood_at(ring, 0, row)
    for i in range(len(genomes)):
        assign(near.distances, distances[i])
        find_nearest(genomes[i], own[i], neighbourhood, near)
        assign(distances[i], near.distances)


@kernel
def _scan_all(
    genomes: Floats, everything: ScannedRows, near: Neighbours, distances: Floats
) -> None:
    """Put all observed rows that are not known yet among the nearest of genomes (m, d)."""
    for i in range(len(genomes)):
        assign(near.distances, distances[i])
        scan_nearest(genomes[i], everything, near)
        assign(distances[i], near.distances)
