"""Objectives of the caller's: what a function is asked, and what it may answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.errors import CounterpointError
from counterpoint.problem.own_objectives import Objective, check_company
from counterpoint.table.schema import Encoding, Schema

DATA = pd.DataFrame(
    {
        "age": [20, 30, 40, 60],
        "pay": [1.0, 2.0, 5.0, 9.0],
        "job": pd.Categorical(["clerk", "nurse", "smith", "clerk"]),
    }
)
ENCODING = Encoding(Schema.infer(DATA))
GENOMES = ENCODING.encode(DATA)
ROW = GENOMES[1]
FIRST = r"\{'age': 20, 'pay': 1.0, 'job': 'clerk'\}"


def asked(function: Any, genomes: Floats = GENOMES, kind: Any = Objective) -> Floats:
    values: Floats = kind("cost", function).ask(genomes, ROW, ENCODING)
    return values


def test_a_function_gets_candidates_and_the_row_in_the_data_s_dtypes() -> None:
    seen: list[Any] = []

    def cost(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        seen.extend([rows, row])
        return rows["pay"] - row["pay"].iloc[0]

    values = asked(cost)

    np.testing.assert_array_equal(values, [-1.0, 0.0, 3.0, 7.0])
    rows, row = seen
    pd.testing.assert_frame_equal(rows[:4], DATA)
    pd.testing.assert_frame_equal(row, DATA[1:2].reset_index(drop=True))


def test_a_function_may_write_to_what_it_gets() -> None:
    genomes, row = GENOMES.copy(), ROW.copy()

    def spoil(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        rows["age"] = 0
        row["pay"] = 0.0
        rows.loc[:, "pay"] = 3.0
        return rows["pay"]

    asked(spoil, genomes)

    np.testing.assert_array_equal(genomes, GENOMES)
    np.testing.assert_array_equal(row, ROW)


@given(n=st.integers(1, 40))
def test_blocks_are_padded_to_eights_and_answers_are_not(n: int) -> None:
    sizes: list[int] = []

    def count(rows: pd.DataFrame, row: pd.DataFrame) -> Any:  # noqa: ARG001
        sizes.append(len(rows))
        return rows["age"]

    values = asked(count, GENOMES[np.arange(n) % 4])

    assert sizes == [n + -n % 8]
    np.testing.assert_array_equal(values, GENOMES[np.arange(n) % 4, 0])


@pytest.mark.parametrize(
    "answer",
    [
        lambda rows: rows["age"],
        lambda rows: list(rows["age"]),
        lambda rows: rows["age"].astype("Float64"),
        lambda rows: rows["age"].astype(object),
        lambda rows: rows["age"].to_numpy(dtype=np.float32),
        lambda rows: rows["age"] > 25,
    ],
)
def test_numbers_come_in_many_forms(answer: Any) -> None:
    values = asked(lambda rows, _: answer(rows))

    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.asarray(answer(DATA), dtype=np.float64))


def test_there_is_no_negative_zero() -> None:
    values = asked(lambda rows, _: -0.0 * rows["pay"])

    assert not np.signbit(values).any()


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (lambda _: 3.0, r"float64 of shape \(\)"),
        (lambda rows: rows["age"][:-1], r"int64 of shape \(7,\)"),
        (lambda rows: rows[["age", "pay"]], r"float64 of shape \(8, 2\)"),
        (lambda rows: ["a"] * len(rows), r"<U1 of shape \(8,\)"),
        (lambda rows: [None] * len(rows), r"object of shape \(8,\)"),
        (lambda rows: [1, [2]] * (len(rows) // 2), r"object of shape \(\)"),
        (lambda rows: np.full(len(rows), 1j), r"complex128 of shape \(8,\)"),
        (lambda _: None, r"object of shape \(\)"),
    ],
)
def test_an_answer_that_is_not_one_number_per_row_is_refused(answer: Any, what: str) -> None:
    expected = (
        rf"^objective 'cost' must return one number per row, shape \(8,\); got {what} for 8 rows, "
        rf"the first being {FIRST}\.$"
    )

    with pytest.raises(CounterpointError, match=expected):
        asked(lambda rows, _: answer(rows))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_counted_and_the_first_row_shown(bad: float) -> None:
    expected = (
        r"^objective 'cost' returned values that are NaN or infinite for 2 of 4 rows, first for "
        r"\{'age': 40, 'pay': 5.0, 'job': 'smith'\}\.$"
    )

    with pytest.raises(cp.InvalidInput, match=expected):
        asked(lambda rows, _: rows["pay"].where(rows["age"] < 35, bad))


def test_a_function_that_raises_is_named_with_the_count_and_the_first_row() -> None:
    def fail(rows: pd.DataFrame, row: pd.DataFrame) -> Any:  # noqa: ARG001
        raise ZeroDivisionError("by nought")

    expected = (
        rf"^objective 'cost' raised ZeroDivisionError for 8 rows, the first being {FIRST}: by n"
    )
    with pytest.raises(cp.InvalidInput, match=expected) as raised:
        asked(fail)

    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_distance_is_at_least_0() -> None:
    expected = (
        r"^distance 'cost' returned values that are below 0 for 1 of 4 rows, first for "
        rf"{FIRST}\.$"
    )

    with pytest.raises(cp.InvalidInput, match=expected):
        asked(lambda rows, row: rows["pay"] - row["pay"].iloc[0], kind=cp.Distance)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", len), "Objective.name must be a text, got ''."),
        ((3, len), "Objective.name must be a text, got 3."),
        (("cost", 3), "Objective.function of 'cost' must be callable, got 3; it takes"),
        (
            ("cost", len, np.inf),
            "Objective.worst of 'cost' must be a finite number or None, got in",
        ),
        (("cost", len, "9"), "Objective.worst of 'cost' must be a finite number or None, got '9'"),
        (("cost", len, True), "Objective.worst of 'cost' must be a finite number or None, got Tr"),
    ],
)
def test_an_objective_checks_its_arguments(arguments: Any, message: str) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        cp.Objective(*arguments)

    assert str(raised.value).startswith(message)


def test_the_worst_is_a_tenth_beyond_the_observed_rows_and_the_row() -> None:
    objective = cp.Objective("pay", lambda rows, _: rows["pay"])

    worst = objective.worst_of(np.array([20.0, 11.0, 0.0]), GENOMES, ENCODING)

    assert worst == pytest.approx(11.0 + 0.1 * 10.0)
    assert cp.Objective("pay", objective.function, worst=3).worst_of(ROW, GENOMES, ENCODING) == 3.0


def test_of_an_objective_that_never_differs_the_worst_is_one_more() -> None:
    objective = cp.Objective("same", lambda rows, _: np.full(len(rows), 5.0))

    assert objective.worst_of(ROW, GENOMES, ENCODING) == 6.0


def test_the_worst_is_finite_however_large_the_values_are() -> None:
    huge = np.finfo(np.float64).max
    objective = cp.Objective("huge", lambda rows, _: np.where(rows["age"] > 25, huge, -huge))

    worst = objective.worst_of(ROW, GENOMES, ENCODING)

    assert worst == huge


@pytest.mark.parametrize(
    "function",
    [
        lambda rows, _: rows["pay"].rank(),
        lambda rows, _: rows["pay"] - rows["pay"].mean(),
        lambda rows, _: np.arange(len(rows)),
        lambda rows, _: rows["pay"] * len(rows["age"].unique()),
    ],
)
def test_a_function_that_looks_at_the_company_is_refused(function: Any) -> None:
    expected = (
        r"^objective 'odd' must judge each row by itself and the same every time: in other company "
        r"\{'age': \d+, .*\} got .* instead of .*\.$"
    )

    with pytest.raises(cp.InvalidInput, match=expected):
        check_company(cp.Objective("odd", function), GENOMES, ENCODING)


def test_round_off_is_no_company() -> None:
    rng = np.random.default_rng(0)  # noqa: TID251 - noise that a sum in another order could make

    check_company(
        cp.Objective("sum", lambda rows, _: rows["pay"] + 1e-12 * rng.random(len(rows))),
        GENOMES,
        ENCODING,
    )
