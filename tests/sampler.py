"""A sampler for tests: whole columns drawn from conditional trees, and how likely values are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.density.bernstein import nearest_cells
from counterpoint.density.conditional import Trees, draw_value, find_leaf, grow_trees
from counterpoint.kernels import kernel

PROBABILITY_FLOOR = 1e-12  # of a cell that a leaf deems impossible, in log-likelihoods


@dataclass(frozen=True)
class ConditionalSampler:
    """Conditional distributions of every feature given all the others."""

    trees: Trees

    @classmethod
    def fit(
        cls, genomes: Floats, *, is_categorical: Bools, is_integer: Bools, n_levels: Ints
    ) -> ConditionalSampler:
        """Grow the trees of all features."""
        found = grow_trees(
            genomes, is_categorical=is_categorical, is_integer=is_integer, n_levels=n_levels
        )
        return cls(found)

    def sample(self, genomes: Floats, feature: int, uniforms: Floats) -> Floats:
        """Draw a feature (n,) for genomes (n, d), given uniform numbers (n,) in [0, 1)."""
        values = np.empty(len(genomes))
        _draw_column(self.trees, feature, genomes, uniforms, values)
        return values

    def log_likelihood(self, genomes: Floats, feature: int) -> Floats:
        """Return the log probability (n,) of each genome's value of a feature, given its others.

        It is that of the cell nearest to the value, at least ``log(1e-12)``.
        """
        n_cells = self.trees.n_cells[feature]
        cells = nearest_cells(self.trees.support[feature, :n_cells], genomes[:, feature])
        leaves = np.empty(len(genomes), dtype=np.int64)
        _find_leaves(self.trees, feature, genomes, leaves)
        upper = self.trees.cumulative[leaves, cells]
        lower = np.where(cells > 0, self.trees.cumulative[leaves, cells - 1], 0.0)
        return np.log(np.maximum(upper - lower, PROBABILITY_FLOOR))


@kernel
def _draw_column(
    trees: Trees, feature: int, genomes: Floats, uniforms: Floats, values: Floats
) -> None:
    for i in range(len(genomes)):
        values[i] = draw_value(trees, feature, genomes[i], uniforms[i])


@kernel
def _find_leaves(trees: Trees, feature: int, genomes: Floats, leaves: Ints) -> None:
    for i in range(len(genomes)):
        leaves[i] = find_leaf(trees, feature, genomes[i])
