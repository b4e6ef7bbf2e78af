"""Verification: whether a counterfactual of a row exists at all.

Where limits and rules leave few rows, the model is asked about every one of them. Otherwise the
default search looks for one, and a solver proves that there is none where the model is one whose
sums are known. Everything else is not known, however long the search was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.explainer.task import Work, is_met
from counterpoint.problem.objectives import DISTANCE
from counterpoint.problem.problem import Problem
from counterpoint.result.choosing.orders import reaching
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.long_table import in_form
from counterpoint.search.exact.finish import all_rows
from counterpoint.search.settings import Explore, Search
from counterpoint.table.schema import Encoding
from counterpoint.table.values import counted

Existence = Literal["witness", "proved none", "unknown", "already met"]


class Finding(NamedTuple):
    """What is known of one row."""

    verdict: Existence  # "witness", "proved none", "unknown" or "already met"
    n_asked: int  # how many rows the model was asked about
    how: str  # what was tried
    genome: Floats | None = None  # (d,): the witness


MET = Finding("already met", 1, "the row itself reaches the target")
CUT_OFF = Finding("unknown", 1, "it was interrupted before the row was searched")


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """Whether a counterfactual exists of each of some rows, in the order they were given.

    Parameters
    ----------
    encoding : Encoding
        The schema and the kind of table.
    index : Index
        What the rows are called in the table they were given in.
    findings : tuple of Finding
        What is known of each.
    """

    encoding: Encoding
    index: pd.Index[Any]
    findings: tuple[Finding, ...]

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def verdicts(self) -> tuple[Existence, ...]:
        """What is known of each row.

        "witness" if a counterfactual was found and the model confirmed it; "proved none" if there
        is none among all rows that limits and rules allow, on the grid of the data's decimals;
        "already met" if the row itself reaches the target; and "unknown" otherwise.
        """
        return tuple(finding.verdict for finding in self.findings)

    def to_frame(self) -> Any:
        """Return one line per row: verdict, evaluations, how, of the data's kind of table."""
        frame = pd.DataFrame(
            {
                "verdict": [*self.verdicts],
                "evaluations": [finding.n_asked for finding in self.findings],
                "how": [finding.how for finding in self.findings],
            },
            index=self.index,
        )
        return in_form(self.encoding.form, frame, 0)

    def witnesses(self) -> Any:
        """Return the witnesses as the model takes them, in order; rows without one are left out."""
        found = [each.genome for each in self.findings if each.genome is not None]
        return self.encoding.to_rows(np.array(found).reshape(-1, len(self.encoding.schema)))

    def __str__(self) -> str:
        words = ("witness", "proved none", "unknown", "already met")
        counts = [f"{self.verdicts.count(word)} {word}" for word in words]
        lines = [f"{counted(len(self), 'row')} verified: {', '.join(counts)}."]
        for label, finding in zip(self.index, self.findings, strict=True):
            n = counted(finding.n_asked, "evaluation")
            lines.append(f"{label}: {finding.verdict} after {n}; {finding.how}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


SearchRows = Callable[[pd.DataFrame], list[Counterfactuals]]


def proving(search: object) -> Search:
    """Return the settings of a search that a solver finishes."""
    if search is not None and not isinstance(search, Explore):
        raise InvalidInput(
            f"verify.search must be an Explore, which a solver can finish, got {search!r}; for "
            "example search=Explore(evaluations=2000)."
        )
    return (search or Explore()).with_(prove=True)


def verify_rows(work: Work, search_rows: SearchRows) -> Verification:
    """Return what is known of each row; `search_rows` searches those that are left."""
    (built, task), findings = work, list[Finding]()
    with built.predictor.one_thread():
        for i in range(len(task.frame)):
            problem = work.problem(np.array([i]))
            is_done = is_met(replace(problem, predictor=problem.predictor.own))[0]
            findings.append(MET if is_done else by_enumeration(problem) or CUT_OFF)
    left = [i for i, finding in enumerate(findings) if finding is CUT_OFF]
    found = search_rows(task.frame.iloc[left]) if left else []
    for i, one in zip(left, found, strict=False):  # fewer if it was interrupted
        findings[i] = by_search(one)
    return Verification(built.encoding, task.frame.index, tuple(findings))


def by_enumeration(problem: Problem) -> Finding | None:
    """Return what all rows that one row may become tell; None if they are too many to ask."""
    genomes = all_rows(problem)
    if genomes is None:
        return None
    how = f"all {len(genomes):,} rows that limits and rules allow were asked"
    if len(genomes):
        holds = reaching(problem.predictor.plain, problem.targets[0], genomes)
        if holds.any():
            near = np.ascontiguousarray(genomes[holds])[None]
            scores = problem.predict(near)
            distances = problem.judge(near, scores).objectives[0, :, DISTANCE]
            return Finding("witness", len(genomes), how, near[0, int(np.argmin(distances))])
    return Finding("proved none", len(genomes), how)


def by_search(found: Counterfactuals) -> Finding:
    """Return what a search tells, and the solver that finished it."""
    n = found.evaluations
    if found.status == "already_met":
        return MET
    if len(found):
        nearest = found.select(1, by="closest").genomes[0]
        return Finding("witness", n, "the search found it", nearest)
    proof = found.proof
    if found.is_proved_empty:
        is_solved = proof is not None and proof.nearest.status == "none"
        how = "the solver proved it" if is_solved else "all that limits and rules allow was asked"
        return Finding("proved none", n, how)
    why = f": {proof.reason.rstrip('.')}" if proof is not None and proof.reason else ""
    return Finding("unknown", n, f"the search found none, and nothing is proved{why}")
