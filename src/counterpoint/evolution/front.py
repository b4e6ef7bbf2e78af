"""Front: the non-dominated candidates of a row, eight side by side, to be compared in one look.

The members' objectives lie in blocks (n_blocks, m, LANES); places no member fills are NaN, which
is neither better nor worse than anything.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import kernel

LANES = 8


def empty_front(r: int, n: int, n_objectives: int) -> Floats:
    """Return the empty fronts of r rows, with room for n members each."""
    return np.full((r, -(-n // LANES), n_objectives, LANES), np.nan)


@kernel
def compare_block(point: Floats, block: Floats, better: Ints, worse: Ints) -> tuple[int, int, int]:
    """Return how many of a block (m, LANES) dominate the point, are dominated, or equal it.

    Places without a member count as equal. `better` and `worse` (LANES,) are scratch.
    """
    for q in range(LANES):
        better[q] = worse[q] = 0
    for m in range(len(point)):
        for q in range(LANES):  # vector instructions, not a loop
            better[q] |= point[m] < block[m, q]
            worse[q] |= point[m] > block[m, q]
    n_above, n_below, n_equal = 0, 0, 0
    for q in range(LANES):
        n_above += worse[q] & (1 - better[q])
        n_below += better[q] & (1 - worse[q])
        n_equal += (1 - better[q]) & (1 - worse[q])
    return n_above, n_below, n_equal


@kernel
def admit(point: Floats, front: Floats, members: Ints, n_members: int, new: int) -> tuple[int, int]:
    """Put candidate `new` last among the members if none dominates it, and drop those it dominates.

    Returns
    -------
    n_members : int
        The new number of members, or 0 if the candidate was refused.
    n_equal : int
        How many members have the same objectives.
    """
    better, worse = np.empty(LANES, dtype=np.int64), np.empty(LANES, dtype=np.int64)
    n_blocks = -(-n_members // LANES)
    n_below, n_equal = 0, n_members - n_blocks * LANES
    for b in range(n_blocks):
        above, below, equal = compare_block(point, front[b], better, worse)
        if above > 0:
            if b < n_blocks - 1:
                swap_blocks(front, members, b, b // 2)
            return 0, 0
        n_below += below
        n_equal += equal
    if n_below > 0:
        n_members = drop_dominated(point, front, members, n_members)
    members[n_members] = new
    front[n_members // LANES, :, n_members % LANES] = point
    return n_members + 1, n_equal


@kernel
def swap_blocks(front: Floats, members: Ints, i: int, j: int) -> None:
    """Move a block that refused a candidate forwards: it is likely to refuse the next one too."""
    for q in range(LANES):
        a, b = i * LANES + q, j * LANES + q
        members[a], members[b] = members[b], members[a]
        for m in range(front.shape[1]):
            front[i, m, q], front[j, m, q] = front[j, m, q], front[i, m, q]


@kernel
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
            front[n_kept // LANES, :, n_kept % LANES] = front[b, :, q]
            n_kept += 1
    for k in range(n_kept, n_members):
        front[k // LANES, :, k % LANES] = np.nan
    return n_kept
