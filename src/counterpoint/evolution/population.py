"""Population: genomes, their use-original indicators and their objectives, never apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints


class Brood(NamedTuple):
    """Candidates not yet judged, for r rows at once.

    Attributes
    ----------
    genomes : ndarray of shape (r, n, d)
        The candidates.
    keeps : ndarray of shape (r, n, d)
        The use-original indicators: where True, the gene is the row's own value.
    """

    genomes: Floats
    keeps: Bools


class Population(NamedTuple):
    """Judged candidates, for r rows at once; after selection the best come first.

    Attributes
    ----------
    genomes, keeps : ndarray of shape (r, n, d)
        See `Brood`.
    objectives : ndarray of shape (r, n, m)
        gap, distance, changes, implausibility.
    """

    genomes: Floats
    keeps: Bools
    objectives: Floats

    def joined(self, other: Population) -> Population:
        """Return both populations as one, this one's members first."""
        return Population(
            np.concatenate([self.genomes, other.genomes], axis=1),
            np.concatenate([self.keeps, other.keeps], axis=1),
            np.concatenate([self.objectives, other.objectives], axis=1),
        )

    def of_rows(self, which: Ints) -> Population:
        """Return the populations of some of the rows only."""
        return Population(self.genomes[which], self.keeps[which], self.objectives[which])
