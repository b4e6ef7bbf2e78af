from __future__ import annotations

import numpy as np
import pytest
from benchmarks.choosing_ten import RULES, Ten, chosen, lines_of
from benchmarks.peers.subjects import Floats


@pytest.fixture
def objectives() -> Floats:
    """Return twelve counterfactuals that hardly differ, and a near miss that dominates much."""
    rng = np.random.default_rng(0)  # noqa: TID251 - points, not a search
    close = np.column_stack(
        [np.zeros(12), 0.8 + 0.01 * rng.random(12), np.full(12, 4.0), rng.random(12)]
    )
    return np.vstack([close, [[0.01, 0.01, 1.0, 0.01]]])


def test_counterfactuals_alone_are_chosen_by_two_rules_and_the_best_candidates_by_the_third(
    objectives: Floats,
) -> None:
    tens = {rule: chosen(objectives, rule) for rule in RULES}

    assert {rule: len(ten) for rule, ten in tens.items()} == dict.fromkeys(RULES, 10)
    assert tens["paper"][:, 0].max() == tens["counterfactuals"][:, 0].max() == 0.0
    assert tens["candidates"][0].tolist() == objectives[-1].tolist()


def test_the_paper_fills_up_with_near_misses_and_the_rule_of_counterfactuals_does_not(
    objectives: Floats,
) -> None:
    few = objectives[8:]

    assert len(chosen(few, "paper")) == 5
    assert chosen(few, "counterfactuals")[:, 0].tolist() == [0.0] * 4


def test_rows_of_which_theirs_dominates_nothing_are_not_compared() -> None:
    def ten(volume: float) -> Ten:
        return Ten(dict.fromkeys(RULES, volume), 3, 1.0, 1.0)

    results = [
        {"ours": ten(1.0), "mocmod": ten(2.0)},
        {"ours": ten(3.0), "mocmod": ten(2.0)},
        {"ours": ten(3.0), "mocmod": ten(0.0)},
    ]

    assert lines_of(results)[2] == "| paper | 2 | 1 | 1 | 0.500 | 1.0000 |"
