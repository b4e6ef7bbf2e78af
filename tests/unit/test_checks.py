"""One check for each kind of argument, whatever type the number or the list has."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.checks import (
    check_choice,
    check_list,
    check_number,
    check_positions,
    check_whole,
    is_number,
    is_whole,
    require_package,
)
from counterpoint.errors import InvalidInput, MissingDependency


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_whole_numbers_of_any_type_become_ints(value: Any) -> None:
    checked = check_whole("n", value, 1, 3)

    assert type(checked) is int
    assert checked == 3


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), Decimal(3), "3", None])
def test_what_only_looks_like_a_whole_number_is_none(value: Any) -> None:
    assert not is_whole(value)
    with pytest.raises(
        InvalidInput, match=r"^Owner\.n must be a whole number from 1 to 2,000, got"
    ):
        check_whole("Owner.n", value, 1, 2000)


@pytest.mark.parametrize(("value", "is_right"), [(0, False), (1, True), (5, True), (6, False)])
def test_both_ends_of_a_range_of_whole_numbers_belong_to_it(value: int, is_right: bool) -> None:
    if is_right:
        assert check_whole("n", value, 1, 5) == value
    else:
        with pytest.raises(InvalidInput, match=f"from 1 to 5, got {value}"):
            check_whole("n", value, 1, 5)


def test_words_and_a_hint_take_the_place_of_the_range() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_whole("k", 0, 1, 9, said="from 1 to the 9 rows", hint="for example k=1.")

    assert str(caught.value) == (
        "k must be a whole number from 1 to the 9 rows, got 0; for example k=1."
    )


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int64(1), Decimal(1)])
def test_numbers_of_any_type_become_floats(value: Any) -> None:
    assert is_number(value)
    assert type(check_number("p", value, 0, 1)) is float


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "0.5", None, True, 1j])
def test_a_number_outside_of_its_interval_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^p must lie between 0 and 1, got "):
        check_number("p", value, 0, 1)


def test_a_lower_end_is_right_unless_the_number_must_be_above_it() -> None:
    assert check_number("seconds", 0, 0) == 0.0
    with pytest.raises(InvalidInput, match=r"^seconds must be a number of seconds above 0, got 0"):
        check_number("seconds", 0, 0, above=True, unit="seconds")


def test_an_infinite_number_is_right_only_where_it_may_be() -> None:
    assert check_number("epsilon", np.inf, 0, finite=False) == np.inf
    with pytest.raises(InvalidInput, match=r"^memory must be a number of at least 0, got inf"):
        check_number("memory", np.inf, 0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "knea",
            "by must be one of 'knee', 'closest' and 'fewest', got 'knea'; did you mean 'knee'?",
        ),
        (["knee"], "by must be one of 'knee', 'closest' and 'fewest', got ['knee']; did you mean"),
        (None, "by must be one of 'knee', 'closest' and 'fewest', got None."),
    ],
)
def test_a_choice_that_is_none_is_told_with_the_closest(value: Any, message: str) -> None:
    options = ("knee", "closest", "fewest")

    assert all(check_choice("by", option, options) == option for option in options)
    with pytest.raises(InvalidInput) as caught:
        check_choice("by", value, options)
    assert str(caught.value).startswith(message)


def test_one_is_not_a_choice_of_true_or_false() -> None:
    with pytest.raises(InvalidInput, match=r"^shown must be True or False, got 1"):
        check_choice("shown", 1, (True, False))


@pytest.mark.parametrize("values", [["a"], ("a",), {"a"}, pd.Index(["a"]), iter(["a"])])
def test_several_values_of_any_kind_become_a_list(values: Any) -> None:
    assert check_list("fixed", values, "column names") == ["a"]


@pytest.mark.parametrize("values", ["sex", b"sex", 3, None])
def test_a_single_text_is_not_a_list(values: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_list("fixed", values, "column names", "fixed=['sex']")

    assert str(caught.value) == (
        f"fixed must be a list of column names, got {values!r}; for example fixed=['sex']."
    )


def test_a_package_that_is_missing_is_told_with_how_to_install_it() -> None:
    with pytest.raises(MissingDependency) as caught:
        require_package("no_such_package.part", "a report", '"counterpoint[report]"')

    assert str(caught.value) == (
        "a report needs no_such_package, which is not installed; "
        'run: pip install "counterpoint[report]".'
    )


def test_a_package_that_breaks_without_docstrings_is_told_with_what_to_do() -> None:
    """Kernels run as Python: compiled without docstrings they would take the place of others."""
    code = """
import pandas as pd, counterpoint as cp
data = pd.DataFrame({"age": [20, 30, 40, 50]})
explainer = cp.Explainer(lambda rows: rows["age"] / 50, data)
found = explainer.explain(data[:1], (0.5, None), cp.Search(evaluations=20))
try:
    found.plot.frequency()
except cp.MissingDependency as error:
    print(error)
"""

    command = [sys.executable, "-OO", "-c", code]
    told = subprocess.run(  # noqa: S603 - our own interpreter and code
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )

    assert "found.plot needs altair, which cannot be imported (AttributeError: " in told.stdout
    assert told.stdout.endswith("); run python without -OO.\n")


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (2, [2]),
        (np.int8(-1), [-1]),
        ([], []),
        ([0, -3], [0, -3]),
        ((1,), [1]),
        ([True, False, True], [True, False, True]),
        (pd.Series([0, 1]), [0, 1]),
        (np.empty(0, np.bool_), []),
    ],
)
def test_positions_are_whole_numbers_or_marks(index: Any, expected: list[Any]) -> None:
    assert check_positions("take", index, 3).tolist() == expected


def test_a_slice_of_positions_stays_one() -> None:
    assert check_positions("take", slice(0, 9), 3) == slice(0, 9)


def test_nothing_has_no_positions() -> None:
    with pytest.raises(IndexError, match=r"^take: there is no position 0 among 0; there are none"):
        check_positions("take", [0], 0)
