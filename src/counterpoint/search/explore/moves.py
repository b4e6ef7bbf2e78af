"""Moves: how the default search makes a new candidate of a good one; each is one short function.

A move changes a copy of its parent in place. It knows the row's `Ground` and rolls the child's own
`Dice`; whether the result is worth anything is for the archive to say.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Floats, Ints, Keys, Whole
from counterpoint.kernels import inner
from counterpoint.streams import WHOLE, Stage, next_uniform, word_at
from counterpoint.table.space import Features, from_uniform, snap

BREED = np.int64(Stage.BREED)
LOG_10 = math.log(10.0)
AT_BOUND = 0.25  # share of redraws that go to a bound: few, large changes often flip a decision
OUTWARDS = 0.3  # share of rescalings that move away from the row
SMALLEST_STEP = 2.0  # rescalings reach down to 10**-2 of a change
SMALLEST_OVERSHOOT = 5.0  # boundary steps aim 10**-1 to 10**-5 beyond the boundary
GOES_MISSING = 0.2  # share of redraws of what may be missing that make it so
FARTHEST = 3.0  # boundary steps stretch a change at most so far
MOST_FOLLOWED = np.int64(3)  # features taken from an observed row at once


class Ground(NamedTuple):
    """What moves may know of one row.

    Attributes
    ----------
    anchor : ndarray of shape (d,)
        The row's values, or the nearest allowed ones.
    features : ndarray of records, of shape (d,)
        Kind, grid and box of each feature.
    free : ndarray of shape (at most d,)
        Those that may change.
    """

    anchor: Floats
    features: Features
    free: Ints


class Dice(NamedTuple):
    """The draws of one child: a sequence that starts at the address of its row, wave and child."""

    state: Keys


@inner
def shake(dice: Dice, key: Keys, wave: int, child: int) -> None:
    """Start the sequence of a child."""
    dice.state[0] = word_at(key, BREED, wave, child, WHOLE)


@inner
def roll(dice: Dice) -> float:
    """Return the child's next draw in [0, 1)."""
    return next_uniform(dice.state)


@inner
def pick(n: Whole, dice: Dice) -> int:
    """Return one of 0 … n - 1."""
    return int(roll(dice) * n)


@inner
def pick_different(genome: Floats, other: Floats, among: Ints, dice: Dice) -> int:
    """Return one of the features `among` in which the two genomes differ, or -1."""
    n_different = 0
    for j in among:
        n_different += genome[j] != other[j]
    chosen = pick(n_different, dice)
    for j in among:
        if genome[j] != other[j]:
            if chosen == 0:
                return int(j)
            chosen -= 1
    return -1


@inner
def move_towards(value: float, goal: float, share: float, feature: Any) -> float:
    """Return a feature's value a share of the way to `goal`; a level goes all the way.

    So does a number that is missing at either end.
    """
    if not feature.is_level and value != MISSING and goal != MISSING:
        goal = value + share * (goal - value)
    return snap(goal, feature)


@inner
def put_back(genome: Floats, ground: Ground, dice: Dice) -> None:
    """Put one changed feature back to the row's value; in a third of cases a second one."""
    n_features = 2 if roll(dice) < 1.0 / 3.0 else 1
    for _ in range(n_features):
        j = pick_different(genome, ground.anchor, ground.free, dice)
        if j >= 0:
            genome[j] = ground.anchor[j]


@inner
def rescale(genome: Floats, ground: Ground, dice: Dice) -> None:
    """Shrink one change towards the row, or stretch it, by a step of any magnitude."""
    j = pick_different(genome, ground.anchor, ground.free, dice)
    if j < 0:
        return
    if ground.features[j].is_level or ground.anchor[j] == MISSING:
        genome[j] = from_uniform(roll(dice), ground.features[j])
        return
    step = math.exp(-SMALLEST_STEP * LOG_10 * roll(dice))
    if roll(dice) < OUTWARDS:
        step = -step
    genome[j] = move_towards(genome[j], ground.anchor[j], step, ground.features[j])


@inner
def overshoot(dice: Dice) -> float:
    """Return how far beyond the boundary to aim, as a share: of any magnitude, often tiny."""
    return math.exp(-LOG_10 * (1.0 + (SMALLEST_OVERSHOOT - 1.0) * roll(dice)))


@inner
def step_to_boundary(genome: Floats, share: float, ground: Ground, dice: Dice) -> None:
    """Scale all changed numbers to where the prediction should just reach the target.

    `share` is how much of the parent's change a straight line between the row's prediction and the
    parent's needs to reach the boundary; the step ends a little beyond it.
    """
    factor = min(max(share * (1.0 + overshoot(dice)), 0.01), FARTHEST)
    for j in ground.free:
        is_there = ground.anchor[j] != MISSING and genome[j] != MISSING
        if is_there and not ground.features[j].is_level:
            genome[j] = move_towards(ground.anchor[j], genome[j], factor, ground.features[j])


@inner
def slide_to_boundary(
    genome: Floats, missing: float, slopes: Floats, ground: Ground, dice: Dice
) -> None:
    """Move one changed number to where the prediction should just reach the target.

    `missing` is how far the parent's prediction is from the boundary, negative if it is beyond, and
    `slopes` (2, d) how much a unit of each feature below and above the row's value gains.
    """
    j = pick_different(genome, ground.anchor, ground.free, dice)
    if j < 0 or ground.features[j].is_level or genome[j] == MISSING:
        return
    slope = slopes[int(genome[j] > ground.anchor[j]), j]
    if slope != 0.0:
        goal = genome[j] + missing * (1.0 + math.copysign(overshoot(dice), missing)) / slope
        genome[j] = snap(goal, ground.features[j])


@inner
def follow(genome: Floats, observed: Floats, ground: Ground, dice: Dice) -> None:
    """Take one to three features of an observed row, in half of the cases only part of the way."""
    n_features = 1 + pick(MOST_FOLLOWED, dice)
    share = 1.0 if roll(dice) < 0.5 else roll(dice)
    for _ in range(n_features):
        j = pick_different(genome, observed, ground.free, dice)
        if j >= 0:
            genome[j] = move_towards(genome[j], observed[j], share, ground.features[j])


@inner
def mix(genome: Floats, other: Floats, ground: Ground, dice: Dice) -> None:
    """Add all changes of another member, or take each of its features with probability one half."""
    if roll(dice) < 0.5:
        for j in ground.free:
            if other[j] != ground.anchor[j]:
                genome[j] = other[j]
        return
    for j in ground.free:
        if genome[j] != other[j] and roll(dice) < 0.5:
            genome[j] = other[j]


@inner
def redraw(genome: Floats, ground: Ground, dice: Dice) -> None:
    """Give one feature a new value, anywhere or at a bound; half of the time put another back."""
    if roll(dice) < 0.5:
        put_back(genome, ground, dice)
    j = ground.free[pick(len(ground.free), dice)]
    feature, where = ground.features[j], roll(dice)
    if feature.may_miss and roll(dice) < GOES_MISSING:
        genome[j] = MISSING
    elif where < AT_BOUND and not feature.is_level:
        genome[j] = feature.lower if where < AT_BOUND / 2.0 else feature.upper
    else:
        genome[j] = from_uniform(roll(dice), feature)
