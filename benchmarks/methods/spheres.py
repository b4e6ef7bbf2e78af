"""Growing spheres (Laugel et al. 2018): the nearest other side, by layers of random rows.

Rows are drawn uniformly from a ball around the row, numbers scaled to their observed ranges. While
the ball holds rows that reach the target, it shrinks; then layers outside it are drawn until one
does. Of that layer's rows the nearest is taken, and its features are set back, the least moved
first, as long as the target is still reached. Levels stay as they are, as in the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from benchmarks.methods.case import Case, NotApplicable
from benchmarks.peers.subjects import Floats
from counterpoint.streams import Stage, row_keys, uniforms

MOST_LAYERS = 200


@dataclass(frozen=True)
class GrowingSpheres:
    """One row: the nearest drawn one, made sparse.

    Parameters
    ----------
    n_draws : int, default=1000
        Rows drawn per layer.
    first_radius : float, default=0.1
        The first ball's radius in ranges of the features; layers grow by the final one's.
    """

    n_draws: int = 1000
    first_radius: float = 0.1
    name: str = "growing spheres"

    def explain(self, case: Case) -> pd.DataFrame:
        """Return one row, or none if no layer up to the farthest corner reaches the target."""
        found = self.search(case)
        if found is None:
            return case.none("no drawn row up to the farthest corner reaches the target")
        return case.frame(sparse(case, found[0]))

    def search(self, case: Case) -> tuple[Floats, float] | None:
        """Return the nearest drawn row (d,) before it is made sparse, and its layer's radius."""
        if not widths(case).any():
            raise NotApplicable("growing spheres moves numbers only, and there are none that vary.")
        radius, layer, kept = self.first_radius, 0, None
        while len(enemies := self.enemies(case, 0.0, radius, layer)) and layer < MOST_LAYERS:
            kept = nearest(case, enemies), radius
            radius, layer = radius / 2.0, layer + 1
        if kept is None:
            return self.grow(case, radius)
        # The ball inside is empty; the layer between may hold a nearer row than the one kept.
        between = self.enemies(case, radius, kept[1], layer + 1)
        return nearest(case, np.vstack([kept[0][None], between])), kept[1]

    def grow(self, case: Case, radius: float) -> tuple[Floats, float] | None:
        """Draw layer after layer outwards until one reaches the target."""
        step, corner = radius, np.sqrt((~case.codec.is_level).sum())
        for layer in range(1, MOST_LAYERS):
            if radius > corner:
                break
            enemies = self.enemies(case, radius, radius + step, layer)
            radius += step
            if len(enemies):
                return nearest(case, enemies), radius
        return None

    def enemies(self, case: Case, inner: float, outer: float, layer: int) -> Floats:
        """Return the drawn rows between two radii that reach the target, (n, d)."""
        rows = draw_layer(case, self.n_draws, inner, outer, layer)
        return rows[case.reaches(rows)]


def widths(case: Case) -> Floats:
    """Return the range of each number, 0 for levels, (d,)."""
    low, high = case.box
    return np.where(case.codec.is_level, 0.0, high - low)


def lengths(case: Case, genomes: Floats) -> Floats:
    """Return the Euclidean distance of genomes (n, d) to the row in ranges, (n,)."""
    width = widths(case)
    parts = (genomes - case.genome) / np.where(width > 0, width, 1.0)
    return np.asarray(np.sqrt((np.where(width > 0, parts, 0.0) ** 2).sum(axis=1)))


def nearest(case: Case, genomes: Floats) -> Floats:
    """Return the genome nearest to the row, (d,)."""
    return np.asarray(genomes[np.argmin(lengths(case, genomes))])


def draw_layer(case: Case, n: int, inner: float, outer: float, layer: int) -> Floats:
    """Return rows uniform between two radii around the row, addressed by seed, row and layer.

    Directions are normal draws on the unit sphere, lengths such that equal volumes are equally
    likely. Rows beyond the box of the data end at its walls, so that no row lies farther out.
    """
    width = widths(case)
    # A stage of our own searches is borrowed: none of their draws meets these in one result.
    moves, keys = np.flatnonzero(width > 0), row_keys(case.seed, case.genome[None])
    draws = uniforms(keys, Stage.NEIGHBOUR_VALUE, layer, n, len(moves) + 1)[0]
    directions = ndtri(np.clip(draws[:, 1:], 1e-12, 1 - 1e-12))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    d = len(moves)
    length = (inner**d + draws[:, :1] * (outer**d - inner**d)) ** (1.0 / d)
    rows = np.repeat(case.genome[None], n, axis=0)
    rows[:, moves] += length * directions * width[moves]
    return np.asarray(np.clip(rows, *case.box))


def sparse(case: Case, genome: Floats) -> Floats:
    """Set features back to the row, the least moved first, while the target is reached, (d,)."""
    width = widths(case)
    moved = np.abs(genome - case.genome) / np.where(width > 0, width, 1.0)
    for j in np.argsort(moved, kind="stable"):
        trial = genome.copy()
        trial[j] = case.genome[j]
        if case.reaches(trial[None])[0]:
            genome = trial
    return genome
