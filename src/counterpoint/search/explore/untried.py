"""Untried: what the moves never made of a small space, so that a search can try all of it.

Moves are drawn at random. A wave of them that makes nothing new may have had bad luck, so the rows
that are left are listed then, where all of them can be, and fill this wave and those after it. Only
when none is left was everything tried.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.problem.problem import Problem
from counterpoint.search.explore.offspring import OffspringSource
from counterpoint.search.feasibility import SearchSpace
from counterpoint.table.space import hash_all, remember_all

MOST_POINTS = 20_000  # of a space that is tried to the end
MOST_NUMBERS = 2_000_000  # in all of its points together
MOST_EMPTY = 10  # waves in a row that make nothing new of a space that is too large for that


class Untried:
    """What is left to try for each of r rows, where the moves have made nothing new.

    Parameters
    ----------
    r : int
        How many rows are searched.

    Attributes
    ----------
    points : dict of int to ndarray of shape (n, d)
        By row, what was left when all of its space was listed, less what was tried since.
    is_listed : ndarray of shape (r,)
        Whose space was listed.
    n_empty : ndarray of shape (r,)
        Waves in a row that made nothing new.
    """

    def __init__(self, r: int) -> None:
        self.points: dict[int, Floats] = {}
        self.is_listed: Bools = np.zeros(r, dtype=np.bool_)
        self.n_empty: Ints = np.zeros(r, dtype=np.int64)

    def fill(
        self,
        children: Floats,
        is_new: Bools,
        has_new: Bools,
        source: OffspringSource,
        problem: Problem,
    ) -> dict[str, Bools]:
        """Fill vacant places of a wave with what is left to try, in place; tell whose search ends.

        Parameters
        ----------
        children, is_new, has_new : ndarray
            The wave; see `Wave`.
        source : OffspringSource
            What it was made of.
        problem : Problem
            The rows of the wave.

        Returns
        -------
        dict of str to ndarray of shape (r,)
            Which of the wave's rows are "exhausted": all they may become was tried. And which of
            them end by "repeats": their space is too large to be listed, and several waves in a row
            have made only what was there before.
        """
        rows = source.places
        self.n_empty[rows] = np.where(has_new, 0, self.n_empty[rows] + 1)
        is_exhausted = np.zeros(len(rows), dtype=np.bool_)
        for w in np.flatnonzero(~has_new | self.is_listed[rows]).tolist():
            a, memory = int(rows[w]), source.memory[w : w + 1]
            if not self.is_listed[a]:
                if (everything := all_points(source.space, w)) is None:
                    continue
                left = everything[~np.isin(hash_all(everything), memory)]
                self.points[a] = left[problem.alone(np.array([w])).obeys(left[None])[0]]
                self.is_listed[a] = True
            left = self.points[a]
            left = left[~np.isin(hash_all(left), memory)]
            vacant = np.flatnonzero(~is_new[w])[: len(left)]
            taken, self.points[a] = left[: len(vacant)].copy(), left[len(vacant) :]
            children[w, vacant], is_new[w, vacant] = taken, True
            taken.flags.writeable = source.knowledge.observed.flags.writeable  # the kernel's type
            every, n = np.arange(len(taken))[None], np.array([len(taken)])
            remember_all(memory, source.rows[w : w + 1], taken, every, n)
            is_exhausted[w] = len(self.points[a]) == 0
        is_stuck = ~self.is_listed[rows] & (self.n_empty[rows] >= MOST_EMPTY)
        return {"exhausted": is_exhausted, "repeats": is_stuck}


def all_points(space: SearchSpace, w: int) -> Floats | None:
    """Return all that row w may become by its box, fewest changes first; None if it is too much.

    The row itself is among them, and so is what rules forbid.
    """
    features, max_free = space.features[w], int(space.max_free[w])
    values = []
    for feature in features:
        if (own := values_of(feature)) is None:
            return None
        values.append(own)
    sizes = [len(own) for own in values]
    most = min(MOST_POINTS, MOST_NUMBERS // len(sizes))
    if not has_few_points(sizes, features["is_forced"].tolist(), max_free, most):
        return None
    points, n_free = space.anchor[[w]], np.zeros(1, dtype=np.int64)
    for j in np.flatnonzero(np.array(sizes) > 1).tolist():
        points, n_free = np.repeat(points, sizes[j], axis=0), np.repeat(n_free, sizes[j])
        points[:, j] = np.tile(values[j], len(points) // sizes[j])
        n_free += (points[:, j] != values[j][0]) & ~features["is_forced"][j]
        points, n_free = points[n_free <= max_free], n_free[n_free <= max_free]
    return np.ascontiguousarray(points[np.argsort(n_free, kind="stable")])


def values_of(feature: Any) -> Floats | None:
    """Return the values of one feature by their distance to its anchor; None if there are too many.

    `feature` is a record; see `FEATURE`. The values are those that moves make, bit for bit.
    """
    anchor, grid = float(feature["anchor"]), float(feature["grid"])
    lower, upper = float(feature["lower"]), float(feature["upper"])
    if not feature["may_change"]:
        return np.array([anchor])
    if lower < upper and (grid == 0.0 or (upper - lower) * grid > MOST_POINTS):
        return None
    values = np.array([lower, upper])
    if grid > 0.0:
        first = np.rint(lower * grid)
        steps = first + np.arange(np.rint(upper * grid) - first + 1.0)
        values = np.clip(steps / grid + 0.0, lower, upper)
    if feature["is_single"]:
        values = values.astype(np.float32).astype(np.float64)
    missing = [MISSING] if feature["may_miss"] else []
    distinct = {anchor, *values.tolist(), *missing}
    return np.array(sorted(distinct, key=lambda value: (abs(value - anchor), value)))


def has_few_points(sizes: list[int], is_forced: list[bool], max_free: int, most: int) -> bool:
    """Whether features of so many values, at most `max_free` of them changed, have few points.

    What is forced changes besides.

    Examples
    --------
    >>> has_few_points([3, 4], [False, False], 1, most=6)  # the row, two and three changes
    True
    >>> has_few_points([3, 4], [False, False], 2, most=11), 3 * 4
    (False, 12)
    """
    n_points = [1] + [0] * min(max_free, sum(size > 1 for size in sizes))  # by number of changes
    for size, forced in zip(sizes, is_forced, strict=True):
        if forced:
            n_points = [n * size for n in n_points]
        elif size > 1:
            fewer = [0, *n_points[:-1]]
            n_points = [n + (size - 1) * m for n, m in zip(n_points, fewer, strict=True)]
        if sum(n_points) > most:
            return False
    return True
