from __future__ import annotations

import numpy as np
import pytest
from tests.unit.rules.small import AGE, DATA, ROW, SCHEMA, rules_of

from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import Limits, search_box
from counterpoint.rules.program import holds_all
from counterpoint.rules.rules import Ruling
from counterpoint.table.encoding import Encoding
from counterpoint.table.space import describe_space

SPACE = describe_space(SCHEMA, Encoding(SCHEMA).encode(DATA))
ROWS = np.array([ROW, [40.0, 2.0, 0.0, 1.0]])


def ruling(*texts: str, max_changed: int = 4) -> Ruling:
    box = search_box(ROWS, SPACE, Limits.of(SCHEMA), SCHEMA.names)
    return Ruling.of(rules_of(*texts), ROWS, box, SPACE, max_changed)[1]


def test_the_most_changes_of_the_limits_are_part_of_the_program() -> None:
    genomes = np.array([[50.0, 9.0, 1.0, 1.0], [50.0, 2.0, 1.0, 1.0]])

    free, bound = ruling("age > 1"), ruling("age > 1", max_changed=1)

    assert holds_all(free.program, genomes, ROW).tolist() == [True, True]
    assert holds_all(bound.program, genomes, ROW).tolist() == [False, True]


def test_a_rule_is_judged_against_the_candidates_own_row() -> None:
    genomes = np.array([[[35.0, 2.0, 1.0, 1.0]], [[35.0, 2.0, 0.0, 1.0]]])

    assert ruling("age increases").holds(genomes, ROWS).tolist() == [[True], [False]]


def test_some_rows_keep_their_own_fences() -> None:
    found = ruling("age increases")

    some = found.of_rows(np.array([1]))

    assert found.fences.features["lower"][:, AGE].tolist() == [30.0, 40.0]
    assert some.fences.features["lower"][:, AGE].tolist() == [40.0]
    assert some.rules is found.rules


def test_rules_that_leave_nothing_to_change_are_refused() -> None:
    with pytest.raises(InvalidInput, match="leave every feature at the row's value"):
        ruling("fixed age, pay, job, rank")


def test_what_must_change_is_enough() -> None:
    found = ruling("fixed pay, job, rank", "age = 55")

    assert not found.fences.features["may_change"].any()
    assert found.fences.features["anchor"][:, AGE].tolist() == [55.0, 55.0]
