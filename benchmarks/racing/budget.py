"""What a tuning may spend, and how many configurations a share of it can race."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, log2

from benchmarks.racing.race import Rules


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
