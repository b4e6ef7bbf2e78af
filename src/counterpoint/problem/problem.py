"""Problem: everything a search may know of the rows it explains, and how candidates are judged.

Of the data, with what is computed of them once; of the rows, their targets and limits; and of
earlier searches of a row, so that the model need not be asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.models.predictor import Predictor
from counterpoint.neighbours.gower import complete_rows, filled, weighted_distances
from counterpoint.neighbours.index import (
    IndexedRows,
    NearRows,
    empty_neighbours,
    find_near_rows,
    gower_weights,
    index_rows,
)
from counterpoint.neighbours.tree import RowTree, grow_tree, search_far
from counterpoint.problem.limits import CheckedLimits
from counterpoint.problem.objectives import (
    DISTANCE,
    GAP,
    IMPLAUSIBILITY,
    Answers,
    DistanceScale,
    IncompleteRows,
    Measures,
    correct_distance,
    denied_gaps,
    mean_difference,
    measure_all,
    nearness,
)
from counterpoint.problem.own_objectives import PLAIN, Aims
from counterpoint.problem.target import TIE, Target, lasting_margin
from counterpoint.rules.rules import RowRules
from counterpoint.streams import row_keys
from counterpoint.table.space import Box, Space, search_box


@dataclass(frozen=True)
class Observed:
    """What is known once per explainer: the data as genomes, their scores and their space."""

    genomes: Floats  # (n, d): the observed rows
    outputs: Floats  # (n, c): what the model says of them
    space: Space  # kinds, grids and scales of the features
    shares: Floats  # (k,): weights of the k nearest rows in `implausibility`
    aims: Aims = PLAIN  # what the caller wants minimised other than the built-in objectives
    labels: pd.Index[Any] | None = None  # what the observed rows are called in their table
    # what was made of the data, by the function that made it and what it was told
    made: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    # how far inside the targets that were asked for counterfactuals should be
    margins: dict[Target, float] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

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

    def margin_of(self, target: Target) -> float:
        """Return how far inside a target a counterfactual should be; see `lasting_margin`."""
        if target not in self.margins:
            known = np.flatnonzero(self.is_complete)
            told = lasting_margin(target, self.outputs, self.genomes, known, self.space)
            self.margins[target] = told
        return self.margins[target]

    @cached_property
    def are_probabilities(self) -> bool:
        """Whether all outputs lie between 0 and 1."""
        return bool(self.outputs.min() >= 0.0 and self.outputs.max() <= 1.0)


class Past:
    """What the model said in an earlier search of one row, to be recalled in the same order.

    A search is a deterministic function of its answers. So one that is to go on is run again with
    the answers it had, which asks the model nothing, and continues where these end.
    """

    def __init__(self, predictions: Floats) -> None:
        self.predictions = predictions
        self.n_recalled = 0

    def knows(self, n: int) -> bool:
        """Whether the next n answers are known."""
        return self.n_recalled + n <= len(self.predictions)

    def recall(self, n: int) -> Floats:
        """Return the next n answers, shape (1, n)."""
        self.n_recalled += n
        return self.predictions[None, self.n_recalled - n : self.n_recalled].copy()


class Recalled(NamedTuple):
    """Candidates of an earlier search of one row, to start another from."""

    genomes: Floats  # (n, d): the candidates
    predictions: Floats  # (n,): what the model said of them, in terms of the row's target


class Evaluation(NamedTuple):
    """What the model and the objectives say of genomes (r, n, d)."""

    predictions: Floats  # (r, n): the score each row's target is about; see `Target.score`
    objectives: Floats  # (r, n, m): gap, distance, changes, implausibility, and the caller's own


class Domain(NamedTuple):
    """Where each of r rows may be searched."""

    box: Box  # the boxes of the rows, within the rules
    row_rules: RowRules | None  # what else the rules say; None if there are none

    @classmethod
    def of(cls, rows: Floats, space: Space, limits: CheckedLimits) -> Domain:
        """Return where rows (r, d) may be searched.

        Raises InvalidInput if limits and rules leave a row nothing.
        """
        box = search_box(rows, space, limits)
        if not limits.rules.rules:
            return cls(box, None)
        return cls(*RowRules.of(limits.rules, rows, box, space, limits.max_changed))

    def of_rows(self, which: Ints) -> Domain:
        """Return where some of the rows may be searched."""
        row_rules = None if self.row_rules is None else self.row_rules.of_rows(which)
        return Domain(self.box.of_rows(which), row_rules)


class Explained(NamedTuple):
    """Rows to explain, with what the model says of them and what it should say."""

    genomes: Floats  # (r, d): the rows, encoded (x* of the paper)
    outputs: Floats  # (r, c): what the model says of them
    targets: tuple[Target, ...]  # the wanted outcome of each

    def take(self, which: Ints) -> Explained:
        """Return some of the rows."""
        targets = tuple(self.targets[i] for i in which)
        return Explained(self.genomes[which], self.outputs[which], targets)


@dataclass(frozen=True)
class Problem:
    """The search problems of r rows, solved side by side; row a never sees row b."""

    rows: Floats  # (r, d): the explained rows as genomes (x* of the paper)
    row_outputs: Floats  # (r, c): what the model says of them
    targets: tuple[Target, ...]  # the wanted outcome of each
    keys: Keys  # (r, 2): stream keys of each row
    box: Box  # where each may be searched
    observed: Observed  # what is known once per explainer
    predictor: Predictor  # the model
    limits: CheckedLimits  # the caller's limits
    # whether `predict` must confirm each candidate, because it is known to disagree with the
    # probabilities
    asks_labels: bool
    # what the model said in an earlier, shorter search of the same row, in order
    past: Past | None = None
    row_rules: RowRules | None = None  # the caller's rules, if there are any
    # (r, m - 2): where hypervolume ends in distance, implausibility and the caller's own
    # objectives; 1 in the first two if None
    worst: Floats | None = None
    # what a search of one row starts from besides the observed rows; only "explore" does
    recalled: Recalled | None = None

    @classmethod
    def of(
        cls,
        explained: Explained,
        observed: Observed,
        predictor: Predictor,
        limits: CheckedLimits,
        seed: int,
        domain: Domain | None = None,
    ) -> Problem:
        """Set up the problems of some rows: their boxes, unless `domain` has them, and streams."""
        rows, aims = explained.genomes, observed.aims
        decides = explained.targets[0].is_decision and predictor.has_decision
        box, row_rules = domain or Domain.of(rows, observed.space, limits)
        return cls(
            rows=rows,
            row_outputs=explained.outputs,
            targets=explained.targets,
            keys=row_keys(seed, rows),
            box=box,
            observed=observed,
            predictor=predictor,
            limits=limits,
            asks_labels=decides and not predictor.is_consistent,
            row_rules=row_rules,
            worst=None if aims is PLAIN else aims.worst(rows, observed.whole, predictor.encoding),
        )

    @cached_property
    def near_rows(self) -> NearRows:
        """The observed rows near each row; sorted on first use."""
        observed = self.observed
        return find_near_rows(self.rows, observed.indexed, self.space, observed.shares)

    @property
    def space(self) -> Space:
        """Kinds, grids and scales of the features."""
        return self.observed.space

    @property
    def objective_names(self) -> tuple[str, ...]:
        """The names of the m objectives, in order."""
        return self.observed.aims.names

    @property
    def row_scores(self) -> Floats:
        """The score of each row, in terms of its target, shape (r,)."""
        return np.array(
            [t.score(out) for t, out in zip(self.targets, self.row_outputs, strict=True)]
        )

    @cached_property
    def margins(self) -> Floats:
        """How far inside its target a row's shown counterfactuals should be, shape (r,)."""
        return np.array([self.observed.margin_of(target) for target in self.targets])

    @property
    def reference(self) -> Floats:
        """The hypervolume reference of each row: (r, m).

        The paper's, (gap of the row, 1, d, 1), and what the caller's own objectives say.
        """
        r, d = self.rows.shape
        worst = np.ones((r, 2)) if self.worst is None else self.worst
        each = zip(self.targets, self.row_scores.tolist(), worst, strict=True)
        points = [target.reference(now, d, ends) for target, now, ends in each]
        return np.array(points).reshape(r, 2 + worst.shape[1])

    def predict(self, genomes: Floats) -> Floats:
        """Return the scores (r, n) of genomes (r, n, d), each in terms of its row's target."""
        if self.past is not None and self.past.knows(genomes.shape[1]):
            return self.past.recall(genomes.shape[1])
        outputs = self.predictor.blocks(genomes)
        if self._scores is not None:
            return np.ascontiguousarray(outputs[self._scores])
        predictions = np.empty(outputs.shape[:2])
        for a, target in enumerate(self.targets):
            predictions[a] = target.score(outputs[a])
        return predictions

    @cached_property
    def _scores(self) -> Any:
        """Where the score of each row stands in outputs (r, n, c); None if it compares several."""
        if any(target.is_lead for target in self.targets):
            return None
        columns = [target.column for target in self.targets]
        return np.arange(len(columns)), slice(None), np.array(columns)

    @cached_property
    def _goals(self) -> Floats:
        """What each row's predictions should be; see `Answers.goals`."""
        each = [(t.low, t.high, TIE if t.wins_ties else -1.0) for t in self.targets]
        return np.array(each).reshape(-1, 3)

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Return predictions and objectives of genomes (r, n, d)."""
        return self.judge(genomes, self.predict(genomes))

    def judge(self, genomes: Floats, predictions: Floats) -> Evaluation:
        """Return the objectives of genomes (r, n, d) whose predictions (r, n) are known."""
        aims, answers = self.observed.aims, Answers(np.ascontiguousarray(predictions), self._goals)
        if aims.plausibility is None:
            known = self.near_rows, lambda: self.observed.tree, self._missing
            objectives = closeness(genomes, self.rows, *known, answers)
        else:
            objectives = nearness(genomes, answers, self.rows, self.near_rows)
        if self.asks_labels:
            denied = denied_gaps(objectives[..., GAP], predictions)
            objectives[..., GAP] = np.where(self.confirmed(genomes), 0.0, denied)
        costs = self.limits.costs
        if costs is not None:
            near = self.near_rows
            objectives[..., DISTANCE] = weighted_distances(
                genomes, self.rows, near.weight, near.cap, costs, near.at
            )
        if self._missing is not None:
            shares = np.ones(genomes.shape[2]) if costs is None else costs
            scale = DistanceScale(*self._missing.scale, self.observed.typical_change, shares)
            correct_distance(objectives, genomes, self.rows, scale)
        if aims is not PLAIN:
            objectives = aims.applied(genomes, self.rows, objectives, self.predictor.encoding)
        return Evaluation(predictions, objectives)

    @cached_property
    def _missing(self) -> IncompleteRows | None:
        """What else counts for plausibility where values are missing in the data."""
        known = self.observed
        if not known.has_missing:
            return None
        has_complete, scale = bool(known.is_complete.any()), gower_weights(self.rows, self.space)
        return IncompleteRows(known.genomes, known.incomplete, has_complete, known.whole, scale)

    def confirmed(self, genomes: Floats) -> Bools:
        """Return which genomes (r, n, d) the model's own `predict` puts into the wanted class."""
        codes = self.predictor.label_blocks(genomes)
        return np.stack(
            [
                np.asarray(t.accepts_label(row)) if t.is_decision else np.ones(len(row), dtype=bool)
                for t, row in zip(self.targets, codes, strict=True)
            ]
        )

    def obeys(self, genomes: Floats) -> Bools:
        """Return which genomes (r, n, d) satisfy the caller's rules, all of them."""
        if self.row_rules is None:
            return np.ones(genomes.shape[:2], dtype=np.bool_)
        return self.accepts(genomes, self.row_rules.holds(genomes, self.rows))

    def accepts(self, genomes: Floats, which: Bools) -> Bools:
        """Return which of the genomes (r, n, d) in question (r, n) no function refuses.

        A function is asked about the rows as they would be returned, about all in one call.
        """
        accepted = which.copy()
        if self.row_rules is not None and self.row_rules.rules.functions and which.any():
            frame = self.predictor.encoding.to_rows(np.ascontiguousarray(genomes[which]))
            accepted[which] = self.row_rules.rules.ask(frame)
        return accepted

    def take(self, which: Ints) -> Problem:
        """Return the problems of some of the rows only, with their near rows if known."""
        some = replace(self.alone(which), past=self.past)
        if "near_rows" in self.__dict__:
            some.__dict__["near_rows"] = self.near_rows.of_rows(which)
        return some

    def alone(self, which: Ints) -> Problem:
        """Return the problems of some of the rows, light enough to keep in a result."""
        return replace(
            self,
            rows=self.rows[which],
            row_outputs=self.row_outputs[which],
            targets=tuple(self.targets[i] for i in which),
            keys=self.keys[which],
            box=self.box.of_rows(which),
            past=None,
            row_rules=None if self.row_rules is None else self.row_rules.of_rows(which),
            worst=None if self.worst is None else self.worst[which],
        )

    @property
    def wants_labels(self) -> bool:
        """Whether the model's own `predict` decides what is valid."""
        return self.targets[0].is_decision and self.predictor.has_decision


