"""Parents: which members of the archive the default search builds on."""

from __future__ import annotations

from typing import NamedTuple

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import inner
from counterpoint.problem.objectives import CHANGES, GAP
from counterpoint.search.explore.moves import Draws, draw, pick
from counterpoint.search.front import LANES

VALID, NEAR_MISS = 0, 1


class ArchiveView(NamedTuple):
    """The archive's arrays as the kernels read them; see `Archive`."""

    genomes: Floats
    predictions: Floats
    front: Floats
    members: Ints
    n_members: Ints
    size: Ints


class ParentClasses(NamedTuple):
    """The members of one row, by whether they reach the target and by their number of changes.

    Attributes
    ----------
    member : ndarray of shape (capacity,)
        Archive indices, class by class.
    start, size : ndarray of shape (2, d + 1)
        Where the class of so many changes starts in `member`, and how many it has.
    """

    member: Ints
    start: Ints
    size: Ints


@inner
def classify(archive: ArchiveView, a: int, classes: ParentClasses) -> int:
    """Sort the members of row a into `classes`, those that change nothing left out; count them."""
    front, start, size = archive.front[a], classes.start, classes.size
    for changes in range(size.shape[1]):
        size[VALID, changes], size[NEAR_MISS, changes] = 0, 0
    for k in range(archive.n_members[a]):
        sort, changes = class_of(front, k)
        size[sort, changes] += changes > 0
    total = 0
    for sort in range(2):
        for changes in range(size.shape[1]):
            start[sort, changes] = total
            total += size[sort, changes]
            size[sort, changes] = 0
    for k in range(archive.n_members[a]):
        sort, changes = class_of(front, k)
        if changes > 0:
            classes.member[start[sort, changes] + size[sort, changes]] = archive.members[a, k]
            size[sort, changes] += 1
    return total


@inner
def class_of(front: Floats, k: int) -> tuple[int, int]:
    """Return the class of the k-th member: whether it reaches the target, and its changes."""
    block, lane = k // LANES, k % LANES
    sort = VALID if front[block, GAP, lane] <= 0.0 else NEAR_MISS
    return sort, int(front[block, CHANGES, lane])


@inner
def choose_parent(classes: ParentClasses, p_valid: float, odds: Floats, draws: Draws) -> int:
    """Return a member: first whether it is valid, then its number of changes, then any such one.

    A class of c changes is as likely as ``odds[c]`` says: hypervolume is won where few
    features change, and a class must not be passed over because another is more numerous. Those
    that still miss the target fill the front between the row and the decision boundary.
    """
    n_valid = classes.start[NEAR_MISS, 0]  # the valid ones come first
    n_missing = classes.start[NEAR_MISS, -1] + classes.size[NEAR_MISS, -1] - n_valid
    sort = VALID if draw(draws) < p_valid else NEAR_MISS
    if n_valid == 0 or n_missing == 0:
        sort = VALID if n_missing == 0 else NEAR_MISS
    sizes = classes.size[sort]
    total = 0.0
    for changes in range(1, len(sizes)):
        if sizes[changes] > 0:
            total += odds[changes]
    rest, chosen = draw(draws) * total, 0
    for changes in range(1, len(sizes)):
        if sizes[changes] > 0:
            chosen = changes
            rest -= odds[changes]
            if rest < 0.0:
                break
    return int(classes.member[classes.start[sort, chosen] + pick(sizes[chosen], draws)])
