from __future__ import annotations

import numpy as np
import pytest
from tests.kernels import called
from tests.unit.rules.small import AGE, JOB, PAY, RANK, repair_of

from counterpoint.rules.program import run
from counterpoint.rules.repair import TOO_COSTLY, price_test, single_change

run_in_python, find_change = called(run), called(single_change)
note_price = called(price_test)
GENOME = [30.0, 2.0, 1.0, 1.0]


def changes(text: str, j: int, genome: list[float] = GENOME, n: int = 20) -> set[float]:
    """Return the changes of feature j that make a rule with a single test hold."""
    found = set()
    for seed in range(1, n + 1):
        repair, values = repair_of(text, seed=seed), np.array(genome)
        last = len(repair.program.operations)
        run_in_python(repair.program.operations, 0, last, values, repair.row, repair.scratch)
        was = float(repair.scratch[last - 1]["size"])
        found.add(float(find_change(last - 1, j, was, values, repair)))
    return found


@pytest.mark.parametrize(
    ("text", "j", "value"),
    [
        ("age >= 15 * pay + 5", AGE, 35.0),
        ("age >= 15 * pay + 5", PAY, 1.6),
        ("age < 15 * pay", AGE, 29.0),
        ("age = 10 * pay + 15", AGE, 35.0),
        ("age * pay > 70", AGE, 36.0),
        ("rank > was(rank)", RANK, 2.0),
    ],
)
def test_the_change_is_to_the_nearest_value_that_makes_the_test_hold(
    text: str, j: int, value: float
) -> None:
    assert changes(text, j) == {value}


def test_a_test_that_cannot_be_met_by_one_feature_has_no_single_change() -> None:
    assert np.isnan([*changes("age + 100 * pay > 930", AGE)]).all()


def test_levels_without_order_are_offered_in_turn() -> None:
    assert changes("job != was(job)", JOB) == {0.0, 2.0}


def test_a_feature_that_must_differ_goes_any_distance() -> None:
    found = changes("changed(age)", AGE, n=200)

    assert 30.0 not in found
    assert min(found) < 25.0
    assert max(found) > 50.0
    assert {29.0, 31.0} & found


def test_the_cheapest_feature_is_noted_and_what_was_tried_forgotten() -> None:
    repair, genome = repair_of("age >= 15 * pay + 5"), np.array(GENOME)
    last = len(repair.program.operations) - 1
    run_in_python(repair.program.operations, 0, last + 1, genome, repair.row, repair.scratch)

    note_price(last, genome, repair)

    assert genome.tolist() == GENOME
    assert repair.scratch[last]["value"] == 0.0
    assert (repair.scratch[last]["feature"], repair.scratch[last]["new_value"]) in [
        (AGE, 35.0),
        (PAY, 1.6),
    ]
    assert 1.0 <= repair.scratch[last]["cost"] < 2.0


def test_what_no_feature_can_do_is_begun_by_a_push() -> None:
    repair, genome = repair_of("age + 100 * pay > 930"), np.array(GENOME)
    last = len(repair.program.operations) - 1
    run_in_python(repair.program.operations, 0, last + 1, genome, repair.row, repair.scratch)

    note_price(last, genome, repair)

    assert repair.scratch[last]["cost"] < TOO_COSTLY
    assert repair.scratch[last]["new_value"] in (60.0, 9.0)
