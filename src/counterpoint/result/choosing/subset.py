"""Subsets: choosing a few of many counterfactuals."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import InvalidInput
from counterpoint.evolution.indicators import hypervolume, is_exact
from counterpoint.result.choosing.room import Room

SLACK = 1e-9  # what rounding may take from or add to a volume


def greatest_contribution(objectives: Floats, n: int, worst: Floats | None = None) -> Ints:
    """Return the positions of the paper's choice of n: valid ones first, then by hypervolume.

    Parameters
    ----------
    objectives : ndarray of shape (k, m)
        gap, distance, changes, implausibility, and the caller's own.
    n : int
        How many at most.
    worst : ndarray of shape (1, m - 2), optional
        Where hypervolume ends in distance, implausibility and the caller's own; 1 if None.

    Returns
    -------
    ndarray of shape (at most n,)
        Positions in the order they were chosen.
    """
    check_size(n)
    if len(objectives) <= n:
        return np.arange(len(objectives))
    valid = np.flatnonzero(objectives[:, 0] <= 0.0)
    is_plenty = len(valid) > n
    pool: Ints = valid if is_plenty else np.arange(len(objectives))
    chosen: list[int] = [] if is_plenty else valid.tolist()
    # The authors' reference: gaps are probabilities around 0.5, one more change than any has.
    ends = np.ones(2) if worst is None else worst[0]
    reference = np.array([0.5, ends[0], objectives[pool, 2].max() + 1.0, *ends[1:]])
    gains = np.full(len(objectives), np.inf)  # at most so much does each add
    gains[chosen] = -np.inf
    room = _room(objectives, pool, chosen, reference)
    while len(chosen) < n:
        if room.is_open and is_exact(n, len(reference)):
            best = _next_in(room, objectives, chosen, pool, gains, reference)
        else:
            best = _next(objectives, chosen, pool, gains, reference)
        gains[best] = -np.inf
        chosen.append(best)
        room.close(objectives[best])
    return np.array(chosen, dtype=np.int64)


def _room(objectives: Floats, pool: Ints, chosen: list[int], reference: Floats) -> Room:
    """Return the space up to the reference that those chosen beforehand leave."""
    room = Room(np.minimum(objectives[pool].min(axis=0), reference - 1.0), reference)
    for i in chosen:
        room.close(objectives[i])
    return room


def _next_in(
    room: Room,
    objectives: Floats,
    chosen: list[int],
    pool: Ints,
    gains: Floats,
    reference: Floats,
) -> int:
    """Return what `_next` does, but measure hypervolumes only where several are about the best."""
    free = pool[gains[pool] > -np.inf]
    order = free[np.argsort(-gains[free], kind="stable")]
    total = room.volume + room.best_gain(objectives, gains, order, SLACK)
    near = np.sort(free[room.volume + gains[free] >= total - SLACK * abs(total)])
    if len(near) == 1:
        return int(near[0])
    totals = [hypervolume(objectives[[*chosen, i]], reference) for i in near.tolist()]
    return int(near[np.argmax(totals)])  # the first of several


def _next(
    objectives: Floats, chosen: list[int], pool: Ints, gains: Floats, reference: Floats
) -> int:
    """Return which of the pool adds most volume to the chosen, the first of several.

    What one adds never grows while others are chosen (hypervolume is submodular), so whoever added
    less before than another does now need not be measured again. `gains` is brought up to date.
    """
    volume = hypervolume(objectives[chosen], reference) if chosen else 0.0
    best, most = -1, -np.inf
    for i in pool[np.argsort(-gains[pool], kind="stable")].tolist():
        if gains[i] == -np.inf or volume + gains[i] < most - SLACK * abs(most):
            break
        total = hypervolume(objectives[[*chosen, i]], reference)
        gains[i] = total - volume
        if total > most or (total == most and i < best):
            best, most = i, total
    return best


def check_size(n: object) -> None:
    """Refuse what is no number of counterfactuals."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidInput(f"select needs a whole number of at least 1, got {n!r}.")
