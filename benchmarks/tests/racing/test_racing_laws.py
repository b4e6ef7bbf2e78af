"""Laws of iterated racing: what it may spend, whom it prefers, and that it can be repeated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.racing.budget import Tuning, least_budget, n_candidates
from benchmarks.racing.draws import uniform
from benchmarks.racing.friedman import rank_sums
from benchmarks.racing.race import Course, Rules, Tasks, race
from benchmarks.racing.record import Experiment, Record, asking
from benchmarks.racing.sampling import Candidate, first_candidates
from benchmarks.racing.space import (
    Choice,
    Configuration,
    Parameter,
    Real,
    Space,
    Whole,
    check_configuration,
)
from benchmarks.racing.synthetic import SPACES, Problem
from benchmarks.racing.tune import Tuned, tune
from hypothesis import given, settings
from hypothesis import strategies as st

PARAMETERS: list[Parameter] = [Whole(0, 1), Whole(1, 30), Real(0.0, 1.0), Choice(("a", "b", "c"))]
spaces = st.lists(st.sampled_from(PARAMETERS), min_size=1, max_size=6).map(
    lambda found: {f"p{i}": parameter for i, parameter in enumerate(found)}
)
rules = st.builds(
    Rules,
    first_test=st.integers(2, 7),
    each_test=st.integers(1, 3),
    new_tasks=st.integers(1, 3),
    patience=st.integers(1, 4),
)


def rough(values: Configuration, instance: int, seed: int) -> float:
    """Many ties, some failures, otherwise chance."""
    level = int(6 * uniform(seed, "rough", instance, str(sorted(values.items()))))
    return float("inf") if level == 5 else float(level)


@given(space=spaces, rules=rules, more=st.integers(0, 200), data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_tuning_never_spends_more_than_its_budget(
    space: Space, rules: Rules, more: int, data: st.DataObject
) -> None:
    budget = least_budget(len(space), rules) + more
    n_instances, seed = data.draw(st.integers(1, 30)), data.draw(st.integers(0, 2**64 - 1))
    calls: list[tuple[str, int, int]] = []

    def counted(values: Configuration, instance: int, seed: int) -> float:
        check_configuration(space, values)
        assert 0 <= instance < n_instances
        calls.append(Experiment(values, instance, seed).key)
        return rough(values, instance, seed)

    found = tune(
        counted, space, Tuning(budget=budget, n_instances=n_instances, seed=seed, rules=rules)
    )

    assert len(calls) <= found.n_experiments <= budget
    assert len(set(calls)) == len(calls)
    assert found.n_experiments == sum(i.n_paid for i in found.iterations)
    assert 1 <= len(found.elites) == found.costs.shape[1]
    for before, after in zip(found.iterations, found.iterations[1:], strict=False):
        assert after.n_tasks > before.n_tasks  # elites are judged by ever more


@given(rules=rules, n=st.integers(1, 14), budget=st.integers(60, 300), seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_the_best_survivor_has_the_best_ranks_on_the_tasks_all_survivors_saw(
    rules: Rules, n: int, budget: int, seed: int
) -> None:
    candidates = first_candidates(SPACES["bowl"], n, seed)
    budget += n * rules.first_test
    with asking(Problem("bowl"), Record({}), workers=1) as ask:
        course = Course(Tasks(9, seed), rules, 2, ask)
        first = race(candidates, 0, [], budget, course)
        elites = first.survivors[:3]
        newcomers = [Candidate(100 + c.number, c.values, c.belief) for c in candidates]
        second = race([*elites, *newcomers], len(elites), first.tasks, 10**6, course)

    known = course.known
    for outcome in (first, second):
        sums = rank_sums(outcome.costs)
        assert sums[0] == sums.min()
        assert outcome.costs.shape == (len(outcome.tasks), len(outcome.survivors))
        assert (np.diff(sums) >= 0).all()
        for i, candidate in enumerate(outcome.survivors):
            seen = [known[candidate.number, task] for task in outcome.tasks]
            np.testing.assert_array_equal(outcome.costs[:, i], seen)
    assert first.n_paid <= budget
    assert first.n_paid + second.n_paid == len(known)
    assert set(first.tasks) < set(second.tasks)


def same(one: Tuned, other: Tuned) -> bool:
    """Return whether two tunings found the same, bit for bit."""
    return (
        one.elites == other.elites
        and np.array_equal(one.costs, other.costs)
        and one.iterations == other.iterations
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_workers_do_not_change_the_result(seed: int, tmp_path: Path) -> None:
    tuning = Tuning(budget=150, n_instances=20, seed=seed)
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]

    alone, together = (
        tune(Problem("level"), SPACES["level"], tuning, file=file, workers=n)
        for n, file in enumerate(files, start=1)
    )

    assert same(alone, together)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_another_seed_is_another_tuning() -> None:
    first, second = (
        tune(Problem("bowl"), SPACES["bowl"], Tuning(budget=150, n_instances=20, seed=seed))
        for seed in (0, 1)
    )

    assert not same(first, second)


@given(stop=st.integers(0, 100), seed=st.integers(0, 3))
@settings(max_examples=15, deadline=None)
def test_interrupted_and_resumed_is_as_never_interrupted(
    stop: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("resumed")
    problem, tuning = Problem("interaction"), Tuning(budget=150, n_instances=9, seed=seed)
    whole = tune(problem, SPACES["interaction"], tuning, file=folder / "whole.jsonl")
    calls: list[int] = []

    def interrupted(values: Configuration, instance: int, seed: int) -> float:
        if len(calls) == stop:
            raise KeyboardInterrupt
        calls.append(instance)
        return problem(values, instance, seed)

    file = folder / "halves.jsonl"
    with pytest.raises(KeyboardInterrupt):
        tune(interrupted, SPACES["interaction"], tuning, file=file)
    stop = 10**6

    resumed = tune(interrupted, SPACES["interaction"], tuning, file=file)

    assert same(whole, resumed)
    assert file.read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert len(calls) <= whole.n_experiments  # nothing was made twice


def test_a_tuning_stopped_after_some_races_can_be_gone_on_with(tmp_path: Path) -> None:
    problem, space, tuning = Problem("bowl"), SPACES["bowl"], Tuning(budget=300, n_instances=20)
    whole = tune(problem, space, tuning)

    part = tune(problem, space, tuning, file=tmp_path / "kept.jsonl", races=2)
    rest = tune(problem, space, tuning, file=tmp_path / "kept.jsonl")

    assert part.iterations == whole.iterations[:2] != whole.iterations
    assert same(rest, whole)
    with pytest.raises(ValueError, match="races must be at least 1, got 0; leave it out"):
        tune(problem, space, tuning, races=0)


def test_a_record_of_another_tuning_is_refused(tmp_path: Path) -> None:
    file, space = tmp_path / "kept.jsonl", SPACES["bowl"]
    tune(Problem("bowl"), space, Tuning(budget=150, n_instances=9, subject="bowl"), file=file)

    with pytest.raises(ValueError, match="subject was 'bowl', now it is 'pot'"):
        tune(Problem("bowl"), space, Tuning(budget=150, n_instances=9, subject="pot"), file=file)


def test_a_budget_too_small_for_a_race_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"Tuning.budget must be at least 120 for 5 parameters and first_test=5, got 119;",
    ):
        tune(Problem("bowl"), SPACES["bowl"], Tuning(budget=119, n_instances=9))

    assert tune(Problem("bowl"), SPACES["bowl"], Tuning(budget=120, n_instances=9)).elites


def test_what_elites_have_seen_is_saved_and_newcomers_must_see_it() -> None:
    """100 experiments and the 40 that 4 elites need not repeat; 11 tasks for each who races."""
    assert n_candidates(100, 3, n_elites=4, n_past=10, rules=Rules()) == 12
    assert n_candidates(100, 3, n_elites=4, n_past=10, rules=Rules(each_test=4)) == 8  # 17 tasks
    assert n_candidates(100, 9, n_elites=0, n_past=0, rules=Rules()) == 10  # at most 5 more


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("first_test", 1, "Rules.first_test must be at least 2, got 1."),
        ("each_test", 0, "Rules.each_test must be at least 1, got 0."),
        ("new_tasks", 0, "Rules.new_tasks must be at least 1, got 0."),
        ("patience", 0, "Rules.patience must be at least 1, got 0."),
        ("confidence", 1.0, "Rules.confidence must lie between 0 and 1, got 1.0; as 0.95."),
    ],
)
def test_rules_that_cannot_be_are_refused(name: str, value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rules(**{name: value})  # type: ignore[arg-type]


def test_tunings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Tuning.n_instances must be at least 1, got 0."):
        Tuning(budget=100, n_instances=0)
    with pytest.raises(ValueError, match=r"Tuning.seed must lie between 0 and 2.*, got -1."):
        Tuning(budget=100, n_instances=9, seed=-1)


@pytest.mark.parametrize(
    "changed",
    [
        Rules(first_test=7),
        Rules(each_test=3),
        Rules(new_tasks=3),
        Rules(patience=6),
        Rules(confidence=0.6),
    ],
)
def test_every_rule_matters(changed: Rules) -> None:
    usual, other = (
        tune(Problem("bowl"), SPACES["bowl"], Tuning(budget=900, n_instances=20, rules=rules))
        for rules in (Rules(), changed)
    )

    assert usual.iterations != other.iterations
