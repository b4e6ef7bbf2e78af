from __future__ import annotations

import numpy as np
import pytest
from benchmarks.choosing_ten import RULES, Ten, chosen, lines_of, page
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

    assert [len(tens[rule]) for rule in RULES] == [10, 10, 10, 12]
    assert tens["paper"][:, 0].max() == tens["counterfactuals"][:, 0].max() == 0.0
    assert tens["candidates"][0].tolist() == objectives[-1].tolist()


def test_the_paper_fills_up_with_near_misses_and_the_rule_of_counterfactuals_does_not(
    objectives: Floats,
) -> None:
    few = objectives[8:]

    assert len(chosen(few, "paper")) == 5
    assert chosen(few, "counterfactuals")[:, 0].tolist() == [0.0] * 4


def ten(volume: float) -> Ten:
    return Ten(dict.fromkeys(RULES, volume) | {"none chosen": 2.0 * volume}, 3, 1.0, 1.0)


def test_rows_of_which_theirs_dominates_nothing_are_not_compared() -> None:
    results = [
        {"ours": ten(1.0), "mocmod": ten(2.0)},
        {"ours": ten(3.0), "mocmod": ten(2.0)},
        {"ours": ten(3.0), "mocmod": ten(0.0)},
    ]

    assert lines_of(results)[2] == "| paper | 2 | 1 | 1 | 0.500 | 1.0000 |"


def test_rows_on_which_ours_have_less_are_named_with_what_all_counterfactuals_have() -> None:
    results = [{"ours": ten(1.0), "mocmod": ten(2.0)}, {"ours": ten(3.0), "mocmod": ten(2.0)}]

    text = page(results, ["one, forest, row 1", "two, forest, row 7"], "python -m it")

    assert "- one, forest, row 1: 0.50000; all counterfactuals 0.50000" in text
    assert "row 7" not in text
    assert "the ten have 0.5000 on average and 0.5000 at" in text
    assert "on no row" in page(results[1:], ["two, forest, row 7"], "python -m it")
