"""Brute force: every value of every small set of features, so that no way on the grid is missed.

A feature's values are all levels, or all observed values, or 25 quantiles of them if there are
more. Sets that contain a smaller way are left out, since they cannot be minimal. What a pipeline's
preprocessing makes of each value is computed once, so that only the estimator is asked in blocks.
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
BLOCK = 100_000  # rows that the model is asked about at once
NARROW = 12  # features up to which sets of three are tried

Features = tuple[int, ...]


class Way(NamedTuple):
    """A minimal way: places of its features, and the least distance at which it works."""

    features: Features
    distance: float


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


def minimal_ways(case: Case, most: int) -> list[Way]:
    """Return all minimal ways of up to `most` features on the grid, the smallest first."""
    grid = Grid(case, values_of(case))
    usable = [j for j, genes in enumerate(grid.values) if len(genes)]
    found: list[Way] = []
    nearest: list[Floats] = []
    for size in range(1, most + 1):
        smaller = [set(way.features) for way in found]
        sets = (s for s in combinations(usable, size) if not any(w <= set(s) for w in smaller))
        for features, reaches in grid.reaching(sets):
            if reaches.any():
                distances = np.where(reaches, grid.distances(features), np.inf)
                best = int(distances.argmin())
                found.append(Way(features, float(distances[best])))
                nearest.append(_genome(grid, features, best))
    if nearest and not case.reaches(np.array(nearest)).all():
        raise RuntimeError("the model itself does not confirm a way that its estimator gave.")
    return found


def _genome(grid: Grid, features: Features, place: int) -> Floats:
    """Return the genome of one combination of values."""
    genome = grid.case.genome.copy()
    for j, places in zip(features, grid.places(features), strict=True):
        genome[j] = grid.values[j][places[place]]
    return genome


def kept_ways(subject: Subject, place: int, cache: Path) -> list[Way]:
    """Return the minimal ways of one of a subject's rows, from the disk if they were found."""
    name = f"{subject.table}-{subject.kind}-{subject.fingerprint}-{place}.json"
    file = cache / "brute-force" / name
    if not file.exists():
        case = subject.case(place)
        write_whole(file, json.dumps(minimal_ways(case, largest_set(case))))
    return [Way(tuple(features), distance) for features, distance in json.loads(file.read_text())]
