"""NICE (Brughmans, Leyman, Martens 2023): from the row towards its nearest unlike neighbour.

The neighbour is the nearest observed row that reaches the target, by the distance of Gower, whose
parts are those of NICE's HEOM. Variant "none" returns it. The others start at the row and take over
one of its values at a time, the best by a reward, until the target is reached: "sparsity" rewards
what brings the prediction nearer, "proximity" that per distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from benchmarks.methods.case import Case
from benchmarks.peers.subjects import Floats

Variant = Literal["none", "sparsity", "proximity"]


@dataclass(frozen=True)
class Nice:
    """Our own NICE; the observed classes of neighbours must be the target's, if they are known."""

    variant: Variant = "sparsity"

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"nice {self.variant}"

    def explain(self, case: Case) -> pd.DataFrame:
        """Return one row, or none if no observed row reaches the target."""
        neighbour = nearest_unlike(case)
        if neighbour is None:
            return case.none("no observed row reaches the target")
        if self.variant == "none":
            return case.frame(neighbour)
        return case.frame(walk(case, neighbour, self.variant))


def nearest_unlike(case: Case) -> Floats | None:
    """Return the nearest observed row that reaches the target, (d,); ties go to the first."""
    observed, classes = case.background.observed, case.background.classes
    is_unlike = case.reaches(observed)
    if classes is not None and not case.is_interval:
        is_unlike &= classes.to_numpy() == case.target
    if not is_unlike.any():
        return None
    unlike = observed[is_unlike]
    return np.asarray(unlike[np.argmin(case.gower(unlike))])


def walk(case: Case, neighbour: Floats, variant: Variant) -> Floats:
    """Take over the neighbour's values one by one until the target is reached, (d,)."""
    genome, merit = case.genome, case.merit(case.genome[None])[0]
    while not case.reaches(genome[None])[0]:
        open_ = np.flatnonzero(genome != neighbour)
        steps = np.repeat(genome[None], len(open_), axis=0)
        steps[np.arange(len(open_)), open_] = neighbour[open_]
        merits = case.merit(steps)
        reward = merits - merit
        if variant == "proximity":
            # Each step moves one feature away from the row, so the distance grows.
            farther = case.gower(steps) - case.gower(genome[None])
            reward = reward / np.maximum(farther, np.finfo(float).tiny)
        best = int(np.argmax(reward))
        genome, merit = steps[best], merits[best]
    return np.asarray(genome)
