"""Moves: whom the default search builds on, and how it makes new candidates of them.

A move is one short function, which changes a copy of its parent in place. It knows the row's
`RowSpace` and takes random numbers from the child's own `Draws`; whether the result is worth
anything is for the archive to say.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Floats, Ints, Keys, Shorts, Whole
from counterpoint.kernels import inner, part
from counterpoint.neighbours.gower import term
from counterpoint.problem.objectives import CHANGES, GAP
from counterpoint.search.front import LANES
from counterpoint.streams import WHOLE, Stage, next_uniform, word_at
from counterpoint.table.space import Features, from_uniform, snap

OFFSPRING = np.int64(Stage.OFFSPRING)
LOG_10 = math.log(10.0)
AT_BOUND = 0.25  # share of redraws that go to a bound: few, large changes often flip a decision
OUTWARDS = 0.3  # share of rescalings that move away from the row
SMALLEST_STEP = 2.0  # rescalings reach down to 10**-2 of a change
SMALLEST_OVERSHOOT = 5.0  # boundary steps aim 10**-1 to 10**-5 beyond the boundary
GOES_MISSING = 0.2  # share of redraws of what may be missing that make it so
FARTHEST = 3.0  # boundary steps stretch a change at most so far
MOST_FOLLOWED = np.int64(3)  # features taken from an observed row at once
P_MORE = 0.75  # chance that another feature is set free for small steps
VALID, NEAR_MISS = 0, 1
N_PARTS = 4  # of the members, that are gone through side by side


class RowSpace(NamedTuple):
    """What moves may do to the genomes of one row."""

    anchor: Floats  # (d,): the row's values, or the nearest allowed ones
    features: Features  # (d,): kind, grid and box of each feature
    free: Ints  # (at most d,): the features that may change
    max_free: int  # how many of them may change at once, besides those that must
    different: Ints  # (d,): room for the features in which two genomes differ


class Draws(NamedTuple):
    """Random numbers of one child: a sequence that starts at the address of row, wave and child."""

    state: Keys


@inner
def start_draws(draws: Draws, key: Keys, wave: int, child: int) -> None:
    """Start the sequence of a child."""
    draws.state[0] = word_at(key, OFFSPRING, wave, child, WHOLE)


@inner
def draw(draws: Draws) -> float:
    """Return the child's next draw in [0, 1)."""
    return next_uniform(draws.state)


@inner
def pick(n: Whole, draws: Draws) -> int:
    """Return one of 0 … n - 1."""
    return int(draw(draws) * n)


@inner
def list_free(features: Features, free: Ints) -> int:
    """Write which features may change into `free`; return how many do."""
    n_free = 0
    for j in range(len(features)):
        if features[j].may_change:
            free[n_free] = j
            n_free += 1
    return n_free


@inner
def straighten(prediction: float, is_probability: bool) -> float:
    """Return a prediction on the scale along which steps to the boundary are linear."""
    if not is_probability:
        return prediction
    inside = min(max(prediction, 1e-9), 1.0 - 1e-9)
    return math.log(inside / (1.0 - inside))


@inner
def pick_different(genome: Floats, other: Floats, space: RowSpace, draws: Draws) -> int:
    """Return one of the features that may change in which the two genomes differ, or -1.

    They are listed without a branch, which nobody could guess: each is written, and stays if the
    next place is taken then.
    """
    n_different = 0
    for j in space.free:
        space.different[n_different] = j
        n_different += genome[j] != other[j]
    chosen = pick(n_different, draws)
    return int(space.different[chosen]) if n_different > 0 else -1


@inner
def move_towards(value: float, goal: float, share: float, feature: Any) -> float:
    """Return a feature's value a share of the way to `goal`; a level goes all the way.

    So does a number that is missing at either end.
    """
    if not feature.is_level and value != MISSING and goal != MISSING:
        goal = value + share * (goal - value)
    return snap(goal, feature)


