"""Gower's distance between genomes, written once.

A feature contributes ``min(|a - b| * weight, cap)``: for a number, weight 1 / range and no cap; for
a level, weight 1 and cap 1, so that codes count as equal or not; for a constant feature, weight 0.
The distance is the mean over the features. `Gower` can measure numbers by another width than their
range, which then may not hold all differences: they are capped at 1.

A feature that is missing on either side does not count, and the distance is 1 if two rows share
none. That is no metric, so no bound can spare a look: observed rows with missing values, and all
observed rows if the explained row misses some, are compared one by one, each only until it is too
far.

Every kernel takes a feature's share from `term`. They differ in how they round, which results
depend on: `gower` weighs the difference, `gower_around` the values seen from a row, and the search
in blocks values in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from counterpoint.arrays import MISSING, NARROWEST, Bools, Floats, Ints, Singles
from counterpoint.checks import check_choice
from counterpoint.kernels import inner, kernel, part
from counterpoint.table.space import Space

Scale = Literal["range", "percentile", "mad"]
MIDDLE = (5.0, 95.0)  # percentiles, between which lie the middle 90 % of the data
PER_MAD = 4.8773  # what lies between these of normal data, in median absolute deviations
LANES = 16  # rows compared at once in single precision, where all features count
BLOCK = 64  # and where only some do
NOTHING = np.float32(0.0)
THINNEST = 1e-6  # of a range: the least width, so that round-off stays below the slack of bounds


@dataclass(frozen=True)
class Gower:
    """Gower's distance, and what a difference of numbers is divided by.

    It is what `distance` says, and what tells which observed rows are near, for `implausibility`,
    too. A single outlier stretches a range, so that all other differences seem small; the other
    scales look at the middle of the data. What they divide by may be less than a difference, which
    then counts 1, as much as another level does: so every feature counts between 0 and 1, and a
    distance does, too. Values that are that far apart are all equally far.

    Parameters
    ----------
    scale : {"range", "percentile", "mad"}, default="range"
        The range of the observed values and the row's own, as in the paper; the width of the middle
        90 % of the observed values (from the 5th to the 95th percentile); or 4.8773 times their
        median absolute deviation from the median, which is the same of normal data. Where the
        latter two are 0, as for a number that is mostly 0, the range is taken.

    Examples
    --------
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"income": [*range(10, 50), 5_000]})
    >>> for scale in ("range", "percentile", "mad"):
    ...     explainer = cp.Explainer(
    ...         lambda rows: rows["income"] / 100, data, distance=cp.Gower(scale=scale)
    ...     )
    ...     found = explainer.explain({"income": 10}, target=(0.2, 1.0), seed=0)
    ...     print(round(float(found.to_frame()["distance"].min()), 3))
    0.002
    0.278
    0.205
    """

    scale: Scale = "range"

    def __post_init__(self) -> None:
        check_choice("Gower.scale", self.scale, get_args(Scale))

    @property
    def words(self) -> str:
        """What it is, for readers of a result."""
        widths = {
            "range": "ranges",
            "percentile": "widths of the middle 90 % of the observed values",
            "mad": "multiples of the median absolute deviation",
        }
        return f"Gower's, in {widths[self.scale]}"

    def widths(self, genomes: Floats, space: Space) -> Floats:
        """Return how far apart values count 1, of observed rows (n, d); 0 means their range."""
        columns = [genes[genes != MISSING] for genes in genomes.T]
        found = np.array([self._width(genes) if len(genes) else 0.0 for genes in columns])
        least = np.maximum((space.high - space.low) * THINNEST, NARROWEST)
        return np.where(space.is_level | (found <= 0.0), 0.0, np.maximum(found, least))

    def _width(self, genes: Floats) -> float:
        """Return the width of the middle of some values."""
        if self.scale == "range":
            return 0.0
        if self.scale == "mad":
            return PER_MAD * float(np.median(np.abs(genes - np.median(genes))))
        low, high = np.percentile(genes, MIDDLE)
        return float(high - low)


RANGES = Gower()


@part
def term(difference: float, cap: float) -> float:
    """Return what a feature contributes, of its difference in units of its range or as a level."""
    return min(abs(difference), cap)


def terms(genomes: Floats, others: Floats, weight: Floats, cap: Floats) -> Floats:
    """Return what each feature contributes (…, d), of genomes that miss nothing."""
    return np.asarray(np.minimum(np.abs(genomes - others) * weight, cap))


@inner
def gower(a: Floats, b: Floats, weight: Floats, cap: Floats) -> float:
    """Return Gower's distance of two genomes: the mean over features of their differences.

    A constant feature contributes nothing and still counts in the mean.
    """
    total = 0.0
    for j in range(len(a)):
        total += term((a[j] - b[j]) * weight[j], cap[j])
    return total / len(a)


@part
def gower_around(a: Floats, b: Floats, row: Floats, weight: Floats, cap: Floats) -> float:
    """Return Gower's distance of two genomes seen from a row: small numbers keep their digits."""
    total = 0.0
    for j in range(len(a)):
        total += term((a[j] - row[j]) * weight[j] - (b[j] - row[j]) * weight[j], cap[j])
    return total / len(a)


