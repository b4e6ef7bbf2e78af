"""The observed rows that count for nearness, and which of them are the nearest to a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Floats, Ints, Singles
from counterpoint.kernels import kernel
from counterpoint.table.distance import LANES, ROUGH, SLACK, fill_blocks, measure_roughly
from counterpoint.table.identity import first_copies
from counterpoint.table.space import Space

SINGLE = 4  # bytes of a number in single precision
N_BINS = 1024  # of distances, to select the nearest rows without sorting all


class Crowd(NamedTuple):
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
    """

    genomes: Floats
    which: Ints
    origin: Floats
    unit: Floats
    blocks: Singles
    places: Ints


def gather_crowd(genomes: Floats, k: int, space: Space) -> Crowd:
    """Return the observed rows (n, d), equal ones k times at most: more copies tell nothing new.

    Where few are dropped, all stay: the copy would cost memory and save no time.
    """
    n_all, which = len(genomes), np.flatnonzero(first_copies(genomes, k))
    if 2 * len(which) > len(genomes):
        which = np.arange(len(genomes))
    else:
        genomes = np.ascontiguousarray(genomes[which])
    span = space.high - space.low
    origin = np.where(space.is_level, 0.0, space.low)
    unit = 1.0 / np.where(space.is_level | (span <= 0.0), 1.0, span)
    places = np.arange(len(genomes)) if len(genomes) < n_all else which
    blocks = empty_blocks(len(genomes), genomes.shape[1])
    fill_blocks(genomes, padded(places), origin, unit, blocks)
    return Crowd(genomes, which, origin, unit, blocks, places)


def empty_blocks(n: int, d: int) -> Singles:
    """Return room for n observed rows of d features."""
    return np.empty((-(-n // LANES), d, LANES), dtype=np.float32)


def padded(places: Ints) -> Ints:
    """Return places (n,) with the last repeated up to a whole block."""
    return np.pad(places, (0, -len(places) % LANES), mode="edge")


def rough_distances(rows: Floats, crowd: Crowd, weight: Floats, cap: Floats) -> Singles:
    """Return the distances (r, n) of a few rows (r, d) to the crowd, off by `slack_of` at most."""
    distances = np.empty((len(rows), len(crowd.blocks), LANES), dtype=np.float32)
    rough = ((rows - crowd.origin) * weight).astype(np.float32)
    ratio = (weight / crowd.unit).astype(np.float32)
    measure_roughly(crowd.blocks, rough, ratio, cap.astype(np.float32), distances)
    return distances.reshape(len(rows), -1)[:, : len(crowd.genomes)]


def slack_of(d: int) -> float:
    """Return how far a distance of d features in single precision may be off."""
    return ROUGH * (d + 4)


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
    for i in range(len(distances)):
        counts[int(distances[i] * scale)] += 1


def gower_weights(rows: Floats, space: Space) -> tuple[Floats, Floats]:
    """Return the weights (r, d) and caps (d,) of Gower's distance around each row (r, d)."""
    rows = np.where(rows == MISSING, space.low, rows)
    ranges = np.maximum(space.high, rows) - np.minimum(space.low, rows)
    weight = np.where(ranges > 0, 1.0 / np.where(ranges > 0, ranges, 1.0), 0.0)
    weight = np.ascontiguousarray(np.where(space.is_level, 1.0, weight))
    return weight, np.where(space.is_level, 1.0, np.inf)
