"""Costs: how hard each feature is to change, as weights of its term in `distance`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.kernels import kernel
from counterpoint.table.schema import Schema, is_number


def check_costs(costs: Mapping[Any, float] | None, schema: Schema) -> Floats | None:
    """Return the cost of each feature, 1 where none was given; None if none was at all.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [20, 30], "pay": [1.5, 2.5]}))
    >>> check_costs({"age": 3}, schema)
    array([3., 1.])
    """
    if costs is not None and not isinstance(costs, Mapping):
        raise InvalidInput(
            f"costs must be a dict of column name to number, got {costs!r}; for example "
            f"costs={{{schema.names[0]!r}: 3.0}}."
        )
    if not costs:
        return None
    names, found = list(schema.names), np.ones(len(schema))
    for name, cost in costs.items():
        if name not in names:
            raise UnknownFeatureError.of(name, names, argument="costs")
        if not is_number(cost) or not np.isfinite(float(cost)) or cost < 0:
            raise InvalidInput(
                f"costs[{name!r}] must be a finite number of at least 0, got {cost!r}."
            )
        found[names.index(name)] = float(cost)
    if not 0.0 < sum(found.tolist()) < np.inf:
        raise InvalidInput("costs must not all be 0, nor add up to more than a float can hold.")
    return found


def weighted_distances(
    genomes: Floats, rows: Floats, weight: Floats, cap: Floats, costs: Floats, at: Ints
) -> Floats:
    """Return the Gower distances (r, n) of genomes (r, n, d) to their rows, weighted by costs.

    Parameters
    ----------
    genomes, rows : ndarray of shape (r, n, d), (r, d)
        Candidates, and what they explain.
    weight, cap : ndarray of shape (…, d), (d,)
        How a difference becomes a share of its range, and the most it can be.
    costs : ndarray of shape (d,)
        The weight of each feature's share.
    at : ndarray of shape (r,)
        Which `weight` is each row's.

    Returns
    -------
    ndarray of shape (r, n)
        The mean of the shares, weighted by costs: between 0 and 1.
    """
    distances = np.empty(genomes.shape[:2])
    _weigh(np.ascontiguousarray(genomes), rows, weight, cap, costs / costs.sum(), at, distances)
    return distances


@kernel
def _weigh(
    genomes: Floats,
    rows: Floats,
    weight: Floats,
    cap: Floats,
    shares: Floats,
    at: Ints,
    distances: Floats,
) -> None:
    """Write what `weighted_distances` returns; `shares` (d,) sum to one."""
    r, n, d = genomes.shape
    for a in range(r):
        for i in range(n):
            total = 0.0
            for j in range(d):
                apart = abs(genomes[a, i, j] - rows[a, j]) * weight[at[a], j]
                total += shares[j] * min(apart, cap[j])
            distances[a, i] = total
