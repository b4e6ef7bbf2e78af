"""Judgement: what is to be said of rows that anybody made, as counterfactuals of one row.

Other tools, other methods and people propose rows, too. They are asked of the model as its user
would ask, measured as our own are, and held against limits and rules; no search takes place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.neighbours.index import distances_to, gower_weights
from counterpoint.problem.objectives import GAP, denied_gaps, feature_shares
from counterpoint.problem.problem import Problem
from counterpoint.problem.target import Target
from counterpoint.result.choosing.orders import margins, reaching, share_of_models
from counterpoint.result.data import ResultData, measure_columns
from counterpoint.result.facts import Facts, Live, Trace, broken_rules
from counterpoint.result.long_table import in_form, with_columns
from counterpoint.search.exact.proof import Proof
from counterpoint.search.settings import Explore
from counterpoint.table.files import write_csv
from counterpoint.table.schema import Encoding
from counterpoint.table.space import ranges_around
from counterpoint.table.values import counted

N_NEAREST = 5  # observed rows that tell whether a row lies among its like
MOST_SUBSETS = 8  # changes of which every subset is put back; of more, each by itself
TOGETHER = 2**14  # rows the model is asked at a time


@dataclass(frozen=True, eq=False, repr=False)
class Judgement:
    """What is to be said of some rows, one line for each, in the order they were given.

    Parameters
    ----------
    encoding : Encoding
        The schema and the kind of table.
    genome : ndarray of shape (d,)
        The row they would explain, encoded.
    genomes : ndarray of shape (n, d)
        The rows, encoded.
    index : Index
        What they are called in the table they were given in.
    target : Target
        The wanted outcome.
    verdicts : DataFrame
        One line per row; `to_frame` says which columns.
    n_asked : int
        How many rows the model was asked about, those with changes put back included.
    """

    encoding: Encoding
    genome: Floats
    genomes: Floats
    index: pd.Index[Any]
    target: Target
    verdicts: pd.DataFrame
    n_asked: int

    def __len__(self) -> int:
        return len(self.genomes)

    @property
    def valid(self) -> Bools:
        """Which rows reach the target, shape (n,)."""
        return self.verdicts["valid"].to_numpy()

    def with_proof(self, proof: Proof) -> Judgement:
        """Return the same with a column more: how far each row is from the proved optimum.

        Parameters
        ----------
        proof : Proof
            What `Search(prove=True)` or `Exact()` proved of the same row, target and limits:
            `found.proof`.

        Returns
        -------
        Judgement
            Its column proof_gap is the distance divided by the proof's bound, minus 1: 0 where no
            nearer counterfactual exists. It is NaN for rows that are not valid or not within the
            limits, and for all where the proof has no bound or the distance is the caller's own.
        """
        verdicts, bound = self.verdicts, proof.nearest.bound
        counts = verdicts["valid"] & verdicts["within_limits"]
        gaps = np.full(len(verdicts), np.nan)
        if 0.0 < bound < np.inf and "distance" in verdicts:
            gaps = np.where(counts, np.maximum(verdicts["distance"] / bound - 1.0, 0.0), np.nan)
        return replace(self, verdicts=verdicts.assign(proof_gap=gaps))

    def to_frame(self, *, prefix: str | None = None) -> Any:
        """Return the rows with what is to be said of them.

        Parameters
        ----------
        prefix : str, optional
            Put before the names of the columns that are not features; None puts `"cf_"` there if a
            feature has the name of one of them, and nothing otherwise.

        Returns
        -------
        DataFrame of pandas or polars, or Table of pyarrow, as the data are; pandas for arrays
            The feature columns, then

            - valid: whether the model itself puts it where it is wanted
            - class: which the model decides for; left out if it has no classes
            - prediction: as in a result
            - gap, distance, changes, implausibility, …: the explainer's objectives
            - within_limits: whether it keeps all limits and rules
            - broken: the limits and rules that it breaks, as text; empty if none
            - minimality: "minimal" if it stays valid with no subset of its changes put back, all
              of which were asked; "singly minimal" if it has more than 8 changes, each of which
              was put back by itself; "not minimal"; empty if it is not valid
            - needless: the most changes that could be put back at once, as "age + job"; empty if
              none
            - ynn: the share of its 5 nearest observed rows that the model puts into the same
              class; without classes, that are on the same side of the target
            - implausibility_in_class: its distance to the nearest observed rows of those, weighed
              as in implausibility; NaN if there are none
            - l0, l1, l2, linf: norms of its changes, each feature's measured as in the distance,
              without costs
            - margin: how far inside the target the prediction is, below 0 outside
            - safe: whether it is valid and that is at least what a small change of a row takes
            - models: the share of other models by which it is valid, if some were given
            - proof_gap: see `with_proof`, if a proof was given
        """
        frame = self.to_pandas(prefix=prefix)
        rows = self.encoding.to_rows(self.genomes.copy())
        return in_form(self.encoding.form, frame, len(self.encoding.columns), rows)

    def to_pandas(self, *, prefix: str | None = None) -> pd.DataFrame:
        """Return what `to_frame` does as a pandas frame, whatever the data are."""
        frame = self.encoding.decode(self.genomes.copy())
        own = {str(name): column.to_numpy() for name, column in self.verdicts.items()}
        return with_columns(frame, own, self.encoding.schema, prefix).set_axis(self.index)

    def to_csv(
        self, path: str | PathLike[str] | None = None, *, prefix: str | None = None
    ) -> str | None:
        """Write what `to_frame` shows as comma-separated values, or return it as text."""
        return write_csv(self.to_pandas(prefix=prefix), path)

    def __str__(self) -> str:
        verdicts = self.verdicts
        n_within = int(verdicts["within_limits"].sum())
        n_minimal = int(verdicts["minimality"].isin(["minimal", "singly minimal"]).sum())
        head = (
            f"{counted(len(self), 'row')} judged for {self.target}: {int(self.valid.sum())} valid, "
            f"{n_within} within the limits, {n_minimal} minimal."
        )
        shown = verdicts.set_axis(self.index).to_string(float_format=lambda x: f"{x:.4g}")
        return f"{head}\n{shown}" if len(self) else head

    __repr__ = __str__


def judge_rows(
    problem: Problem, genomes: Floats, index: pd.Index[Any], models: Iterable[Any] | None
) -> Judgement:
    """Return what is to be said of genomes (n, d) as counterfactuals of a problem's one row."""
    found, valid = _measured(problem, genomes)
    broken = broken_by(problem, genomes)
    needless, n_tried = needless_changes(problem, genomes, valid, broken)
    columns = measure_columns(found, valid)
    columns["within_limits"] = np.array([not each for each in broken], dtype=np.bool_)
    columns["broken"] = ["; ".join(each) for each in broken]
    n_changes, names = found.changed.sum(axis=1), found.encoding.schema.names
    columns["minimality"] = [_minimality(*each) for each in zip(n_changes, needless, strict=True)]
    columns["needless"] = [" + ".join(str(names[j]) for j in each or ()) for each in needless]
    columns |= among_like(problem, found, valid)
    columns |= norms_of(problem, genomes)
    columns["margin"] = inside = margins(found)
    columns["safe"] = valid & (inside >= found.facts.margin)
    if models is not None:
        columns["models"] = share_of_models(found, models)
    return Judgement(
        found.encoding,
        found.genome,
        genomes,
        index,
        found.target,
        pd.DataFrame(columns),
        len(genomes) + n_tried,
    )


