"""Filtering: which counterfactuals satisfy conditions stated afterwards."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.arrays import MISSING, Ints
from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.problem.rules.rules import Rules
from counterpoint.problem.rules.syntax import compared_places

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals


def matching(
    found: Counterfactuals, conditions: str | Iterable[str], keep: Iterable[Hashable]
) -> Ints:
    """Return the positions for which all conditions hold and the features to keep do not change.

    A condition on what a counterfactual lacks does not hold.
    """
    schema = found.problem.predictor.encoding.schema
    is_list = isinstance(conditions, Iterable) and not isinstance(conditions, str)
    texts: list[Any] = list(conditions) if is_list else [conditions]
    if not all(isinstance(each, str) for each in texts):
        raise InvalidInput(
            f"filter takes a rule or a list of rules as text, got {conditions!r}; "
            "for example found.filter('duration >= 24')."
        )
    rules = Rules.parse(texts, schema)
    row = found.problem.rows[0]
    fits = rules.holds(found.genomes, row)
    for rule in rules.written:
        for j in sorted(compared_places(rule.statement)):
            if row[j] == MISSING:
                raise InvalidInput(
                    f'filter: the rule "{rule}" compares {schema.names[j]!r}, which is missing in '
                    "the row, so that it can neither hold nor fail; leave it out."
                )
            fits &= found.genomes[:, j] != MISSING
    if isinstance(keep, str) or not isinstance(keep, Iterable):
        raise InvalidInput(
            f"filter: keep must be a list of features, got {keep!r}; for example keep=['job']."
        )
    for name in keep:
        if name not in schema.names:
            raise UnknownFeatureError.of(name, schema.names, argument="filter: keep")
        fits &= ~found.changed[:, schema.names.index(name)]
    return np.flatnonzero(fits)
