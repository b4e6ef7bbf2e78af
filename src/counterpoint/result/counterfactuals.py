"""Counterfactuals: the result of an explanation, and its measures.

The methods are thin: they choose, measure, and ask the model again through a live handle.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Ints
from counterpoint.checks import check_list, check_whole
from counterpoint.errors import InvalidInput, listed
from counterpoint.neighbours.gower import gower_with_missing, mean_pairwise
from counterpoint.neighbours.index import gower_weights
from counterpoint.problem.objectives import GAP
from counterpoint.result.choosing.interview import Interview
from counterpoint.result.choosing.orders import By, representatives, safety_frame, select
from counterpoint.result.data import NOT_LIVE, ResultData
from counterpoint.result.file import saving
from counterpoint.result.long_table import in_form
from counterpoint.result.shown import Shown
from counterpoint.result.ways import Ways, ways_of
from counterpoint.result.words import Lang, Reader
from counterpoint.rules.rules import Rules
from counterpoint.rules.tree import compared_places
from counterpoint.search import front
from counterpoint.search.settings import Search
from counterpoint.table.values import counted


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Counterfactuals(Shown):
    """The counterfactuals of one row: a set in which none is better than another in everything.

    `Explainer.explain` returns it. As a sequence it has the counterfactuals; its arrays have the
    near misses behind them, and `reaches` tells both apart. What asks the model again is refused
    by a result that was loaded or unpickled, because the model is not in it.
    """

    def select(
        self,
        n: int = 10,
        by: By = "ways",
        *,
        weights: Mapping[str, float] | None = None,
        margin: float | None = None,
    ) -> Self:
        """Return at most n counterfactuals, those that reach the target before all others.

        Parameters
        ----------
        n : int, default=10
            How many at most.
        by : str, default="ways"
            "ways": the representatives of n different ways (see `ways`), those a margin inside the
            target first, by least distance, or if none is, the nearest of a larger set that is;
            then other counterfactuals. "diverse": the same, each as different as can be (Gower).
            "hypervolume": the paper's choice for its comparisons. If more than n reach the target,
            the n of them that greedily add most hypervolume; if fewer, all of them, filled up the
            same way. "knee": nearest to the ideal, with every objective scaled to its range.
            "closest", "fewest" (changes), "plausible": by that objective. "safest": by the share of
            neighbours that keep the outcome, then the margin; see `safety`. The model is asked
            about neighbours of 64 counterfactuals or n, if it is at hand.
        weights : dict of objective name to number, optional
            What matters, instead of `by`: the least weighted sum of objectives comes first, each
            scaled to its range among those that reach the target. What is not named weighs 0.
        margin : float, optional
            How far inside the target the representatives of ways should be; see `ways`.

        Returns
        -------
        Counterfactuals
            The chosen ones, best first. Those that miss the target follow by their gap.

        Raises
        ------
        InvalidInput
            If there is no such criterion or objective, or a weight is below 0.

        Examples
        --------
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> found.select(1, by="fewest").changed.sum()
        np.int64(1)
        >>> found.select(2, weights={"changes": 1, "distance": 2}).reaches
        array([ True,  True])
        """
        return select(self, n, by, weights, margin)

    def ways(
        self, *, supersets: bool = False, at_most: int | None = None, margin: float | None = None
    ) -> Ways[Self]:
        """Return sets of features whose values alone reach the target, dominated ones included.

        Parameters
        ----------
        supersets : bool, default=False
            Whether to give sets of which a part is a way, too; of up to three features.
        at_most : int, optional
            The most features a way may have.
        margin : float, optional
            How far inside the target the representatives should be: `margin` if None, and 0 for
            the nearest.

        Returns
        -------
        Ways
            A sequence of `Way`, by least distance; `to_frame` shows it.

        Examples
        --------
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> [(way.features, way.ranges) for way in found.ways()]
        [(('age',), {'age': (48, 50)})]
        """
        return ways_of(self, supersets=supersets, at_most=at_most, margin=margin)

    @property
    def margin(self) -> float:
        """How far inside the target a counterfactual should be to last; learnt from the data."""
        return self.facts.margin

    def representatives(self) -> dict[str, int]:
        """Return five counterfactuals by name, as positions; `take` shows one.

        Of those that reach the target, or else of those with the smallest gap: the "closest", that
        with "fewest changes", the "most typical" (least implausible), the "safest" (most neighbours
        that keep the outcome, then the largest margin; see `safety`) and the "balanced" one, the
        knee: nearest to the ideal when every objective is scaled to its range. One counterfactual
        may have several names; without any counterfactual there is none. The model is asked about
        neighbours, if it is at hand.
        """
        return representatives(self)

    def safety(
        self, models: Iterable[Any] | None = None, neighbours: int | None = None, seed: int = 0
    ) -> Any:
        """Return how safely each counterfactual keeps the outcome.

        Parameters
        ----------
        models : iterable of models, optional
            Other models to ask, such as refits on bootstrap samples of the data: anything that
            `Explainer` takes.
        neighbours : int, optional
            How many neighbours of each the model is asked about; 32 if it is at hand. A neighbour
            is up to a twentieth of its range off in each number, and in one of twenty levels; what
            is `fixed` stays.
        seed : int, default=0
            Same seed, same neighbours.

        Returns
        -------
        DataFrame of pandas or polars, or Table of pyarrow, as the data are; pandas for arrays
            One row per counterfactual: `counterfactual`, its position from 1; `margin`, how far
            inside the target its prediction is (below 0 outside); `neighbours` and `models`, the
            shares of them that reach the target. A result loaded from a file has no model: then
            there is no column `neighbours`, and of pandas ``attrs["note"]`` says so.

        Raises
        ------
        InvalidInput
            If neighbours are asked for without a model, or a model lacks the wanted class.
        """
        return safety_frame(self, models, neighbours, seed)

    def filter(
        self, conditions: str | Iterable[str] = (), *, keep: Iterable[Hashable] = ()
    ) -> Self:
        """Return the counterfactuals that satisfy conditions stated now.

        Parameters
        ----------
        conditions : str or iterable of str, default=()
            Rules as for `Explainer.explain`, such as "duration >= 24" or "age increases".
        keep : iterable of feature names, default=()
            Features that must have kept the row's values.

        Returns
        -------
        Counterfactuals
            Those that are left; if none is, a note says how many each condition leaves by itself.

        Raises
        ------
        InvalidInput, UnknownFeatureError
            If a text is no rule, or a feature is not of the data.

        Examples
        --------
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> len(found.filter("age <= 40")), len(found.filter(keep=["debt"]))
        (16, 1)
        """
        keep = list(keep) if isinstance(keep, Iterable) and not isinstance(keep, str) else keep
        kept = self.take(matching(self, conditions, keep))
        if kept or not self:
            return kept
        notes = (*self.notes, why_none(self, conditions, keep))
        return replace(kept, facts=replace(self.facts, notes=notes))

    def prefer(
        self, *, seed: int = 0, lang: Lang = "en", reader: Reader = "customer"
    ) -> Interview[Self]:
        """Return a short interview: "A or B?" until the best for somebody's own trade-off is known.

        Parameters
        ----------
        seed : int, default=0
            Same seed and answers, same questions.
        lang : {"en", "de"}, default="en"
            The language of the questions.
        reader : {"customer", "analyst"}, default="customer"
            A customer is not asked about counterfactuals that change protected features.

        Returns
        -------
        Interview
            Print it, `answer` it, and look at `best`; docs/choosing.md says how it learns.

        Examples
        --------
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> interview = found.prefer()
        >>> print(interview.question.texts[0])
        If age were 48 instead of 20. (distance 0.4667, 1 change, implausibility 0.4667)
        >>> interview.answer("A").best.to_frame()["age"].item()
        48
        """
        return Interview(self, seed, lang, reader)

    def continue_search(self, evaluations: int) -> Self:
        """Return the result of searching on where this search ended.

        It is the one an uninterrupted search with the larger budget gives. What the model said is
        recalled, so it is asked about new candidates only.

        Parameters
        ----------
        evaluations : int
            How many more rows the model may be asked.
        """
        live, search, replies = self.live, self.search, self.trace.replies
        if live is None:
            raise InvalidInput(NOT_LIVE)
        if self.status == "already_met":
            raise InvalidInput("there was nothing to search: the row already reaches the target.")
        if not isinstance(search, Search) or live.again is None:
            raise InvalidInput(
                f"this result of {type(search).__name__} cannot be continued; only the result of a "
                "Search can."
            )
        check_whole("continue_search.evaluations", evaluations, 1, 2**40)
        more = search.continued(evaluations, 1 + len(replies), self.stopped)
        found: Self = live.again(more, replies)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file of JSON, which `counterpoint.load` reads back.

        It holds the row, the counterfactuals, target, limits, rules, settings and seed; of the data
        and the model only fingerprints, of functions (rules, objectives, a distance) only names. A
        file of that name is replaced, in one step.

        Parameters
        ----------
        path : str or path
            The file; its folder must exist.

        Raises
        ------
        InvalidInput
            If a label or a dtype of the data has no place in JSON.
        CannotWrite, NoSuchFile
            If the disk is full, or the folder is not there or may not be written to.

        Examples
        --------
        >>> import tempfile
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(f"{folder}/found.json")
        ...     cp.load(f"{folder}/found.json") == found
        True
        """
        saving.save(self, path)

    def hypervolume(self) -> float:
        """Return the hypervolume of the set up to (gap of the row, 1, d, 1).

        In the caller's own objectives it ends at their `worst`.
        """
        return front.hypervolume(self.objectives, self.reference)

    def diversity(self) -> float:
        """Return the mean Gower distance between candidates; 0 for fewer than two."""
        n = len(self.genomes)
        if n < 2:
            return 0.0
        weight, cap = gower_weights(self.genome[None], self.space)
        if (self.genomes == MISSING).any():
            apart = gower_with_missing(self.genomes, self.genomes, weight[0], cap)
            return float(np.tril(apart, -1).sum() / (n * (n - 1) / 2))
        return float(mean_pairwise(self.genomes, weight[0], cap))

    def coverage_of(self, other: ResultData) -> float:
        """Return the share of `other`'s counterfactuals that ours dominate; NaN if one has none."""
        if not isinstance(other, ResultData):
            raise InvalidInput(
                f"coverage_of.other must be a result of the same row, got {other!r}; for example "
                "what explain returns with another search."
            )
        if self.objective_names != other.objective_names:
            raise InvalidInput(
                "coverage_of compares results with the same objectives; one has "
                f"{listed(self.objective_names)}, the other {listed(other.objective_names)}."
            )
        ours, theirs = self.valid().objectives, other.valid().objectives
        if len(ours) == 0 or len(theirs) == 0:
            return float("nan")
        return float(front.covered(theirs, ours).mean())

    def change_frequency(self) -> Any:
        """Return how often each feature is changed, as a share, the most frequent first.

        Returns
        -------
        Series of pandas by feature, or a frame of polars or Table of pyarrow, as the data are
            Of polars and pyarrow, which have no index, the columns feature and frequency.
        """
        shares = self.changed.sum(axis=0) / max(1, len(self.genomes))
        names = pd.Index(list(self.encoding.schema.names), name="feature")
        frequency = pd.Series(shares, index=names, name="frequency")
        frequency = frequency.sort_values(ascending=False, kind="stable")
        form = self.encoding.form
        if form.kind in ("pandas", "numpy"):
            return frequency.rename_axis(None)
        return in_form(form, frequency.reset_index(), 0)  # other kinds of table have no index

    def minimality(self) -> Ints:
        """Return for each how many changes could be undone singly and still reach the target.

        The model is asked one row per change of each.
        """
        which, feature = np.nonzero(self.changed)
        if len(which) == 0:
            return np.zeros(len(self.genomes), dtype=np.int64)
        genomes = self.genomes[which]
        genomes[np.arange(len(which)), feature] = self.genome[feature]
        problem = replace(
            self.problem, asks_labels=self.problem.asks_labels or self.target.is_decision
        )
        reaches = problem.evaluate(genomes[None]).objectives[0, :, GAP] <= 0.0
        return np.bincount(which[reaches], minlength=len(self.genomes))

    def __repr__(self) -> str:
        return f"<Counterfactuals: {self.message}>"


