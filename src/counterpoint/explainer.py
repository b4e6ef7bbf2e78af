"""Explainer: fits what it needs once, then explains rows; the only place that knows every step."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.errors import InvalidInput
from counterpoint.evolution.archive import Archive
from counterpoint.evolution.baselines import WhatIf, search_randomly, take_nearest
from counterpoint.evolution.explore import explore
from counterpoint.evolution.nsga2 import evolve
from counterpoint.evolution.search import Search
from counterpoint.problem.limits import Limits
from counterpoint.problem.predictor import Predictor
from counterpoint.problem.problem import Observed, Problem
from counterpoint.problem.target import Target, parse_target
from counterpoint.result.counterfactuals import Again, Counterfactuals
from counterpoint.streams import check_seed
from counterpoint.table.encoding import Encoding, Rows, as_frame
from counterpoint.table.schema import Precision, Schema
from counterpoint.table.space import describe_space

GROUP_BYTES = 2**28  # memory of the rows searched side by side
MOST_TOGETHER = 128  # rows searched side by side


class Explainer:
    """Explains rows of one table to one model's users.

    Parameters
    ----------
    model : callable, or object with `predict_proba` or `predict`
        Takes a DataFrame of rows and returns scores of shape (n,), (n, 1) or (n, classes);
        scikit-learn estimators and pipelines as they are.
    data : DataFrame
        The observed rows, features only. It is never modified.
    precision : {"observed", "full"}, default="observed"
        Search float columns on the decimals seen in the data, so that what is returned is what
        was searched and scored; or on the reals, as the paper does.
    k : int, default=1
        How many nearest observed rows `implausibility` looks at.
    weights : sequence of k numbers, optional
        Their weights, the nearest first; scaled to sum to one. None weighs them equally.
    classes : sequence, optional
        Class labels of a callable, in the order of its columns; with two labels a single column
        is the probability of the second.

    Examples
    --------
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"income": [10, 20, 30, 40], "debt": [5.0, 4.0, 2.5, 1.0]})
    >>> def accept(rows):
    ...     return 1 / (1 + np.exp(0.8 * rows["debt"] - 0.1 * rows["income"]))
    >>> explainer = cp.Explainer(accept, data)
    >>> found = explainer.explain({"income": 12, "debt": 4.5}, target=(0.5, 1.0), seed=0)
    >>> found.status
    'found'
    >>> list(found.to_frame().columns)
    ['income', 'debt', 'prediction', 'gap', 'distance', 'changes', 'implausibility']
    """

    def __init__(
        self,
        model: Any,
        data: pd.DataFrame,
        *,
        precision: Precision = "observed",
        k: int = 1,
        weights: Sequence[float] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.schema = Schema.infer(data, precision)
        self.encoding = Encoding(self.schema)
        genomes = self.encoding.encode(data, "data")
        genomes.setflags(write=False)
        space = describe_space(self.schema, genomes)
        self.predictor = Predictor(model, self.encoding, genomes, classes)
        self.observed = Observed(
            genomes, self.predictor.observed_outputs, space, check_weights(k, weights, len(data))
        )

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The model's class labels, or None if it has a single output."""
        return self.predictor.classes

    def explain(
        self,
        row: Rows,
        target: object,
        search: Search | WhatIf | None = None,
        seed: int = 0,
        *,
        fixed: Iterable[Hashable] = (),
        ranges: Mapping[Hashable, tuple[Any, Any]] | None = None,
        max_changed: int | None = None,
    ) -> Counterfactuals:
        """Return what would have had to be different for one row.

        Parameters
        ----------
        row : DataFrame of one row, Series or dict
            The row to explain, with every column of the data.
        target : class label, (label, (low, high)), number, (low, high) or "opposite"
            The wanted outcome. A class label wants its probability above 0.5 and the model's own
            `predict` to say so; `None` leaves a side of an interval open; "opposite" wants what
            the model does not say now.
        search : Search or WhatIf, optional
            Budget and method; `Search()` if left out.
        seed : int, default=0
            Same seed, same result.
        fixed : iterable of column names, default=()
            Features that may not change.
        ranges : dict of column name to (low, high), optional
            Where numeric features may go; None keeps the observed end. By default the range of
            the data and the row.
        max_changed : int, optional
            The most features a counterfactual may change.

        Returns
        -------
        Counterfactuals
            The non-dominated set; `valid()` are those that reach the target.

        Raises
        ------
        InvalidInput, UnknownFeatureError
            If an argument cannot be used.
        PredictorError
            If the model fails.
        """
        frame = as_frame(row, "row")
        if len(frame) != 1:
            raise InvalidInput(
                f"row must be one row, got {len(frame)}; use explain_many for several."
            )
        limits = Limits.of(self.schema, fixed, ranges, max_changed)
        return self._explain_frame(frame, "row", target, search, seed, limits, workers=1)[0]

    def explain_many(
        self,
        rows: Rows,
        target: object,
        search: Search | WhatIf | None = None,
        seed: int = 0,
        *,
        fixed: Iterable[Hashable] = (),
        ranges: Mapping[Hashable, tuple[Any, Any]] | None = None,
        max_changed: int | None = None,
        workers: int = 1,
    ) -> list[Counterfactuals]:
        """Return one `Counterfactuals` per row, in order, searched side by side.

        One model call judges the candidates of many rows, which is where the time goes. Each row
        gets the same counterfactuals, bit for bit, as it would alone.

        Parameters
        ----------
        rows : DataFrame or list of dicts
            The rows to explain.
        target, search, seed, fixed, ranges, max_changed
            As in `explain`, the same for all rows.
        workers : int, default=1
            Threads that share the rows.

        Returns
        -------
        list of Counterfactuals
            One per row.
        """
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise InvalidInput(f"workers must be a whole number of at least 1, got {workers!r}.")
        limits = Limits.of(self.schema, fixed, ranges, max_changed)
        frame = as_frame(rows, "rows")
        return self._explain_frame(frame, "rows", target, search, seed, limits, workers)

    def _explain_frame(
        self,
        frame: pd.DataFrame,
        argument: str,
        target: object,
        search: Search | WhatIf | None,
        seed: int,
        limits: Limits,
        workers: int,
    ) -> list[Counterfactuals]:
        """Encode and score the rows, search them in groups, and put the results in order."""
        search, seed = check_search(search), check_seed(seed)
        if len(frame) == 0:
            return []
        genomes = self.encoding.encode(frame, argument)
        with self.predictor.one_thread():
            outputs = self.predictor.blocks(genomes[:, None, :])[:, 0]
            targets = parse_target(target, self.classes, outputs, self._labels(target, genomes))

            def search_group(group: Ints) -> list[Counterfactuals]:
                problem = self._problem(genomes, outputs, targets, limits, seed, group)
                return explain_group(problem, search, seed, [frame.iloc[[i]] for i in group])

            groups = split_rows(genomes.shape, len(self.observed.genomes), search, workers)
            if workers == 1:
                results = [search_group(group) for group in groups]
            else:
                with ThreadPoolExecutor(workers) as pool:
                    results = list(pool.map(search_group, groups))
        return [found for group in results for found in group]

    def _labels(self, target: object, genomes: Floats) -> Ints | None:
        """Return the classes `predict` gives the rows, if "opposite" is asked of a classifier."""
        is_opposite = isinstance(target, str) and target == "opposite"
        if not is_opposite or self.classes is None or not self.predictor.has_decision:
            return None
        return self.predictor.label_blocks(genomes[:, None, :])[:, 0]

    def _problem(
        self,
        genomes: Floats,
        outputs: Floats,
        targets: list[Target],
        limits: Limits,
        seed: int,
        group: Ints,
    ) -> Problem:
        """Set up the problem of a group of rows."""
        wants_decision = targets[0].is_decision and self.predictor.has_decision
        return Problem.of(
            genomes[group],
            outputs[group],
            tuple(targets[i] for i in group),
            self.observed,
            self.predictor,
            limits,
            seed,
            asks_labels=wants_decision and not self.predictor.is_consistent,
        )


