"""Iterated F-racing, elitist, as in irace 3: sample, race, learn from the survivors, repeat.

López-Ibáñez, Dubois-Lacoste, Pérez Cáceres, Birattari, Stützle (2016): The irace package: Iterated
racing for automatic algorithm configuration. Operations Research Perspectives 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from math import floor, log2
from pathlib import Path
from typing import NamedTuple

from benchmarks.racing.draws import shuffled
from benchmarks.racing.friedman import rank_sums
from benchmarks.racing.race import Costs, Outcome, Rules, Tasks, race
from benchmarks.racing.record import Cost, Record, asking
from benchmarks.racing.sampling import Candidate, first_candidates, next_candidates
from benchmarks.racing.space import Configuration, Space, as_plain, check_space
from counterpoint.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What a tuning is: all that decides its result, besides what is tuned.

    Parameters
    ----------
    budget : int
        Experiments it may make, never more.
    n_instances : int
        Instances, numbered from 0.
    seed : int, default=0
        Decides everything that is drawn.
    rules : Rules, optional
        When races test and end.
    subject : str, default=""
        What is tuned, for the record: another subject's experiments are refused.
    """

    budget: int
    n_instances: int
    seed: int = 0
    rules: Rules = field(default_factory=Rules)
    subject: str = ""

    def __post_init__(self) -> None:
        if self.n_instances < 1:
            raise ValueError(f"Tuning.n_instances must be at least 1, got {self.n_instances}.")
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"Tuning.seed must lie between 0 and 2**64 - 1, got {self.seed}.")


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
    tell: Callable[[Iteration, Outcome], None] = lambda _iteration, _outcome: None,
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
    tell : callable, optional
        Hears of each race when it is over.

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
    _check(space, tuning)
    d, rules = len(space), tuning.rules
    n_iterations = min_survivors = floor(2 + log2(d))
    tasks = Tasks(tuning.n_instances, tuning.seed)
    record = Record({"space": as_plain(space), **asdict(tuning)}, file)
    elites: list[Candidate] = []
    past: list[int] = []
    known: Costs = {}
    iterations: list[Iteration] = []
    outcome, spent, next_number = None, 0, 0

    with asking(cost, record, workers) as ask:
        for j in range(1, tuning.budget + 1):  # ends when no race can be paid
            n_iterations = max(n_iterations, j)
            budget = (tuning.budget - spent) // (n_iterations - j + 1)
            n = n_candidates(budget, j, len(elites), len(past), rules)
            if n <= min_survivors:
                break
            if j == 1:
                candidates, is_restart = first_candidates(space, n, tuning.seed), False
            else:
                n_new, progress = n - len(elites), (j - 1) / n_iterations
                elites = [_sharpened(e, space, progress, n_new) for e in elites]
                candidates, is_restart = next_candidates(
                    space, elites, n_new, next_number, [tuning.seed, j]
                )
                if len(candidates) == len(elites):  # nothing new can be drawn
                    break
            next_number = max(next_number, 1 + max(c.number for c in candidates))
            order = shuffled(tuning.seed, len(past), "past", j)
            outcome = race(
                candidates,
                len(elites),
                [past[i] for i in order],
                known,
                tasks,
                rules,
                min_survivors,
                budget,
                ask,
            )
            n_raced, n_known = len(candidates), len(elites)
            spent, past = spent + outcome.n_paid, sorted(outcome.tasks)
            elites = outcome.survivors[:min_survivors]
            iterations.append(_in_numbers(j, n_raced, n_known, outcome, is_restart))
            tell(iterations[-1], outcome)
    assert outcome is not None  # the budget was checked
    costs = outcome.costs[:, : len(elites)]
    return Tuned([e.values for e in elites], costs, iterations, spent)


def n_candidates(budget: int, iteration: int, n_elites: int, n_past: int, rules: Rules) -> int:
    """Return how many configurations can race: each must see the past tasks, and some more.

    Parameters
    ----------
    budget : int
        Experiments of this race.
    iteration : int
        Counted from 1; later races are of fewer configurations on more tasks.
    n_elites, n_past : int
        Elites, and tasks they need not be run on again.
    rules : Rules
        When tests are made.

    Examples
    --------
    >>> n_candidates(600, 1, 0, 0, Rules(first_test=15))
    37
    """
    saved = n_elites * n_past
    steps = rules.first_test + rules.each_test * min(5, iteration)
    if n_past:
        tests = -(-(n_past + rules.new_tasks) // rules.each_test)
        steps = max(steps, tests * rules.each_test)
    return (budget + saved) // steps


def least_budget(d: int, rules: Rules) -> int:
    """Return the fewest experiments with which d parameters can be tuned.

    Examples
    --------
    >>> least_budget(9, Rules())
    180
    """
    n_iterations = min_survivors = floor(2 + log2(d))
    return n_iterations * (min_survivors + 1) * (rules.first_test + rules.each_test)


def _check(space: Space, tuning: Tuning) -> None:
    """Refuse what cannot be tuned."""
    check_space(space)
    least = least_budget(len(space), tuning.rules)
    if tuning.budget < least:
        raise ValueError(
            f"Tuning.budget must be at least {least} for {len(space)} parameters and "
            f"first_test={tuning.rules.first_test}, got {tuning.budget}; raise it, or lower "
            "first_test."
        )


def _sharpened(elite: Candidate, space: Space, progress: float, n_new: int) -> Candidate:
    """Return an elite with a narrower belief."""
    return replace(elite, belief=elite.belief.sharpened(space, elite.values, progress, n_new))


def _in_numbers(
    j: int, n_raced: int, n_known: int, outcome: Outcome, is_restart: bool
) -> Iteration:
    """Return one race in numbers."""
    n_left, n_tasks = len(outcome.survivors), len(outcome.tasks)
    return Iteration(j, n_raced, n_raced - n_known, n_left, n_tasks, outcome.n_paid, is_restart)