@inner
def put_back(genome: Floats, space: RowSpace, draws: Draws) -> None:
    """Put one changed feature back to the row's value; in a third of cases a second one."""
    n_features = 2 if draw(draws) < 1.0 / 3.0 else 1
    for _ in range(n_features):
        j = pick_different(genome, space.anchor, space, draws)
        if j >= 0:
            genome[j] = space.anchor[j]


@inner
def rescale(genome: Floats, space: RowSpace, draws: Draws) -> None:
    """Shrink one change towards the row, or stretch it, by a step of any magnitude."""
    j = pick_different(genome, space.anchor, space, draws)
    if j < 0:
        return
    if space.features[j].is_level or space.anchor[j] == MISSING:
        genome[j] = from_uniform(draw(draws), space.features[j])
        return
    step = math.exp(-SMALLEST_STEP * LOG_10 * draw(draws))
    if draw(draws) < OUTWARDS:
        step = -step
    genome[j] = move_towards(genome[j], space.anchor[j], step, space.features[j])


@inner
def overshoot(draws: Draws) -> float:
    """Return how far beyond the boundary to aim, as a share: of any magnitude, often tiny."""
    return math.exp(-LOG_10 * (1.0 + (SMALLEST_OVERSHOOT - 1.0) * draw(draws)))


@inner
def step_to_boundary(genome: Floats, share: float, space: RowSpace, draws: Draws) -> None:
    """Scale all changed numbers to where the prediction should just reach the target.

    `share` is how much of the parent's change a straight line between the row's prediction and the
    parent's needs to reach the boundary; the step ends a little beyond it.
    """
    factor = min(max(share * (1.0 + overshoot(draws)), 0.01), FARTHEST)
    for j in space.free:
        is_there = space.anchor[j] != MISSING and genome[j] != MISSING
        if is_there and not space.features[j].is_level:
            genome[j] = move_towards(space.anchor[j], genome[j], factor, space.features[j])


@inner
def slide_to_boundary(
    genome: Floats, missing: float, slopes: Floats, space: RowSpace, draws: Draws
) -> None:
    """Move one changed number to where the prediction should just reach the target.

    `missing` is how far the parent's prediction is from the boundary, negative if it is beyond, and
    `slopes` (2, d) how much a unit of each feature below and above the row's value gains.
    """
    j = pick_different(genome, space.anchor, space, draws)
    if j < 0 or space.features[j].is_level or genome[j] == MISSING:
        return
    slope = slopes[int(genome[j] > space.anchor[j]), j]
    if slope != 0.0:
        goal = genome[j] + missing * (1.0 + math.copysign(overshoot(draws), missing)) / slope
        genome[j] = snap(goal, space.features[j])


@inner
def follow(
    genome: Floats, observed: Floats, weight: Floats, cap: Floats, space: RowSpace, draws: Draws
) -> None:
    """Take one to three features of an observed row, in half of the cases only part of the way.

    In half of the cases they are those that differ most, so that few changes make the candidate
    as typical as they can; otherwise any.
    """
    n_features = 1 + pick(MOST_FOLLOWED, draws)
    share = 1.0 if draw(draws) < 0.5 else draw(draws)
    is_any = draw(draws) < 0.5
    for _ in range(n_features):
        j = -1
        if is_any:
            j = pick_different(genome, observed, space, draws)
        else:
            j = most_different(genome, observed, weight, cap, space)
        if j >= 0:
            genome[j] = move_towards(genome[j], observed[j], share, space.features[j])


@inner
def most_different(
    genome: Floats, observed: Floats, weight: Floats, cap: Floats, space: RowSpace
) -> int:
    """Return the feature that may change in which two genomes are farthest apart, or -1."""
    chosen, most = -1, 0.0
    for j in space.free:
        apart = term((genome[j] - observed[j]) * weight[j], cap[j])
        if apart > most:
            chosen, most = int(j), apart
    return chosen


@inner
def mix(genome: Floats, other: Floats, space: RowSpace, draws: Draws) -> None:
    """Add all changes of another member, or take each of its features with probability one half."""
    if draw(draws) < 0.5:
        for j in space.free:
            if other[j] != space.anchor[j]:
                genome[j] = other[j]
        return
    for j in space.free:
        if genome[j] != other[j] and draw(draws) < 0.5:
            genome[j] = other[j]