def weighted_distances(
    genomes: Floats, rows: Floats, weight: Floats, cap: Floats, costs: Floats, at: Ints
) -> Floats:
    """Return the Gower distances (r, n) of genomes (r, n, d) to their rows, weighted by costs.

    `weight` (..., d) makes a share of its range of a difference, which is `cap` at most; `at` says
    which of them is each row's. The mean of the shares, weighted by costs (d,), is between 0 and 1.
    """
    distances = np.empty(genomes.shape[:2])
    _weigh(np.ascontiguousarray(genomes), rows, weight, cap, costs / costs.sum(), at, distances)
    return distances


@kernel
def _weigh(
    genomes: Floats,
    rows: Floats,
    weight: Floats,
    cap: Floats,
    shares: Floats,
    at: Ints,
    distances: Floats,
) -> None:
    """Write what `weighted_distances` returns; `shares` (d,) sum to one."""
    r, n, d = genomes.shape
    for a in range(r):
        for i in range(n):
            total = 0.0
            for j in range(d):
                difference = (genomes[a, i, j] - rows[a, j]) * weight[at[a], j]
                total += shares[j] * term(difference, cap[j])
            distances[a, i] = total


def gower_with_missing(
    rows: Floats, others: Floats, weight: Floats, cap: Floats, costs: Floats | None = None
) -> Floats:
    """Return Gower's distances of rows (n, d) to others (m, d), by his rule for missing values.

    The plain definition; kernels are tested against it. `costs` (d,) weigh the features.

    Examples
    --------
    >>> row, other = np.array([[1.0, 2.0]]), np.array([[MISSING, 2.5], [3.0, 2.5]])
    >>> gower_with_missing(row, other, np.ones(2), np.full(2, np.inf))
    array([[0.5 , 1.25]])
    """
    both = (rows[:, None] != MISSING) & (others != MISSING)
    apart = terms(np.where(both, rows[:, None], 0.0), np.where(both, others, 0.0), weight, cap)
    shares = both * (1.0 if costs is None else costs)
    total = shares.sum(axis=2)
    summed = (shares * apart).sum(axis=2)
    return np.where(total > 0.0, summed / np.where(total > 0.0, total, 1.0), 1.0)


def filled(genomes: Floats) -> Floats:
    """Return genomes (n, d) with the lower median of its column for what is missing.

    A column without any value, which only a loaded result of one row has, is filled with 0.
    """
    present = [genes[genes != MISSING] for genes in genomes.T]
    medians = [np.quantile(g, 0.5, method="lower") if len(g) else 0.0 for g in present]
    return np.where(genomes == MISSING, np.array(medians), genomes)


def complete_rows(genomes: Floats) -> Floats:
    """Return the genomes (n, d) that miss nothing; if there are none, all of them filled."""
    is_complete = (genomes != MISSING).all(axis=1)
    if is_complete.all():
        return genomes
    return genomes[is_complete] if is_complete.any() else filled(genomes)


@inner
def insert(nearest: Floats, places: Ints, distance: float, place: int) -> None:
    """Put `distance` into the ascending list `nearest`, dropping its last; `places` go along."""
    i = len(nearest) - 1
    while i > 0 and nearest[i - 1] > distance:
        nearest[i], places[i] = nearest[i - 1], places[i - 1]
        i -= 1
    nearest[i], places[i] = distance, place


class ComparedRows(NamedTuple):
    """Observed rows, some of which may miss values, to be compared with candidates one by one."""

    rows: Floats  # (m, d): the observed rows
    n_present: Ints  # (m,): how many features each of them has
    # (r, d): what Gower's distance needs around each of the r explained rows
    weight: Floats
    cap: Floats


def search_incomplete(
    genomes: Floats, which: Bools, observed: Floats, scale: tuple[Floats, Floats], distances: Floats
) -> None:
    """Put observed rows among the nearest of genomes (r, n, d), at distances (r, n, k), in place.

    Only genomes of `which` (r, n) are looked at. `scale` has the weights (r, d) and caps (d,) of
    Gower's distance around each row. Distances are the smallest found so far, ascending.
    """
    observed = observed.view()
    observed.flags.writeable = False  # always, for kernels are compiled anew for what is not
    compared = ComparedRows(observed, (observed != MISSING).sum(axis=1), *scale)
    places = np.empty(distances.shape[2], dtype=np.int64)
    _compare(genomes, which, compared, places, distances)


