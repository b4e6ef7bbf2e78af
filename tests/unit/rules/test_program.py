from __future__ import annotations

import numpy as np
import pytest
from tests.unit.rules.small import AGE, JOB, PAY, ROW, rules_of

from counterpoint.rules import program as codes
from counterpoint.rules.normal_form import COMPARATORS, MULTIPLY, SUBTRACT
from counterpoint.rules.program import COMPARE, judge, make_scratch
from counterpoint.rules.tree import Comparator


def comparison(comparator: Comparator) -> int:
    return COMPARE + COMPARATORS[comparator]


def operations(*texts: str) -> list[int]:
    found: list[int] = rules_of(*texts).program.operations["operation"].tolist()
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age <= 5", [codes.GENE, codes.NUMBER, comparison("<=")]),
        ("changed(age)", [codes.CHANGED]),
        ("fixed age", [codes.UNCHANGED]),
        ("age in steps of 5", [codes.OWN, codes.ON_STEPS]),
        ("not age in steps of 5 from 0", [codes.NUMBER, codes.OFF_STEPS]),
        ("age > was(age)", [codes.GENE, codes.OWN, comparison(">")]),
        (
            "job in {clerk, smith}",
            [codes.GENE, codes.NUMBER, comparison("=")] * 2 + [codes.OR],
        ),
        (
            "age = 5 implies pay < age * 2",
            [
                *(codes.GENE, codes.NUMBER, comparison("!=")),
                *(codes.GENE, codes.GENE, codes.NUMBER, MULTIPLY, comparison("<"), codes.OR),
            ],
        ),
    ],
)
def test_rules_become_operations_in_postfix_order(text: str, expected: list[int]) -> None:
    assert operations(text) == expected


def test_an_operation_knows_where_its_operands_end_and_begin() -> None:
    written = rules_of("age - 2 * pay > 1").program.operations

    minus, more = written[4], written[6]
    assert (minus["operation"], minus["left"], minus["begin"]) == (SUBTRACT, 0, 0)
    assert (more["operation"], more["left"], more["begin"]) == (comparison(">"), 4, 0)


def test_rules_know_what_they_read() -> None:
    program = rules_of("pay <= age", "at most 2 changes", "job, age change together").program

    assert program.rules["kind"].tolist() == [codes.FORMULA, codes.COUNT, codes.GROUP]
    assert program.rules["most"].tolist() == [0, 2, 0]
    reads = [program.reads[a:b].tolist() for a, b in program.rules[["first_read", "last_read"]]]
    assert reads == [[AGE, PAY], [0, 1, 2, 3], [AGE, JOB]]


def test_no_rules_are_a_program_that_always_holds() -> None:
    program = rules_of().program

    assert len(make_scratch(program)) == 0
    assert judge(program, ROW[None], ROW).shape == (1, 0)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("age >= 30", [True, False, True]),
        ("age != was(age)", [False, True, True]),
        ("age / pay > 14", [True, False, True]),
        ("age / (age - 30) > 1", [False, False, True]),  # what divides by zero does not hold
        ("not age / (age - 30) > 1", [False, True, False]),
        ("age in steps of 5", [True, True, False]),
        ("job = nurse and pay < 2", [False, False, True]),
        ("rank decreases", [True, True, False]),
        ("at most 1 change", [True, True, False]),
        ("age, pay change together", [True, False, True]),
    ],
)
def test_the_machine_runs_a_program(text: str, answers: list[bool]) -> None:
    genomes = np.array([ROW, [25.0, 2.0, 1.0, 1.0], [31.0, 1.9, 1.0, 2.0]])

    assert judge(rules_of(text).program, genomes, ROW)[:, 0].tolist() == answers


def test_round_off_is_no_difference() -> None:
    genomes = np.array([[30.0, 0.1 + 0.2, 1.0, 1.0]])

    assert judge(rules_of("pay = 0.3", "pay <= 0.3").program, genomes, ROW).all()
    assert not judge(rules_of("pay > 0.3").program, genomes, ROW).any()
