"""Filtering: which counterfactuals satisfy conditions stated afterwards."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.arrays import Ints
from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.problem.rules.rules import Rules

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals


def matching(
    found: Counterfactuals, conditions: str | Iterable[str], keep: Iterable[Hashable]
) -> Ints:
    """Return the positions for which all conditions hold and the features to keep do not change."""
    schema = found.problem.predictor.encoding.schema
    is_list = isinstance(conditions, Iterable) and not isinstance(conditions, str)
    texts: list[Any] = list(conditions) if is_list else [conditions]
    if not all(isinstance(each, str) for each in texts):
        raise InvalidInput(
            f"filter takes a rule or a list of rules as text, got {conditions!r}; "
            "for example found.filter('duration >= 24')."
        )
    rules = Rules.parse(texts, schema)
    fits = rules.holds(found.genomes, found.problem.rows[0])
    if isinstance(keep, str) or not isinstance(keep, Iterable):
        raise InvalidInput(
            f"filter: keep must be a list of features, got {keep!r}; for example keep=['job']."
        )
    for name in keep:
        if name not in schema.names:
            raise UnknownFeatureError.of(name, schema.names, argument="filter: keep")
        fits &= ~found.changed[:, schema.names.index(name)]
    return np.flatnonzero(fits)
