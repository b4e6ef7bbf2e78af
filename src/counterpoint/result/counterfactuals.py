"""Counterfactuals: what was found for one row, as a frame, a history and a few words.

Trace: how a search went.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP
from counterpoint.problem.problem import Problem
from counterpoint.problem.target import Target
from counterpoint.result import measures
from counterpoint.result.choosing.choosable import Choosable
from counterpoint.result.diagnosis import limits_bind
from counterpoint.result.file import saving
from counterpoint.result.file.fingerprint import Fingerprints, take_fingerprints
from counterpoint.result.words.message import message, observed_hint
from counterpoint.result.words.readable import Readable
from counterpoint.search.archive import Archive
from counterpoint.search.hypervolume import hypervolume_history
from counterpoint.search.settings import Search, WhatIf
from counterpoint.table.frames import in_form

if TYPE_CHECKING:
    from counterpoint.result.figures.plots import Plots


Stopped = Literal["budget", "patience", "exhausted", "seconds", "interrupt", ""]


@dataclass(frozen=True, eq=False)
class Trace:
    """How a search went: the candidates that ever were non-dominated, and what they cost.

    Parameters
    ----------
    objectives : ndarray of shape (n, m)
        Candidates that were non-dominated when they came.
    generation : ndarray of shape (n,)
        The generation each came in.
    evaluations : ndarray of shape (generations,)
        Rows the model had been asked after each generation.
    replies : ndarray of shape (n,)
        What the model said of every candidate it was asked about, in order.
    stopped : str
        Why the search ended: its budget, patience or time was used up, every candidate had been
        tried ("exhausted"), or it was interrupted; empty if none was needed.
    """

    objectives: Floats
    generation: Ints
    evaluations: Ints
    replies: Floats
    stopped: Stopped


Status = Literal["found", "best_effort", "infeasible", "already_met"]


Again = Callable[[Search, Floats], "Counterfactuals"]


@dataclass(frozen=True, eq=False)
class Counterfactuals(Choosable, Readable):
    """The counterfactuals of one row: a set in which none is better than another in everything.

    Parameters
    ----------
    row : DataFrame or Table
        The explained row, as it was given; where the data are of polars or pyarrow, as one of them.
    genomes : ndarray of shape (n, d)
        The counterfactuals, encoded.
    predictions : ndarray of shape (n,)
        The model's prediction of each, of the output the target is about.
    objectives : ndarray of shape (n, m)
        gap, distance, changes, implausibility, and the caller's own; see `objective_names`.
    problem : Problem
        What was asked: the row, its target and limits, and the model behind them.
    search : Search or WhatIf
        The settings.
    seed : int
        The seed.
    trace : Trace
        How the search went.
    notes : tuple of str
        What a careful reader should know of this result.
    again : callable, optional
        Searches the row again with other settings and the replies it already had.
    kept : Kept, optional
        What a result read from a file remembers of data and model; its `problem` has neither.
    """

    row: Any
    genomes: Floats
    predictions: Floats
    objectives: Floats
    problem: Problem = field(repr=False)
    search: Search | WhatIf
    seed: int
    trace: Trace = field(repr=False)
    notes: tuple[str, ...] = ()
    again: Again | None = field(default=None, repr=False)
    kept: saving.Kept | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        archive: Archive,
        a: int,
        problem: Problem,
        row: Any,
        search: Search | WhatIf,
        seed: int,
        notes: tuple[str, ...],
        again: Again | None = None,
    ) -> Counterfactuals:
        """Take the non-dominated candidates of row a from the archive, the row itself left out."""
        members = archive.members[a, : archive.n_members[a]]
        index = _changed_in_order(archive.objectives[a], np.sort(members))
        index = index[problem.obeys(archive.genomes[None, a, index])[0]]  # the rules' last word
        entered = archive.entered[a]
        size = int(archive.size[a])
        n_generations = 1 + int(archive.generation[a, :size].max(initial=-1))
        ends = np.searchsorted(archive.generation[a, :size], np.arange(n_generations), side="right")
        return cls(
            row=row,
            genomes=archive.genomes[a, index],
            predictions=archive.predictions[a, index],
            objectives=archive.objectives[a, index],
            problem=problem,
            search=search,
            seed=seed,
            trace=Trace(
                archive.objectives[a, entered],
                archive.generation[a, entered],
                1 + np.cumsum(archive.is_asked[a])[ends - 1],
                archive.predictions[a, archive.n_learnt : archive.size[a]].copy(),
                archive.stopped[a],
            ),
            notes=notes,
            again=again,
        )

    @property
    def target(self) -> Target:
        """The wanted outcome."""
        return self.problem.targets[0]

    @property
    def constraints(self) -> tuple[str, ...]:
        """The rules every counterfactual satisfies, in canonical form; a function by its name."""
        return () if self.problem.row_rules is None else self.problem.row_rules.rules.texts

    @property
    def costs(self) -> dict[Hashable, float]:
        """How hard each feature is to change, as `distance` weighs it; empty if not given."""
        costs, names = self.problem.costs, self.problem.predictor.encoding.schema.names
        return {} if costs is None else dict(zip(names, costs.tolist(), strict=True))

    @property
    def objective_names(self) -> tuple[str, ...]:
        """What the columns of `objectives` are called."""
        return self.problem.objective_names

    @property
    def row_prediction(self) -> float:
        """The model's prediction of the row itself."""
        return float(self.problem.row_predictions[0])

    @property
    def reaches(self) -> Bools:
        """Which counterfactuals reach the target, shape (n,)."""
        reached: Bools = self.objectives[:, GAP] <= 0.0
        return reached

    @property
    def evaluations(self) -> int:
        """Rows the model was asked to find these, everything included."""
        return int(self.trace.evaluations[-1]) if len(self.trace.evaluations) else 1

    @property
    def status(self) -> Status:
        """How it ended: found, already met by the row, or nothing found.

        Nothing found is "infeasible" if observed rows reach the target but the limits exclude all
        of them, and "best_effort" otherwise; `message` says what is missing.
        """
        if not self.trace.stopped:  # nothing was searched
            return "already_met"
        if self.reaches.any():
            return "found"
        is_bound = limits_bind(self.problem) if self.kept is None else self.kept.limits_bind
        return "infeasible" if is_bound else "best_effort"

    @property
    def stopped(self) -> Stopped:
        """Why the search ended: budget, patience, exhausted, seconds or interrupt."""
        return self.trace.stopped

    @property
    def message(self) -> str:
        """One sentence on what was found, or on why nothing was."""
        text = message(self)
        if self.kept is None or self.status == "already_met" or self.reaches.any():
            return text
        # It ends with a hint on the observed rows, of which a loaded result has none: its own.
        return text.removesuffix(observed_hint(self)) + self.kept.hint

    @property
    def fingerprints(self) -> Fingerprints:
        """Of the data and of what the model says of them: equal if both are the same."""
        return take_fingerprints(self.problem) if self.kept is None else self.kept.fingerprints

    @cached_property
    def history(self) -> Any:
        """Hypervolume of the archive after each generation; computed when first asked for.

        Returns
        -------
        DataFrame of pandas or polars, or Table of pyarrow, as the data are; pandas for arrays
            Columns generation, evaluations, hypervolume.
        """
        trace, n = self.trace, len(self.trace.evaluations)
        volumes = hypervolume_history(
            trace.objectives, trace.generation, n, self.problem.reference[0]
        )
        frame = pd.DataFrame(
            {"generation": np.arange(n), "evaluations": trace.evaluations, "hypervolume": volumes}
        )
        return in_form(self.problem.predictor.encoding.form, frame, 0)

    @property
    def plot(self) -> Plots:
        """Figures: `found.plot.parallel()` and others; they need the extra "figures"."""
        from counterpoint.result.figures.plots import Plots

        return Plots(self)

    def __len__(self) -> int:
        return len(self.genomes)

    def to_rows(self) -> Any:
        """Return the counterfactuals as the model takes them: the data's kind, dtypes and columns.

        Returns
        -------
        DataFrame of pandas or polars, Table of pyarrow, or array of shape (n, columns)
            One row per counterfactual, features only.
        """
        return self.problem.predictor.encoding.to_rows(self.genomes.copy())

    def to_frame(self, *, only_changes: bool = False) -> Any:
        """Return one row per counterfactual: features, then prediction and objectives.

        Parameters
        ----------
        only_changes : bool, default=False
            Show the changed cells only; unchanged ones become empty strings. A one-hot group is
            one column then, of its levels.

        Returns
        -------
        DataFrame of pandas or polars, or Table of pyarrow, as the data are; pandas for arrays
            The feature columns in the data's own dtypes (with `only_changes` objects, or text
            where the data are not of pandas), then prediction, gap, distance, changes and
            implausibility, then the caller's own objectives; one that stands for another has its
            own name.
        """
        encoding = self.problem.predictor.encoding
        frame, rows = self.to_pandas(only_changes=only_changes), None
        if not only_changes:
            rows = self.to_rows()
        n_features = self.genomes.shape[1] if only_changes else len(encoding.columns)
        return in_form(encoding.form, frame, n_features, rows)

    def to_pandas(self, *, only_changes: bool = False) -> pd.DataFrame:
        """Return what `to_frame` does as a pandas frame, whatever the data are."""
        encoding = self.problem.predictor.encoding
        if only_changes:
            frame = encoding.by_feature(self.genomes.copy())
            frame = frame.astype(object).where(self.changed, "")
        else:
            frame = encoding.decode(self.genomes.copy())
        frame["prediction"] = self.predictions
        for m, name in enumerate(self.objective_names):
            column = self.objectives[:, m]
            frame[name] = column.astype(np.int64) if m == CHANGES else column
        return frame

    @property
    def changed(self) -> Bools:
        """Which features each counterfactual changes, shape (n, d)."""
        changed: Bools = self.genomes != self.problem.rows[0]
        return changed

    def valid(self) -> Counterfactuals:
        """Return only the counterfactuals that reach the target."""
        return self.take(np.flatnonzero(self.reaches))

    def take(self, index: Any) -> Counterfactuals:
        """Return the counterfactuals at the given positions, in that order; one for a number."""
        if isinstance(index, int | np.integer):
            index = [index]
        return replace(
            self,
            genomes=self.genomes[index],
            predictions=self.predictions[index],
            objectives=self.objectives[index],
        )

    def continue_search(self, evaluations: int) -> Counterfactuals:
        """Return the result of searching on where this search ended.

        It is the one an uninterrupted search with the larger budget gives. What the model said is
        recalled, so it is asked about new candidates only.

        Parameters
        ----------
        evaluations : int
            How many more rows the model may be asked.
        """
        if self.kept is not None:
            raise InvalidInput(
                "this result was loaded from a file; make an Explainer and call explain again with "
                "the same seed."
            )
        if self.status == "already_met":
            raise InvalidInput("there was nothing to search: the row already reaches the target.")
        if not isinstance(self.search, Search) or self.again is None:
            raise InvalidInput(
                f"this result of {type(self.search).__name__} cannot be continued; only the "
                "result of a Search can."
            )
        check_whole("evaluations", evaluations, 1, 2**40, owner="continue_search")
        n_asked = 1 + len(self.trace.replies)
        longer = self.search.continued(evaluations, n_asked, self.stopped)
        return self.again(longer, self.trace.replies)

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
        CounterpointError, FileNotFoundError
            If the folder does not exist: an error that is both.

        Examples
        --------
        >>> import tempfile
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
        >>> found = explainer.explain({"age": 20}, target=(0.4, 1.0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(f"{folder}/found.json")
        ...     loaded = cp.load(f"{folder}/found.json")
        >>> loaded.to_frame().equals(found.to_frame()), loaded.message == found.message
        (True, True)
        """
        saving.save(self, path)

    def hypervolume(self) -> float:
        """Return the hypervolume of the set up to (gap of the row, 1, d, 1).

        In the caller's own objectives it ends at their `worst`.
        """
        return measures.hypervolume(self)

    def diversity(self) -> float:
        """Return the mean Gower distance of the counterfactuals from each other."""
        return measures.diversity(self)

    def coverage_of(self, other: Counterfactuals) -> float:
        """Return the share of `other`'s valid counterfactuals that valid ones of ours dominate."""
        return measures.coverage(self, other)

    def change_frequency(self) -> pd.Series[float]:
        """Return how often each feature is changed, as a share, the most frequent first."""
        return measures.change_frequency(self)

    def minimality(self) -> Ints:
        """Return for each how many changes could be undone singly and still reach the target."""
        return measures.minimality(self)

    def __repr__(self) -> str:
        return f"<Counterfactuals: {self.message}>"


def _changed_in_order(objectives: Floats, members: Ints) -> Ints:
    """Return the members that differ from the row, by gap, changes and distance."""
    members = members[objectives[members, CHANGES] > 0]
    values = objectives[members]
    order = np.lexsort((values[:, DISTANCE], values[:, CHANGES], values[:, GAP]))
    return members[order]
