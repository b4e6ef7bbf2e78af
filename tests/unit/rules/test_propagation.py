from __future__ import annotations

import pytest
from tests.unit.rules.small import AGE, JOB, PAY, ROW, SCHEMA, rules_of

from counterpoint.rules.domains import Domains, Impossible, start_from_data
from counterpoint.rules.normal_form import Formula
from counterpoint.rules.propagation import propagate, verdict


def left_by(*texts: str) -> Domains:
    """Return what rules leave of the small table's row."""
    domains = Domains(SCHEMA, start_from_data(ROW, SCHEMA))
    propagate(rules_of(*texts).normal_rules, domains)
    return domains


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age >= 20", True),
        ("age > 60", False),
        ("age > 40", None),
        ("age * pay > 10", True),
        ("age / (pay - 1) > 0", True),
        ("age / (pay - 2) > 0", None),
        ("1 / 0 > 0", False),
        ("age != 10 or pay > 100", True),
        ("age != 10 and pay > 5", None),
        ("age in {1, 2}", False),
        ("age in steps of 5", None),
        ("was(age) = 1", False),
    ],
)
def test_a_condition_holds_always_never_or_perhaps(text: str, expected: bool | None) -> None:
    (rule,) = rules_of(text).normal_rules
    assert isinstance(rule, Formula)

    assert verdict(rule.condition, left_by()) is expected


def test_a_value_can_be_supposed() -> None:
    (rule,) = rules_of("age > 40").normal_rules
    assert isinstance(rule, Formula)

    assert verdict(rule.condition, left_by(), (AGE, 41.0)) is True
    assert verdict(rule.condition, left_by(), (AGE, 40.0)) is False


def test_rules_bind_each_other_until_nothing_changes() -> None:
    domains = left_by("age <= 10 * pay", "pay <= 4", "pay >= 3.5", "job = smith implies age > 50")

    assert domains.hull(AGE) == (20.0, 40.0)
    assert domains.hull(PAY) == (3.5, 4.0)
    assert domains.allowed[JOB].tolist() == [True, True, False]


def test_what_must_change_leaves_no_change_to_others() -> None:
    domains = left_by("at most 1 change", "age >= 50")

    assert domains.must_change(AGE)
    assert domains.cannot_change(PAY)
    assert domains.cannot_change(JOB)


def test_a_group_changes_with_its_first() -> None:
    assert left_by("age, pay change together", "age >= 50").must_change(PAY)
    assert left_by("age, pay change together", "fixed age").cannot_change(PAY)


def test_nothing_left_is_a_finding() -> None:
    with pytest.raises(Impossible, match="no value of 'age' from 20 to 60 is left"):
        left_by("age < 30", "changed(age)", "age in {25, 30, 99}", "age > 25")


def test_a_slope_that_is_next_to_nothing_bounds_nothing() -> None:
    """How much round-off could matter is beyond all numbers then, of which nobody is warned."""
    domains = left_by("age <= 5e-324 * pay + 1000")

    assert domains.hull(PAY) == left_by().hull(PAY)
