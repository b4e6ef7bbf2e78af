from __future__ import annotations

import pytest
from tests.unit.rules.small import AGE, JOB, PAY, rules_of

from counterpoint.rules.normal_form import (
    All,
    Among,
    Calculation,
    Constant,
    Count,
    Differs,
    Formula,
    Gene,
    Group,
    NormalRule,
    OnSteps,
    Relation,
    RowValue,
    Some,
    genes_of,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age <= 5", Formula(Relation("<=", Gene(AGE), Constant(5.0)))),
        ("not age <= 5", Formula(Relation(">", Gene(AGE), Constant(5.0)))),
        ("age increases", Formula(Relation(">=", Gene(AGE), RowValue(AGE)))),
        ("job = nurse", Formula(Relation("=", Gene(JOB), Constant(1.0)))),
        ("job not in {clerk, smith}", Formula(Among(JOB, (0.0, 2.0), False))),
        ("not changed(pay)", Formula(Differs(PAY, False))),
        ("not age in steps of 5", Formula(OnSteps(AGE, 5.0, RowValue(AGE), False))),
        ("at most 2 changes", Count(2, (0, 1, 2, 3))),
        ("age, job change together", Group((AGE, JOB))),
        (
            "-age < 1",
            Formula(Relation("<", Calculation(Constant(0.0), (("-", Gene(AGE)),)), Constant(1.0))),
        ),
        (
            "not (age < 1 and changed(pay))",
            Formula(Some((Relation(">=", Gene(AGE), Constant(1.0)), Differs(PAY, False)))),
        ),
        (
            "not (age < 1 implies age > 5)",
            Formula(
                All(
                    (
                        Relation("<", Gene(AGE), Constant(1.0)),
                        Relation("<=", Gene(AGE), Constant(5.0)),
                    )
                )
            ),
        ),
    ],
)
def test_rules_are_few_nodes_without_negations(text: str, expected: NormalRule) -> None:
    assert rules_of(text).normal_rules == (expected,)


def test_what_a_rule_reads_of_the_candidate_is_listed_in_order() -> None:
    (rule,) = rules_of("pay * age > was(age) and job in {nurse} or changed(pay)").normal_rules

    assert [*genes_of(rule)] == [PAY, AGE, JOB, PAY]