def matching(found: ResultData, conditions: str | Iterable[str], keep: Iterable[Hashable]) -> Ints:
    """Return the positions for which all conditions hold and the features to keep do not change.

    A condition on what a counterfactual lacks does not hold.
    """
    schema = found.encoding.schema
    is_list = isinstance(conditions, Iterable) and not isinstance(conditions, str)
    texts: list[Any] = list(conditions) if is_list else [conditions]
    if not all(isinstance(each, str) for each in texts):
        raise InvalidInput(
            f"filter takes a rule or a list of rules as text, got {conditions!r}; "
            "for example found.filter('duration >= 24')."
        )
    rules = Rules.parse(texts, schema)
    row = found.genome
    fits = rules.holds(found.genomes, row)
    for rule in rules.written:
        for j in sorted(compared_places(rule.statement)):
            fits &= found.genomes[:, j] != MISSING
    kept = check_list("filter: keep", keep, "features", "keep=['job']")
    fits &= ~found.changed[:, schema.places_of(kept, "filter: keep")].any(axis=1)
    return np.flatnonzero(fits)


def why_none(found: ResultData, conditions: str | Iterable[str], keep: Iterable[Hashable]) -> str:
    """Say how many counterfactuals each of several conditions leaves by itself."""
    texts = [conditions] if isinstance(conditions, str) else list(conditions)
    each = [(f'"{text}"', matching(found, text, ())) for text in texts]
    each += [(f"keep={name!r}", matching(found, (), [name])) for name in keep]
    left = [f"{name}: {found.reaches[places].sum():,}" for name, places in each]
    none = f"the filter leaves none of {counted(len(found), 'counterfactual')}"
    if len(each) == 1:
        return f"{none}: {each[0][0]}."
    return f"{none}; each condition by itself leaves: {', '.join(left)}."
