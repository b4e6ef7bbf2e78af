"""One race: who is run on what, who is protected, and when it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from benchmarks.racing.budget import Tuning
from benchmarks.racing.race import Course, Rules, Tasks, race
from benchmarks.racing.record import Experiment
from benchmarks.racing.sampling import Belief, Candidate
from benchmarks.racing.space import Real
from benchmarks.racing.tune import tune

TASKS = Tasks(n_instances=200, seed=3)


def racers(*numbers: int) -> list[Candidate]:
    """Return candidates whose value is their number."""
    return [Candidate(n, {"x": n}, Belief(1.0, {})) for n in numbers]


def course_of(
    cost: Callable[[int, int], float], rules: Rules | None = None, min_survivors: int = 1
) -> tuple[Course, list[tuple[int, int]]]:
    """Return a course on which candidate x costs cost(x, task), and the list of its runs."""
    one = racers(0)[0]
    task_of = {TASKS.experiment(one, task)[1:]: task for task in range(200)}
    made: list[tuple[int, int]] = []

    def ask(wanted: Sequence[Experiment]) -> list[float]:
        pairs = [(int(e.configuration["x"]), task_of[e[1:]]) for e in wanted]
        made.extend(pairs)
        return [cost(x, task) for x, task in pairs]

    return Course(TASKS, rules or Rules(), min_survivors, ask), made


def test_who_lags_behind_is_run_no_more() -> None:
    course, made = course_of(lambda x, _task: float(x))

    outcome = race(racers(0, 1, 2, 3), 0, [], 1000, course)

    assert [c.number for c in outcome.survivors] == [0]
    assert len(outcome.tasks) == 5
    assert outcome.n_paid == len(made) == len(course.known) == 20


def test_the_first_test_waits_and_each_test_is_a_step_apart() -> None:
    heard: list[tuple[int, int]] = []
    rules = Rules(first_test=4, each_test=3)
    course, _ = course_of(lambda x, task: float(x == 3 and task > 3) + (x > 0) * (task > 5), rules)
    told = Course(course.tasks, rules, 1, course.ask, lambda n, left: heard.append((n, left)))

    race(racers(0, 1, 2, 3), 0, [], 120, told)

    drops = [n for (_, a), (n, b) in pairwise(heard) if b < a]
    assert drops
    assert all(n >= 4 and (n - 4) % 3 == 0 for n in drops)


def test_a_race_of_equals_ends_with_the_budget() -> None:
    course, made = course_of(lambda _x, _task: 1.0)

    outcome = race(racers(0, 1, 2), 0, [], 50, course)

    assert len(outcome.survivors) == 3
    assert len(made) == 48  # 16 tasks; one more would cost 51


def test_with_elites_a_race_of_equals_ends_after_some_tests_in_vain() -> None:
    course, _ = course_of(lambda _x, _task: 1.0, Rules(patience=3))
    course.run(racers(0), 0)
    past = list(range(8))
    for task in past[1:]:
        course.run(racers(0), task)

    outcome = race(racers(0, 1, 2), 1, past, 1000, course)

    # One new task and the eight past ones, at the last of which the first of three tests is made.
    assert len(outcome.tasks) == 8 + 1 + 2
    assert outcome.tasks[0] == 8


def test_an_elite_is_protected_until_all_have_seen_what_it_saw() -> None:
    """It is worst on the first half of this race and best on the second."""
    past = list(range(20))
    is_early = {20, *past[:10]}

    def cost(x: int, task: int) -> float:
        if x == 0:
            return 9.0 if task in is_early else 0.0
        return 1.0 + (x + task) % 3

    course, made = course_of(cost, min_survivors=2)
    for task in past:
        course.run(racers(0), task)
    n_before = len(made)

    outcome = race(racers(0, 1, 2, 3), 1, past, 1000, course)
    unprotected = race(racers(0, 1, 2, 3), 0, past, 1000, course_of(cost, min_survivors=2)[0])

    assert 0 in [c.number for c in outcome.survivors]
    assert 0 not in [c.number for c in unprotected.survivors]
    assert set(past) < set(outcome.tasks)
    assert not {(0, task) for task in past} & set(made[n_before:])  # paid for already


@pytest.mark.parametrize("n", [1, 2])
def test_few_candidates_race_to_the_first_test_all_the_same(n: int) -> None:
    course, made = course_of(lambda x, task: float(x + task), min_survivors=3)

    outcome = race(racers(*range(n)), 0, [], 1000, course)

    assert len(outcome.tasks) == 5
    assert len(made) == 5 * n


def test_tasks_are_all_instances_in_random_order_and_then_in_another() -> None:
    tasks, (one,) = Tasks(n_instances=30, seed=5), racers(0)

    runs = [tasks.experiment(one, task) for task in range(60)]

    laps = [e.instance for e in runs[:30]], [e.instance for e in runs[30:]]
    assert sorted(laps[0]) == sorted(laps[1]) == list(range(30))
    assert laps[0] != laps[1]
    assert len({e.seed for e in runs}) == 60
    assert laps[0] != [Tasks(30, 6).experiment(one, task).instance for task in range(30)]


def test_every_race_meets_the_tasks_of_the_past_in_an_order_of_its_own() -> None:
    seen: list[list[int]] = []
    tune(
        lambda values, instance, seed: (
            (float(values["x"]) - 0.3) ** 2 + 0.1 * ((instance + seed) % 7)
        ),
        {"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)},
        Tuning(budget=400, n_instances=40),
        tell=lambda _iteration, outcome: seen.append(outcome.tasks),
    )

    orders = []
    for before, tasks in pairwise(seen):
        met_again = [before.index(task) for task in tasks if task in before]
        assert sorted(met_again) == list(range(len(before)))
        orders.append(met_again)
    assert len(orders) >= 2
    for order, later in pairwise(orders):
        # With the same draws in each race the places of both would come in the same order.
        assert order != [place for place in later if place < len(order)]
