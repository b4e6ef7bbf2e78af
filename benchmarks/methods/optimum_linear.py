"""The exact optimum's program for linear classifiers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.methods.case import Case
from benchmarks.methods.inputs import linear_score
from benchmarks.methods.programs import Program, Terms
from benchmarks.methods.spaces import SAME, Range, Setup, add_levels
from benchmarks.peers.subjects import Floats

ACCURACY = 1e3  # the solver accepts violations of 1e-6; scaling the score lessens them


class Way(NamedTuple):
    """One direction a number may take: is it taken, how far beyond the first place, in units."""

    sign: float
    taken: int
    more: int
    first: float
    unit: float

    def length(self) -> Terms:
        """Return the terms of how far the number moves."""
        return {self.taken: self.first, self.more: self.unit}


def write_linear(case: Case, margin: float) -> Setup:
    """Return the program of a linear classifier; its score must exceed the margin."""
    score = linear_score(case)
    program, distance, gains = Program(), Terms(), Terms()
    ways: dict[int, list[Way]] = {}
    choices: dict[int, dict[int, int]] = {}
    changed: list[int] = []
    for j in range(len(case.genome)):
        if j in case.codec.levels:
            choices[j], change = add_levels(case, program, j)
            distance[change] = 1.0 / len(case.genome)
            own = score.levels[j][int(case.genome[j])]
            gains |= {v: ACCURACY * (score.levels[j][k] - own) for k, v in choices[j].items()}
            changed.append(change)
            continue
        number = Range.of(case, j)
        ways[j] = [way for sign in (1.0, -1.0) if (way := add_way(program, number, sign))]
        if not ways[j]:
            continue
        program.require({way.taken: 1.0 for way in ways[j]}, high=1.0)
        for way in ways[j]:
            for variable, length in way.length().items():
                distance[variable] = number.weight * length
                gains[variable] = ACCURACY * way.sign * score.slopes[j] * length
            changed.append(way.taken)
    needed = -float(score.at(case.genome[None])[0]) + margin
    program.require(gains, low=ACCURACY * needed)
    return Setup(program, distance, changed, lambda x: read(case, ways, choices, x), [])


def add_way(program: Program, number: Range, sign: float) -> Way | None:
    """Add one direction of a number, or nothing if the box ends there."""
    end = number.high if sign > 0 else number.low
    reach = sign * (end - number.value)
    if reach <= SAME or number.weight == 0.0:
        return None
    if number.step == 0.0:
        taken, more = program.add(), program.add(is_whole=False)
        program.require({more: 1.0, taken: -1.0}, high=0.0)
        return Way(sign, taken, more, 0.0, reach)
    scaled = sign * number.value / number.step
    first = (np.floor(scaled + SAME) + 1.0 - scaled) * number.step  # to the next place of the grid
    most = np.floor((reach - first) / number.step + SAME)
    if most < 0:
        return None
    taken, more = program.add(), program.add(high=float(most))
    program.require({more: 1.0, taken: -float(most)}, high=0.0)
    return Way(sign, taken, more, float(first), number.step)


def read(
    case: Case, ways: dict[int, list[Way]], choices: dict[int, dict[int, int]], answer: Floats
) -> Floats:
    """Return the genome the variables mean."""
    genome = case.genome.copy()
    for j, levels in choices.items():
        genome[j] = next(level for level, v in levels.items() if answer[v] > 0.5)
    for j, both in ways.items():
        for way in both:
            if answer[way.taken] > 0.5:
                genome[j] = _moved(case, j, way, float(answer[way.more]))
    return genome


def _moved(case: Case, j: int, way: Way, more: float) -> float:
    """Return a number moved; on a grid, to its exact place."""
    number = Range.of(case, j)
    if number.step == 0.0:
        return float(np.clip(number.value + way.sign * way.unit * more, number.low, number.high))
    return round(number.value + way.sign * (way.first + way.unit * round(more)), 12)
