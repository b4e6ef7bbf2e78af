"""Observed: the data of an explainer as genomes, with what is computed of them once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.density.conditional import ConditionalSampler
from counterpoint.errors import InvalidInput, PredictorError
from counterpoint.models.predictor import Predictor
from counterpoint.neighbours.gower import complete_rows, filled, gower_to_all, gower_weights
from counterpoint.neighbours.index import IndexedRows, grow_tree, index_rows
from counterpoint.neighbours.nearest import RowTree
from counterpoint.problem.own_objectives import PLAIN, Aims
from counterpoint.problem.target import Target, safety_margins
from counterpoint.table.features import Feature, Kind
from counterpoint.table.inference import NEARLY_ALL
from counterpoint.table.space import Space

T = TypeVar("T")
FEWEST_ROWS = 50  # from which columns are held against the model's answers
MOST_ASKED = 512  # rows that the trial of ids asks about
LESS_SURE = 0.4  # share of the observed rows that reach a target and are less than a margin inside
MOST_MOVES = 0.9  # share of the moves of predictions, between rows like each other, that it bears
FEWEST_TOLD = 10  # rows at the edge, and rows beyond it, that tell a margin
MOST_NEAR, MOST_OTHERS, N_ALIKE = 128, 2048, 5  # rows at the edge, and those like them
NO_USE = 0.01  # of the spread of the model's answers: less is no use
SAME = 1e-6  # of a column's range: what a model's answer may be off
LITTLE_USE = 0.1  # the same for numbers without gaps, which count the rows


@dataclass(frozen=True)
class Observed:
    """What is known once per explainer: the data as genomes, their scores and their space."""

    genomes: Floats  # (n, d): the observed rows
    outputs: Floats  # (n, c): what the model says of them
    space: Space  # kinds, grids and scales of the features
    shares: Floats  # (k,): weights of the k nearest rows in `implausibility`
    aims: Aims = PLAIN  # what the caller wants minimised other than the built-in objectives
    labels: pd.Index[Any] | None = None  # what the observed rows are called in their table

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
    def tree(self) -> RowTree:
        """The same rows in a tree, on first use: for candidates far from the row they explain."""
        return grow_tree(self.indexed)

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
    def made(self) -> dict[Hashable, Any]:
        """What was made of the data, by the function that made it and what it was told."""
        return {}

    def once(self, make: Callable[..., T], *arguments: Hashable) -> T:
        """Return what a function makes of the data; it is called once, for all searches.

        Sorting the columns of a million rows takes longer than the search of a row.
        """
        key = (make, *arguments)
        if key not in self.made:
            self.made[key] = make(self, *arguments)
        made: T = self.made[key]
        return made

    @cached_property
    def _margins(self) -> dict[Target, float]:
        """The margins of targets that were asked for."""
        return {}

    def margin_of(self, target: Target) -> float:
        """Return how far inside a target a counterfactual should be so that it may last.

        That is as far as predictions move, if they move at all: nine in ten of those of the rows
        nearest to the edge of the target are less far from those of the five rows most like each.
        But it is no more than six in ten of the observed rows have that reach the target: nobody
        need be surer than they are. It is 0 if there are too few to tell.
        """
        if target not in self._margins:
            self._margins[target] = self._margin_of(target)
        return self._margins[target]

    def _margin_of(self, target: Target) -> float:
        """Return what `margin_of` does."""
        inside = safety_margins(target, target.score(self.outputs))
        reached, known = inside[inside >= 0.0], np.flatnonzero(self.is_complete)
        if min(len(reached), len(known)) < FEWEST_TOLD:
            return 0.0
        n_near = min(max(len(known) // 10, FEWEST_TOLD), MOST_NEAR)
        near = known[np.argsort(np.abs(inside[known]), kind="stable")[:n_near]]
        others = known[np.linspace(0, len(known) - 1, min(len(known), MOST_OTHERS)).astype(np.intp)]
        genomes, compared = self.genomes[near], self.genomes[others]
        weight, cap = gower_weights(genomes[:1], self.space)
        moves = []
        for i, genome in zip(near.tolist(), genomes, strict=True):
            apart = gower_to_all(genome, compared, weight[0], cap)
            apart[apart == 0.0] = np.inf
            alike = others[np.argpartition(apart, N_ALIKE)[:N_ALIKE]]
            moves.append(np.abs(inside[alike] - inside[i]))
        told = np.concatenate(moves)
        told = told[told > 0.0]  # steps of a model that are flat tell nothing
        most = np.quantile(told, MOST_MOVES) if len(told) else np.inf
        return float(min(most, np.quantile(reached, LESS_SURE)))

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


def spaced_columns(observed: Observed, most: int) -> list[Floats]:
    """Return the observed values of each feature, ascending; evenly spaced ones if they are many.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> table: Any = SimpleNamespace(genomes=np.array([[3.0], [1.0], [2.0], [2.0], [5.0]]))
    >>> spaced_columns(table, 3)
    [array([1., 2., 5.])]
    """
    columns = [np.unique(genes[genes != MISSING]) for genes in observed.genomes.T]
    places = [np.linspace(0, len(c) - 1, min(len(c), most)).astype(np.int64) for c in columns]
    return [column[some] for column, some in zip(columns, places, strict=True)]


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
    return float(summed / n_pairs) if n_pairs > 0.0 else 0.0


def find_ids(predictor: Predictor, declared: Collection[Hashable]) -> list[Feature]:
    """Return undeclared whole numbers that look like ids: all different, and no use to the model.

    The model is asked once, about some observed rows that have the id of another.
    """
    genomes, features = predictor.observed, predictor.encoding.schema.features
    n, spread = len(genomes), predictor.observed_outputs.std(axis=0).mean()
    if n < FEWEST_ROWS or spread == 0.0:
        return []
    places = [
        j
        for j, feature in enumerate(features)
        if feature.kind is Kind.INTEGER
        and feature.name not in declared
        and all(is_different(genomes[:size, j]) for size in (MOST_ASKED, n))
    ]
    if not places:
        return []
    which = np.linspace(0, n - 1, min(n, max(8, MOST_ASKED // len(places)))).astype(np.intp)
    asked = np.repeat(genomes[None, which], len(places), axis=0)
    for rows, j in zip(asked, places, strict=True):
        rows[:, j] = np.roll(rows[:, j], len(which) // 2)
    found = []
    with suppress(PredictorError):  # what the model cannot say is of use to it
        outputs = predictor.outputs(asked.reshape(-1, len(features)))
        apart = np.abs(
            outputs.reshape(len(places), len(which), -1) - predictor.observed_outputs[which]
        )
        for j, change in zip(places, apart.mean(axis=(1, 2)), strict=True):
            has_gaps = np.ptp(genomes[:, j]) >= 2 * n
            if change <= spread * (NO_USE if has_gaps else LITTLE_USE):
                found.append(features[j])
    return found


def is_different(genes: Floats) -> bool:
    """Whether nearly all genes (n,) differ from each other."""
    return len(np.unique(genes)) >= NEARLY_ALL * len(genes)


def remarks_on_data(
    predictor: Predictor, ids: Iterable[Feature], declared: Collection[Hashable]
) -> list[str]:
    """Say which features look like ids, and which equal what the model says of every row."""
    remarks = [
        f"the whole numbers of {each.name!r} ({each.shown(each.low)} to {each.shown(each.high)}) "
        "differ from row to row and hardly change what the model says, as ids do, so that "
        f"counterfactuals keep them; name it in vary, or declare features={{{each.name!r}: "
        "Integer()}, to search it."
        for each in ids
    ]
    for j, feature in enumerate(predictor.encoding.schema.features):
        if feature.name not in declared and not feature.columns and _is_answer(predictor, j):
            remarks.append(
                f"data column {feature.name!r} equals what the model says of all "
                f"{len(predictor.observed)} observed rows; if it is the outcome itself, leave it "
                f"out of the data and of the model. fixed=[{feature.name!r}] holds it; declaring "
                "it in features= says that it is meant."
            )
    return remarks


def _is_answer(predictor: Predictor, j: int) -> bool:
    """Whether feature j equals an output of the model, or the class that leads."""
    genes, outputs = predictor.observed[:, j], predictor.observed_outputs
    if len(genes) < FEWEST_ROWS or np.ptp(genes) == 0.0 or (genes == MISSING).any():
        return False
    feature, classes = predictor.encoding.schema.features[j], predictor.classes
    if classes is None:
        return feature.is_numeric and np.allclose(genes, outputs[:, 0], 0.0, SAME * np.ptp(genes))
    values = genes if feature.is_numeric else (feature.levels[int(gene)] for gene in genes)
    answers = (classes[code] for code in outputs.argmax(axis=1))
    return all(value == answer for value, answer in zip(values, answers, strict=True))
