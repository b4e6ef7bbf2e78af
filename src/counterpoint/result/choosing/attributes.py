"""Attributes: what people may care about when they choose, as shares from 0, the best, to 1."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.problem.crowd import gower_weights
from counterpoint.result.choosing.orders import normalised

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals


@dataclass(frozen=True, eq=False)
class Attributes:
    """The candidates of a choice and what tells them apart.

    Parameters
    ----------
    candidates : ndarray of shape (c,)
        Their positions in the result.
    aims : tuple of str
        The objectives that differ between candidates.
    features : tuple of hashable
        The features in which candidates differ.
    shares : ndarray of shape (c, n_aims + 2 * n_features)
        The normalised objectives; whether each feature changes; by how much, as a share of the
        largest change among the candidates.
    """

    candidates: Ints
    aims: tuple[str, ...]
    features: tuple[Hashable, ...]
    shares: Floats


def attributes_of(found: Counterfactuals, candidates: Ints) -> Attributes:
    """Return the attributes of the counterfactuals at these positions (c,)."""
    objectives = found.objectives[candidates]
    aims = normalised(objectives, np.ones(len(objectives), dtype=np.bool_))
    weight, cap = gower_weights(found.problem.rows, found.problem.space)
    genomes = found.genomes[candidates]
    row = found.problem.rows[0]
    sizes = np.minimum(np.abs(genomes - row) * weight[0], cap)
    lacks = (genomes == MISSING) | (row == MISSING)
    sizes = np.where(lacks, (genomes != row).astype(np.float64), sizes)  # all the way, or none
    largest = sizes.max(axis=0)
    sizes = sizes / np.where(largest > 0.0, largest, 1.0)
    names = found.problem.predictor.encoding.schema.names
    has_aim, differs = _varies(aims), _varies(genomes)
    changed = found.changed[candidates].astype(np.float64)
    return Attributes(
        candidates,
        tuple(found.objective_names[m] for m in np.flatnonzero(has_aim)),
        tuple(names[j] for j in np.flatnonzero(differs)),
        np.hstack([aims[:, has_aim], changed[:, differs], sizes[:, differs]]),
    )


def _varies(values: Floats) -> Bools:
    """Return which columns of (n, k) hold more than one value."""
    return np.asarray(values.min(axis=0) < values.max(axis=0))