def explain_group(
    problem: Problem, search: Search | WhatIf, seed: int, rows: list[pd.DataFrame]
) -> list[Counterfactuals]:
    """Search the rows of one problem that do not reach their target yet."""
    met = is_met(problem)
    todo = np.flatnonzero(~met)
    results: dict[int, Counterfactuals] = {}
    for a in np.flatnonzero(met).tolist():
        one = problem.alone(np.array([a]))
        results[a] = Counterfactuals.of(Archive(one, 1), 0, one, rows[a], search, seed, ())
    if len(todo):
        wanted = problem.take(todo)
        archive = run(wanted, search)
        for i, a in enumerate(todo.tolist()):
            one = wanted.alone(np.array([i]))
            again = search_again(one, seed, rows[a])
            found = Counterfactuals.of(archive, i, one, rows[a], search, seed, notes_on(one), again)
            results[a] = confirm(found, archive, i)
    return [results[a] for a in range(len(rows))]


def run(problem: Problem, search: Search | WhatIf) -> Archive:
    """Run the method the settings name."""
    if isinstance(search, WhatIf):
        return take_nearest(problem, search)
    methods = {"explore": explore, "nsga2": evolve, "random": search_randomly}
    return methods[search.method or "explore"](problem, search)


def search_again(problem: Problem, seed: int, row: pd.DataFrame) -> Again:
    """Return the function that searches one row again, recalling what the model said before."""

    def again(search: Search, replies: Floats) -> Counterfactuals:
        with problem.predictor.one_thread():
            return explain_group(problem.after(replies), search, seed, [row])[0]

    return again


