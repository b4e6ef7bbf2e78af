"""Breeding: one wave of new candidates for every row, each made of a parent by one move."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.kernels import assign, inner, kernel, part
from counterpoint.neighbours.gower import gower
from counterpoint.neighbours.index import NearRows, neighbourhood_at
from counterpoint.neighbours.nearest import Neighbours, empty_neighbours, find_nearest
from counterpoint.search.explore import moves
from counterpoint.search.explore.moves import Dice, Ground, pick, roll, shake
from counterpoint.search.explore.parents import Classes, Pool, choose_parent, classify
from counterpoint.search.feasibility import Mender, mend, n_attempts
from counterpoint.search.ground import Grounds
from counterpoint.table.space import Features, remember

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
        The row's prediction and the nearer end of its target.
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
    """Where each of r rows is searched: its own values, ground and surroundings."""

    rows: Floats
    grounds: Grounds
    near_rows: NearRows


class Room(NamedTuple):
    """Scratch for breeding one row's children.

    Attributes
    ----------
    near : Neighbours
        Of the parent.
    model : ndarray of shape (d,)
        The observed row to follow.
    free : ndarray of shape (d,)
        The features that may change.
    state : ndarray of shape (1,)
        Of the child's dice.
    classes : Classes
        The row's members.
    """

    near: Neighbours
    model: Floats
    free: Ints
    state: Keys
    classes: Classes


def empty_room(cap: Floats, n_near: int, n_members: int) -> Room:
    """Return room for features with these caps, so many observed rows at hand and members."""
    d = len(cap)
    return Room(
        empty_neighbours(cap, min(N_NEIGHBOURS, n_near)),
        np.empty(d),
        np.empty(d, dtype=np.int64),
        np.empty(1, dtype=np.uint64),
        Classes(np.empty(n_members, dtype=np.int64), *np.empty((2, 2, d + 1), dtype=np.int64)),
    )


def chances_of(habits: Habits, d: int) -> Chances:
    """Return the chances of rows with d features."""
    odds = np.array([float(max(changes, 1)) ** -habits.sparse for changes in range(d + 1)])
    return Chances(np.cumsum(habits[:N_MOVES]), odds, float(habits.p_valid))


@inner
def straighten(prediction: float, is_probability: bool) -> float:
    """Return a prediction on the scale along which steps to the boundary are linear."""
    if not is_probability:
        return prediction
    inside = min(max(prediction, 1e-9), 1.0 - 1e-9)
    return math.log(inside / (1.0 - inside))


@inner
def share_to_boundary(prediction: float, origin: float, boundary: float) -> float:
    """Return the share of a parent's change that a straight line needs to reach the boundary."""
    gained, needed = prediction - origin, boundary - origin
    return needed / gained if gained * needed > 0.0 else moves.FARTHEST


def learn_slopes(
    children: Floats, is_new: Bools, predictions: Floats, outlook: Outlook, scene: Scene
) -> None:
    """Note what single changes of numbers have gained per unit, in `outlook.slopes`."""
    origin, is_probability, slopes = outlook.origin, outlook.is_probability, outlook.slopes
    _note_slopes(children, is_new, predictions, scene.grounds, origin, is_probability, slopes)


@kernel
def _note_slopes(
    children: Floats,
    is_new: Bools,
    predictions: Floats,
    grounds: Grounds,
    origin: Floats,
    is_probability: bool,
    slopes: Floats,
) -> None:
    """See `learn_slopes`; it is told only what it needs, because every array costs time."""
    r, n, d = children.shape
    for w in range(r):
        anchor, features = grounds.anchor[w], grounds.features[w]
        start = straighten(origin[w], is_probability)
        for i in range(n):
            n_changed, changed = 0, 0
            for j in range(d):
                if children[w, i, j] != anchor[j]:
                    n_changed += 1
                    changed = j
            is_there = anchor[changed] != MISSING and children[w, i, changed] != MISSING
            is_number = is_there and not features[changed].is_level
            if is_new[w, i] and n_changed == 1 and is_number:
                step = children[w, i, changed] - anchor[changed]
                gained = straighten(predictions[w, i], is_probability) - start
                slopes[w, int(step > 0.0), changed] = gained / step


@part
def choose_observed(
    genome: Floats, w: int, outlook: Outlook, scene: Scene, room: Room, dice: Dice
) -> None:
    """Choose an observed row: one near the explained row that will do, or a neighbour at hand."""
    if outlook.n_wanted[w] > 0 and roll(dice) < 0.5:
        wanted = outlook.wanted[w, pick(outlook.n_wanted[w], dice)]
        assign(room.model, outlook.observed[wanted])
        return
    row, near = scene.rows[w], room.near
    neighbourhood = neighbourhood_at(scene.near_rows, scene.near_rows.at[w], row)
    own = gower(genome, row, neighbourhood.weight, neighbourhood.cap)
    near.distances[:] = np.inf
    find_nearest(genome, own, neighbourhood, near)
    assign(
        room.model,
        neighbourhood.observed[neighbourhood.order[near.places[pick(len(near.places), dice)]]],
    )


