"""Task: rows to explain, checked and encoded, and what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.checks import check_list, check_whole
from counterpoint.errors import InvalidInput
from counterpoint.explainer.building import Built
from counterpoint.explainer.schedule import Grouping, plan_groups
from counterpoint.models.predictor import CHUNK, Predictor
from counterpoint.problem.limits import NO_LIMITS, CheckedLimits, Limits
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.problem.problem import Domain, Explained, Problem
from counterpoint.problem.target import TargetLike, parse_target
from counterpoint.rules.bounds import DOMAIN
from counterpoint.rules.rules import Rules
from counterpoint.search.confirmation import is_close
from counterpoint.search.feasibility import RETRIES
from counterpoint.search.settings import Explore, Search, Variant, WhatIf
from counterpoint.streams import check_seed
from counterpoint.table.encoding import Encoding
from counterpoint.table.schema import Schema
from counterpoint.table.space import Space

MOST_KEPT = 1024  # rows of which it is kept where rules let them be searched


@dataclass(frozen=True)
class Task:
    """Rows to explain, checked and encoded, with what the model says of them now.

    Parameters
    ----------
    frame : DataFrame
        The rows as they were given.
    explained : Explained
        The same, encoded, with what the model says of them and what it should say.
    search : Search or WhatIf
        The settings.
    seed : int
        The seed.
    limits : CheckedLimits
        What counterfactuals may change, and the rules they must satisfy.
    domain : Domain or None
        Where each row may be searched; None if there are no rules, or too many rows to keep it.
    """

    frame: pd.DataFrame
    explained: Explained
    search: Search | WhatIf
    seed: int
    limits: CheckedLimits
    domain: Domain | None

    @classmethod
    def of(
        cls,
        rows: pd.DataFrame,
        argument: str,
        target: TargetLike,
        search: Search | WhatIf | None,
        seed: int,
        limits: CheckedLimits,
        built: Built,
    ) -> Task:
        """Check what is asked of `built`, encode the rows and ask the model about them."""
        search, seed = check_search(search), check_seed(seed)
        encoding, predictor = built.encoding, built.predictor
        check_costs_apply(limits.costs, built.observed.aims)
        if len(rows) == 0:
            none = np.empty((0, len(encoding.schema)))
            return cls(rows, Explained(none, none, ()), search, seed, limits, None)
        genomes = encoding.encode(rows, argument)
        domain = None
        if limits.rules.rules:
            domain = check_rules(limits, genomes, rows, built.observed.space)
            limits.rules.ask(encoding.to_rows(genomes.copy()))  # a wrong function is told at once
        with predictor.one_thread():
            outputs = outputs_of_rows(predictor, genomes)
            labels = labels_for(target, genomes, predictor.trusted)
            targets = parse_target(target, predictor.classes, outputs, labels)
        explained = Explained(genomes, outputs, tuple(targets))
        return cls(rows, explained, search, seed, limits, domain)


def check_search(search: object) -> Search | WhatIf:
    """Return the search settings, the default for None."""
    if search is None:
        return Explore()
    if not isinstance(search, Search | WhatIf):
        is_named = isinstance(search, str) and search in get_args(Variant)
        example = f"Search.paper({search!r})" if is_named else "Search(evaluations=2000)"
        raise InvalidInput(
            f"search must be a Search, WhatIf or NICE, got {search!r}; for example "
            f"search={example}."
        )
    return search


def check_weights(k: object, weights: Sequence[float] | None, n: int) -> Floats:
    """Return the weights of the k nearest rows, summing to one."""
    k = check_whole("k", k, 1, n, said=f"from 1 to the {n} observed rows")
    if weights is None:
        return np.full(k, 1.0 / k)
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


def problem_of(task: Task, group: Ints, built: Built) -> Problem:
    """Set up the problem of a group of rows."""
    explained, predictor = task.explained.take(group), built.predictor
    wants_decision = explained.targets[0].is_decision and predictor.has_decision
    return Problem.of(
        explained,
        built.observed,
        predictor,
        task.limits,
        task.seed,
        asks_labels=wants_decision and not predictor.is_consistent,
        domain=None if task.domain is None else task.domain.of_rows(group),
    )


def task_of_one(
    frame: pd.DataFrame, target: TargetLike, search: Any, seed: int, limits: Limits, built: Built
) -> Task:
    """Return what is asked of one row."""
    if len(frame) != 1:
        raise InvalidInput(f"row must be one row, got {len(frame)}; use explain_many for several.")
    is_unlimited = limits is NO_LIMITS
    checked = built.unlimited if is_unlimited else limits.check(built.schema, built.kept)
    return Task.of(frame, "row", target, search, seed, checked, built)


def grouping_of(task: Task, built: Built, workers: int, memory: float) -> Grouping:
    """Return how the rows of a task are grouped."""
    (n, d), n_observed = task.explained.genomes.shape, len(built.observed.genomes)
    n_candidates, aims = task.search.most_candidates, built.observed.aims
    extra = bytes_of_rules(task.limits.rules, n_candidates) + aims.n_bytes(n_candidates)
    return plan_groups(n, d, n_observed, task.search, workers, memory, extra)


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


def row_as_given(task: Task, i: int, encoding: Encoding) -> Any:
    """Return a row as it was given; where the data are no pandas frame, as they would have it.

    Of an array it is a frame of one row, for a result needs names.
    """
    if encoding.form.kind in ("pandas", "numpy"):
        return task.frame.iloc[[i]]
    return encoding.to_rows(task.explained.genomes[[i]])


def check_allowed(allowed: object, schema: Schema) -> Bools:
    """Return which features a counterfactual may lack, shape (d,)."""
    names = list(schema.names)
    if isinstance(allowed, bool):
        return np.array([allowed and feature.has_missing for feature in schema.features])
    may_miss = np.zeros(len(names), dtype=np.bool_)
    stated = check_list("allow_missing", allowed, "column names, True or False")
    for j in schema.places_of(stated, "allow_missing"):
        if not schema.features[j].has_missing:
            raise InvalidInput(
                f"allow_missing names {names[j]!r}, of which the data miss no value, so that "
                "nobody knows what the model makes of it; leave it out."
            )
        may_miss[j] = True
    return may_miss


def bytes_of_rules(rules: Rules, n_candidates: int) -> int:
    """Return what the rules of one row take: its domains, and the memory of refused candidates."""
    if not rules.rules:
        return 0
    most_levels = max(len(feature.levels) for feature in rules.schema.features)
    domains = len(rules.schema) * (DOMAIN.itemsize + most_levels)
    return domains + (32 * RETRIES * n_candidates if rules.functions else 0)