@kernel
def _compare(
    genomes: Floats, which: Bools, compared: ComparedRows, places: Ints, distances: Floats
) -> None:
    """See `search_incomplete`; which rows are nearest goes to `places` (k,) and is not needed."""
    for a in range(genomes.shape[0]):
        for i in range(genomes.shape[1]):
            if not which[a, i]:
                continue
            nearest, weight = distances[a, i], compared.weight[a]
            for q in range(len(compared.rows)):
                most = nearest[len(nearest) - 1] * compared.n_present[q]
                distance = _distance(genomes[a, i], compared.rows[q], weight, compared.cap, most)
                if distance < nearest[len(nearest) - 1]:
                    insert(nearest, places, distance, q)


@part
def _distance(genome: Floats, other: Floats, weight: Floats, cap: Floats, most: float) -> float:
    """Return the distance, or infinity as soon as the differences add up to more than `most`.

    They are divided by the number of features of the observed row at most, so that it is farther.
    """
    total, n_both = 0.0, 0
    for j in range(len(genome)):
        if genome[j] != MISSING and other[j] != MISSING:
            total += term((genome[j] - other[j]) * weight[j], cap[j])
            n_both += 1
            if total > most:
                return np.inf
    return total / n_both if n_both > 0 else 1.0


@kernel
def mean_pairwise(genomes: Floats, weight: Floats, cap: Floats) -> float:
    """Return the mean Gower distance of all pairs of genomes (n, d)."""
    n, total = len(genomes), 0.0
    for i in range(n):
        for j in range(i):
            total += gower(genomes[i], genomes[j], weight, cap)
    return total / (n * (n - 1) / 2)


@part
def sum_up(
    blocks: Any,
    block: int,
    rough: Singles,
    ratio: Singles,
    cap: Singles,
    sums: Singles,
) -> None:
    """Write the summed differences of a genome to the rows of a block.

    Four features at a time are written out: only so do they become vector instructions.
    """
    d = len(cap)
    for q in range(LANES):
        sums[q] = NOTHING
    for j in range(0, d - d % 4, 4):
        a, b, c, e = rough[j], rough[j + 1], rough[j + 2], rough[j + 3]
        by_a, by_b, by_c, by_e = ratio[j], ratio[j + 1], ratio[j + 2], ratio[j + 3]
        most_a, most_b, most_c, most_e = cap[j], cap[j + 1], cap[j + 2], cap[j + 3]
        for q in range(LANES):
            total = sums[q] + term(a - np.float32(blocks[block, j, q]) * by_a, most_a)
            total += term(b - np.float32(blocks[block, j + 1, q]) * by_b, most_b)
            total += term(c - np.float32(blocks[block, j + 2, q]) * by_c, most_c)
            sums[q] = total + term(e - np.float32(blocks[block, j + 3, q]) * by_e, most_e)
    for j in range(d - d % 4, d):
        for q in range(LANES):
            sums[q] += term(rough[j] - np.float32(blocks[block, j, q]) * ratio[j], cap[j])


@kernel
def measure_roughly(
    blocks: Singles, rough: Singles, ratio: Singles, cap: Singles, distances: Singles
) -> None:
    """Write the distances (r, n_blocks, LANES) of r genomes (r, d) to all rows, in one pass."""
    r, d = rough.shape
    for block in range(len(blocks)):
        for a in range(r):
            sums = distances[a, block]
            sum_up(blocks, block, rough[a], ratio[a], cap, sums)
            for q in range(LANES):
                sums[q] /= np.float32(d)


@kernel
def fill_blocks(
    genomes: Floats, which: Ints, origin: Floats, unit: Floats, blocks: Singles
) -> None:
    """Write some genomes (n, d) into blocks (n_blocks, d, LANES)."""
    for block in range(len(blocks)):
        for j in range(genomes.shape[1]):
            for q in range(LANES):
                value = genomes[which[block * LANES + q], j]
                blocks[block, j, q] = (value - origin[j]) * unit[j]


@kernel
def fill_near_blocks(
    genomes: Floats, which: Ints, origin: Floats, unit: Floats, blocks: Singles
) -> None:
    """Write some genomes (n, d) into blocks (n_blocks, d, BLOCK)."""
    for block in range(len(blocks)):
        for first in range(0, BLOCK, LANES):  # so few rows at a time stay in the cache
            for j in range(genomes.shape[1]):
                for q in range(LANES):
                    value = genomes[which[block * BLOCK + first + q], j]
                    blocks[block, j, first + q] = (value - origin[j]) * unit[j]