def _measured(problem: Problem, genomes: Floats) -> tuple[ResultData, Bools]:
    """Ask the model about genomes (n, d) as its user would, and measure them.

    Which of them reach the target, shape (n,), is by the model's own answer.
    """
    plain, target = problem.predictor.plain, problem.targets[0]
    n, classes = len(genomes), problem.predictor.classes
    outputs = plain.outputs(genomes) if n else np.empty((0, len(problem.row_outputs[0])))
    codes: Ints = np.zeros(n, dtype=np.int64)
    if n and classes is not None:
        codes = plain.labels(genomes) if plain.has_decision else np.argmax(outputs, axis=1)
    scores = np.asarray(target.score(outputs))
    valid: Bools = target.gaps(scores) <= 0.0
    trusting = replace(problem, predictor=plain, asks_labels=False)
    objectives = trusting.judge(genomes[None], scores[None]).objectives[0]
    if target.is_decision:
        valid = np.asarray(target.accepts_label(codes))
        gaps = denied_gaps(objectives[:, GAP], scores)
        objectives[:, GAP] = np.where(valid, 0.0, gaps)
    nothing = np.empty(0, dtype=np.int64)
    trace = Trace(np.empty((0, objectives.shape[1])), nothing, nothing, np.empty(0), "")
    found = ResultData(
        problem.predictor.encoding,
        None,
        problem.rows[0],
        genomes,
        np.asarray(target.prediction(outputs)),
        scores,
        codes,
        objectives,
        Facts.of(problem, Explore(), 0),
        trace,
        live=Live(problem),
    )
    return found, valid


