"""Parents: which members of the archive the default search builds on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.evolution.front import LANES
from counterpoint.evolution.moves import Dice, pick, roll
from counterpoint.kernels import kernel
from counterpoint.problem.objectives import CHANGES, GAP

VALID, MISSING = 0, 1


class Pool(NamedTuple):
    """The archive's arrays as the kernels read them; see `Archive`."""

    genomes: Floats
    predictions: Floats
    front: Floats
    members: Ints
    n_members: Ints


class Classes(NamedTuple):
    """The members of one row, by whether they reach the target and by their number of changes.

    Attributes
    ----------
    member : ndarray of shape (n,)
        Archive indices, class by class.
    start, size : ndarray of shape (2, d + 1)
        Where the class of so many changes starts in `member`, and how many it has.
    """

    member: Ints
    start: Ints
    size: Ints


@kernel
def classify(pool: Pool, a: int) -> Classes:
    """Sort the members of row a into classes; those that change nothing are left out."""
    d, n = pool.genomes.shape[2], pool.n_members[a]
    size = np.zeros((2, d + 1), dtype=np.int64)
    for k in range(n):
        sort, changes = class_of(pool.front[a], k)
        size[sort, changes] += changes > 0
    start, total = np.zeros((2, d + 1), dtype=np.int64), 0
    for sort in range(2):
        for changes in range(d + 1):
            start[sort, changes] = total
            total += size[sort, changes]
    member, filled = np.empty(total, dtype=np.int64), start.copy()
    for k in range(n):
        sort, changes = class_of(pool.front[a], k)
        if changes > 0:
            member[filled[sort, changes]] = pool.members[a, k]
            filled[sort, changes] += 1
    return Classes(member, start, size)


@kernel
def class_of(front: Floats, k: int) -> tuple[int, int]:
    """Return the class of the k-th member: whether it reaches the target, and its changes."""
    block, lane = k // LANES, k % LANES
    sort = VALID if front[block, GAP, lane] <= 0.0 else MISSING
    return sort, int(front[block, CHANGES, lane])


@kernel
def choose_parent(classes: Classes, p_valid: float, odds: Floats, dice: Dice) -> int:
    """Return a member: first whether it is valid, then its number of changes, then any such one.

    A class of c changes is as likely as ``odds[c]`` says: hypervolume is won where few
    features change, and a class must not be passed over because another is more numerous. Those
    that still miss the target fill the front between the row and the decision boundary.
    """
    n_valid, n_missing = classes.size[VALID].sum(), classes.size[MISSING].sum()
    sort = VALID if roll(dice) < p_valid else MISSING
    if n_valid == 0 or n_missing == 0:
        sort = VALID if n_missing == 0 else MISSING
    sizes = classes.size[sort]
    total = 0.0
    for changes in range(1, len(sizes)):
        if sizes[changes] > 0:
            total += odds[changes]
    rest, chosen = roll(dice) * total, 0
    for changes in range(1, len(sizes)):
        if sizes[changes] > 0:
            chosen = changes
            rest -= odds[changes]
            if rest < 0.0:
                break
    return int(classes.member[classes.start[sort, chosen] + pick(sizes[chosen], dice)])
