"""Observed: the data of an explainer as genomes, with what is computed of them once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.density.conditional import ConditionalSampler
from counterpoint.errors import InvalidInput
from counterpoint.neighbours.gower import complete_rows, filled
from counterpoint.neighbours.index import IndexedRows, index_rows
from counterpoint.problem.own_objectives import PLAIN, Aims
from counterpoint.table.space import Space


@dataclass(frozen=True)
class Observed:
    """What is known once per explainer: the data as genomes, their scores and their space.

    Parameters
    ----------
    genomes : ndarray of shape (n, d)
        The observed rows.
    outputs : ndarray of shape (n, c)
        What the model says of them.
    space : Space
        Kinds, grids and scales of the features.
    shares : ndarray of shape (k,)
        Weights of the k nearest rows in `implausibility`.
    aims : Aims
        What the caller wants minimised other than the built-in objectives.
    """

    genomes: Floats
    outputs: Floats
    space: Space
    shares: Floats
    aims: Aims = PLAIN

    @cached_property
    def indexed(self) -> IndexedRows:
        """The observed rows that count for nearness, on first use: those without missing values.

        If all miss some, they are filled, so that candidates can still borrow from them.
        """
        k, space = len(self.shares), self.space
        if not self.has_missing:
            return index_rows(self.genomes, k, space)
        if not self.is_complete.any():
            return index_rows(filled(self.genomes), k, space)
        indexed = index_rows(np.ascontiguousarray(self.genomes[self.is_complete]), k, space)
        return indexed._replace(which=np.flatnonzero(self.is_complete)[indexed.which])

    @cached_property
    def is_complete(self) -> Bools:
        """Which observed rows miss no value, shape (n,)."""
        return np.asarray((self.genomes != MISSING).all(axis=1))

    @cached_property
    def has_missing(self) -> bool:
        """Whether some observed row misses a value."""
        return not self.is_complete.all()

    @cached_property
    def incomplete(self) -> Floats:
        """The observed rows that miss values."""
        return np.ascontiguousarray(self.genomes[~self.is_complete])

    @cached_property
    def whole(self) -> Floats:
        """The observed rows without missing values; if there are none, all of them filled."""
        return complete_rows(self.genomes)

    @cached_property
    def typical_change(self) -> Floats:
        """How far two different observed values of each feature are apart on average, shape (d,).

        It is 1 for levels, and 0 where there are no two different values.
        """
        typical = [mean_difference(genes[genes != MISSING]) for genes in self.genomes.T]
        return np.where(self.space.is_level, np.sign(typical), typical)

    @cached_property
    def are_probabilities(self) -> bool:
        """Whether all outputs lie between 0 and 1."""
        return bool(self.outputs.min() >= 0.0 and self.outputs.max() <= 1.0)

    @cached_property
    def conditional(self) -> ConditionalSampler:
        """The conditional distribution of each feature given the others, fitted on first use."""
        if self.has_missing:
            raise InvalidInput(
                "mutation='conditional' cannot learn from data with missing values; use "
                "mutation='gaussian', or the default search."
            )
        space = self.space
        return ConditionalSampler.fit(
            self.genomes,
            is_categorical=space.is_level,
            is_integer=(space.grid == 1.0) & ~space.is_level,
            n_levels=np.where(space.is_level, space.n_levels, 0),
        )


def mean_difference(values: Floats) -> float:
    """Return the mean difference of all pairs of different values; 0 if there are none.

    Examples
    --------
    >>> mean_difference(np.array([1.0, 1.0, 3.0, 6.0]))
    3.4
    """
    ordered, n = np.sort(values), len(values)
    summed = float(((2.0 * np.arange(n) - (n - 1)) * ordered).sum())
    counts = np.unique(ordered, return_counts=True)[1].astype(np.float64)
    n_pairs = (n * (n - 1.0) - (counts * (counts - 1.0)).sum()) / 2.0
    return summed / n_pairs if n_pairs > 0.0 else 0.0
