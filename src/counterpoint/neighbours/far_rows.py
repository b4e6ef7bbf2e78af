"""Far rows: observed rows that are not kept near an explained row, fetched ring by ring."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Singles
from counterpoint.kernels import assign, kernel
from counterpoint.neighbours.gower import gower_to_all
from counterpoint.neighbours.index import (
    WIDE_BYTES,
    NearRows,
    bytes_per_near_row,
    empty_near_rows,
    fill_near,
    nearest_first,
    neighbourhood_at,
    rough_distances,
    single_slack,
)
from counterpoint.neighbours.nearest import (
    SLACK,
    Neighbourhood,
    Neighbours,
    empty_neighbours,
    find_nearest,
    scan_nearest,
)


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
                near = empty_neighbours(cap, some.shape[1])
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
        slack = 2.0 * single_slack(self.rows.shape[1])
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
        radius = self.distances_of(at).astype(np.float64)
        near = empty_neighbours(near_rows.cap, distances.shape[1])
        indexed = near_rows.indexed
        everything = Neighbourhood(
            row=self.rows[at],
            weight=near_rows.weight[at],
            cap=near_rows.cap,
            origin=indexed.origin,
            ratio=near_rows.ratio[at],
            blocks=indexed.blocks,
            radius=radius,
            order=indexed.places,
            n=len(indexed.places),
            observed=indexed.genomes,
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
    genomes: Floats, everything: Neighbourhood, near: Neighbours, distances: Floats
) -> None:
    """Put all observed rows that are not known yet among the nearest of genomes (m, d)."""
    for i in range(len(genomes)):
        assign(near.distances, distances[i])
        scan_nearest(genomes[i], everything, near)
        assign(distances[i], near.distances)
