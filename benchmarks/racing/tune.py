"""Iterated F-racing, elitist, as in irace 3: sample, race, learn from the survivors, repeat.

López-Ibáñez, Dubois-Lacoste, Pérez Cáceres, Birattari, Stützle (2016): The irace package: Iterated
racing for automatic algorithm configuration. Operations Research Perspectives 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from math import floor, log2
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.racing.budget import Tuning, least_budget, n_candidates
from benchmarks.racing.draws import Part, shuffled
from benchmarks.racing.friedman import rank_sums
from benchmarks.racing.race import Course, Outcome, Tasks, race
from benchmarks.racing.record import Cost, Record, asking
from benchmarks.racing.sampling import Candidate, first_candidates, next_candidates
from benchmarks.racing.space import Configuration, Space, as_plain, check_space
from counterpoint.arrays import Floats


class Iteration(NamedTuple):
    """One race in numbers, for readers."""

    number: int
    n_candidates: int
    n_new: int
    n_survivors: int
    n_tasks: int
    n_paid: int
    is_restart: bool


@dataclass(frozen=True)
class Tuned:
    """What a tuning found.

    Attributes
    ----------
    elites : list of dict
        The configurations left, best first.
    costs : ndarray of shape (t, k)
        Their costs on the tasks all of them saw.
    iterations : list of Iteration
        The races.
    n_experiments : int
        Experiments made, at most the budget.
    """

    elites: list[Configuration]
    costs: Floats
    iterations: list[Iteration]
    n_experiments: int

    @property
    def mean_ranks(self) -> Floats:
        """The elites' mean ranks among each other, 1 the best."""
        return rank_sums(self.costs) / len(self.costs)


def tune(
    cost: Cost,
    space: Space,
    tuning: Tuning,
    *,
    file: Path | None = None,
    workers: int = 1,
    races: int | None = None,
    tell: Callable[[Iteration, Outcome], None] = lambda _iteration, _outcome: None,
    hear: Callable[[int, int], None] = lambda _n_seen, _n_alive: None,
) -> Tuned:
    """Search the configuration with the best ranks over instances.

    Parameters
    ----------
    cost : callable
        ``cost(configuration, instance, seed)``, less for better ones.
    space : dict of name to Whole, Real or Choice
        What is tuned.
    tuning : Tuning
        Budget, instances, seed, rules.
    file : Path, optional
        Where experiments are kept. Run again with the same settings, it is replayed and gone on
        with; with other settings it is refused.
    workers : int, default=1
        Processes. The result does not depend on it.
    races : int, optional
        Stop after so many, whatever is left of the budget. They are the same races as without it,
        so a tuning stopped here can be gone on with from its file.
    tell : callable, optional
        Hears of each race when it is over.
    hear : callable, optional
        Hears after each task of a race how many were seen and how many candidates are left.

    Returns
    -------
    Tuned
        The elites and how they were found.

    Raises
    ------
    ValueError
        If the budget is too small for a first race, or the file holds something else.

    Examples
    --------
    >>> from benchmarks.racing.space import Real
    >>> found = tune(
    ...     lambda values, instance, seed: (values["x"] - 0.3) ** 2 + instance,
    ...     {"x": Real(0.0, 1.0)},
    ...     Tuning(budget=100, n_instances=10),
    ... )
    >>> abs(found.elites[0]["x"] - 0.3) < 0.05, found.n_experiments <= 100
    (True, True)
    """
    _check(space, tuning, races)
    n_iterations = min_survivors = floor(2 + log2(len(space)))
    record = Record({"space": as_plain(space), **asdict(tuning)}, file)
    iterations: list[Iteration] = []
    standing = Standing()

    with asking(cost, record, workers) as ask:
        tasks = Tasks(tuning.n_instances, tuning.seed)
        course = Course(tasks, tuning.rules, min_survivors, ask, hear)
        for j in count(1):
            left = max(n_iterations, j) - j + 1  # what remains is shared out evenly
            budget = (tuning.budget - standing.spent) // left
            n = n_candidates(budget, j, len(standing.elites), len(standing.past), tuning.rules)
            if n <= min_survivors or (races is not None and j > races):
                break
            progress = (j - 1) / max(n_iterations, j)
            candidates, is_restart = entrants(space, standing, n, progress, [tuning.seed, j])
            if len(candidates) == len(standing.elites):  # nothing new could be drawn
                break
            order = [standing.past[i] for i in shuffled(tuning.seed, len(standing.past), "past", j)]
            outcome = race(candidates, len(standing.elites), order, budget, course)
            n_new = len(candidates) - len(standing.elites)
            standing = standing.after(candidates, outcome, min_survivors)
            iterations.append(_in_numbers(j, n_new, len(candidates), outcome, is_restart))
            tell(iterations[-1], outcome)
    elites = [e.values for e in standing.elites]
    return Tuned(elites, standing.costs, iterations, standing.spent)


@dataclass(frozen=True)
class Standing:
    """Where a tuning stands between two races.

    Attributes
    ----------
    elites : list of Candidate
        Best first; with the tasks they saw, and their costs on these, shape (t, k).
    past : list of int
        See there.
    costs : ndarray
        See there.
    spent : int
        Experiments made.
    next_number : int
        The next candidate's.
    """

    elites: list[Candidate] = field(default_factory=list)
    past: list[int] = field(default_factory=list)
    costs: Floats = field(default_factory=lambda: np.empty((0, 0)))
    spent: int = 0
    next_number: int = 0

    def after(self, raced: list[Candidate], outcome: Outcome, n_most: int) -> Standing:
        """Return where it stands after a race; at most `n_most` survivors are elites."""
        return Standing(
            outcome.survivors[:n_most],
            outcome.tasks,
            outcome.costs[:, :n_most],
            self.spent + outcome.n_paid,
            max(self.next_number, 1 + max(c.number for c in raced)),
        )


def entrants(
    space: Space, standing: Standing, n: int, progress: float, address: list[Part]
) -> tuple[list[Candidate], bool]:
    """Return who races, elites first, and whether sampling restarted softly.

    Parameters
    ----------
    space : dict of name to parameter
        What is tuned.
    standing : Standing
        With the elites, or none before the first race.
    n : int
        How many may race, elites included.
    progress : float
        Share of the iterations that are over.
    address : list
        Seed and iteration, where the draws are.
    """
    if not standing.elites:
        return first_candidates(space, n, int(address[0])), False
    n_new = n - len(standing.elites)
    sharpened = [
        replace(e, belief=e.belief.sharpened(space, e.values, progress, n_new))
        for e in standing.elites
    ]
    return next_candidates(space, sharpened, n_new, standing.next_number, address)


def _check(space: Space, tuning: Tuning, races: int | None) -> None:
    """Refuse what cannot be tuned."""
    check_space(space)
    if races is not None and races < 1:
        raise ValueError(f"races must be at least 1, got {races}; leave it out for no limit.")
    least = least_budget(len(space), tuning.rules)
    if tuning.budget < least:
        raise ValueError(
            f"Tuning.budget must be at least {least} for {len(space)} parameters and "
            f"first_test={tuning.rules.first_test}, got {tuning.budget}; raise it, or lower "
            "first_test."
        )


def _in_numbers(j: int, n_new: int, n_raced: int, outcome: Outcome, is_restart: bool) -> Iteration:
    """Return one race in numbers."""
    n_left, n_tasks = len(outcome.survivors), len(outcome.tasks)
    return Iteration(j, n_raced, n_new, n_left, n_tasks, outcome.n_paid, is_restart)
