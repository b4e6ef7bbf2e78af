from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forests import draw_forest, draw_rows, sums_by_hand

from counterpoint.arrays import Floats
from counterpoint.models import leaf_bits
from counterpoint.models.leaf_bits import BITS, LeafBits, add_up_leaves, leaf_bits_of, leaves_of
from counterpoint.models.trees import Forest


def bits_of(forest: Forest) -> LeafBits:
    bits = leaf_bits_of(forest)
    assert bits is not None
    return bits


@given(
    seed=st.integers(0, 9999),
    n_trees=st.integers(1, 5),
    n_rows=st.integers(1, 30),
    n_outputs=st.integers(1, 3),
    n_more=st.sampled_from([0, 70, 200]),  # trees of one word, of two, and of up to four
    is_single=st.booleans(),
)
def test_bits_lead_to_the_leaves_that_values_lead_to(
    seed: int, n_trees: int, n_rows: int, n_outputs: int, n_more: int, is_single: bool
) -> None:
    forest, rows = draw_forest(seed, n_trees, n_outputs, n_more), draw_rows(seed, n_rows)
    total = np.zeros((n_rows, n_outputs))

    add_up_leaves(rows, bits_of(forest), total, is_single=is_single)

    np.testing.assert_array_equal(total, sums_by_hand(forest, rows, is_single=is_single))


@given(seed=st.integers(0, 9999), n_trees=st.integers(1, 5), n_more=st.sampled_from([0, 70]))
def test_leaves_are_numbered_from_the_left(seed: int, n_trees: int, n_more: int) -> None:
    forest = draw_forest(seed, n_trees, 1, n_more)

    tree, first, size = leaves_of(forest)

    for t, root in enumerate(forest.roots.tolist()):
        numbered = []
        waiting = [root]
        while waiting:  # depth first, left before right
            node = waiting.pop()
            assert tree[node] == t
            left, right = forest.children[node].tolist()
            if left == node:
                numbered.append(int(first[node]))
                assert size[node] == 1
            else:
                assert size[node] == size[left] + size[right]
                waiting += [right, left]
        assert numbered == list(range(len(numbered)))


def test_nodes_that_no_root_leads_to_are_left_out() -> None:
    forest, rows = draw_forest(3, 4, 2), draw_rows(3, 20)
    fewer = forest._replace(roots=forest.roots[1:])  # the nodes of the first tree are still there
    total = np.zeros((20, 2))

    add_up_leaves(rows, bits_of(fewer), total)

    np.testing.assert_array_equal(total, sums_by_hand(fewer, rows, is_single=False))


@pytest.mark.parametrize(("name", "most"), [("MOST_BYTES", 2**10), ("MOST_WORDS", 5)])
def test_large_trees_and_many_columns_are_left_to_steps(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = draw_forest(5, 3, 1, 2 * BITS)
    assert leaf_bits_of(forest) is not None

    monkeypatch.setattr(leaf_bits, name, most)

    assert leaf_bits_of(forest) is None


def test_rows_that_may_not_be_written_to_are_looked_up_by_the_same_kernel() -> None:
    bits, rows = bits_of(draw_forest(1, 3, 1)), draw_rows(1, 20)
    total, again = np.zeros((20, 1)), np.zeros((20, 1))
    add_up_leaves(rows, bits, total)
    kernel: Any = leaf_bits._look_up
    n_compiled = len(kernel.signatures)
    rows.flags.writeable = False

    add_up_leaves(rows, bits, again)

    np.testing.assert_array_equal(again, total)
    assert len(kernel.signatures) == n_compiled


@given(seed=st.integers(0, 999), n=st.integers(1, 1200))
def test_company_changes_no_row(seed: int, n: int) -> None:
    forest, rows = draw_forest(seed, 3, 1), draw_rows(seed, n)
    total, alone = np.zeros((n, 1)), np.zeros((1, 1))
    add_up_leaves(rows, bits_of(forest), total)
    some: Floats = rows[n // 2 : n // 2 + 1].copy()

    add_up_leaves(some, bits_of(forest), alone)

    assert alone[0, 0] == total[n // 2, 0]
