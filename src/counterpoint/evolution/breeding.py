"""Breeding: one wave of new candidates for every row, each made of a parent by one move."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys
from counterpoint.evolution import moves
from counterpoint.evolution.memory import remember
from counterpoint.evolution.moves import Dice, Ground, pick, roll
from counterpoint.evolution.parents import Pool, choose_parent, classify
from counterpoint.kernels import kernel
from counterpoint.problem.limits import Box
from counterpoint.problem.objectives import Surroundings
from counterpoint.table.distance import gower, nearest_distances
from counterpoint.table.space import Space

ATTEMPTS = 10  # tries to make a candidate that was not seen before
N_MOVES = 6
N_NEIGHBOURS = 3  # observed rows nearest to a parent that it may follow


class Habits(NamedTuple):
    """How often the search does what; tuned on the paper's six tuning datasets (docs/search.md).

    Attributes
    ----------
    put_back, rescale, step_to_boundary, follow, mix, redraw : float
        Relative frequency of each move.
    p_valid : float
        Share of parents that reach the target, where both sorts are there.
    sparse : float
        How strongly parents with few changes c are preferred: they have odds ``c ** -sparse``.
    """

    put_back: float = 2.0
    rescale: float = 2.0
    step_to_boundary: float = 2.0
    follow: float = 3.0
    mix: float = 2.0
    redraw: float = 3.0
    p_valid: float = 0.4
    sparse: float = 1.0


class Outlook(NamedTuple):
    """What each of r rows knows before it asks anything.

    Attributes
    ----------
    observed : ndarray of shape (n, d)
        The observed rows.
    wanted : ndarray of shape (r, k)
        The nearest of them that reach the target within the limits, nearest first.
    n_wanted : ndarray of shape (r,)
        How many there are; the rest of `wanted` is padding.
    origin, boundary : ndarray of shape (r,)
        The row's prediction and the nearer end of its target, on the scale of `is_probability`.
    slopes : ndarray of shape (r, 2, d)
        How much a unit of each feature, below and above the row's value, gains towards the target;
        0 where unknown. Learnt as single changes are evaluated.
    is_probability : bool
        Whether predictions are probabilities, which are straightened by the logit.
    """

    observed: Floats
    wanted: Ints
    n_wanted: Ints
    origin: Floats
    boundary: Floats
    slopes: Floats
    is_probability: bool

    def of_rows(self, which: Ints) -> Outlook:
        """Return the outlook of some of the rows only."""
        return self._replace(
            wanted=self.wanted[which],
            n_wanted=self.n_wanted[which],
            origin=self.origin[which],
            boundary=self.boundary[which],
            slopes=self.slopes[which],
        )


class Scene(NamedTuple):
    """Where each of r rows is searched: its own values, box and surroundings."""

    rows: Floats
    box: Box
    around: Surroundings
    space: Space


@kernel
def straighten(prediction: float, is_probability: bool) -> float:
    """Return a prediction on the scale along which steps to the boundary are linear."""
    if not is_probability:
        return prediction
    inside = min(max(prediction, 1e-9), 1.0 - 1e-9)
    return math.log(inside / (1.0 - inside))


@kernel
def share_to_boundary(prediction: float, a: int, outlook: Outlook) -> float:
    """Return the share of a parent's change that a straight line needs to reach the boundary."""
    gained = straighten(prediction, outlook.is_probability) - outlook.origin[a]
    needed = outlook.boundary[a] - outlook.origin[a]
    return needed / gained if gained * needed > 0.0 else moves.FARTHEST


@kernel
def learn_slopes(
    children: Floats, is_new: Bools, predictions: Floats, outlook: Outlook, scene: Scene
) -> None:
    """Note what single changes of numbers have gained per unit, in `outlook.slopes`."""
    r, n, d = children.shape
    for w in range(r):
        anchor = scene.box.anchor[w]
        for i in range(n):
            n_changed, changed = 0, 0
            for j in range(d):
                if children[w, i, j] != anchor[j]:
                    n_changed += 1
                    changed = j
            if is_new[w, i] and n_changed == 1 and not scene.space.is_level[changed]:
                step = children[w, i, changed] - anchor[changed]
                gained = straighten(predictions[w, i], outlook.is_probability) - outlook.origin[w]
                outlook.slopes[w, int(step > 0.0), changed] = gained / step


