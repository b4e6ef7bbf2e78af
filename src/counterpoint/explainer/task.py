"""Task: rows to explain, checked and encoded, and what is asked of them.

`Verification` asks less of them: whether a counterfactual exists at all. Where limits and rules
leave few rows, the model is asked about every one of them. Otherwise the default search looks for
one, and a solver proves that there is none where the model is one whose sums are known. Everything
else is not known, however long the search was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import InvalidInput
from counterpoint.explainer.building import Built
from counterpoint.explainer.group import Grouping, explain_group, is_met, plan_groups
from counterpoint.models.predictor import CHUNK, Predictor
from counterpoint.problem.limits import CheckedLimits
from counterpoint.problem.objectives import DISTANCE
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.problem.problem import Domain, Explained, Problem
from counterpoint.problem.target import TargetLike, parse_target
from counterpoint.progress import Watch
from counterpoint.result.choosing.orders import reaching
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.rules.domains import DOMAIN
from counterpoint.rules.rules import Rules
from counterpoint.search.confirmation import is_close
from counterpoint.search.exact.finish import all_rows
from counterpoint.search.feasibility import RETRIES
from counterpoint.search.settings import Effort, Explore, Search, Variant, WhatIf
from counterpoint.streams import check_seed
from counterpoint.table.encoding import Encoding
from counterpoint.table.frames import in_form
from counterpoint.table.space import Space
from counterpoint.table.values import counted

Existence = Literal["witness", "proved none", "unknown", "already met"]
DEFAULT_SEARCH = Explore()
MOST_KEPT = 1024  # rows of which it is kept where rules let them be searched


@dataclass(frozen=True)
class Task:
    """Rows to explain, checked and encoded, with what the model says of them now."""

    frame: pd.DataFrame  # the rows as they were given
    # the same, encoded, with what the model says of them and what it should say
    explained: Explained
    search: Search | WhatIf  # the settings
    seed: int
    limits: CheckedLimits  # what counterfactuals may change, and the rules they must satisfy
    # where each row may be searched; None if there are no rules, or too many rows to keep it
    domain: Domain | None

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        argument: Literal["row", "rows"],
        target: TargetLike,
        search: Search | WhatIf | None,
        seed: int,
        limits: CheckedLimits,
        built: Built,
    ) -> Task:
        """Check what is asked of `built`, encode the rows and ask the model about them."""
        if argument == "row" and len(frame) != 1:
            raise InvalidInput(
                f"row must be one row, got {len(frame)}; use explain_many for several."
            )
        search, seed = check_search(search), check_seed(seed)
        encoding, predictor = built.encoding, built.predictor
        if limits.costs is not None:
            check_costs_apply(built.observed.aims)
        if len(frame) == 0:
            none = np.empty((0, len(encoding.schema)))
            return cls(frame, Explained(none, none, ()), search, seed, limits, None)
        genomes = encoding.encode(frame, argument)
        domain = None
        if limits.rules.rules:
            domain = check_rules(limits, genomes, frame, built.observed.space)
            limits.rules.ask(encoding.to_rows(genomes.copy()))  # a wrong function is told at once
        with predictor.one_thread():
            outputs = outputs_of_rows(predictor, genomes)
            labels = labels_for(target, genomes, predictor.trusted)
            targets = parse_target(target, predictor.classes, outputs, labels)
        explained = Explained(genomes, outputs, tuple(targets))
        return cls(frame, explained, search, seed, limits, domain)


def check_search(search: object) -> Search | WhatIf:
    """Return the search settings, the default for None."""
    if search is None:
        return DEFAULT_SEARCH
    if not isinstance(search, Search | WhatIf):
        example = "Search(evaluations=2000)"
        if isinstance(search, str) and search in get_args(Variant):
            example = f"Search.paper({search!r})"
        elif isinstance(search, str) and search in get_args(Effort):
            example = f"Search(effort={search!r})"
        raise InvalidInput(
            f"search must be a Search, WhatIf or NICE, got {search!r}; for example "
            f"search={example}."
        )
    return search


def check_rules(
    limits: CheckedLimits, genomes: Floats, frame: pd.DataFrame, space: Space
) -> Domain | None:
    """Return where rules let rows (n, d) be searched; refuse rows that they leave nothing.

    All rows are tried before any is searched. Of very many rows the answers are not kept.
    """
    domains = []
    for start in range(0, len(genomes), MOST_KEPT):
        block = slice(start, start + MOST_KEPT)
        try:
            domains.append(Domain.of(genomes[block], space, limits))
        except InvalidInput:
            if len(genomes) > 1:
                _name_row(limits, genomes[block], frame.iloc[block], space)
            raise
    return domains[0] if len(genomes) <= MOST_KEPT else None


def _name_row(limits: CheckedLimits, genomes: Floats, frame: pd.DataFrame, space: Space) -> None:
    """Say which of the rows (n, d) the rules leave nothing."""
    for i in range(len(genomes)):
        try:
            Domain.of(genomes[i : i + 1], space, limits)
        except InvalidInput as error:
            raise InvalidInput(f"of row {frame.index[i]!r}: {error}") from error


def outputs_of_rows(predictor: Predictor, genomes: Floats) -> Floats:
    """Return what the model says of rows (n, d), as its user would ask; quickly where it agrees."""
    own = predictor.own
    outputs = own.blocks(genomes[:, None, :])[:, 0]
    if own.is_quick:
        starts = range(0, len(genomes), CHUNK)
        plain = np.concatenate([own.plain.outputs(genomes[i : i + CHUNK]) for i in starts])
        is_off = ~is_close(outputs, plain).all(axis=1)
        if is_off.any():
            outputs[is_off] = own.plain.blocks(genomes[is_off][:, None, :])[:, 0]
    return outputs


def labels_for(target: TargetLike, genomes: Floats, predictor: Predictor) -> Ints | None:
    """Return the classes `predict` gives rows (n, d), if "opposite" is asked of a classifier."""
    is_opposite = isinstance(target, str) and target == "opposite"
    if not is_opposite or predictor.classes is None or not predictor.has_decision:
        return None
    return predictor.label_blocks(genomes[:, None, :])[:, 0]


def rows_as_given(task: Task, group: Ints, encoding: Encoding) -> list[Any]:
    """Return rows as they were given; where the data are no pandas frame, as they would have them.

    Of an array each is a frame of one row, for a result needs names. Frames of one row are cut out
    of one frame of the group, which is quicker than to take each by itself.
    """
    if encoding.form.kind in ("pandas", "numpy"):
        frame = task.frame.iloc[group]
        return [frame.iloc[i : i + 1] for i in range(len(group))]
    return [encoding.to_rows(task.explained.genomes[[i]]) for i in group]


class Work(NamedTuple):
    """The rows of a call, and who is asked about them."""

    built: Built  # the explainer
    task: Task  # the rows, and what is asked of them

    def problem(self, group: Ints) -> Problem:
        """Set up the problem of a group of rows."""
        built, task = self
        return Problem.of(
            task.explained.take(group),
            built.observed,
            built.predictor,
            task.limits,
            task.seed,
            None if task.domain is None else task.domain.of_rows(group),
        )

    def grouping(self, workers: int, memory: float) -> Grouping:
        """Return how the rows are grouped."""
        built, task = self
        (n, d), n_observed = task.explained.genomes.shape, len(built.observed.genomes)
        n_candidates, aims = task.search.most_candidates, built.observed.aims
        extra = bytes_of_rules(task.limits.rules, n_candidates) + aims.n_bytes(n_candidates)
        return plan_groups(n, d, n_observed, task.search, workers, memory, extra)

    def search(self, group: Ints, watch: Watch) -> list[Counterfactuals]:
        """Search a group of rows in this process."""
        built, task = self
        rows = rows_as_given(task, group, built.encoding)
        with built.predictor.one_thread():
            return explain_group(self.problem(group), task.search, task.seed, rows, watch)


def bytes_of_rules(rules: Rules, n_candidates: int) -> int:
    """Return what the rules of one row take: its domains, and the memory of refused candidates."""
    if not rules.rules:
        return 0
    most_levels = max(len(feature.levels) for feature in rules.schema.features)
    domains = len(rules.schema) * (DOMAIN.itemsize + most_levels)
    return domains + (32 * RETRIES * n_candidates if rules.functions else 0)


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
