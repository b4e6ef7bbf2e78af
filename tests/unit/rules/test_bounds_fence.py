from __future__ import annotations

import numpy as np
import pytest
from tests.kernels import called
from tests.unit.rules.small import AGE, JOB, PAY, RANK, ROW, bench_of, narrowed, starts

from counterpoint.rules.bounds import nearest_level, nearest_number, other_value, settle

go_to_number, go_to_level = called(nearest_number), called(nearest_level)
go_elsewhere, settle_all = called(other_value), called(settle)


def test_fences_hold_what_the_rules_leave() -> None:
    box, fences = narrowed("age in 25..50", "age in steps of 10", "fixed pay", "job != smith")

    age, pay = fences.features[0, AGE], fences.features[0, PAY]
    assert (age["lower"], age["upper"], age["pitch"], age["row"]) == (30.0, 50.0, 10.0, 30.0)
    assert not pay["may_change"]
    assert fences.allowed[0, JOB].tolist() == [True, True, False]
    assert box.upper[0, JOB] == 1.0


@pytest.mark.parametrize(
    ("value", "nearest"), [(10.0, 30.0), (34.0, 30.0), (36.0, 40.0), (99.0, 50.0)]
)
def test_a_number_goes_to_the_nearest_step(value: float, nearest: float) -> None:
    bench = bench_of("age in 25..50", "age in steps of 10")

    assert go_to_number(value, bench.features[AGE]) == nearest


def test_a_level_without_order_goes_anywhere_and_an_ordered_one_to_the_nearest() -> None:
    bench = bench_of("job != nurse", "rank != mid")
    state = starts(1)
    jobs = {go_to_level(1.0, bench.features[JOB], bench.allowed[JOB], state) for _ in range(40)}

    rank = go_to_level(2.0, bench.features[RANK], bench.allowed[RANK], state)

    assert jobs == {0.0, 2.0}
    assert rank == 2.0


def test_settling_keeps_what_may_not_change() -> None:
    bench = bench_of("fixed pay", "age <= 40")
    genome = np.array([55.0, 9.0, 2.0, 0.0])

    settle_all(genome, bench.features, bench.allowed, bench.state)

    assert genome.tolist() == [40.0, 2.0, 2.0, 0.0]


def test_another_value_is_another_one_and_all_can_be_reached() -> None:
    bench = bench_of("age in 28..33")
    state = starts(1)

    found = {go_elsewhere(30.0, bench.features[AGE], bench.allowed[AGE], state) for _ in range(400)}

    assert found == {28.0, 29.0, 31.0, 32.0, 33.0}


def test_the_row_is_not_written_to() -> None:
    narrowed("age >= 35")

    assert ROW.tolist() == [30.0, 2.0, 1.0, 1.0]