@kernel
def choose_observed(genome: Floats, a: int, outlook: Outlook, scene: Scene, dice: Dice) -> int:
    """Return an observed row: one near the explained row that will do, or a neighbour."""
    if outlook.n_wanted[a] > 0 and roll(dice) < 0.5:
        return int(outlook.wanted[a, pick(outlook.n_wanted[a], dice)])
    around, row = scene.around, scene.rows[a]
    k = min(N_NEIGHBOURS, around.n_observed)
    distances, places = np.empty(k), np.empty(k, dtype=np.int64)
    nearest_distances(
        (genome - row) * around.weight[a],
        gower(genome, row, around.weight[a], around.cap),
        around.blocks[a],
        around.radius[a],
        around.cap,
        around.n_observed,
        distances,
        places,
    )
    return int(around.order[a, places[pick(k, dice)]])


@kernel
def move(
    child: Floats,
    parent: int,
    a: int,
    w: int,
    pool: Pool,
    outlook: Outlook,
    scene: Scene,
    ground: Ground,
    limits: Floats,
    dice: Dice,
) -> None:
    """Change the child, a copy of its parent, by the move its lot falls on below `limits`."""
    lot = roll(dice) * limits[-1]
    if lot < limits[0]:
        moves.put_back(child, ground, dice)
    elif lot < limits[1]:
        moves.rescale(child, ground, dice)
    elif lot < limits[2]:
        prediction = pool.predictions[a, parent]
        if roll(dice) < 0.5:
            share = share_to_boundary(prediction, w, outlook)
            moves.step_to_boundary(child, share, ground, dice)
        else:
            missing = outlook.boundary[w] - straighten(prediction, outlook.is_probability)
            moves.slide_to_boundary(child, missing, outlook.slopes[w], ground, dice)
    elif lot < limits[3]:
        observed = choose_observed(child, w, outlook, scene, dice)
        moves.follow(child, outlook.observed[observed], ground, dice)
    elif lot < limits[4]:
        mate = pool.members[a, pick(pool.n_members[a], dice)]
        moves.mix(child, pool.genomes[a, mate], ground, dice)
    else:
        moves.redraw(child, ground, dice)


@kernel
def obey(genome: Floats, w: int, box: Box, dice: Dice) -> None:
    """Keep what may not change, and put surplus changes back at random, in place."""
    n_free = 0
    for j in range(len(genome)):
        if not box.may_change[w, j]:
            genome[j] = box.anchor[w, j]
        elif genome[j] != box.anchor[w, j] and not box.is_forced[w, j]:
            n_free += 1
    while n_free > box.max_free[w]:
        surplus = pick(n_free, dice)
        for j in range(len(genome)):
            if genome[j] != box.anchor[w, j] and not box.is_forced[w, j]:
                if surplus == 0:
                    genome[j] = box.anchor[w, j]
                    break
                surplus -= 1
        n_free -= 1


@kernel
def breed(
    pool: Pool,
    rows: Ints,
    outlook: Outlook,
    scene: Scene,
    habits: Habits,
    steps: Floats,
    memory: Keys,
    keys: Keys,
    wave: int,
    size: int,
) -> tuple[Floats, Bools]:
    """Return a wave of candidates (r, size, d) and which of them are new.

    The prepared first `steps` come first. Where no new candidate can be made, the row itself fills
    the place: it was asked already.
    """
    r, d = scene.rows.shape
    children, is_new = np.empty((r, size, d)), np.zeros((r, size), dtype=np.bool_)
    limits = np.cumsum(np.array(habits[:N_MOVES]))
    odds = np.maximum(np.arange(d + 1), 1) ** -habits.sparse
    n_rolled = np.zeros(1, dtype=np.int64)
    for w in range(r):
        a = rows[w]
        box = scene.box
        free = np.flatnonzero(box.may_change[w])
        ground = Ground(box.anchor[w], box.lower[w], box.upper[w], free, scene.space)
        classes = classify(pool, a)
        for i in range(size):
            n_rolled[0] = 0
            dice = Dice(keys[w], wave, i, n_rolled)
            child = children[w, i]
            if i < steps.shape[1]:
                child[:] = steps[w, i]
                obey(child, w, box, dice)
                is_new[w, i] = remember(memory[w], child)
            for attempt in range(ATTEMPTS):
                if is_new[w, i] or len(free) == 0:
                    break
                if len(classes.member) > 0:
                    parent = choose_parent(classes, habits.p_valid, odds, dice)
                    child[:] = pool.genomes[a, parent]
                    move(child, parent, a, w, pool, outlook, scene, ground, limits, dice)
                else:
                    child[:] = box.anchor[w]
                    moves.redraw(child, ground, dice)
                for _ in range(attempt // 2):  # where all around is known, stray farther
                    moves.redraw(child, ground, dice)
                obey(child, w, box, dice)
                is_new[w, i] = remember(memory[w], child)
            if not is_new[w, i]:
                child[:] = scene.rows[w]
    return children, is_new
