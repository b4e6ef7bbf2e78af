"""Parents: which members of the archive the default search builds on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
    start, size : ndarray of shape (2 * (d + 1),)
        Where each class starts in `member`, and how many it has: first those that reach the target
        by so many changes, then the near misses.
    kind : ndarray of shape (n_blocks * LANES,)
        The class of each member, in their order.
    odds : ndarray of shape (2,)
        The odds of all classes together that have members, for both sorts.
    """

    member: Ints
    start: Ints
    size: Ints
    kind: Ints
    odds: Floats


def empty_classes(n_members: int, d: int) -> ParentClasses:
    """Return room for the classes of at most so many members with d features."""
    start, size = np.zeros((2, 2 * (d + 1)), dtype=np.int64)
    kind = np.empty(-(-n_members // LANES) * LANES, dtype=np.int64)
    return ParentClasses(np.empty(n_members, dtype=np.int64), start, size, kind, np.empty(2))


@inner
def classify(archive: ArchiveView, a: int, odds: Floats, classes: ParentClasses) -> int:
    """Sort the members of row a into `classes`; count them without those that change nothing.

    A class of c changes is as likely as ``odds[c]`` says.
    """
    start, size, kind, n = classes.start, classes.size, classes.kind, archive.n_members[a]
    n_sizes = len(size) // 2
    note_kinds(archive.front[a], n_sizes, n, kind)
    size[:] = 0
    for k in range(n):
        size[kind[k]] += 1
    total = 0
    for sort in range(2):
        classes.odds[sort] = 0.0
        for changes in range(1, n_sizes):
            c = sort * n_sizes + changes
            start[c] = total
            total += size[c]
            if size[c] > 0:
                classes.odds[sort] += odds[changes]
    start[0], start[n_sizes] = total, total + size[0]  # they change nothing, and come last
    for k in range(n):
        classes.member[start[kind[k]]] = archive.members[a, k]
        start[kind[k]] += 1
    for c in range(len(size)):
        start[c] -= size[c]
    return total


@inner
def note_kinds(front: Floats, n_sizes: int, n: int, kind: Ints) -> None:
    """Write the class of each of n members, sixteen at a time: the places left over are written to.

    So do the loops become vector instructions.
    """
    for block in range((n + LANES - 1) // LANES):
        gap, changes = front[block, GAP], front[block, CHANGES]
        for q in range(LANES):
            sort = VALID if gap[q] <= 0.0 else NEAR_MISS
            kind[block * LANES + q] = sort * n_sizes + int(changes[q])


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
