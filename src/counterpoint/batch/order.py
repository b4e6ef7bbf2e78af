"""Order: what is asked of every row of a job, frozen and picklable, checked before any row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.task import check_rules, check_search
from counterpoint.problem.limits import CheckedLimits, Limits
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.problem.target import TargetLike, parse_target
from counterpoint.result.long_table import OutputSchema
from counterpoint.search.settings import Search, WhatIf
from counterpoint.streams import check_seed

MOST_KEPT = 2**31
N_TRIED = 64  # observed rows that rules are tried on


@dataclass(frozen=True)
class Order:
    """What is asked of every row, and what is handed back.

    Parameters
    ----------
    target, search, seed, limits
        As in `Explainer.explain`. A search may not end by `seconds`: what it finds would depend on
        the machine.
    keep : int or None, default=10
        How many of each row's counterfactuals: those of `found.select(keep)`; None keeps all.
    id : str, optional
        A column of the rows that is no feature and is handed through.
    prefix : str, default=""
        Put before the names of our own columns, if a feature has the name of one.
    """

    target: TargetLike
    search: Search | WhatIf | None = None
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    keep: int | None = 10
    id: str | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.search, Search) and self.search.seconds is not None:
            raise InvalidInput(
                f"search has seconds={self.search.seconds:g}, so that the result would depend on "
                "the machine and its load; bound it by evaluations, as in "
                "Search(evaluations=2000)."
            )
        if self.keep is not None:
            check_whole("keep", self.keep, 1, MOST_KEPT)

    def check(self, explainer: Explainer) -> None:
        """Refuse what no row could be explained with: wrong targets, names, rules and settings.

        Raises
        ------
        InvalidInput, UnknownFeatureError
            If an argument cannot be used, or the rules exclude every observed row that is tried.
        """
        check_search(self.search)
        check_seed(self.seed)
        limits = self.limits.check(explainer.schema)
        check_costs_apply(limits.costs, explainer.observed.aims)
        predictor = explainer.predictor.own
        parse_target(self.target, predictor.classes, spread(predictor.observed_outputs))
        try_rules(limits, explainer)
        self.schema_of(explainer)

    def is_shared(self, explainer: Explainer) -> bool:
        """Whether several threads may ask for this at once."""
        return explainer._is_shared(self.limits.check(explainer.schema))

    def schema_of(self, explainer: Explainer, id_dtype: Any = "int64") -> OutputSchema:
        """Return the columns of what is handed back."""
        return explainer.output_schema(self.id, id_dtype, self.prefix)


def try_rules(limits: CheckedLimits, explainer: Explainer) -> None:
    """Refuse rules that fail for every one of some observed rows, as they would for the others."""
    if not len(limits.rules):
        return
    genomes, encoding = explainer.observed.genomes, explainer.encoding
    tried = spread(genomes)
    first: InvalidInput | None = None
    for i in range(len(tried)):
        row = tried[i : i + 1].copy()
        try:
            check_rules(limits, row, encoding.decode(row.copy()), explainer.observed.space)
            limits.rules.ask(encoding.to_rows(row.copy()))
        except InvalidInput as error:
            first = first or error
        else:
            return
    if first is not None:
        raise InvalidInput(
            f"the constraints exclude each of {len(tried)} observed rows that were tried; of the "
            f"first: {first}"
        ) from first


def spread(observed: Floats) -> Floats:
    """Return some of the observed rows or their outputs, spread evenly over the data."""
    n = min(N_TRIED, len(observed))
    return observed[np.arange(n) * len(observed) // n]
