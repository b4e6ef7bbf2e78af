"""Gower's rule for missing values: a feature that is missing on either side does not count.

The distance of two rows is the mean over the features both have, and 1 if they share none. That is
no metric, so no bound can spare a look: observed rows with missing values, and all observed rows
if the explained row misses some, are compared one by one, each only until it is too far.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.kernels import kernel, part
from counterpoint.table.distance import gower_to_all, insert


def gower_with_gaps(
    rows: Floats, others: Floats, weight: Floats, cap: Floats, costs: Floats | None = None
) -> Floats:
    """Return Gower's distances of rows (n, d) to others (m, d), by his rule for missing values.

    The plain definition; kernels are tested against it. `costs` (d,) weigh the features.

    Examples
    --------
    >>> row, other = np.array([[1.0, 2.0]]), np.array([[MISSING, 2.5], [3.0, 2.5]])
    >>> gower_with_gaps(row, other, np.ones(2), np.full(2, np.inf))
    array([[0.5 , 1.25]])
    """
    both = (rows[:, None] != MISSING) & (others != MISSING)
    apart = np.minimum(np.abs(np.where(both, rows[:, None] - others, 0.0)) * weight, cap)
    shares = both * (1.0 if costs is None else costs)
    total = shares.sum(axis=2)
    summed = (shares * apart).sum(axis=2)
    return np.where(total > 0.0, summed / np.where(total > 0.0, total, 1.0), 1.0)


def distances_to(row: Floats, genomes: Floats, weight: Floats, cap: Floats) -> Floats:
    """Return the distances of a genome (d,) to others (n, d), whether or not some miss values.

    Where none does they are those of `gower_to_all`, bit for bit.
    """
    if (row == MISSING).any() or (genomes == MISSING).any():
        return np.asarray(gower_with_gaps(row[None], genomes, weight, cap)[0])
    return gower_to_all(row, genomes, weight, cap)


def filled(genomes: Floats) -> Floats:
    """Return genomes (n, d) with the lower median of its column for what is missing.

    A column without any value, which only a loaded result of one row has, is filled with 0.
    """
    present = [genes[genes != MISSING] for genes in genomes.T]
    medians = [np.quantile(g, 0.5, method="lower") if len(g) else 0.0 for g in present]
    return np.where(genomes == MISSING, np.array(medians), genomes)


def whole_rows(genomes: Floats) -> Floats:
    """Return the genomes (n, d) that miss nothing; if there are none, all of them filled."""
    is_complete = (genomes != MISSING).all(axis=1)
    if is_complete.all():
        return genomes
    return genomes[is_complete] if is_complete.any() else filled(genomes)


def look_among(
    genomes: Floats,
    which: Bools,
    others: Floats,
    weight: Floats,
    cap: Floats,
    distances: Floats,
) -> None:
    """Put observed rows among the nearest of genomes (r, n, d), at distances (r, n, k), in place.

    Parameters
    ----------
    genomes : ndarray of shape (r, n, d)
        Candidates of r rows.
    which : ndarray of shape (r, n)
        Those that are looked at.
    others : ndarray of shape (m, d)
        Observed rows.
    weight, cap : ndarray of shape (r, d), (d,)
        What Gower's distance needs around each row.
    distances : ndarray of shape (r, n, k)
        The smallest found so far, ascending.
    """
    n_present = (others != MISSING).sum(axis=1)
    places = np.empty(distances.shape[2], dtype=np.int64)
    _look_among(genomes, which, others, n_present, weight, cap, distances, places)


@kernel
def _look_among(
    genomes: Floats,
    which: Bools,
    others: Floats,
    n_present: Ints,
    weight: Floats,
    cap: Floats,
    distances: Floats,
    places: Ints,
) -> None:
    """See `look_among`; `n_present` (m,) is how many features each of the others has."""
    for a in range(genomes.shape[0]):
        for i in range(genomes.shape[1]):
            if not which[a, i]:
                continue
            nearest = distances[a, i]
            for q in range(len(others)):
                most = nearest[-1] * n_present[q]
                distance = _distance(genomes[a, i], others[q], weight[a], cap, most)
                if distance < nearest[-1]:
                    insert(nearest, places, distance, q)


@part
def _distance(genome: Floats, other: Floats, weight: Floats, cap: Floats, most: float) -> float:
    """Return the distance, or infinity as soon as the differences add up to more than `most`.

    They are divided by the number of features of the observed row at most, so that it is farther.
    """
    total, n_both = 0.0, 0
    for j in range(len(genome)):
        if genome[j] != MISSING and other[j] != MISSING:
            total += min(abs(genome[j] - other[j]) * weight[j], cap[j])
            n_both += 1
            if total > most:
                return np.inf
    return total / n_both if n_both > 0 else 1.0
