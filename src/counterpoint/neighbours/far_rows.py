"""The observed rows that are not at hand: rings around an explained row, fetched when needed."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Singles
from counterpoint.kernels import assign, kernel
from counterpoint.neighbours.gower import (
    SLACK,
    Circle,
    Neighbours,
    empty_neighbours,
    find_nearest,
    gower_to_all,
    scan_nearest,
)
from counterpoint.neighbours.index import (
    WIDE_BYTES,
    Surroundings,
    bytes_at_hand,
    circle_at,
    empty_surroundings,
    fill_shell,
    nearest_first,
    rough_distances,
    slack_of,
)


class Beyond:
    """The observed rows that are not at hand, for the few candidates that may need them.

    Parameters
    ----------
    rows : ndarray of shape (r, d)
        The explained rows.
    around : Surroundings
        What is at hand.
    kept : dict of int to ndarray, optional
        The distances of all observed rows to some of the explained ones, by their place.
    wide_bytes : int, default=WIDE_BYTES
        Memory of what may be fetched for one row.
    """

    def __init__(
        self,
        rows: Floats,
        around: Surroundings,
        kept: dict[int, Singles] | None = None,
        wide_bytes: int = WIDE_BYTES,
    ) -> None:
        self.rows, self.around = rows, around
        n_wide = wide_bytes // bytes_at_hand(rows.shape[1])
        self.most = min(max(around.n_near, n_wide), len(around.crowd.genomes))
        self._distances = {} if kept is None else kept
        self._rings: dict[int, list[Surroundings]] = {}

    def distances_of(self, at: int) -> Singles:
        """Return the distances (n,) of the crowd to one row: measured anew if they are not kept."""
        if at in self._distances:
            return self._distances[at]
        around, one = self.around, slice(at, at + 1)
        measured = rough_distances(self.rows[one], around.crowd, around.weight[one], around.cap)
        return measured.reshape(-1)

    def complete(self, at: int, genomes: Floats, distances: Floats) -> None:
        """Bring the distances (m, k) of genomes (m, d) to their nearest rows to an end, in place.

        Ring after ring is looked at, each farther from the row at `at` than the one before: with
        the neighbours it brings, the reach of a genome shrinks.
        """
        rings, short = self._rings.setdefault(at, []), np.arange(len(genomes))
        weight, cap = self.around.weight[at], self.around.cap
        own = gower_to_all(self.rows[at], genomes, weight, cap)
        horizon, i = float(self.around.horizon[at]), 0
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

    def fetch(self, at: int, reach: float) -> Surroundings | None:
        """Return the next ring around a row: two to four times as many rows as before in all.

        There is none if there is no room for more; what was fetched is kept.
        """
        known = [self.around.of_rows(np.array([at])), *self._rings.setdefault(at, [])]
        n_now = sum(each.n_near for each in known)
        if n_now >= self.most:
            return None
        distances, around = self.distances_of(at), self.around
        slack = 2.0 * slack_of(self.rows.shape[1])
        n_within = int(np.count_nonzero(distances <= reach + slack))
        n = min(max(2 * n_now, min(4 * n_now, n_within + n_within // 4)), self.most)
        next_ones = nearest_first(distances, n, after=known[-1].last_place)
        weight = around.weight[[at]]
        ring = empty_surroundings(around.crowd, weight, around.cap, around.shares, len(next_ones))
        fill_shell(ring, 0, next_ones, distances)
        if n == len(distances):
            ring.horizon[0] = np.inf
        self._rings[at].append(ring)
        return ring

    def _scan(self, at: int, genomes: Floats, distances: Floats) -> None:
        """Bring distances (m, k) to an end by a look at every row that is not at hand."""
        around, rings = self.around, self._rings[at]
        last = (rings[-1] if rings else around.of_rows(np.array([at]))).last_place
        radius = self.distances_of(at).astype(np.float64)
        near = empty_neighbours(around.cap, distances.shape[1])
        _scan_all(genomes, self.rows[at], radius, int(last), at, around, near, distances)


@kernel
def _look_at_ring(
    genomes: Floats,
    own: Floats,
    row: Floats,
    ring: Surroundings,
    near: Neighbours,
    distances: Floats,
) -> None:
    """Put the rows of a ring among the nearest of genomes (m, d), at distances (m, k)."""
    circle = circle_at(ring, 0, row)
    for i in range(len(genomes)):
        assign(near.distances, distances[i])
        find_nearest(genomes[i], own[i], circle, near)
        assign(distances[i], near.distances)


@kernel
def _scan_all(
    genomes: Floats,
    row: Floats,
    radius: Floats,
    last: int,
    at: int,
    around: Surroundings,
    near: Neighbours,
    distances: Floats,
) -> None:
    """Put all observed rows after `last` among the nearest of genomes (m, d)."""
    crowd = around.crowd
    circle = Circle(
        row,
        around.weight[at],
        around.cap,
        crowd.origin,
        around.ratio[at],
        crowd.blocks,
        radius,
        crowd.places,
        len(crowd.places),
        crowd.genomes,
        radius[last],
        last,
    )
    for i in range(len(genomes)):
        assign(near.distances, distances[i])
        scan_nearest(genomes[i], circle, near)
        assign(distances[i], near.distances)
