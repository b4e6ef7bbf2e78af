"""Selection: the first few counterfactuals by one of several criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.problem.crowd import gower_weights
from counterpoint.problem.gaps import distances_to
from counterpoint.result.choosing import orders
from counterpoint.result.choosing.safety import safest
from counterpoint.result.choosing.subset import check_size, greatest_contribution
from counterpoint.table.schema import is_number

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

By = Literal["hypervolume", "diverse", "knee", "closest", "fewest", "plausible", "safest"]

ORDERS: dict[str, Callable[[Counterfactuals], Ints]] = {
    "knee": orders.knee,
    "closest": orders.closest,
    "fewest": orders.fewest,
    "plausible": orders.plausible,
}


def select_positions(
    found: Counterfactuals, n: int, by: By, weights: Mapping[str, float] | None
) -> Ints:
    """Return the positions of at most n counterfactuals, all different, valid ones first."""
    if by not in get_args(By):
        hint = did_you_mean(by, get_args(By))
        end = f"; {hint}" if hint else "."
        raise InvalidInput(f"select: by must be one of {listed(get_args(By))}, got {by!r}{end}")
    check_size(n)
    if weights is not None:
        if by != "hypervolume":
            raise InvalidInput(
                f"select takes by or weights, got by={by!r} and weights={weights!r}; leave one out."
            )
        shares = check_weights(weights, found.objective_names)
        return orders.weighted(found, shares)[:n] if len(found) else np.arange(0)
    if by == "hypervolume":
        return greatest_contribution(found.objectives, n, found.problem.worst)
    if len(found) == 0:
        return np.arange(0)
    if by == "diverse":
        return farthest_first(found, n)
    return safest(found, n)[:n] if by == "safest" else ORDERS[by](found)[:n]


def check_weights(weights: object, names: tuple[str, ...]) -> Floats:
    """Return the weight of each objective, 0 for those not named."""
    if not isinstance(weights, Mapping) or not weights:
        raise InvalidInput(
            f"weights must be a dict of objective to number, got {weights!r}; "
            "for example weights={'distance': 2, 'changes': 1}."
        )
    for name, weight in weights.items():
        if name not in names:
            hint = did_you_mean(name, names) or f"the objectives are {listed(names)}."
            raise InvalidInput(f"weights names {name!r}, which is no objective; {hint}")
        if not is_number(weight) or not 0.0 <= float(weight) < np.inf:
            raise InvalidInput(
                f"weights[{name!r}] must be a finite number of at least 0, got {weight!r}."
            )
    if not any(weights.values()):
        raise InvalidInput("weights must not all be 0.")
    return np.array([float(weights.get(name, 0.0)) for name in names])


def farthest_first(found: Counterfactuals, n: int) -> Ints:
    """Return n positions, each as far as can be from those before it; the knee is the first.

    Far is Gower's distance to the nearest one chosen (Gonzalez 1985). What reaches the target is
    used up before anything else is chosen.
    """
    weight, cap = gower_weights(found.problem.rows, found.problem.space)
    chosen = [int(orders.knee(found)[0])]
    nearest = np.full(len(found), np.inf)
    is_free = np.ones(len(found), dtype=np.bool_)
    while len(chosen) < min(n, len(found)):
        last = found.genomes[chosen[-1]]
        nearest = np.minimum(nearest, distances_to(last, found.genomes, weight[0], cap))
        is_free[chosen[-1]] = False
        pool = is_free & found.reaches if (is_free & found.reaches).any() else is_free
        chosen.append(int(np.argmax(np.where(pool, nearest, -1.0))))
    return np.array(chosen, dtype=np.int64)
