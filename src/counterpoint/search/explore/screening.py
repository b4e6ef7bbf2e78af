"""Screening: waves of the default search without what a rule's function refuses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys
from counterpoint.problem.problem import Problem
from counterpoint.search.explore.breeding import Chances, Outlook, Room, Scene, Steps, breed
from counterpoint.search.explore.parents import Pool
from counterpoint.search.feasibility import RETRIES, Mender, draws_of, mender_of
from counterpoint.search.ground import survey


class Wave(NamedTuple):
    """The candidates of one wave.

    Attributes
    ----------
    children : ndarray of shape (r, n, d)
        The candidates; the row itself where none could be made.
    counts : ndarray of shape (r, n)
        Which of them are new and feasible.
    has_new : ndarray of shape (r,)
        Whether anything new could be made for a row, feasible or not.
    """

    children: Floats
    counts: Bools
    has_new: Bools


class Nursery(NamedTuple):
    """What waves of some rows are bred from; see `breed`."""

    pool: Pool
    rows: Ints
    outlook: Outlook
    scene: Scene
    chances: Chances
    steps: Steps
    memory: Keys
    keys: Keys
    room: Room
    mender: Mender | None

    def wave(self, draws: int, size: int) -> tuple[Floats, Bools]:
        """Return candidates (r, size, d) with the draws of a wave, and which of them are new."""
        return breed(
            self.pool,
            self.rows,
            self.outlook,
            self.scene,
            self.chances,
            self.steps,
            self.memory,
            self.keys,
            draws,
            size,
            self.room,
            self.mender,
        )

    def after(self, size: int) -> Nursery:
        """Return the nursery after a wave of so many first steps."""
        return self._replace(steps=self.steps._replace(first=self.steps.first + size))

    def of_rows(self, which: Ints, some: Problem) -> Nursery:
        """Return the nursery of some of the rows, whose problem is `some`."""
        return self._replace(
            rows=self.rows[which],
            outlook=self.outlook.of_rows(which),
            scene=scene_of(some),
            steps=self.steps._replace(value=self.steps.value[which]),
            memory=self.memory[which],
            keys=some.keys,
            mender=mender_of(some),
        )

    def of_row(self, w: int, problem: Problem) -> Nursery:
        """Return the nursery of one row of the problem after its first steps, with its memory."""
        which = np.array([w])
        alone = self.of_rows(which, problem.take(which))
        return alone.after(len(self.steps.feature))._replace(memory=self.memory[w : w + 1])


def scene_of(problem: Problem) -> Scene:
    """Return where the rows of a problem are searched."""
    return Scene(problem.rows, survey(problem.space, problem.box), problem.near_rows)


def breed_wave(nursery: Nursery, problem: Problem, wave: int, size: int) -> Wave:
    """Return a wave of feasible candidates; what functions refuse is bred again, a few times.

    Functions are asked about the candidates of all rows in one call. A row is bred again for the
    places it lacks only, so that it never notices its company.
    """
    children, is_new = nursery.wave(wave, size)
    has_new: Bools = np.any(is_new, axis=1)
    if problem.row_rules is None or not problem.row_rules.rules.functions:
        return Wave(children, is_new, has_new)
    counts = problem.accepts(children, is_new)
    is_refused = is_new & ~counts
    for retry in range(1, RETRIES + 1):
        is_tried = np.zeros_like(is_refused)
        for w in np.flatnonzero(is_refused.any(axis=1)).tolist():
            places = np.flatnonzero(is_refused[w])
            again = nursery.of_row(w, problem).wave(draws_of(wave, retry), len(places))
            children[w, places], is_tried[w, places] = again[0][0], again[1][0]
        if not is_tried.any():
            break
        accepted = problem.accepts(children, is_tried)
        counts |= accepted
        is_refused &= ~accepted
    children = np.where(counts[..., None], children, problem.rows[:, None])
    return Wave(children, counts, has_new)