def closeness(
    genomes: Floats,
    rows: Floats,
    near_rows: NearRows,
    tree: Callable[[], RowTree],
    missing: IncompleteRows | None = None,
    answers: Answers | None = None,
) -> Floats:
    """Return objectives (r, n, 4) of genomes (r, n, d) around rows (r, d).

    `tree` returns all observed rows in a tree, for those genomes that may be near to one that is
    not at hand. The gap is 0 if nobody says what the model's answers are.
    """
    genomes, shares = np.ascontiguousarray(genomes), near_rows.shares
    (r, n, d), k = genomes.shape, len(shares)
    answers = answers or Answers(np.zeros((r, n)), np.zeros((r, 3)))
    measures = Measures(np.zeros((r, n, 4)), np.empty((r, n)), np.empty((r, n, k)))
    measured, reach, distances = measures
    near = empty_neighbours(d, k, near_rows.n_near)
    n_short = measure_all(genomes, answers, rows, near_rows, near, measures)
    if missing is not None:
        missing.drop_indexed(genomes, rows, reach, distances)
    if n_short and (is_short := reach > 0.0).any():
        search_far(genomes, rows, near_rows, tree(), reach, distances)
        found = distances[is_short]
        measured[is_short, IMPLAUSIBILITY] = sum(found[:, q] * shares[q] for q in range(k))
    if missing is not None:
        missing.search(genomes, rows, distances)
        measured[..., IMPLAUSIBILITY] = sum(distances[..., q] * shares[q] for q in range(k))
    return measured