def is_met(problem: Problem) -> Bools:
    """Return which rows reach their target already; a class only if `predict` says so."""
    gaps = [t.gap_of(p) for t, p in zip(problem.targets, problem.row_predictions, strict=True)]
    met: Bools = np.array(gaps) <= 0.0
    if met.any() and problem.targets[0].is_decision and problem.predictor.has_decision:
        met = met & problem.confirmed(problem.rows[:, None, :])[:, 0]
    return met


def confirm(found: Counterfactuals, archive: Archive, i: int) -> Counterfactuals:
    """Let the model's own `predict` confirm the valid ones of a class target.

    On the observed rows `predict` agreed with the probabilities, so the search trusted them. If it
    disagrees here after all, it is asked about every candidate that seemed to reach the target, and
    the result is drawn again from those it confirms: no candidate is new, so no budget is spent.
    """
    problem = found.problem
    must_ask = found.target.is_decision and problem.predictor.has_decision
    if not must_ask or problem.asks_labels or not found.reaches.any():
        return found
    if problem.confirmed(found.genomes[found.reaches][None]).all():
        return found
    careful = problem.with_labels()
    return Counterfactuals.of(
        archive.of_confirmed(i, careful),
        0,
        careful,
        found.row,
        found.search,
        found.seed,
        notes_on(careful),
        search_again(problem, found.seed, found.row),  # as it was searched: without labels
    )


def notes_on(problem: Problem) -> tuple[str, ...]:
    """Return what a careful reader should know of the result of one row."""
    names, space, row = problem.predictor.encoding.schema.names, problem.space, problem.rows[0]
    is_outside = ((row < space.low) | (row > space.high)) & ~space.is_level
    notes = [
        f"the row's {names[j]!r} = {row[j]:g} lies outside the data's range "
        f"[{space.low[j]:g}, {space.high[j]:g}]; the search box was widened to it."
        for j in np.flatnonzero(is_outside)
    ]
    notes += [
        f"the range given for {names[j]!r} excludes the row's own value {row[j]:g}, "
        "so every counterfactual changes it."
        for j in np.flatnonzero(problem.box.is_forced[0])
    ]
    if problem.asks_labels:
        notes.append(
            "the model's predict does not always name the likeliest class; it was asked about "
            "every candidate."
        )
    if problem.predictor.gives_only_labels:
        notes.append("the model gives labels only, so a gap is either 0 or 0.5.")
    if problem.predictor.is_known_variant:
        notes.append(
            "the model's scores depend on which rows it is asked together; each row's candidates "
            "were scored on their own to keep the result independent of its company."
        )
    return tuple(notes)


def split_rows(
    shape: tuple[int, ...], n_observed: int, search: Search | WhatIf, workers: int
) -> list[Ints]:
    """Return the rows in groups to search side by side, bounded in number and memory."""
    n, d = shape
    n_candidates = search.most_candidates if isinstance(search, Search) else search.n
    row_bytes = 8 * (d + 9) * n_candidates + 8 * (2 * d + 1) * n_observed
    most = min(MOST_TOGETHER, max(1, GROUP_BYTES // row_bytes), -(-n // workers))
    return [np.arange(i, min(i + most, n)) for i in range(0, n, most)]


def check_search(search: object) -> Search | WhatIf:
    """Return the search settings, the default for None."""
    if search is None:
        return Search()
    if not isinstance(search, Search | WhatIf):
        raise InvalidInput(
            f"search must be a Search or WhatIf, got {search!r}; for example "
            "search=Search(evaluations=2000)."
        )
    return search


def check_weights(k: object, weights: Sequence[float] | None, n: int) -> Floats:
    """Return the weights of the k nearest rows, summing to one."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= n:
        raise InvalidInput(f"k must be a whole number from 1 to the {n} observed rows, got {k!r}.")
    if weights is None:
        return np.full(int(k), 1.0 / int(k))
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if values.shape != (k,) or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInput(f"weights must be {k} numbers of at least 0, got {weights!r}.")
    if values.sum() == 0.0:
        raise InvalidInput("weights must not all be 0.")
    scaled: Floats = values / values.sum()
    return scaled