def broken_by(problem: Problem, genomes: Floats) -> list[list[str]]:
    """Return in words which limits and rules each of the genomes (n, d) breaks."""
    limits, space, row = problem.limits, problem.space, problem.rows[0]
    features, is_missing = problem.predictor.encoding.schema.features, genomes == MISSING
    low, high = ranges_around(row, space, limits)
    is_outside = ~space.is_level & ~is_missing & ((genomes < low) | (genomes > high))
    is_outside &= ~limits.is_fixed
    is_lost = is_missing & (row != MISSING) & ~space.may_miss & ~limits.is_fixed
    changes = genomes != row
    against, rules = broken_rules(problem, genomes), limits.rules.rules
    found: list[list[str]] = []
    for i, genome in enumerate(genomes):
        moved = np.flatnonzero(limits.is_fixed & changes[i])
        said = [f"{features[j].name!r} is fixed" for j in moved]
        for j in np.flatnonzero(is_outside[i]):
            whose = "data's range" if np.isnan(limits.low[j]) else "range given"
            ends = f"{features[j].shown(low[j])} to {features[j].shown(high[j])}"
            said.append(
                f"{features[j].name!r} = {features[j].shown(genome[j])} is outside the {whose}, "
                f"{ends}"
            )
        said += [f"{features[j].name!r} is missing" for j in np.flatnonzero(is_lost[i])]
        if changes[i].sum() > limits.max_changed:
            said.append(f"{changes[i].sum()} changes, where max_changed is {limits.max_changed}")
        said += [f'"{rules[k]}"' for k in np.flatnonzero(against[i])]
        found.append(said)
    return found


def needless_changes(
    problem: Problem, genomes: Floats, valid: Bools, broken: list[list[str]]
) -> tuple[list[tuple[int, ...] | None], int]:
    """Return the most changes of each row that could be put back at once, and the rows asked.

    What is put back must leave a row that is valid and, if the whole breaks nothing, breaks
    nothing. Of rows that are not valid there is nothing to say: None.
    """
    row, target = problem.rows[0], problem.targets[0]
    found: list[tuple[int, ...] | None] = [None] * len(genomes)
    n_asked = 0
    for i in np.flatnonzero(valid).tolist():
        changed = np.flatnonzero(genomes[i] != row).tolist()
        sizes = range(1, len(changed)) if len(changed) <= MOST_SUBSETS else (1,)
        subsets = [each for size in sizes for each in combinations(changed, size)]
        tried = np.repeat(genomes[i][None], len(subsets), axis=0)
        for other, places in zip(tried, subsets, strict=True):
            other[list(places)] = row[list(places)]
        holds = _holds(problem, target, tried)
        if not broken[i]:
            holds[holds] = [not each for each in broken_by(problem, tried[holds])]
        n_asked += len(tried)
        found[i] = subsets[int(np.flatnonzero(holds)[-1])] if holds.any() else ()
    return found, n_asked


def _holds(problem: Problem, target: Target, genomes: Floats) -> Bools:
    """Return which genomes (n, d) reach the target, asked in portions."""
    parts = [genomes[i : i + TOGETHER] for i in range(0, len(genomes), TOGETHER)]
    answers = [reaching(problem.predictor.plain, target, part) for part in parts]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *answers])


def _minimality(n_changes: int, needless: tuple[int, ...] | None) -> str:
    """Say whether a row could do with fewer changes, and what was tried."""
    if needless is None:
        return ""
    if needless:
        return "not minimal"
    return "minimal" if n_changes <= MOST_SUBSETS else "singly minimal"


def among_like(problem: Problem, found: ResultData, valid: Bools) -> dict[str, Floats]:
    """Return whether each row lies among observed rows of which the model says the same."""
    observed, target = problem.observed, problem.targets[0]
    weight, cap = gower_weights(problem.rows, problem.space)
    is_classed = problem.predictor.classes is not None
    outcomes: Any = target.gaps(target.score(observed.outputs)) <= 0.0
    if is_classed:
        outcomes = problem.predictor.observed_labels
    ynn, in_class = np.empty((2, len(found.genomes)))
    for i, genome in enumerate(found.genomes):
        own = found.codes[i] if is_classed else valid[i]
        distances = distances_to(genome, observed.genomes, weight[0], cap)
        nearest = np.argsort(distances, kind="stable")[:N_NEAREST]
        ynn[i] = (outcomes[nearest] == own).mean()
        like = np.sort(distances[outcomes == own])[: len(observed.shares)]
        shares = observed.shares[: len(like)]
        in_class[i] = like @ shares / shares.sum() if len(like) and shares.sum() > 0 else np.nan
    return {"ynn": ynn, "implausibility_in_class": in_class}


def norms_of(problem: Problem, genomes: Floats) -> dict[str, Any]:
    """Return the norms of the changes of genomes (n, d), each feature's as a share of its range."""
    weight, cap = gower_weights(problem.rows, problem.space)
    typical = problem.observed.typical_change
    shares = feature_shares(genomes, problem.rows[0], weight[0], cap, typical)
    return {
        "l0": (genomes != problem.rows[0]).sum(axis=1),
        "l1": shares.sum(axis=1),
        "l2": np.sqrt((shares**2).sum(axis=1)),
        "linf": shares.max(axis=1, initial=0.0),
    }
