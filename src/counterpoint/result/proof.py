"""What is proved of a result, in terms of what the model confirmed of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from counterpoint.arrays import Bools, Floats
from counterpoint.problem.objectives import CHANGES, DISTANCE
from counterpoint.result.data import ResultData
from counterpoint.search.exact.proof import Claim

Result = TypeVar("Result", bound=ResultData)


def settled(found: Result) -> Result:
    """Return a result whose proof speaks of what it holds, and whose ways know what is proved.

    What a solver found and the model then denied counts no longer. The bounds stay: they are about
    all counterfactuals.
    """
    proof, rows, names = found.proof, found.way_rows, found.encoding.schema.names
    assert proof is not None, "a proof is settled when it is made"
    assert rows is not None, "and so are the ways"
    held = found.objectives[found.reaches]
    sets = [tuple(names[j] for j in np.flatnonzero(changed)) for changed in rows.changed]
    least = {
        features: _least(rows.objectives[:, DISTANCE], rows.way == w)
        for w, features in enumerate(sets)
    }
    is_proved = rows.is_proved | np.array([features in proof.minimal for features in sets], bool)
    proof = replace(
        proof,
        nearest=Claim.of(_least(held[:, DISTANCE]), proof.nearest.bound),
        fewest=Claim.of(_least(held[:, CHANGES]), proof.fewest.bound),
        by_changes={
            n: Claim.of(_least(held[:, DISTANCE], held[:, CHANGES] <= n), claim.bound)
            for n, claim in proof.by_changes.items()
        },
        ways={
            features: Claim.of(least[features], claim.bound)
            for features, claim in proof.ways.items()
            if features in least
        },
    )
    return replace(found, proof=proof, way_rows=replace(rows, is_proved=is_proved))


def _least(values: Floats, which: Bools | bool = True) -> float:
    """Return the least of some values; infinite if there are none."""
    return float(values.min(initial=np.inf, where=which))
