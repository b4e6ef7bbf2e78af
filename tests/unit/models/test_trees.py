from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.forests import draw_forest, draw_rows, sums_by_hand

from counterpoint.models import trees
from counterpoint.models.trees import add_up, doubled, heap_of, starts, unpacked, walk_of


@given(st.lists(st.sets(st.integers(0, 255)), min_size=1, max_size=4))
def test_a_bitset_unpacks_to_its_members(sets: list[set[int]]) -> None:
    words = np.zeros((len(sets), 8), dtype=np.uint32)
    for i, members in enumerate(sets):
        for member in members:
            words[i, member // 32] |= np.uint32(1 << (member % 32))

    is_member = unpacked(words)

    assert [set(np.flatnonzero(row).tolist()) for row in is_member] == sets


def test_trees_begin_where_the_one_before_ends() -> None:
    roots, shift = starts([3, 1, 2])

    assert roots.tolist() == [0, 3, 4]
    assert shift.tolist() == [0, 0, 0, 3, 4, 4]


MOST = 2.0**126


@given(st.floats(-MOST, MOST) | st.floats(-MOST, MOST, width=32))
def test_a_doubled_threshold_is_the_last_number_that_single_precision_leaves_below_it(
    threshold: float,
) -> None:
    last = doubled(np.array([threshold]))[0]

    assert float(np.float32(last)) <= threshold  # no rounding changes the order of two numbers
    assert float(np.float32(np.nextafter(last, np.inf))) > threshold


@given(st.lists(st.integers(-20, 20), unique=True, max_size=40), st.integers(-21, 21))
def test_a_number_looked_up_in_a_heap_ends_behind_all_that_lie_below(
    numbers: list[int], value: int
) -> None:
    heap, at = heap_of(np.array(sorted(numbers), dtype=np.float64)), 1
    while at < len(heap):
        at += at + int(heap[at] < value)

    assert at - len(heap) == sum(number < value for number in numbers)


@given(
    seed=st.integers(0, 9999),
    n_trees=st.integers(1, 5),
    n_rows=st.integers(1, 30),
    n_outputs=st.integers(1, 3),
    is_single=st.booleans(),
)
def test_ranks_lead_to_the_leaves_that_values_lead_to(
    seed: int, n_trees: int, n_rows: int, n_outputs: int, is_single: bool
) -> None:
    forest, rows = draw_forest(seed, n_trees, n_outputs), draw_rows(seed, n_rows)
    total = np.zeros((n_rows, n_outputs))

    add_up(rows, walk_of(forest), total, is_single=is_single)

    np.testing.assert_array_equal(total, sums_by_hand(forest, rows, is_single=is_single))


def test_rows_that_may_not_be_written_to_are_walked_by_the_same_kernel() -> None:
    forest, rows = draw_forest(1, 3, 1), draw_rows(1, 20)
    total, again = np.zeros((20, 1)), np.zeros((20, 1))
    add_up(rows, walk_of(forest), total)
    kernel: Any = trees._walk
    n_compiled = len(kernel.signatures)
    rows.flags.writeable = False

    add_up(rows, walk_of(forest), again)

    np.testing.assert_array_equal(again, total)
    assert len(kernel.signatures) == n_compiled
