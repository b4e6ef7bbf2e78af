from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import generator

from counterpoint.arrays import Floats
from counterpoint.models.fast_paths import (
    MOST_ROWS,
    FastPath,
    meetings,
    mix_columns,
    quickest,
    trial_rows,
)

ROWS: Floats = np.arange(60.0).reshape(20, 3)


class Model:
    """A model of one method."""

    def __init__(self, predict: Any) -> None:
        self.predict = predict


def plain(rows: Floats) -> Any:
    return rows.sum(axis=1) / 7.0


def way(predict: Any) -> FastPath:
    return FastPath(np.copy, Model(predict))


def test_an_exact_way_is_taken() -> None:
    calls: list[int] = []

    def exact(rows: Floats) -> Any:
        calls.append(len(rows))
        return plain(rows)

    ask = quickest("predict", plain, [way(exact)], trial_rows(ROWS))

    assert ask is not plain
    np.testing.assert_array_equal(ask(ROWS), plain(ROWS))
    assert {1, 8, 24, 40} <= set(calls)


def nudge_one(rows: Floats) -> Any:
    """Differ from `plain` in the last bit of one row, wherever the row is."""
    answers = plain(rows)
    return np.where(rows[:, 0] == 30.0, np.nextafter(answers, 9.0), answers)


def warn_too(rows: Floats) -> Any:
    warnings.warn("names are missing", UserWarning, stacklevel=1)
    return plain(rows)


def fail(rows: Floats) -> Any:
    raise ValueError(f"no {len(rows)} rows")


def look_at_company(rows: Floats) -> Any:
    return plain(rows) + (len(rows) == 24)


def know_only_observed(rows: Floats) -> Any:
    """Be right about the observed rows and wrong about any other mixture."""
    is_observed = (rows[:, 1] - rows[:, 0] == 1.0) & (rows[:, 2] - rows[:, 1] == 1.0)
    return np.where(is_observed, plain(rows), 0.0)


@pytest.mark.parametrize(
    "predict",
    [
        nudge_one,
        warn_too,
        fail,
        look_at_company,
        know_only_observed,
        lambda rows: plain(rows).astype(np.float32),
        lambda rows: plain(rows)[:, None],
        lambda rows: plain(rows) * np.nan,
    ],
)
def test_a_way_that_differs_warns_or_fails_is_not_taken(predict: Any) -> None:
    assert quickest("predict", plain, [way(predict)], trial_rows(ROWS)) is plain


def test_the_first_exact_way_is_taken() -> None:
    ask = quickest("predict", plain, [way(fail), way(plain), way(nudge_one)], trial_rows(ROWS))

    np.testing.assert_array_equal(ask(ROWS), plain(ROWS))
    assert ask is not plain


def test_a_way_without_the_method_is_not_tried() -> None:
    assert quickest("predict_proba", plain, [way(plain)], trial_rows(ROWS)) is plain


def test_without_a_quick_way_the_model_is_not_asked() -> None:
    assert quickest("predict", fail, [], trial_rows(ROWS)) is fail


def test_a_model_that_fails_on_mixed_rows_is_asked_as_it_is() -> None:
    def picky(rows: Floats) -> Any:
        if (rows[:, 1] - rows[:, 0] != 1.0).any():
            raise ValueError("never seen")
        return plain(rows)

    assert quickest("predict", picky, [way(plain)], trial_rows(ROWS)) is picky


@given(n=st.integers(1, 40), d=st.integers(1, 6))
def test_mixing_keeps_the_values_of_every_column(n: int, d: int) -> None:
    genomes: Floats = np.arange(float(n * d)).reshape(n, d)

    mixed = mix_columns(genomes)

    np.testing.assert_array_equal(np.sort(mixed, axis=0), genomes)
    if n >= 8 and d > 1:
        assert not (mixed[:, 0] // d == mixed[:, 1] // d).any()  # no two of one row meet


@pytest.mark.parametrize("n", [1, 5, 100, 3 * MOST_ROWS])
def test_a_trial_asks_about_whole_tables_and_small_blocks(n: int) -> None:
    questions = trial_rows(np.arange(2.0 * n).reshape(n, 2))

    sizes = [len(rows) for rows in questions]
    assert sizes[:2] == [min(n, MOST_ROWS)] * 2
    assert sizes[3:] == [1, 1, 8, 8, 24, 24, 40, 40]
    assert all(rows.flags.c_contiguous for rows in questions)


@given(sizes=st.lists(st.integers(1, 64), min_size=1, max_size=5), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_in_a_trial_every_two_levels_meet_also_those_that_no_row_has(
    sizes: list[int], seed: int
) -> None:
    rng = generator(seed)
    observed = np.column_stack([*(rng.integers(0, n, 80) for n in sizes), rng.random(80)])

    tried = meetings(observed)

    known = [np.unique(column) for column in observed.T]
    for j, values in enumerate(known):
        assert set(tried[:, j]) <= set(values)
    for j in range(len(sizes)):
        for k in range(j):
            n_pairs = len(np.unique(tried[:, [j, k]], axis=0))
            assert n_pairs == len(known[j]) * len(known[k])


def test_a_way_that_forgets_a_pair_nobody_has_is_not_taken() -> None:
    rng = generator(1)
    observed: Floats = rng.integers(0, 12, (60, 2)).astype(float)
    had = {tuple(row) for row in observed}
    never = next((a, b) for a in range(12) for b in range(12) if (a, b) not in had)

    def crossing(rows: Floats) -> Any:
        return plain(rows) + (rows == never).all(axis=1)

    assert quickest("predict", crossing, [way(plain)], trial_rows(observed)) is crossing
