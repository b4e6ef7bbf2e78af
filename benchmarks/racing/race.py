"""One race: configurations are run on one task after another, and those that lag behind leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

import numpy as np

from benchmarks.racing import friedman
from benchmarks.racing.draws import shuffled, word
from benchmarks.racing.record import Ask, Experiment
from benchmarks.racing.sampling import Candidate
from counterpoint.arrays import Floats

Costs = dict[tuple[int, int], float]  # by number of the candidate and task


@dataclass(frozen=True, kw_only=True)
class Rules:
    """When a race tests and ends; the defaults are irace's.

    Parameters
    ----------
    first_test : int, default=5
        Tasks before the first test.
    each_test : int, default=1
        Tasks between tests.
    new_tasks : int, default=1
        Tasks nobody has seen with which each race after the first begins.
    patience : int, default=2
        Tests in a row without an elimination after which a race with elites ends. The first race
        has none and goes on.
    confidence : float, default=0.95
        Of the tests.
    """

    first_test: int = 5
    each_test: int = 1
    new_tasks: int = 1
    patience: int = 2
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name, least in (("first_test", 2), ("each_test", 1), ("new_tasks", 1), ("patience", 1)):
            if getattr(self, name) < least:
                raise ValueError(
                    f"Rules.{name} must be at least {least}, got {getattr(self, name)}."
                )
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(
                f"Rules.confidence must lie between 0 and 1, got {self.confidence}; as 0.95."
            )


@dataclass(frozen=True)
class Tasks:
    """Instances with seeds, without end: all in random order, then all in another, and so on."""

    n_instances: int
    seed: int

    def experiment(self, candidate: Candidate, task: int) -> Experiment:
        """Return the run of a candidate on a task."""
        lap, place = divmod(task, self.n_instances)
        instance = shuffled(self.seed, self.n_instances, "instances", lap)[place]
        return Experiment(candidate.values, instance, word(self.seed, "task", task) >> 33)


@dataclass(frozen=True)
class Outcome:
    """How a race ended.

    Attributes
    ----------
    survivors : list of Candidate
        From best to worst by their ranks on all tasks they saw, which are the same for all.
    costs : ndarray of shape (t, k)
        Theirs, by task and survivor.
    tasks : list of int
        The tasks, in the order seen.
    n_paid : int
        Experiments that were not made before.
    """

    survivors: list[Candidate]
    costs: Floats
    tasks: list[int]
    n_paid: int


@dataclass(frozen=True)
class Course:
    """What all races of a tuning share.

    Attributes
    ----------
    tasks : Tasks
        What tasks are.
    rules : Rules
        When to test and to end.
    min_survivors : int
        A race ends with as many or fewer.
    ask : callable
        From experiments to costs.
    hear : callable
        Hears after each task how many were seen and how many candidates are left.
    known : dict
        Costs of all experiments made so far; races add to it.
    """

    tasks: Tasks
    rules: Rules
    min_survivors: int
    ask: Ask
    hear: Callable[[int, int], None] = lambda _n_seen, _n_alive: None
    known: Costs = field(default_factory=dict)

    def run(self, candidates: Sequence[Candidate], task: int) -> None:
        """Make the experiments of candidates on a task."""
        found = self.ask([self.tasks.experiment(c, task) for c in candidates])
        self.known.update({(c.number, task): x for c, x in zip(candidates, found, strict=True)})


def race(
    candidates: Sequence[Candidate],
    n_elites: int,
    past: Sequence[int],
    budget: int,
    course: Course,
) -> Outcome:
    """Race candidates until few are left, tests stop telling them apart, or the budget is spent.

    Elites come first among the candidates and have seen the past tasks, which newcomers must see
    too. Until then no elite leaves, and the race does not end: so all survivors have seen the same
    tasks, and an elite is only replaced by what was better on all it had been judged by.

    Parameters
    ----------
    candidates : sequence of Candidate
        Those who race; the first `n_elites` are elites.
    n_elites : int
        See there.
    past : sequence of int
        Tasks all elites have seen, in the order of this race.
    budget : int
        Experiments that may be made; enough for what must be seen.
    course : Course
        Tasks, rules and costs.
    """
    rules, known = course.rules, course.known
    elites = {c.number for c in candidates[:n_elites]}
    n_new = rules.new_tasks if past else 0
    must_see = max(len(past) + n_new, rules.first_test)
    upcoming = _order(past, n_new)
    alive, seen, n_paid, n_in_vain = list(candidates), list[int](), 0, 0
    while True:
        if len(seen) >= must_see and (
            len(alive) <= course.min_survivors or n_in_vain >= rules.patience
        ):
            break
        task = next(upcoming)
        missing = [c for c in alive if (c.number, task) not in known]
        if n_paid + len(missing) > budget:
            break
        course.run(missing, task)
        n_paid += len(missing)
        seen.append(task)
        if _is_test_due(len(seen), rules):
            is_open = len(seen) >= len(past) + n_new  # all have seen what the elites had
            left = _after_test(alive, seen, known, set() if is_open else elites, rules.confidence)
            is_in_vain = len(left) == len(alive) and is_open and bool(past)
            n_in_vain = n_in_vain + 1 if is_in_vain else 0
            alive = left
        course.hear(len(seen), len(alive))
    return _ranked(alive, seen, known, n_paid)


def _order(past: Sequence[int], n_new: int) -> Iterator[int]:
    """Yield the tasks of a race: some nobody has seen, those the elites saw, then new ones."""
    new = count(max([-1, *past]) + 1)
    yield from islice(new, n_new)
    yield from past
    yield from new


def cost_table(candidates: Sequence[Candidate], tasks: Sequence[int], known: Costs) -> Floats:
    """Return costs by task and candidate, shape (t, k)."""
    rows = [[known[c.number, task] for c in candidates] for task in tasks]
    return np.array(rows, dtype=float).reshape(len(tasks), len(candidates))


def _is_test_due(n_seen: int, rules: Rules) -> bool:
    """Return whether the survivors are compared after so many tasks."""
    return n_seen >= rules.first_test and (n_seen - rules.first_test) % rules.each_test == 0


def _after_test(
    alive: list[Candidate], seen: list[int], known: Costs, protected: set[int], confidence: float
) -> list[Candidate]:
    """Return who goes on after a test, those protected included."""
    stays = friedman.survivors(cost_table(alive, seen, known), confidence)
    return [c for c, ok in zip(alive, stays, strict=True) if ok or c.number in protected]


def _ranked(alive: list[Candidate], seen: list[int], known: Costs, n_paid: int) -> Outcome:
    """Return the survivors from best to worst: by ranks, then mean cost, then age."""
    costs = cost_table(alive, seen, known)
    ages = np.array([c.number for c in alive])
    order = np.lexsort((ages, costs.mean(axis=0), friedman.rank_sums(costs)))
    return Outcome([alive[i] for i in order], costs[:, order], seen, n_paid)
