from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.models.trees import doubled, starts, unpacked


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
