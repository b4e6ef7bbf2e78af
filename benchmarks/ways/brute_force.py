"""Brute force: every value of every small set of features, so that no way on the grid is missed.

A feature's values are all levels, or all observed values, or 25 quantiles of them if there are
more. Sets that contain a smaller way are left out, since they cannot be minimal. What a pipeline's
preprocessing makes of each value is computed once, so that only the estimator is asked in blocks.
Searches may use values between the quantiles, so the nearest of a way is looked for again between
the neighbours of the nearest on the grid, on the decimals of the data, twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.methods import Case
from benchmarks.peers.subjects import Bools, Floats
from benchmarks.study.store import write_whole
from benchmarks.ways.subjects import Subject

MOST_VALUES = 25
N_ZOOMS = 2
BLOCK = 100_000  # rows that the model is asked about at once
NARROW = 12  # features up to which sets of three are tried

Features = tuple[int, ...]


class Found(NamedTuple):
    """A minimal way: places of its features, and its nearest genome on the grid with distance."""

    features: Features
    distance: float
    genome: Floats


class Way(NamedTuple):
    """A minimal way: places of its features, and its least distance on the grid and off it."""

    features: Features
    distance: float
    finer: float


def largest_set(case: Case) -> int:
    """Return how many features a tried set has at most."""
    return 3 if len(case.genome) <= NARROW else 2


def values_of(case: Case) -> list[Floats]:
    """Return the genes tried of each feature, without the row's own."""
    return [_tried(case, j) for j in range(len(case.genome))]


def _tried(case: Case, feature: int) -> Floats:
    """Return the genes tried of one feature: observed ones, so that every search may use them."""
    if feature in case.codec.levels:
        genes = np.arange(len(case.codec.levels[feature]), dtype=np.float64)
    else:
        column = case.background.observed[:, feature]
        genes = np.unique(column)
        if len(genes) > MOST_VALUES:
            shares = np.linspace(0.0, 1.0, MOST_VALUES)
            genes = np.unique(np.quantile(column, shares, method="nearest"))
    return np.asarray(genes[genes != case.genome[feature]])


class Grid:
    """The values of one case as the estimator behind the preprocessing gets them."""

    def __init__(self, case: Case, values: Sequence[Floats]) -> None:
        self.case, self.values = case, values
        self.estimator = case.model[-1]
        lone = [case.genome[None]]
        for j, genes in enumerate(values):
            genomes = np.repeat(case.genome[None], len(genes), axis=0)
            genomes[:, j] = genes
            lone.append(genomes)
        encoded = case.model[:-1].transform(case.frame(np.vstack(lone)))
        encoded = encoded.toarray() if hasattr(encoded, "toarray") else np.asarray(encoded)
        self.base = encoded[0]
        ends = np.cumsum([len(genomes) for genomes in lone])
        self.encoded = np.split(encoded[1:], ends[:-1][1:] - 1)
        self.columns = [np.flatnonzero((e != self.base).any(axis=0)) for e in self.encoded]
        seen = np.concatenate(self.columns)
        if len(np.unique(seen)) != len(seen):
            raise ValueError("the preprocessing mixes features, so it cannot be done one by one.")
        low, high = case.box
        width = np.where(high > low, high - low, 1.0)
        self.parts = [
            np.where(case.codec.is_level[j], 1.0, np.abs(genes - case.genome[j]) / width[j])
            for j, genes in enumerate(values)
        ]

    def size(self, features: Features) -> int:
        """Return how many combinations of values a set of features has."""
        return int(np.prod([len(self.values[j]) for j in features]))

    def places(self, features: Features) -> Any:
        """Return for each feature of a set which of its values each combination has."""
        return np.indices([len(self.values[j]) for j in features]).reshape(len(features), -1)

    def inputs(self, features: Features) -> Floats:
        """Return what the estimator gets for all combinations of values of a set of features."""
        rows = np.repeat(self.base[None], self.size(features), axis=0)
        for j, places in zip(features, self.places(features), strict=True):
            rows[:, self.columns[j]] = self.encoded[j][places][:, self.columns[j]]
        return rows

    def distances(self, features: Features) -> Floats:
        """Return Gower's distance of all combinations of values of a set of features."""
        both = zip(features, self.places(features), strict=True)
        total = sum((self.parts[j][places] for j, places in both), np.zeros(self.size(features)))
        return np.asarray(total / len(self.values))

    def reaching(self, sets: Iterable[Features]) -> Iterator[tuple[Features, Bools]]:
        """Yield each set with which of its combinations reach the target, asked in blocks."""
        block: list[Features] = []
        for features in sets:
            block.append(features)
            if sum(map(self.size, block)) >= BLOCK:
                yield from self._asked(block)
                block = []
        yield from self._asked(block)

    def _asked(self, block: list[Features]) -> Iterator[tuple[Features, Bools]]:
        """Yield the sets of one block with the estimator's answers."""
        if not block:
            return
        said = self.estimator.predict(np.vstack([self.inputs(f) for f in block]))
        ends = np.cumsum([self.size(features) for features in block])
        yield from zip(block, np.split(said == self.case.target, ends[:-1]), strict=True)

    def nearest(self, features: Features, reaches: Bools) -> Found | None:
        """Return the nearest combination of a set of features that reaches the target, if any."""
        if not reaches.any():
            return None
        distances = np.where(reaches, self.distances(features), np.inf)
        best, genome = int(distances.argmin()), self.case.genome.copy()
        for j, places in zip(features, self.places(features), strict=True):
            genome[j] = self.values[j][places[best]]
        return Found(features, float(distances[best]), genome)