@part
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
        now = straighten(pool.predictions[a, parent], outlook.is_probability)
        boundary = straighten(outlook.boundary[w], outlook.is_probability)
        if roll(dice) < 0.5:
            origin = straighten(outlook.origin[w], outlook.is_probability)
            share = share_to_boundary(now, origin, boundary)
            moves.step_to_boundary(child, share, ground, dice)
        else:
            moves.slide_to_boundary(child, boundary - now, outlook.slopes[w], ground, dice)
    elif lot < limits[3]:
        choose_observed(child, w, outlook, scene, room, dice)
        moves.follow(child, room.model, ground, dice)
    elif lot < limits[4]:
        mate = pool.members[a, pick(pool.n_members[a], dice)]
        moves.mix(child, pool.genomes[a, mate], ground, dice)
    else:
        moves.redraw(child, ground, dice)


@inner
def obey(genome: Floats, features: Features, max_free: int, dice: Dice) -> None:
    """Keep what may not change, and put surplus changes back at random, in place."""
    n_free = 0
    for j in range(len(genome)):
        feature = features[j]
        if not feature.may_change:
            genome[j] = feature.anchor
        n_free += genome[j] != feature.anchor and not feature.is_forced
    while n_free > max_free:
        surplus = pick(n_free, dice)
        for j in range(len(genome)):
            if genome[j] != features[j].anchor and not features[j].is_forced:
                if surplus == 0:
                    genome[j] = features[j].anchor
                    break
                surplus -= 1
        n_free -= 1


def breed(
    pool: Pool,
    rows: Ints,
    outlook: Outlook,
    scene: Scene,
    chances: Chances,
    steps: Steps,
    memory: Keys,
    keys: Keys,
    wave: int,
    size: int,
    room: Room,
    mender: Mender | None = None,
) -> tuple[Floats, Bools]:
    """Return a wave of candidates (r, size, d) and which of them are new.

    What breaks the rules is repaired by the `mender`; if that fails, it is not new. The prepared
    first `steps` come first. Where no new candidate can be made, the row itself fills the place: it
    was asked already.
    """
    r, d = scene.rows.shape
    children, is_new = np.empty((r, size, d)), np.zeros((r, size), dtype=np.bool_)
    _breed(
        *(pool, rows, outlook, scene, chances, steps, memory, keys, wave, room, mender),
        *(children, is_new),
    )
    return children, is_new


@kernel
def _breed(
    pool: Pool,
    rows: Ints,
    outlook: Outlook,
    scene: Scene,
    chances: Chances,
    steps: Steps,
    memory: Keys,
    keys: Keys,
    wave: int,
    room: Room,
    mender: Mender | None,
    children: Floats,
    is_new: Bools,
) -> None:
    """Write what `breed` returns."""
    for w in range(len(rows)):
        breed_row(
            children[w],
            is_new[w],
            rows[w],
            w,
            wave,
            pool,
            outlook,
            scene,
            chances,
            steps,
            memory[w],
            keys[w],
            room,
            mender,
        )


@part
def breed_row(
    children: Floats,
    is_new: Bools,
    a: int,
    w: int,
    wave: int,
    pool: Pool,
    outlook: Outlook,
    scene: Scene,
    chances: Chances,
    steps: Steps,
    memory: Keys,
    key: Keys,
    room: Room,
    mender: Mender | None,
) -> None:
    """Make the children (size, d) of one row: row a of the archive, row w of those searched."""
    features, max_free, n_free = scene.grounds.features[w], scene.grounds.max_free[w], 0
    for j in range(len(features)):
        if features[j].may_change:
            room.free[n_free] = j
            n_free += 1
    ground = Ground(scene.grounds.anchor[w], features, room.free[:n_free])
    n_parents, dice = classify(pool, a, room.classes), Dice(room.state)
    for i in range(len(children)):
        shake(dice, key, wave, i)
        child = children[i]
        if steps.first + i < len(steps.feature):
            assign(child, ground.anchor)
            child[steps.feature[steps.first + i]] = steps.value[w, steps.first + i]
            obey(child, features, max_free, dice)
            is_new[i] = mend(child, w, mender, dice.state) and remember(memory, child)
        for attempt in range(n_attempts(mender, ATTEMPTS)):
            if is_new[i] or n_free == 0:
                break
            if n_parents > 0:
                parent = choose_parent(room.classes, chances.p_valid, chances.odds, dice)
                assign(child, pool.genomes[a, parent])
                move(child, parent, a, w, pool, outlook, scene, ground, chances.limits, room, dice)
            else:
                assign(child, ground.anchor)
                moves.redraw(child, ground, dice)
            for _ in range(attempt // 2):  # where all around is known, stray farther
                moves.redraw(child, ground, dice)
            obey(child, features, max_free, dice)
            is_new[i] = mend(child, w, mender, dice.state) and remember(memory, child)
        if not is_new[i]:
            assign(child, scene.rows[w])
