"""Recall, excess and reducible ways, on sets written down by hand."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.ways import page
from benchmarks.ways.answers import Answer
from benchmarks.ways.brute_force import Way
from benchmarks.ways.measures import (
    compare,
    minimal_sets,
    n_reducible,
    pooled,
    recall,
    summarize,
)

WAYS = [Way((0,), 0.1, 0.05), Way((1, 2), 0.2, 0.2), Way((1, 3, 4), 0.4, 0.3)]


def test_a_way_is_recalled_by_itself_or_by_a_set_within_it_and_by_no_larger_one() -> None:
    told = {(0, 5): 0.2, (1,): 0.3, (1, 2): 0.25}

    records = compare(WAYS, told)

    assert [record["recalled"] for record in records] == [False, True, True]
    assert records[1]["excess"] == pytest.approx(0.25)  # the pair's own is nearer than (1,)
    assert records[2]["excess"] == pytest.approx(-0.25)
    assert records[2]["finer"] == pytest.approx(0.0)
    assert np.isnan(records[0]["excess"])


def test_sets_with_a_smaller_way_are_not_minimal_whether_it_was_told_or_not() -> None:
    told = {(0, 5): 0.2, (1,): 0.3, (1, 2): 0.25}

    assert minimal_sets(told) == [frozenset({0, 5}), frozenset({1})]
    assert n_reducible(WAYS, told) == 1


def test_the_ways_of_all_rows_and_cells_count_alike() -> None:
    given = [Answer({(0,): 0.1}, 1.0), Answer({}, 3.0, "ValueError: no")]

    cell = summarize([WAYS, [Way((1,), 0.1, 0.1)]], given)

    assert (cell["ways"], cell["recalled"]) == ([2, 1, 1], [1, 0, 0])
    assert recall(cell, 1, 2) == pytest.approx(1 / 3)
    assert (recall(cell, 3), recall(cell, 1, 2, 3)) == (0.0, 1 / 4)
    assert (cell["excess"], cell["finer"]) == ([0.0], [1.0])
    assert (cell["told"], cell["reducible"], cell["rows"], cell["seconds"]) == (1, 0, 2, 4.0)
    assert cell["failures"] == ["ValueError: no"]
    twice = pooled([cell | {"ours": [2, 1, 0]}] * 2)
    assert recall(twice, 1, 2, 3, by="ours") == 3 / 4
    assert (twice["ways"], twice["excess"], twice["rows"]) == ([4, 2, 2], [0.0, 0.0], 4)


def test_the_page_names_the_cells_where_another_method_is_better() -> None:
    given = [Answer({(0,): 0.1}, 1.0)]
    cell = {"table": "made", "features": 5, "model": "forest", "method": "theirs"}
    cell |= summarize([WAYS], given)
    held = {"table": "made", "model": "forest", "first": [0.1, 0.5], "set": [0.2, 0.6]}
    held["whatif"] = [1.0, 0.7]

    lost = page.losses([cell | {"ours": [0, 0, 0]}], [held])

    assert lost.splitlines() == [
        "- **theirs** recalls more than ours on the same rows in 1 of 1 cells: "
        "made forest 33 % : 0 %.",
        "- **What is shown first** survives less than the mean of the set in 1 of 1 cells: "
        "made forest 50 % : 60 %.",
        "- **What is shown first** survives less than What-If's row in 1 of 1 cells: "
        "made forest 50 % : 70 %.",
        "- **What is shown first** survives in less than 90 % of the refits in 1 of 1 cells: "
        "made forest 50 %.",
    ]
    assert page.losses([cell | {"ours": [1, 0, 0]}], []) == "Nowhere in this run."
