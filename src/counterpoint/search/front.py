"""Front: the non-dominated candidates of a row, sixteen side by side, to be compared in one look.

The members' objectives lie in blocks (n_blocks, m, LANES); places no member fills in a block that
is in use are NaN, which compares with nothing.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import inner, part

LANES = 16
N_BUILT_IN = 4  # objectives there are at least; they are compared by vector instructions


def empty_front(r: int, n: int, n_objectives: int) -> Floats:
    """Return the empty fronts of r rows, with room for n members each; few blocks are ever used."""
    return np.empty((r, -(-n // LANES), n_objectives, LANES))


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

    Returns
    -------
    n_members : int
        The new number of members, or 0 if the candidate was refused.
    n_equal : int
        How many members have the same objectives.
    """
    n_blocks = (n_members + LANES - 1) // LANES
    n_below, n_equal = 0, 0
    for b in range(n_blocks):
        no_worse, no_better, equal = compare_block(point, front[b])
        if len(point) > N_BUILT_IN and no_worse + no_better > 0:  # else all m cannot be either
            no_worse, no_better, equal = compare_wide(point, front[b])
        if no_worse > equal:
            if b < n_blocks - 1:
                swap_blocks(front, members, b, b // 2)
            return 0, 0
        n_below += no_better - equal
        n_equal += equal
    if n_below > 0:
        n_members = drop_dominated(point, front, members, n_members)
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
            front[i, m, q], front[j, m, q] = front[j, m, q], front[i, m, q]


@inner
def drop_dominated(point: Floats, front: Floats, members: Ints, n_members: int) -> int:
    """Close the ranks over the members the point dominates; return how many are left."""
    n_kept = 0
    for k in range(n_members):
        b, q = k // LANES, k % LANES
        is_better, is_worse = False, False
        for m in range(len(point)):
            is_better |= point[m] < front[b, m, q]
            is_worse |= point[m] > front[b, m, q]
        if is_worse or not is_better:
            members[n_kept] = members[k]
            for m in range(len(point)):
                front[n_kept // LANES, m, n_kept % LANES] = front[b, m, q]
            n_kept += 1
    for k in range(n_kept, n_members):
        clear_place(front, k)
    return n_kept


@inner
def clear_place(front: Floats, k: int) -> None:
    """Make the k-th place one without a member."""
    for m in range(front.shape[1]):
        front[k // LANES, m, k % LANES] = np.nan
