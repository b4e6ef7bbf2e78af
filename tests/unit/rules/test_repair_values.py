from __future__ import annotations

import numpy as np
import pytest
from tests.kernels import called
from tests.unit.rules.small import AGE, JOB, PAY, RANK, ROW, narrowed, repair_of, starts

from counterpoint.rules.repair import move_inside, nearest_level, nearest_number, other_value

go_to_number, go_to_level = called(nearest_number), called(nearest_level)
go_elsewhere, move_all = called(other_value), called(move_inside)


def test_domains_hold_what_the_rules_leave() -> None:
    box, domains = narrowed("age in 25..50", "age in steps of 10", "fixed pay", "job != smith")

    age, pay = domains.features[0, AGE], domains.features[0, PAY]
    assert (age["lower"], age["upper"], age["pitch"], age["row"]) == (30.0, 50.0, 10.0, 30.0)
    assert not pay["may_change"]
    assert domains.allowed[0, JOB].tolist() == [True, True, False]
    assert box.upper[0, JOB] == 1.0


@pytest.mark.parametrize(
    ("value", "nearest"), [(10.0, 30.0), (34.0, 30.0), (36.0, 40.0), (99.0, 50.0)]
)
def test_a_number_goes_to_the_nearest_step(value: float, nearest: float) -> None:
    repair = repair_of("age in 25..50", "age in steps of 10")

    assert go_to_number(value, repair.features[AGE]) == nearest


def test_a_level_without_order_goes_anywhere_and_an_ordered_one_to_the_nearest() -> None:
    repair = repair_of("job != nurse", "rank != mid")
    state = starts(1)
    jobs = {go_to_level(1.0, repair.features[JOB], repair.allowed[JOB], state) for _ in range(40)}

    rank = go_to_level(2.0, repair.features[RANK], repair.allowed[RANK], state)

    assert jobs == {0.0, 2.0}
    assert rank == 2.0


def test_moving_inside_keeps_what_may_not_change() -> None:
    repair = repair_of("fixed pay", "age <= 40")
    genome = np.array([55.0, 9.0, 2.0, 0.0])

    move_all(genome, repair.features, repair.allowed, repair.state)

    assert genome.tolist() == [40.0, 2.0, 2.0, 0.0]


def test_another_value_is_another_one_and_all_can_be_reached() -> None:
    repair = repair_of("age in 28..33")
    state = starts(1)

    found = {
        go_elsewhere(30.0, repair.features[AGE], repair.allowed[AGE], state) for _ in range(400)
    }

    assert found == {28.0, 29.0, 31.0, 32.0, 33.0}


def test_the_row_is_not_written_to() -> None:
    narrowed("age >= 35")

    assert ROW.tolist() == [30.0, 2.0, 1.0, 1.0]
