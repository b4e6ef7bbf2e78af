from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.problem.problem import Problem
from counterpoint.search.feasibility import (
    RETRIES,
    Candidates,
    draws_of,
    feasible,
    repaired,
    repairs_of,
)
from counterpoint.search.nsga2.loop import random_candidates
from counterpoint.streams import MAX_GENERATIONS

DATA = pd.DataFrame(
    {
        "age": [22, 35, 41, 58, 63, 30],
        "rate": [0.5, 1.25, 0.75, 2.0, 1.5, 1.0],
        "job": ["clerk", "nurse", "smith", "nurse", "clerk", "smith"],
    }
)
ROW = {"age": 25, "rate": 1.0, "job": "clerk"}


def score(rows: pd.DataFrame) -> Any:
    return rows["age"] / 100


def problem_of(*constraints: Any) -> Problem:
    found = cp.Explainer(score, DATA).explain(
        ROW, (0.5, 0.9), cp.WhatIf(), constraints=constraints, seed=4
    )
    return found.problem


def drawn(problem: Problem, generation: int = 0, n: int = 40) -> Candidates:
    return random_candidates(problem, problem.box, n, generation)


def test_without_rules_nothing_is_done() -> None:
    problem = problem_of()
    candidates = drawn(problem)

    same, counts = feasible(problem, lambda _: candidates, 0)

    assert len(repairs_of(problem).program.rules) == 0
    assert same is candidates
    assert counts is None


def test_candidates_are_repaired_and_their_input_left_alone() -> None:
    problem = problem_of("age >= 40 * rate", "job != smith")
    candidates = drawn(problem)
    before = candidates.genomes.copy()

    after, is_good = repaired(problem, candidates, generation=3)

    assert not problem.obeys(before).all()
    assert is_good.all()
    assert problem.obeys(after.genomes).all()
    np.testing.assert_array_equal(candidates.genomes, before)


def test_an_indicator_never_claims_a_value_that_repair_changed() -> None:
    problem = problem_of("age >= 40 * rate", "job != was(job)")

    candidates, _ = repaired(problem, drawn(problem), generation=0)

    anchors = np.broadcast_to(problem.box.anchor[:, None], candidates.genomes.shape)
    assert (candidates.genomes[candidates.keeps] == anchors[candidates.keeps]).all()


def test_what_a_function_refuses_is_drawn_again() -> None:
    problem = problem_of("age > 30", lambda rows: (rows["age"] % 3 == 0).to_numpy())

    candidates, counts = feasible(problem, lambda draws: drawn(problem, draws), 0)

    assert counts is not None
    assert counts.mean() > 0.6  # a sixth is accepted each time, and there are eight times
    assert (candidates.genomes[counts][:, 0] % 3 == 0).all()


def test_the_row_fills_what_is_never_feasible() -> None:
    problem = problem_of(lambda rows: np.zeros(len(rows), dtype=bool))

    candidates, counts = feasible(problem, lambda draws: drawn(problem, draws), 0)

    assert counts is not None
    assert not counts.any()
    assert (candidates.genomes == problem.rows[:, None]).all()
    assert candidates.keeps.all()


def test_a_candidate_is_not_retried_once_it_is_feasible() -> None:
    made: list[int] = []
    problem = problem_of("age >= 40")

    def make(draws: int) -> Candidates:
        made.append(draws)
        return drawn(problem, draws)

    feasible(problem, make, 7)

    assert made == [7]


@pytest.mark.parametrize("generation", [0, 5, MAX_GENERATIONS])
def test_retries_use_draws_of_their_own(generation: int) -> None:
    draws = [draws_of(generation, retry) for retry in range(RETRIES + 1)]

    assert len({*draws}) == RETRIES + 1
    assert all(0 <= each <= MAX_GENERATIONS for each in draws)


def test_repair_is_the_same_again_and_another_with_other_draws() -> None:
    problem = problem_of("age >= 40 or rate >= 1.5", "job in {nurse, smith}")
    candidates = drawn(problem)

    first, again, other = (repaired(problem, candidates, generation)[0] for generation in (1, 1, 2))

    np.testing.assert_array_equal(first.genomes, again.genomes)
    assert (first.genomes != other.genomes).any()
