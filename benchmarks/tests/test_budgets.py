"""Rules that end a search early, on curves whose ends are known."""

from __future__ import annotations

from benchmarks.budgets import BUDGETS, Curve, as_markdown, ends_at, gained_little, knows

ONE, TWO = frozenset({"a"}), frozenset({"b", "c"})
LATE = Curve([0.5, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [{ONE}] * 6 + [{ONE, TWO}] * 2, [*BUDGETS])


def test_a_rule_ends_when_nothing_was_gained_in_its_last_steps() -> None:
    assert ends_at(LATE, gained_little(1e-3, 1, counts_ways=False)) == 3
    assert ends_at(LATE, gained_little(1e-3, 2, counts_ways=False)) == 4


def test_ways_that_come_late_are_missed_by_every_rule_but_known_beforehand() -> None:
    assert LATE.recall(ends_at(LATE, gained_little(1e-3, 2, counts_ways=True))) == 0.5
    assert ends_at(LATE, knows(counts_ways=False)) == 2
    assert ends_at(LATE, knows(counts_ways=True)) == 6


def test_the_table_has_all_budgets_and_says_what_ending_gives() -> None:
    lines = as_markdown([LATE]).splitlines()

    assert "| at 440 | 440 | 12 % | 0.5000 | 0.50 |" in lines
    assert "| at 3,520 | 3,520 | 100 % | 1.0000 | 1.00 |" in lines
    assert len(lines) == 2 + len(BUDGETS) + 2 * 7
