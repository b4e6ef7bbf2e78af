"""Groups of rows: planned within a memory limit, searched in order on any number of threads."""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.arrays import Ints
from counterpoint.errors import InvalidInput
from counterpoint.explainer.group import (
    GIB,
    MOST_QUICK,
    MOST_TOGETHER,
    Grouping,
    bytes_in_flight,
    bytes_of_result,
    bytes_of_rules,
    check_memory,
    check_results_fit,
    check_workers,
    n_cores,
    plan_groups,
    search_groups,
)
from counterpoint.problem.limits import Limits
from counterpoint.progress import Watch
from counterpoint.table.schema import Schema

SEARCH = cp.Search(evaluations=500)


def plan(n_rows: int, together: int, workers: int) -> Grouping:
    return Grouping(n_rows, together, workers, row_bytes=1, result_bytes=1)


def planned_for(
    n_rows: int,
    table: tuple[int, int],
    search: cp.Search,
    workers: int,
    memory: float,
    *,
    extra: int = 0,
    is_quick: bool = False,
) -> Grouping:
    """Plan the groups of rows of a table with so many features and observed rows."""
    row_bytes, result_bytes = bytes_in_flight(*table, search), bytes_of_result(table[0], search)
    return plan_groups(n_rows, row_bytes + extra, result_bytes, workers, memory, is_quick=is_quick)


def names(group: Ints) -> Any:
    """Stand in for the results of a group: its rows."""
    return group.tolist()


@given(
    n_rows=st.integers(1, 5000),
    d=st.integers(1, 300),
    n_observed=st.integers(1, 10**7),
    workers=st.integers(1, 8),
    memory=st.floats(0.2, 64.0),
    is_quick=st.booleans(),
)
def test_every_row_is_in_one_group_and_all_in_flight_fit(
    n_rows: int, d: int, n_observed: int, workers: int, memory: float, is_quick: bool
) -> None:
    planned = planned_for(n_rows, (d, n_observed), SEARCH, workers, memory, is_quick=is_quick)

    assert np.concatenate(planned.groups).tolist() == list(range(n_rows))
    assert planned.workers <= workers
    assert planned.together <= (MOST_QUICK if is_quick else MOST_TOGETHER)
    in_flight = planned.workers * planned.together * planned.row_bytes
    assert in_flight <= memory * GIB / 2


def test_rows_are_spread_over_all_threads() -> None:
    planned = planned_for(10, (8, 500), SEARCH, workers=4, memory=4.0)

    assert [len(group) for group in planned.groups] == [3, 3, 3, 1]


def test_groups_are_smaller_where_calls_cost_little_and_the_wider_the_table_the_more() -> None:
    sizes = [
        planned_for(10_000, table, cp.Search(), 1, 64.0, is_quick=is_quick).together
        for is_quick in (False, True)
        for table in ((8, 500), (60, 500), (200, 500))
    ]

    assert len(set(sizes[:3])) == 1
    assert sizes[0] > sizes[3] > sizes[4] > sizes[5]


def test_a_row_that_does_not_fit_is_refused_with_what_it_takes() -> None:
    with pytest.raises(InvalidInput, match=r"memory=0\.01 GiB is too little: .* up to 0\.\d+ GiB"):
        planned_for(1, (200, 10**6), cp.Search(), workers=1, memory=0.01)


def test_results_that_do_not_fit_are_refused_with_an_estimate() -> None:
    planned = planned_for(100_000, (8, 758), cp.Search(), workers=1, memory=4.0)

    with pytest.raises(InvalidInput, match=r"100,000 rows .* about \d+ GiB.*explain_each"):
        check_results_fit(planned, 4.0)


@pytest.mark.parametrize("memory", [0, -1.0, "4", None, True, float("nan"), float("inf")])
def test_a_memory_that_is_no_positive_number_is_refused(memory: object) -> None:
    with pytest.raises(InvalidInput, match="memory must be a number of GiB above 0, got"):
        check_memory(memory)


@pytest.mark.parametrize("workers", [0, -2, 1.5, "2", True, 1025])
def test_workers_that_are_no_whole_number_are_refused(workers: object) -> None:
    with pytest.raises(InvalidInput, match="workers must be a whole number from 1 to 1,024, or"):
        check_workers(workers, is_shared=True)


def test_without_a_number_all_cores_work_if_the_model_may_be_shared() -> None:
    assert check_workers(None, is_shared=True) == n_cores() >= 1
    assert check_workers(None, is_shared=False) == 1


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_groups_come_in_order_however_long_each_takes(workers: int) -> None:
    def search_group(group: Ints) -> Any:
        time.sleep(0.02 if group[0] % 2 == 0 else 0.0)
        return names(group)

    found = list(search_groups(plan(11, 2, workers), search_group, Watch()))

    assert cast(Any, found) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]


@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_more_is_begun_once_told_to_stop(workers: int) -> None:
    watch, begun = Watch(), []

    def search_group(group: Ints) -> Any:
        begun.append(int(group[0]))
        if group[0] == 2:
            watch.stop()
        time.sleep(0.01)
        return names(group)

    found = list(search_groups(plan(50, 1, workers), search_group, watch))

    assert cast(Any, found) == [[i] for i in range(len(found))]  # the first ones, none left out
    assert len(begun) <= 3 + workers


@pytest.mark.parametrize("workers", [1, 3])
def test_a_caller_who_takes_no_more_stops_the_work(workers: int) -> None:
    begun: list[int] = []

    def search_group(group: Ints) -> Any:
        begun.append(int(group[0]))
        return names(group)

    results = search_groups(plan(100, 1, workers), search_group, Watch())
    next(results)
    results.close()  # type: ignore[attr-defined]

    time.sleep(0.05)
    assert len(begun) <= 2 + workers


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_group_reaches_the_caller(workers: int) -> None:
    def search_group(group: Ints) -> Any:
        if group[0] == 3:
            raise InvalidInput("no good")
        return names(group)

    with pytest.raises(InvalidInput, match="no good"):
        list(search_groups(plan(8, 1, workers), search_group, Watch()))


def test_what_rules_take_leaves_room_for_fewer_rows() -> None:
    lone, wide = (
        planned_for(10_000, (5, 100), SEARCH, 1, 0.1, extra=extra) for extra in (0, 10**7)
    )

    assert wide.row_bytes == lone.row_bytes + 10**7
    assert wide.together < lone.together


def test_rules_take_memory_and_functions_more() -> None:
    schema = Schema.infer(pd.DataFrame({"age": [20, 40, 60], "pay": [1.5, 2.5, 9.0]}))
    none, written, asked = (
        bytes_of_rules(Limits(constraints=each).check(schema).rules, n_candidates=1000)
        for each in ([], ["age > 1"], [lambda rows: rows["age"] > 1])
    )

    assert none == 0
    assert 0 < written < 1000
    assert asked == written + 7 * 32 * 1000
