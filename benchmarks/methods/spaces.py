"""What the exact optimum's programs share: the space of our searches as variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.methods.case import Case
from benchmarks.methods.programs import Program, Terms
from benchmarks.peers.subjects import Floats

SAME = 1e-9  # numbers closer than this are one


class Setup(NamedTuple):
    """A program of one case whose variables mean a genome."""

    program: Program
    distance: Terms
    changed: list[int]  # a variable per feature: 1 if it changes
    genome: Callable[[Floats], Floats]
    fates: list[list[int]]  # groups of variables, one of each 1, on which alone the score depends


@dataclass(frozen=True)
class Range:
    """Where one number may go: its grid inside the box.

    Parameters
    ----------
    value, low, high : float
        The row's value, and the ends of the box.
    step : float
        The grid's step; 0 for the reals.
    weight : float
        What one unit adds to Gower's distance.
    """

    value: float
    low: float
    high: float
    step: float
    weight: float

    @classmethod
    def of(cls, case: Case, j: int) -> Range:
        """Return the range of a number of a case."""
        low, high = (float(end[j]) for end in case.box)
        feature = case.schema.features[j]
        is_real = feature.kind == "real" and feature.decimals is None
        step = 0.0 if is_real else 10.0 ** -(feature.decimals or 0)
        weight = 1.0 / (high - low) / len(case.genome) if high > low else 0.0
        return cls(float(case.genome[j]), low, high, step, weight)

    def nearest(self, low: float, high: float) -> float | None:
        """Return the allowed value of [low, high] nearest to the row's, if there is one."""
        low, high = max(low, self.low), min(high, self.high)
        if low <= self.value <= high:
            return self.value
        is_above = self.value < low
        end = low if is_above else high
        if self.step > 0:
            places = end / self.step
            end = round(float(np.ceil(places) if is_above else np.floor(places)) * self.step, 12)
        return end if low <= end <= high else None


def add_levels(case: Case, program: Program, j: int) -> tuple[dict[int, int], int]:
    """Add the choice of a level: a variable per level, and one that is 1 if it changes."""
    own = int(case.genome[j])
    choices = {level: program.add() for level in range(len(case.codec.levels[j]))}
    changed = program.add(is_whole=False)
    program.require(dict.fromkeys(choices.values(), 1.0), 1.0, 1.0)
    program.require({changed: 1.0, choices[own]: 1.0}, 1.0, 1.0)
    return choices, changed
