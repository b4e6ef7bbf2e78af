from __future__ import annotations

import numpy as np
import pytest
from tests.unit.rules.small import AGE, JOB, PAY, RANK, ROW, repaired, rules_of


@pytest.mark.parametrize(
    "texts",
    [
        ["age <= 12 * pay"],
        ["age + 100 * pay > 930"],
        ["age >= 10 * pay + 5", "pay > 3", "age in steps of 5"],
        ["job = smith implies age >= 50", "age > 55 implies job = smith"],
        ["age, job change together", "at most 2 changes"],
        ["at most 1 change among age, pay", "rank >= mid", "job in {clerk, nurse}"],
        ["pay = age / 10"],
        ["age >= 40 or pay >= 5", "not (age >= 40 and pay >= 5)"],
    ],
)
def test_repair_ends_in_what_the_rules_allow(texts: list[str]) -> None:
    genomes, is_good = repaired(*texts, genome=[20.0, 9.0, 2.0, 0.0])

    assert is_good.all()
    assert rules_of(*texts).holds(genomes, ROW).all()


def test_what_satisfies_the_rules_is_left_alone() -> None:
    genome = [40.0, 9.0, 2.0, 0.0]

    genomes, is_good = repaired("age <= 12 * pay", genome=genome)

    assert is_good.all()
    assert (genomes == genome).all()


def test_an_alternative_is_met_now_by_one_part_and_now_by_the_other() -> None:
    genomes, _ = repaired("age >= 40 or pay >= 5", genome=[30.0, 2.0, 0.0, 1.0], n=200)

    assert {tuple(genome) for genome in genomes[:, [AGE, PAY]]} == {(40.0, 2.0), (30.0, 5.0)}


def test_surplus_changes_are_put_back_each_as_likely() -> None:
    genomes, is_good = repaired("at most 1 change", genome=[20.0, 9.0, 2.0, 0.0], n=400)

    changed = genomes != ROW
    assert is_good.all()
    assert (changed.sum(axis=1) == 1).all()
    assert (np.abs(changed.mean(axis=0) - 0.25) < 0.1).all()


def test_a_group_is_changed_or_put_back_as_a_whole() -> None:
    genomes, _ = repaired("age, job change together", genome=[50.0, 2.0, 1.0, 1.0], n=200)

    changed = genomes[:, [AGE, JOB]] != ROW[[AGE, JOB]]
    assert {tuple(each) for each in changed.tolist()} == {(True, True), (False, False)}


def test_an_allowed_level_is_drawn_for_one_that_is_not() -> None:
    genomes, _ = repaired("job in {clerk, smith}", genome=ROW, n=100)

    assert {*genomes[:, JOB].tolist()} == {0.0, 2.0}


def test_the_limits_hold_in_repair() -> None:
    genomes, is_good = repaired(
        "age >= 12 * pay + 20", genome=ROW, fixed=["age"], ranges={"pay": (0.5, 9)}
    )

    assert is_good.all()
    assert (genomes[:, AGE] == 30.0).all()
    assert (genomes[:, PAY] <= 0.8).all()


def test_what_cannot_be_repaired_is_said_and_stays_inside() -> None:
    texts = ["age * age = 1000"]  # no whole number, and propagation does not see it

    genomes, is_good = repaired(*texts, genome=[20.0, 9.0, 2.0, 0.0], n=5)

    assert not is_good.any()
    assert ((genomes[:, AGE] >= 20.0) & (genomes[:, AGE] <= 60.0)).all()
    assert (genomes[:, RANK] == 0.0).all()