@inner
def redraw(genome: Floats, space: RowSpace, draws: Draws) -> None:
    """Give one feature a new value, anywhere or at a bound; half of the time put another back."""
    if draw(draws) < 0.5:
        put_back(genome, space, draws)
    j = space.free[pick(len(space.free), draws)]
    feature, where = space.features[j], draw(draws)
    if feature.may_miss and draw(draws) < GOES_MISSING:
        genome[j] = MISSING
    elif where < AT_BOUND and not feature.is_level:
        genome[j] = feature.lower if where < AT_BOUND / 2.0 else feature.upper
    else:
        genome[j] = from_uniform(draw(draws), feature)


@inner
def keep_limits(genome: Floats, space: RowSpace, draws: Draws) -> None:
    """Keep what may not change, and put surplus changes back at random, in place."""
    features, n_free = space.features, 0
    for j in range(len(genome)):
        feature = features[j]
        if not feature.may_change:
            genome[j] = feature.anchor
        n_free += genome[j] != feature.anchor and not feature.is_forced
    while n_free > space.max_free:
        surplus = pick(n_free, draws)
        for j in range(len(genome)):
            if genome[j] != features[j].anchor and not features[j].is_forced:
                if surplus == 0:
                    genome[j] = features[j].anchor
                    break
                surplus -= 1
        n_free -= 1


@part
def tighten(child: Floats, anchor: Floats, features: Features, draws: Draws) -> bool:
    """Move one changed number towards the row's value; False if there is none."""
    j = pick_number(child, anchor, features, draws)
    if j >= 0:
        child[j] = move_towards(child[j], anchor[j], 0.5 ** (6.0 * draw(draws)), features[j])
    return j >= 0


@part
def pick_number(child: Floats, anchor: Floats, features: Features, draws: Draws) -> int:
    """Return a changed number, or -1."""
    n = 0
    for j in range(len(child)):
        n += child[j] != anchor[j] and not features[j].is_level and anchor[j] != MISSING
    rest = pick(n, draws)
    for j in range(len(child)):
        if child[j] != anchor[j] and not features[j].is_level and anchor[j] != MISSING:
            if rest == 0 and child[j] != MISSING:
                return j
            rest -= 1
    return -1


class ArchiveView(NamedTuple):
    """The archive's arrays as the kernels read them; see `Archive`."""

    genomes: Floats
    predictions: Floats
    front: Floats
    members: Ints
    n_members: Ints
    size: Ints


class ParentClasses(NamedTuple):
    """The members of one row, by whether they reach the target and by their number of changes."""

    member: Ints  # (capacity,): archive indices, class by class
    # (2 * (d + 1),): where each class starts in `member`, and how many it has: first those that
    # reach the target by so many changes, then the near misses
    start: Ints
    size: Ints
    # (n_blocks * LANES,): the class of each member, in their order; short numbers, for only these
    # are made of floats by vector instructions
    kind: Shorts
    at: Ints  # (N_PARTS, 2 * (d + 1)): where the next member of each class, in each part, is put
    odds: Floats  # (2,): the odds of all classes together that have members, for both sorts


@inner
def classify(archive: ArchiveView, a: int, odds: Floats, classes: ParentClasses) -> int:
    """Sort the members of row a into `classes`; count them without those that change nothing.

    A class of c changes is as likely as ``odds[c]`` says.
    """
    start, size, kind, n = classes.start, classes.size, classes.kind, archive.n_members[a]
    n_sizes, at = len(size) // 2, classes.at
    note_kinds(archive.front[a], n_sizes, n, kind)
    count_kinds(kind, n, at)
    total = 0
    for sort in range(2):
        classes.odds[sort] = 0.0
        for changes in range(1, n_sizes):
            c = sort * n_sizes + changes
            start[c], total = total, take_places(at, c, total)
            size[c] = total - start[c]
            if size[c] > 0:
                classes.odds[sort] += odds[changes]
    n_placed = take_places(at, n_sizes, take_places(at, 0, total))  # they change nothing: last
    sort_members(archive.members[a], kind, n_placed, at, classes.member)
    return total


