"""The data of a result: schema, row, arrays and facts, which can be pickled, compared and saved.

`Counterfactuals` adds the methods. Measures, choices, words, figures, reports and files are
functions of what is here; only those that ask the model again need `ResultData.live`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.checks import check_positions
from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import Limits
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP
from counterpoint.problem.problem import Problem
from counterpoint.problem.target import Target
from counterpoint.result.facts import (
    Diagnosis,
    Facts,
    Fingerprints,
    Live,
    Origin,
    Stopped,
    Trace,
    diagnose,
    is_same,
    take_fingerprints,
)
from counterpoint.result.long_table import classes_column, in_form, with_columns
from counterpoint.search.archive import Archive
from counterpoint.search.exact.proof import Proof
from counterpoint.search.front import hypervolume_history
from counterpoint.search.settings import Search, WhatIf
from counterpoint.search.ways import WayRows
from counterpoint.table.frames import as_frame
from counterpoint.table.labels import Labels
from counterpoint.table.schema import Encoding
from counterpoint.table.space import Space, describe_space
from counterpoint.table.values import counted
from counterpoint.version import __version__

Status = Literal["found", "best_effort", "infeasible", "already_met"]
PER_CANDIDATE = ("genomes", "predictions", "scores", "codes", "objectives")
NOT_LIVE = (
    "this result was loaded from a file or unpickled, without its model and data; make an "
    "Explainer and call explain again with the same seed."
)


@dataclass(frozen=True, eq=False, repr=False)
class ResultData:
    """What was found for one row: the non-dominated candidates, those that reach the target first.

    Parameters
    ----------
    encoding : Encoding
        The schema and the kind of table; turns genomes into rows.
    row : DataFrame or Table
        The explained row, as it was given; where the data are of polars or pyarrow, as one of them.
    genome : ndarray of shape (d,)
        The row, encoded.
    genomes : ndarray of shape (n, d)
        The candidates, encoded.
    predictions : ndarray of shape (n,)
        The model's prediction of each: the output the target is about, or the probability of the
        wanted classes.
    scores : ndarray of shape (n,)
        The numbers the target's interval is about: the predictions, or how far the wanted ones of
        more than two classes lead; see `Target.score`.
    codes : ndarray of shape (n,)
        The class the model decides for, by its position in `facts.classes`; 0 if there are none.
    objectives : ndarray of shape (n, m)
        gap, distance, changes, implausibility, and the caller's own; see `objective_names`.
    facts : Facts
        What was asked.
    trace : Trace
        How the search went.
    origin : Origin, optional
        What is remembered of data and model; None as long as they are at hand.
    live : Live, optional
        Model and data; None after loading or unpickling.
    observed : Index, optional
        Of `WhatIf`: what each candidate, an observed row, is called in the data's index.
    way_rows : WayRows, optional
        The ways that were found, with candidates beside the set; see `Counterfactuals.ways`. None
        for a part of a result, whose ways are those of its own counterfactuals.
    proof : Proof, optional
        What a solver proved of all counterfactuals of the row; None if none was asked.
    """

    encoding: Encoding
    row: Any
    genome: Floats
    genomes: Floats
    predictions: Floats
    scores: Floats
    codes: Ints
    objectives: Floats
    facts: Facts
    trace: Trace
    origin: Origin | None = None
    live: Live | None = None
    observed: pd.Index[Any] | None = None
    way_rows: WayRows | None = None
    proof: Proof | None = None

    @classmethod
    def of(cls, archive: Archive, a: int, row: Any, facts: Facts, live: Live) -> Self:
        """Take the non-dominated candidates of row a from the archive, the row itself left out."""
        index = archive.changed_members(a)
        if live.problem.row_rules is not None:  # the last word
            index = index[live.problem.obeys(archive.genomes[None, a, index])[0]]
        predictions = archive.predictions[a].take(index)
        observed = None
        if archive.places is not None and (labels := live.problem.observed.labels) is not None:
            observed = labels[archive.places[a, index]]
        return cls(
            live.problem.predictor.encoding,
            row,
            live.problem.rows[0],
            archive.genomes[a].take(index, axis=0),
            predictions,
            predictions,
            np.zeros(len(index), dtype=np.int64),
            archive.objectives[a].take(index, axis=0),
            facts,
            Trace.of(archive, a),
            live=live,
            observed=observed,
            proof=archive.proofs[a],
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: no model and no data, but what they say of themselves."""
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        return state | {"origin": self.remembered, "live": None}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResultData):
            return NotImplemented
        if len(self.genomes) != len(other.genomes):
            return False
        own, others = self.__getstate__(), other.__getstate__()
        rows = [as_frame(state.pop("row"), "row") for state in (own, others)]
        return bool(rows[0].equals(rows[1])) and is_same(own, others)

    __hash__ = None  # type: ignore[assignment]

    @property
    def remembered(self) -> Origin:
        """What is remembered of data and model; asked of them as long as they are at hand."""
        if self.origin is not None:
            return self.origin
        return Origin(__version__, self.fingerprints, self.diagnosis)

    @property
    def fingerprints(self) -> Fingerprints:
        """Of the data and of what the model says of them: equal if both are the same."""
        if self.origin is not None:
            return self.origin.fingerprints
        return take_fingerprints(self.problem.observed, self.problem.predictor)

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """What the observed rows tell of the target; None if nothing was searched."""
        if self.origin is not None:
            return self.origin.diagnosis
        return diagnose(self.problem) if self.trace.stopped else None

    @property
    def problem(self) -> Problem:
        """The problem that was searched, with model and data; refused if they are not at hand."""
        if self.live is None:
            raise InvalidInput(NOT_LIVE)
        return self.live.problem

    @cached_property
    def space(self) -> Space:
        """Kinds, grids and ranges of the features."""
        return describe_space(self.encoding.schema, self.genome[None], width=self.facts.aims.widths)

    @property
    def target(self) -> Target:
        """The wanted outcome."""
        return self.facts.target

    @property
    def search(self) -> Search | WhatIf:
        """The settings."""
        return self.facts.search

    @property
    def seed(self) -> int:
        """The seed."""
        return self.facts.seed

    @property
    def notes(self) -> tuple[str, ...]:
        """What a careful reader should know of this result."""
        return self.facts.notes

    @property
    def limits(self) -> Limits:
        """What counterfactuals could change, in canonical form; functions are their names."""
        return self.facts.limits.limits

    @property
    def labels(self) -> Labels:
        """What people call features, levels, classes and the outcome."""
        return self.encoding.schema.labels

    @property
    def constraints(self) -> tuple[str, ...]:
        """The rules every counterfactual satisfies, in canonical form; a function by its name."""
        return self.facts.limits.constraints

    @property
    def costs(self) -> dict[Hashable, float]:
        """How hard each feature is to change, as `distance` weighs it; empty if not given."""
        costs, names = self.facts.limits.costs, self.encoding.schema.names
        return {} if costs is None else dict(zip(names, costs.tolist(), strict=True))

    @property
    def objective_names(self) -> tuple[str, ...]:
        """What the columns of `objectives` are called."""
        return self.facts.aims.names

    @property
    def row_prediction(self) -> float:
        """The model's prediction of the row itself."""
        return float(self.target.prediction(self.facts.row_outputs))

    @property
    def row_score(self) -> float:
        """The row's own score; see `scores`."""
        return float(self.target.score(self.facts.row_outputs))

    @property
    def reference(self) -> Floats:
        """Where hypervolume ends, shape (m,)."""
        facts = self.facts
        return facts.target.reference(self.row_score, len(self.genome), facts.worst)

    @property
    def reaches(self) -> Bools:
        """Which candidates reach the target, shape (n,)."""
        reached: Bools = self.objectives[:, GAP] <= 0.0
        return reached

    @property
    def changed(self) -> Bools:
        """Which features each candidate changes, shape (n, d)."""
        changed: Bools = self.genomes != self.genome
        return changed

    @property
    def evaluations(self) -> int:
        """Rows the model was asked to find these, everything included."""
        return int(self.trace.evaluations[-1]) if len(self.trace.evaluations) else 1

    @property
    def confirmations(self) -> int:
        """Rows the model was asked about again, as they are returned; no part of the budget."""
        return self.trace.confirmations

    @property
    def stopped(self) -> Stopped:
        """Why the search ended, for example by its budget; see `Trace.stopped`."""
        return self.trace.stopped

    @property
    def status(self) -> Status:
        """How it ended: found, already met by the row, or nothing found.

        Nothing found is "infeasible" if it is proved that there is nothing, and "best_effort"
        otherwise; `message` says what was tried and what is missing.
        """
        if not self.trace.stopped:  # nothing was searched
            return "already_met"
        if self.reaches.any():
            return "found"
        return "infeasible" if self.is_proved_empty else "best_effort"

    @property
    def is_proved_empty(self) -> bool:
        """Whether no counterfactual exists: all that is allowed was tried, or a solver said so."""
        has_reached = bool((self.trace.objectives[:, GAP] <= 0.0).any())
        is_proved = self.proof is not None and self.proof.nearest.status == "none"
        return not has_reached and (self.stopped == "exhausted" or is_proved)

    @cached_property
    def history(self) -> Any:
        """Hypervolume of the archive after each generation; computed when first asked for.

        Returns
        -------
        DataFrame of pandas or polars, or Table of pyarrow, as the data are; pandas for arrays
            Columns generation, evaluations, hypervolume.
        """
        trace, n = self.trace, len(self.trace.evaluations)
        volumes = hypervolume_history(trace.objectives, trace.generation, n, self.reference)
        frame = pd.DataFrame(
            {"generation": np.arange(n), "evaluations": trace.evaluations, "hypervolume": volumes}
        )
        return in_form(self.encoding.form, frame, 0)

    def __len__(self) -> int:
        """Return how many counterfactuals there are; near misses are not counted."""
        return int(np.count_nonzero(self.reaches))

    def __iter__(self) -> Iterator[Self]:
        """Yield each counterfactual as a result of its own."""
        return (self.take(i) for i in np.flatnonzero(self.reaches))

    def __getitem__(self, index: int | np.integer[Any] | slice) -> Self:
        """Return one counterfactual, or a slice of them, as a result; -1 is the last one."""
        valid = np.flatnonzero(self.reaches)
        if isinstance(index, slice):
            return self.take(valid[index])
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise InvalidInput(
                f"found[...] takes a whole number or a slice, got {index!r}; take, select and "
                "filter choose in other ways."
            )
        if not -len(valid) <= index < len(valid):
            n_missed = len(self.genomes) - len(valid)
            raise IndexError(
                f"found[{index}]: there are {counted(len(valid), 'counterfactual')} and "
                f"{counted(n_missed, 'near miss', 'near misses')}; near misses are shown by "
                "to_frame(near_misses=True) and taken by take."
            )
        return self.take(valid[index])

    def to_rows(self, *, near_misses: bool = False) -> Any:
        """Return the counterfactuals as the model takes them: the data's kind, dtypes and columns.

        Parameters
        ----------
        near_misses : bool, default=False
            Whether to give the near misses too: the whole non-dominated set.

        Returns
        -------
        DataFrame of pandas or polars, Table of pyarrow, or array of shape (n, columns)
            One row per counterfactual, features only.
        """
        shown = self if near_misses else self.valid()
        return self.encoding.to_rows(shown.genomes.copy())

    def to_frame(
        self, *, only_changes: bool = False, near_misses: bool = False, prefix: str | None = None
    ) -> Any:
        """Return one row per counterfactual: features, valid, class, prediction and objectives.

        Parameters
        ----------
        only_changes : bool, default=False
            Show the changed cells only; unchanged ones become empty strings. A one-hot group is
            one column then, of its levels.
        near_misses : bool, default=False
            Whether to give the near misses too: the whole non-dominated set, of which the paper
            measures hypervolume.
        prefix : str, optional
            Put before the names of the columns that are not features; None puts `"cf_"` there if a
            feature has the name of one of them, and nothing otherwise.

        Returns
        -------
        DataFrame of pandas or polars, or Table of pyarrow, as the data are; pandas for arrays
            The feature columns in the data's own dtypes (with `only_changes` objects, or text
            where the data are not of pandas), then valid (whether it reaches the target), class
            (which the model decides for; left out if it has no classes), prediction, gap,
            distance, changes and implausibility, then the caller's own objectives; one that stands
            for another has its own name. What `WhatIf` takes has a column observed, its name in the
            data's index or its position; with a `proof` the column proof says what is proved of it.
        """
        encoding = self.encoding
        frame = self.to_pandas(only_changes=only_changes, near_misses=near_misses, prefix=prefix)
        if encoding.form.kind in ("pandas", "numpy"):
            return frame
        rows = None if only_changes else self.to_rows(near_misses=near_misses)
        n_features = self.genomes.shape[1] if only_changes else len(encoding.columns)
        return in_form(encoding.form, frame, n_features, rows)

    def to_pandas(
        self, *, only_changes: bool = False, near_misses: bool = False, prefix: str | None = None
    ) -> pd.DataFrame:
        """Return what `to_frame` does as a pandas frame, whatever the data are."""
        shown = self if near_misses else self.valid()
        if only_changes:
            frame = self.encoding.by_feature(shown.genomes.copy())
            frame = frame.astype(object).where(shown.changed, "")
        else:
            frame = self.encoding.decode(shown.genomes.copy())
        own = measure_columns(shown, shown.reaches)
        own |= {} if shown.observed is None else {"observed": shown.observed}
        if shown.proof is not None:
            distances = np.where(shown.reaches, shown.objectives[:, DISTANCE], np.inf)
            own["proof"] = shown.proof.of_rows(self.encoding.schema.names, shown.changed, distances)
        return with_columns(frame, own, self.encoding.schema, prefix)

    def valid(self) -> Self:
        """Return the result without its near misses; its ways stay."""
        return replace(self.take(np.flatnonzero(self.reaches)), way_rows=self.way_rows)

    def take(self, index: Any) -> Self:
        """Return the candidates at the given positions, in that order; one for a number.

        Positions are those of the arrays: counterfactuals come first, then near misses by gap.
        """
        index = check_positions("take", index, len(self.genomes))
        return replace(
            self,
            **rows_of(self, index),
            observed=None if self.observed is None else self.observed[index],
            way_rows=None,
        )


def rows_of(source: ResultData | WayRows, index: Any) -> dict[str, Any]:
    """Return the arrays of the candidates at some positions of a result or of its ways, by name."""
    return {name: getattr(source, name)[index] for name in PER_CANDIDATE}


def measure_columns(found: ResultData, valid: Bools) -> dict[str, Any]:
    """Return what is measured of candidates: valid, class if there are any, prediction, objectives.

    Which of them are `valid`, shape (n,), the caller knows.
    """
    columns: dict[str, Any] = {"valid": valid}
    if found.facts.classes:
        columns["class"] = classes_column(found.facts.classes, found.codes)
    columns["prediction"] = found.predictions
    for m, name in enumerate(found.objective_names):
        values = found.objectives[:, m]
        columns[name] = values.astype(np.int64) if m == CHANGES else values
    return columns
