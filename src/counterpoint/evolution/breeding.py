"""Breeding: one wave of new candidates for every row, each made of a parent by one move."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys
from counterpoint.evolution import moves
from counterpoint.evolution.memory import remember
from counterpoint.evolution.moves import Dice, Ground, pick, roll, shake
from counterpoint.evolution.parents import Classes, Pool, choose_parent, classify
from counterpoint.kernels import assign, inner, kernel
from counterpoint.problem.limits import Box
from counterpoint.problem.surroundings import Surroundings
from counterpoint.table.distance import LANES, gower, nearest_distances
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


class Steps(NamedTuple):
    """Single changes to try first.

    Attributes
    ----------
    feature : ndarray of shape (n,)
        What each changes.
    value : ndarray of shape (r, n)
        What it becomes.
    first : int
        How many were tried already.
    """

    feature: Ints
    value: Floats
    first: int


class Chances(NamedTuple):
    """`Habits` as they are rolled for: cumulative frequencies, odds of classes, share of valid."""

    limits: Floats
    odds: Floats
    p_valid: float


class Scene(NamedTuple):
    """Where each of r rows is searched: its own values, box and surroundings."""

    rows: Floats
    box: Box
    around: Surroundings
    space: Space


class Room(NamedTuple):
    """Scratch for breeding one row's children."""

    scaled: Floats
    nearest: Floats
    places: Ints
    sums: Floats
    free: Ints
    state: Keys


@inner
def straighten(prediction: float, is_probability: bool) -> float:
    """Return a prediction on the scale along which steps to the boundary are linear."""
    if not is_probability:
        return prediction
    inside = min(max(prediction, 1e-9), 1.0 - 1e-9)
    return math.log(inside / (1.0 - inside))


@inner
def share_to_boundary(prediction: float, a: int, outlook: Outlook) -> float:
    """Return the share of a parent's change that a straight line needs to reach the boundary."""
    gained = straighten(prediction, outlook.is_probability) - outlook.origin[a]
    needed = outlook.boundary[a] - outlook.origin[a]
    return needed / gained if gained * needed > 0.0 else moves.FARTHEST


@inner
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


@inner
def choose_observed(
    genome: Floats, a: int, outlook: Outlook, scene: Scene, room: Room, dice: Dice
) -> int:
    """Return an observed row: one near the explained row that will do, or a neighbour at hand."""
    if outlook.n_wanted[a] > 0 and roll(dice) < 0.5:
        return int(outlook.wanted[a, pick(outlook.n_wanted[a], dice)])
    around, row, at = scene.around, scene.rows[a], scene.around.at[a]
    weight = around.weight[at]
    for j in range(len(genome)):
        room.scaled[j] = (genome[j] - row[j]) * weight[j]
    nearest_distances(
        room.scaled,
        gower(genome, row, weight, around.cap),
        around.blocks[at],
        around.radius[at],
        around.cap,
        around.n_near,
        room.nearest,
        room.places,
        room.sums,
    )
    return int(around.order[at, room.places[pick(len(room.places), dice)]])


@inner
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
    room: Room,
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
        observed = choose_observed(child, w, outlook, scene, room, dice)
        moves.follow(child, outlook.observed[observed], ground, dice)
    elif lot < limits[4]:
        mate = pool.members[a, pick(pool.n_members[a], dice)]
        moves.mix(child, pool.genomes[a, mate], ground, dice)
    else:
        moves.redraw(child, ground, dice)


@inner
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
    steps: Steps,
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
    k = min(N_NEIGHBOURS, scene.around.n_near)
    room = Room(
        np.empty(d),
        np.empty(k),
        np.empty(k, dtype=np.int64),
        np.empty(LANES),
        np.empty(d, dtype=np.int64),
        np.zeros(1, dtype=np.uint64),
    )
    classes = Classes(
        np.empty(pool.members.shape[1], dtype=np.int64),
        np.empty((2, d + 1), dtype=np.int64),
        np.empty((2, d + 1), dtype=np.int64),
    )
    chances = Chances(limits, odds, habits.p_valid)
    for w in range(r):
        a, key = rows[w], keys[w]
        breed_row(
            children[w],
            is_new[w],
            (a, w, wave),
            pool,
            outlook,
            scene,
            chances,
            steps,
            memory[w],
            key,
            room,
            classes,
        )
    return children, is_new


@inner
def breed_row(
    children: Floats,
    is_new: Bools,
    place: tuple[int, int, int],
    pool: Pool,
    outlook: Outlook,
    scene: Scene,
    chances: Chances,
    steps: Steps,
    memory: Keys,
    key: Keys,
    room: Room,
    classes: Classes,
) -> None:
    """Make the children (size, d) of one row: row a of the archive, row w of those searched."""
    a, w, wave = place
    box, n_free = scene.box, 0
    for j in range(children.shape[1]):
        if box.may_change[w, j]:
            room.free[n_free] = j
            n_free += 1
    free = room.free[:n_free]
    ground = Ground(box.anchor[w], box.lower[w], box.upper[w], free, scene.space)
    n_parents, dice = classify(pool, a, classes), Dice(room.state)
    for i in range(len(children)):
        shake(dice, key, wave, i)
        child = children[i]
        if steps.first + i < len(steps.feature):
            assign(child, box.anchor[w])
            child[steps.feature[steps.first + i]] = steps.value[w, steps.first + i]
            obey(child, w, box, dice)
            is_new[i] = remember(memory, child)
        for attempt in range(ATTEMPTS):
            if is_new[i] or n_free == 0:
                break
            if n_parents > 0:
                parent = choose_parent(classes, chances.p_valid, chances.odds, dice)
                assign(child, pool.genomes[a, parent])
                move(child, parent, a, w, pool, outlook, scene, ground, chances.limits, room, dice)
            else:
                assign(child, box.anchor[w])
                moves.redraw(child, ground, dice)
            for _ in range(attempt // 2):  # where all around is known, stray farther
                moves.redraw(child, ground, dice)
            obey(child, w, box, dice)
            is_new[i] = remember(memory, child)
        if not is_new[i]:
            assign(child, scene.rows[w])
