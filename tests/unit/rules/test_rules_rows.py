from __future__ import annotations

import numpy as np
import pytest
from tests.unit.rules.small import AGE, DATA, ROW, SCHEMA, rules_of

from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import Limits
from counterpoint.rules.program import judge
from counterpoint.rules.rules import RowRules
from counterpoint.table.schema import Encoding
from counterpoint.table.space import describe_space, search_box

SPACE = describe_space(SCHEMA, Encoding(SCHEMA).encode(DATA))
ROWS = np.array([ROW, [40.0, 2.0, 0.0, 1.0]])


def bind(*texts: str, max_changed: int = 4) -> RowRules:
    box = search_box(ROWS, SPACE, Limits().check(SCHEMA))
    return RowRules.of(rules_of(*texts), ROWS, box, SPACE, max_changed)[1]


def test_the_most_changes_of_the_limits_are_part_of_the_program() -> None:
    genomes = np.array([[50.0, 9.0, 1.0, 1.0], [50.0, 2.0, 1.0, 1.0]])

    free, bound = bind("age > 1"), bind("age > 1", max_changed=1)

    assert judge(free.program, genomes, ROW).all(axis=1).tolist() == [True, True]
    assert judge(bound.program, genomes, ROW).all(axis=1).tolist() == [False, True]


def test_a_rule_is_judged_against_the_candidates_own_row() -> None:
    genomes = np.array([[[35.0, 2.0, 1.0, 1.0]], [[35.0, 2.0, 0.0, 1.0]]])

    assert bind("age increases").holds(genomes, ROWS).tolist() == [[True], [False]]


def test_some_rows_keep_their_own_domains() -> None:
    found = bind("age increases")

    some = found.of_rows(np.array([1]))

    assert found.domains.features["lower"][:, AGE].tolist() == [30.0, 40.0]
    assert some.domains.features["lower"][:, AGE].tolist() == [40.0]
    assert some.rules is found.rules


def test_rules_that_leave_nothing_to_change_are_refused() -> None:
    with pytest.raises(InvalidInput, match="leave every feature at the row's value"):
        bind("fixed age, pay, job, rank")


def test_what_must_change_is_enough() -> None:
    found = bind("fixed pay, job, rank", "age = 55")

    assert not found.domains.features["may_change"].any()
    assert found.domains.features["anchor"][:, AGE].tolist() == [55.0, 55.0]
