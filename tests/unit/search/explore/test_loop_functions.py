from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.search.explore.knowledge import most_seen
from counterpoint.search.feasibility import RETRIES, is_wanted

DATA = pd.DataFrame(
    {
        "age": [22, 35, 41, 58, 63, 30, 30],
        "rate": [0.5, 1.25, 0.75, 2.0, 1.5, 1.0, 2.0],
        "job": ["clerk", "nurse", "smith", "nurse", "clerk", "smith", "nurse"],
    }
)
ROW = {"age": 30, "rate": 1.0, "job": "clerk"}
SEARCH = cp.Search(evaluations=120)


def score(rows: pd.DataFrame) -> Any:
    return rows["age"] / 100 + rows["rate"] / 10


def explain(*constraints: Any, search: Any = SEARCH) -> cp.Counterfactuals:
    return cp.Explainer(score, DATA).explain(ROW, (0.45, 0.9), search, constraints=constraints)


def test_a_function_that_refuses_everything_ends_in_nothing_evaluated() -> None:
    n_asked: list[int] = []

    def refuse(rows: pd.DataFrame) -> Any:
        n_asked.append(len(rows))
        return np.zeros(len(rows), dtype=bool)

    found = explain(refuse)

    assert len(found.genomes) == 0
    assert found.status == "best_effort"
    assert found.evaluations == 1
    assert found.stopped in ("budget", "patience")  # not exhausted: more could have been tried
    assert sum(n_asked) > 120
    assert found.message.endswith('limits and rules exclude all of them: drop "function refuse".')


def test_nothing_a_function_refused_is_evaluated() -> None:
    asked: list[pd.DataFrame] = []

    def watched(rows: pd.DataFrame) -> Any:
        asked.append(rows)
        return score(rows)

    explainer = cp.Explainer(watched, DATA)
    asked.clear()

    found = explainer.explain(
        ROW, (0.45, 0.9), SEARCH, constraints=[lambda rows: (rows["age"] % 2 == 0).to_numpy()]
    )

    assert len(found.genomes) > 0
    assert (pd.concat(asked)["age"] % 2 == 0).all()


def test_no_candidate_is_asked_of_a_function_twice_in_a_search() -> None:
    asked: list[pd.DataFrame] = []

    def is_even(rows: pd.DataFrame) -> Any:
        asked.append(rows)
        return (rows["age"] % 2 == 0).to_numpy()

    explain(is_even)

    # The first calls are on the row and on observed rows, the last on the result.
    waves = pd.concat(asked[2:-1])
    assert not waves.duplicated().any()


def test_functions_need_a_larger_memory() -> None:
    plain, strict = explain(), explain(lambda rows: np.ones(len(rows), dtype=bool))

    assert most_seen(plain.problem, 100) == 102
    assert most_seen(strict.problem, 100) == 2 + 100 * (2 + RETRIES)


def test_rules_no_candidate_satisfies_end_in_an_exhausted_search() -> None:
    """No whole number, and propagation does not see it."""
    found = explain("age * age = 1000")

    assert len(found.genomes) == 0
    assert found.stopped == "exhausted"
    assert found.evaluations == 1


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("age >= 40", [False, False, True, True, True, False, False]),
        ("job != smith and rate > 1.25", [False, False, False, True, True, False, True]),
        # the rule leaves 58..63 and, beside it, the row's own 30
        ("not changed(age) or age > 50", [False, False, False, True, True, False, True]),
    ],
)
def test_observed_rows_are_wanted_if_they_obey(rule: str, expected: list[bool]) -> None:
    found = explain(rule, search=cp.WhatIf())

    every = np.arange(len(found.problem.observed.genomes))
    assert is_wanted(found.problem, 0, every).tolist() == expected