@inner
def count_kinds(kind: Shorts, n: int, counts: Ints) -> None:
    """Count the members of each class in every part of n members, the last of which is longest.

    The parts are gone through side by side: to count a class again right after it was counted
    waits for memory.
    """
    length = n // N_PARTS
    for q in range(N_PARTS):
        for c in range(counts.shape[1]):
            counts[q, c] = 0
    for i in range(length):
        for q in range(N_PARTS):
            counts[q, kind[q * length + i]] += 1
    for k in range(N_PARTS * length, n):
        counts[N_PARTS - 1, kind[k]] += 1


@inner
def take_places(at: Ints, c: int, total: int) -> int:
    """Make the counts of a class the places where each part's begin; return where all end."""
    for q in range(N_PARTS):
        at[q, c], total = total, total + at[q, c]
    return total


@inner
def sort_members(members: Ints, kind: Shorts, n: int, at: Ints, member: Ints) -> None:
    """Write n members class by class, those of each class in their order."""
    length = n // N_PARTS
    for i in range(length):
        for q in range(N_PARTS):
            c = kind[q * length + i]
            member[at[q, c]] = members[q * length + i]
            at[q, c] += 1
    for k in range(N_PARTS * length, n):
        member[at[N_PARTS - 1, kind[k]]] = members[k]
        at[N_PARTS - 1, kind[k]] += 1


@inner
def note_kinds(front: Floats, n_sizes: int, n: int, kind: Shorts) -> None:
    """Write the class of each of n members, sixteen at a time: the places left over are written to.

    So do the loops become vector instructions.
    """
    near_misses = float(NEAR_MISS * n_sizes)
    for block in range((n + LANES - 1) // LANES):
        gap, changes = front[block, GAP], front[block, CHANGES]
        for q in range(LANES):
            first = 0.0 if gap[q] <= 0.0 else near_misses
            count = changes[q] if changes[q] >= 0.0 else 0.0  # NaN, in the places left over
            kind[block * LANES + q] = np.int32(first + count)


@inner
def choose_parent(classes: ParentClasses, p_valid: float, odds: Floats, draws: Draws) -> int:
    """Return a member: first whether it is valid, then its number of changes, then any such one.

    A class of c changes is as likely as ``odds[c]`` says, which are above 0: hypervolume is won
    where few features change, and a class must not be passed over because another is more
    numerous. Those that still miss the target fill the front between the row and the decision
    boundary.
    """
    sort = VALID if draw(draws) < p_valid else NEAR_MISS
    if classes.odds[VALID] == 0.0 or classes.odds[NEAR_MISS] == 0.0:
        sort = VALID if classes.odds[NEAR_MISS] == 0.0 else NEAR_MISS
    n_sizes = len(classes.size) // 2
    rest, chosen = draw(draws) * classes.odds[sort], sort * n_sizes
    for changes in range(1, n_sizes):
        if classes.size[sort * n_sizes + changes] > 0:
            chosen = sort * n_sizes + changes
            rest -= odds[changes]
            if rest < 0.0:
                break
    return int(classes.member[classes.start[chosen] + pick(classes.size[chosen], draws)])


@part
def set_free(child: Floats, anchor: Floats, free: Any, has_all: bool, draws: Draws) -> None:
    """Set some features free: half of them changed ones; or all."""
    d, n_changed = len(child), 0
    for j in range(d):
        free[j].is_free = has_all
        n_changed += child[j] != anchor[j]
    n = 1
    while n < d and draw(draws) < P_MORE:
        n += 1
    for _ in range(n):
        if n_changed > 0 and draw(draws) < 0.5:
            rest = pick(n_changed, draws)
            for j in range(d):
                if child[j] != anchor[j]:
                    if rest == 0:
                        free[j].is_free = True
                    rest -= 1
        else:
            free[pick(d, draws)].is_free = True
