"""Front: the candidates that no other dominates, and how much they dominate: the hypervolume.

The objectives of a row's front lie in blocks (n_blocks, m, LANES), so that a candidate is compared
with sixteen members at once. Places without a member in a block that is in use are NaN, which
compares with nothing.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import inner, part

LANES = 16
N_BUILT_IN = 4  # objectives there are at least; they are compared by vector instructions


@inner
def compare_block(point: Floats, block: Floats) -> tuple[int, int, int]:
    """Return how many of a block (m, LANES) are no worse, are no better, or equal the point.

    In each of the first four objectives, that is; places without a member count nowhere. They are
    written out because only so do they become vector instructions.
    """
    gap, distance, changes, implausibility = block[0], block[1], block[2], block[3]
    n_no_worse, n_no_better, n_equal = 0, 0, 0
    for q in range(LANES):
        is_no_worse = (
            (gap[q] <= point[0])
            & (distance[q] <= point[1])
            & (changes[q] <= point[2])
            & (implausibility[q] <= point[3])
        )
        is_no_better = (
            (gap[q] >= point[0])
            & (distance[q] >= point[1])
            & (changes[q] >= point[2])
            & (implausibility[q] >= point[3])
        )
        n_no_worse += is_no_worse
        n_no_better += is_no_better
        n_equal += is_no_worse & is_no_better
    return n_no_worse, n_no_better, n_equal


@inner
def compare_wide(point: Floats, block: Floats) -> tuple[int, int, int]:
    """Return what `compare_block` does, for all m objectives."""
    n_no_worse, n_no_better, n_equal = 0, 0, 0
    for q in range(LANES):
        is_no_worse, is_no_better = True, True
        for m in range(len(point)):
            is_no_worse &= block[m, q] <= point[m]
            is_no_better &= block[m, q] >= point[m]
        n_no_worse += is_no_worse
        n_no_better += is_no_better
        n_equal += is_no_worse & is_no_better
    return n_no_worse, n_no_better, n_equal


@part
def admit(point: Floats, front: Floats, members: Ints, n_members: int, new: int) -> tuple[int, int]:
    """Put candidate `new` last among the members if none dominates it, and drop those it dominates.

    Returned are the new number of members, 0 if it was refused, and how many have the same
    objectives.
    """
    n_blocks = (n_members + LANES - 1) // LANES
    first_below, n_equal = n_blocks, 0  # the first block of which it dominates a member
    for b in range(n_blocks):
        no_worse, no_better, equal = compare_block(point, front[b])
        if len(point) > N_BUILT_IN and no_worse + no_better > 0:  # else all m cannot be either
            no_worse, no_better, equal = compare_wide(point, front[b])
        if no_worse > equal:
            if 0 < b < n_blocks - 1:
                swap_blocks(front, members, b, b // 2)
            return 0, 0
        if no_better > equal:
            first_below = min(first_below, b)
        n_equal += equal
    if first_below < n_blocks:
        n_members = drop_dominated(point, front, members, n_members, first_below)
    members[n_members] = new
    block, lane = n_members // LANES, n_members % LANES
    if lane == 0:
        front[block] = np.nan
    for m in range(len(point)):
        front[block, m, lane] = point[m]
    return n_members + 1, n_equal


@inner
def swap_blocks(front: Floats, members: Ints, i: int, j: int) -> None:
    """Move a block that refused a candidate forwards: it is likely to refuse the next one too."""
    for q in range(LANES):
        a, b = i * LANES + q, j * LANES + q
        members[a], members[b] = members[b], members[a]
    for m in range(front.shape[1]):
        for q in range(LANES):
            front[i, m, q], front[j, m, q] = front[j, m, q], front[i, m, q]


@inner
def drop_dominated(point: Floats, front: Floats, members: Ints, n_members: int, first: int) -> int:
    """Close the ranks over the members the point dominates, none of which is before a block.

    Return how many are left.
    """
    n_kept = first * LANES
    for b in range(first, (n_members + LANES - 1) // LANES):
        _, no_better, _ = compare_block(point, front[b])
        for q in range(min(LANES, n_members - b * LANES)):
            if no_better == 0 or not is_dominated(point, front[b], q):
                members[n_kept] = members[b * LANES + q]
                for m in range(len(point)):
                    front[n_kept // LANES, m, n_kept % LANES] = front[b, m, q]
                n_kept += 1
    for k in range(n_kept, n_members):
        clear_place(front, k)
    return n_kept


@inner
def is_dominated(point: Floats, block: Floats, q: int) -> bool:
    """Whether the point dominates a member of a block."""
    is_better, is_worse = False, False
    for m in range(len(point)):
        is_better |= point[m] < block[m, q]
        is_worse |= point[m] > block[m, q]
    return is_better and not is_worse


@inner
def clear_place(front: Floats, k: int) -> None:
    """Make the k-th place one without a member."""
    for m in range(front.shape[1]):
        front[k // LANES, m, k % LANES] = np.nan


MOST_EXACT = 5  # objectives; with more the exact volume of a large set takes minutes …
FEW = 20  # … but not of so few points
N_DIRECTIONS = 2**14  # by which it is approximated then


def hypervolume(objectives: Floats, reference: Floats) -> float:
    """Return the volume dominated by `objectives` (n, m) up to `reference` (m,).

    Points that are not strictly better than the reference in every objective add nothing. Of more
    than 20 points in more than five objectives it is approximated, the same way every time: to
    about a thousandth with six or seven objectives, a hundredth with twelve.

    Examples
    --------
    >>> hypervolume(np.array([[0.5, 0.5], [0.9, 0.9]]), np.array([1.0, 1.0]))
    0.25
    """
    import moocore  # not at the top: it loads slowly

    inside = objectives[(objectives < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if not is_exact(len(inside), len(reference)):
        return _approximate(inside, reference)
    return float(moocore.hypervolume(inside, ref=reference))


def is_exact(n: int, m: int) -> bool:
    """Whether the volume of n points in m objectives is measured, not approximated."""
    return n <= FEW or m <= MOST_EXACT


def _approximate(inside: Floats, reference: Floats) -> float:
    """Return about the volume dominated by points that are all better than the reference.

    In units of the best values: directions are spread evenly, and so must be what they measure.
    """
    import moocore  # not at the top: it loads slowly

    span = reference - inside.min(axis=0)
    scaled = (inside - reference) / span + 1.0
    share = moocore.hv_approx(
        scaled, ref=np.ones(len(span)), nsamples=N_DIRECTIONS, method="DZ2019-HW"
    )
    return float(share * np.prod(span))


def hypervolume_history(
    objectives: Floats, generation: Ints, n_generations: int, reference: Floats
) -> Floats:
    """Return the hypervolume after each generation 0 … n_generations - 1.

    The points (n, m) are in the order they came, each in its `generation`, ascending.
    """
    import moocore  # not at the top: it loads slowly

    ends = np.searchsorted(generation, np.arange(n_generations), side="right")
    volumes = np.zeros(n_generations)
    best = objectives[:0]
    for g, (start, stop) in enumerate(zip(np.r_[0, ends][:-1], ends, strict=True)):
        if stop == start:
            volumes[g] = volumes[g - 1] if g else 0.0
            continue
        best = np.concatenate([best, objectives[start:stop]])
        best = best[moocore.is_nondominated(best)]
        volumes[g] = hypervolume(best, reference)
    return np.maximum.accumulate(volumes)  # where it is approximated it could else seem to shrink


def covered(points: Floats, by: Floats) -> Bools:
    """Return which `points` (n, m) some vector of `by` (k, m) dominates.

    Equal vectors do not cover each other (Zitzler and Thiele 1998, as used by Dandl et al.).

    Examples
    --------
    >>> covered(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([[0.5, 1.0]]))
    array([ True, False])
    """
    nowhere_worse = np.all(by[None] <= points[:, None], axis=2)
    somewhere_better = np.any(by[None] < points[:, None], axis=2)
    return np.asarray(np.any(nowhere_worse & somewhere_better, axis=1))


@inner
def enter_front(objectives: Floats, front: Ints, n: int, i: int) -> int:
    """Let a candidate enter the front of its set if none dominates it; return how many it has."""
    n_left = 0
    for p in range(n):
        k, is_no_better, is_no_worse = front[p], True, True
        for m in range(objectives.shape[1]):
            is_no_better &= objectives[k, m] <= objectives[i, m]
            is_no_worse &= objectives[k, m] >= objectives[i, m]
        if is_no_better and not is_no_worse:
            return n  # and it has dominated none, or that one would be dominated, too
        if is_no_better or not is_no_worse:
            front[n_left] = k
            n_left += 1
    front[n_left] = i
    return n_left + 1


@inner
def sort_rows(order: Ints, n: int, table: Floats, start: int) -> None:
    """Sort n places in a table by its columns from one on, and then by place.

    It is Shell's sort: short, and quick for the tens or hundreds of places there are.
    """
    step = 1
    while 3 * step < n:
        step = 3 * step + 1
    while step > 0:
        for p in range(step, n):
            place, q = order[p], p
            while q >= step and is_before(table, place, order[q - step], start):
                order[q] = order[q - step]
                q -= step
            order[q] = place
        step //= 3


@inner
def is_before(table: Floats, i: int, k: int, start: int) -> bool:
    """Whether place i of a table comes before place k by its columns from one on."""
    for m in range(start, table.shape[1]):
        if table[i, m] != table[k, m]:
            return bool(table[i, m] < table[k, m])
    return i < k