def minimal_ways(case: Case, most: int) -> list[Found]:
    """Return all minimal ways of up to `most` features on the grid, the smallest first."""
    grid = Grid(case, values_of(case))
    usable = [j for j, genes in enumerate(grid.values) if len(genes)]
    found: list[Found] = []
    for size in range(1, most + 1):
        smaller = [set(way.features) for way in found]
        sets = (s for s in combinations(usable, size) if not any(w <= set(s) for w in smaller))
        ways = [grid.nearest(features, reaches) for features, reaches in grid.reaching(sets)]
        found += [way for way in ways if way is not None]
    genomes = np.array([way.genome for way in found])
    if found and not case.reaches(genomes).all():
        raise RuntimeError("the model itself does not confirm a way that its estimator gave.")
    return found


def finer_distance(case: Case, way: Found) -> float:
    """Return the least distance of a way between the neighbours of its nearest on the grid."""
    values = values_of(case)
    for _ in range(N_ZOOMS):
        near = [
            _between(case, j, values[j], way.genome[j]) if j in way.features else np.empty(0)
            for j in range(len(values))
        ]
        grid = Grid(case, near)
        for features, reaches in grid.reaching([way.features]):
            way = grid.nearest(features, reaches) or way
        values = near
    return way.distance


def _between(case: Case, feature: int, values: Floats, best: float) -> Floats:
    """Return genes between the neighbours of the best one; of levels, and with it, all tried."""
    if feature in case.codec.levels:
        return values
    known = np.unique(np.append(values, case.genome[feature]))
    place = int(np.searchsorted(known, best))
    low, high = known[max(0, place - 1)], known[min(len(known) - 1, place + 1)]
    decimals = _decimals(case.background.observed[:, feature])
    finer = np.round(np.linspace(low, high, MOST_VALUES), decimals)
    genes = np.unique(np.append(finer, best))
    inside = (genes >= low) & (genes <= high) & (genes != case.genome[feature])
    return np.asarray(genes[inside])


def _decimals(column: Floats) -> int:
    """Return how many decimals the values of a column have."""
    return next((n for n in range(10) if (np.round(column, n) == column).all()), 10)


def kept_ways(subject: Subject, place: int, cache: Path) -> list[Way]:
    """Return the minimal ways of one of a subject's rows, from the disk if they were found."""
    name = f"{subject.table}-{subject.kind}-{subject.fingerprint}-{place}.json"
    file = cache / "brute-force" / name
    if not file.exists():
        case = subject.case(place)
        found = minimal_ways(case, largest_set(case))
        ways = [Way(way.features, way.distance, finer_distance(case, way)) for way in found]
        write_whole(file, json.dumps(ways))
    return [Way(tuple(features), *least) for features, *least in json.loads(file.read_text())]
