"""Task: rows to explain, checked and encoded, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.models.predictor import Predictor
from counterpoint.problem.limits import Limits, check_costs, search_box
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.problem.problem import Observed, Problem
from counterpoint.problem.target import Target, parse_target
from counterpoint.rules.bounds import DOMAIN
from counterpoint.rules.rules import RowRules, Rules
from counterpoint.rules.tree import compared_places
from counterpoint.search.feasibility import RETRIES
from counterpoint.search.settings import Explore, Search, WhatIf
from counterpoint.table.encoding import Encoding
from counterpoint.table.schema import Schema
from counterpoint.table.space import Space

Constraint = str | Callable[[Any], Any]  # a text, or a function of a table like the data


class Demands(NamedTuple):
    """What the caller asks of counterfactuals besides the target, checked against the schema.

    Attributes
    ----------
    limits : Limits
        What may change.
    rules : Rules
        What they must satisfy.
    costs : ndarray of shape (d,) or None
        How hard each feature is to change.
    """

    limits: Limits
    rules: Rules
    costs: Floats | None

    @classmethod
    def of(
        cls,
        schema: Schema,
        fixed: Iterable[Hashable] = (),
        ranges: Mapping[Hashable, tuple[Any, Any]] | None = None,
        max_changed: int | None = None,
        constraints: Iterable[Constraint] = (),
        costs: Mapping[Any, float] | None = None,
    ) -> Demands:
        """Check the caller's arguments of these names."""
        return cls(
            Limits.of(schema, fixed, ranges, max_changed),
            Rules.parse(constraints, schema),
            check_costs(costs, schema),
        )


class Asked(NamedTuple):
    """What is asked of every row, settings and seed checked.

    Attributes
    ----------
    target : object
        The wanted outcome, as the caller gave it.
    search : Search or WhatIf
        The settings.
    seed : int
        The seed.
    demands : Demands
        What the caller asks of counterfactuals besides the target.
    """

    target: object
    search: Search | WhatIf
    seed: int
    demands: Demands


@dataclass(frozen=True)
class Task:
    """Rows to explain, checked and encoded, with what the model says of them now.

    Parameters
    ----------
    frame : DataFrame
        The rows as they were given.
    genomes : ndarray of shape (n, d)
        The same, encoded.
    outputs : ndarray of shape (n, c)
        What the model says of them.
    targets : list of Target
        The wanted outcome of each.
    search : Search or WhatIf
        The settings.
    seed : int
        The seed.
    demands : Demands
        What the caller asks of counterfactuals besides the target.
    """

    frame: pd.DataFrame
    genomes: Floats
    outputs: Floats
    targets: list[Target]
    search: Search | WhatIf
    seed: int
    demands: Demands

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        argument: str,
        asked: Asked,
        observed: Observed,
        predictor: Predictor,
    ) -> Task:
        """Check what is asked, encode the rows and ask the model about them."""
        encoding, demands = predictor.encoding, asked.demands
        check_costs_apply(demands.costs, observed.aims)
        if len(frame) == 0:
            none = np.empty((0, len(encoding.schema)))
            return cls(frame, none, none, [], asked.search, asked.seed, demands)
        genomes = encoding.encode(frame, argument)
        check_rules(demands, genomes, frame, observed.space)
        demands.rules.ask(encoding.to_rows(genomes.copy()))  # a wrong function is told at once
        with predictor.one_thread():
            outputs = predictor.own.blocks(genomes[:, None, :])[:, 0]
            labels = labels_for(asked.target, genomes, predictor)
            targets = parse_target(asked.target, predictor.classes, outputs, labels)
        return cls(frame, genomes, outputs, targets, asked.search, asked.seed, demands)


def check_search(search: object) -> Search | WhatIf:
    """Return the search settings, the default for None."""
    if search is None:
        return Explore()
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


def check_rules(demands: Demands, genomes: Floats, frame: pd.DataFrame, space: Space) -> None:
    """Refuse rules that one of the rows (n, d) cannot satisfy, before any row is searched."""
    rules, limits = demands.rules, demands.limits
    if not len(rules):
        return
    for i in range(len(genomes)):
        row = genomes[i : i + 1]
        box = search_box(row, space, limits, rules.schema.names)
        try:
            check_not_missing(rules, row[0], space)
            RowRules.of(rules, row, box, space, limits.max_changed)
        except InvalidInput as error:
            if len(genomes) == 1:
                raise
            raise InvalidInput(f"of row {frame.index[i]!r}: {error}") from error


def problem_of(task: Task, group: Ints, observed: Observed, predictor: Predictor) -> Problem:
    """Set up the problem of a group of rows."""
    targets = tuple(task.targets[i] for i in group)
    wants_decision = targets[0].is_decision and predictor.has_decision
    return Problem.of(
        task.genomes[group],
        task.outputs[group],
        targets,
        observed,
        predictor,
        task.demands.limits,
        task.seed,
        asks_labels=wants_decision and not predictor.is_consistent,
        rules=task.demands.rules,
        costs=task.demands.costs,
    )


def labels_for(target: object, genomes: Floats, predictor: Predictor) -> Ints | None:
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
    return encoding.to_rows(task.genomes[[i]])


def check_not_missing(rules: Rules, row: Floats, space: Space) -> None:
    """Refuse written rules that compare what the row (d,) or a counterfactual may lack."""
    for rule in rules.written:
        for j in sorted(compared_places(rule.statement)):
            compares = f'the rule "{rule}" compares {rules.schema.names[j]!r}, which'
            if row[j] == MISSING:
                raise InvalidInput(
                    f"{compares} is missing in the row, so that it can neither hold nor fail; fill "
                    "it, or drop the rule."
                )
            if space.may_miss[j]:
                raise InvalidInput(
                    f"{compares} allow_missing lets be missing, so that it could neither hold nor "
                    "fail; take it out of allow_missing, or drop the rule."
                )


def check_allowed(allowed: object, schema: Schema) -> Bools:
    """Return which features a counterfactual may lack, shape (d,)."""
    names = list(schema.names)
    if isinstance(allowed, bool):
        return np.array([allowed and feature.has_missing for feature in schema.features])
    if isinstance(allowed, str) or not isinstance(allowed, Iterable):
        raise InvalidInput(
            f"allow_missing must be a list of column names, True or False, got {allowed!r}."
        )
    may_miss = np.zeros(len(names), dtype=np.bool_)
    for name in allowed:
        if name not in names:
            raise UnknownFeatureError.of(name, names, argument="allow_missing")
        if not schema.features[names.index(name)].has_missing:
            raise InvalidInput(
                f"allow_missing names {name!r}, of which the data miss no value, so that nobody "
                "knows what the model makes of it; leave it out."
            )
        may_miss[names.index(name)] = True
    return may_miss


def bytes_of_rules(rules: Rules, n_candidates: int) -> int:
    """Return what the rules of one row take: its domains, and the memory of refused candidates."""
    if not len(rules):
        return 0
    most_levels = max(len(feature.levels) for feature in rules.schema.features)
    domains = len(rules.schema) * (DOMAIN.itemsize + most_levels)
    return domains + (32 * RETRIES * n_candidates if rules.functions else 0)
