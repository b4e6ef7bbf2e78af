"""What `check_objective` holds objectives to, and that it notices each fault."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpoint as cp
from counterpoint.testing import check_objective

DATA = pd.DataFrame(
    {"age": [20, 30, 40, 50], "debt": [0.5, 1.5, 2.0, 9.0], "job": ["cook", "nurse"] * 2}
)


def steps(rows: Any, row: Any) -> Any:
    """Return how far candidates are from the row in years."""
    return (rows["age"] - row["age"].to_numpy()[0]).abs()


@pytest.mark.parametrize("kind", [cp.Objective, cp.Distance])
def test_a_good_one_passes(kind: Callable[..., cp.Objective]) -> None:
    check_objective(kind("years", steps), DATA)


def test_other_kinds_of_table_are_taken_too() -> None:
    data = pl.from_pandas(DATA)

    check_objective(cp.Objective("age", lambda rows, row: rows["age"] - row["age"][0]), data)


def write(rows: pd.DataFrame, _: pd.DataFrame) -> Any:
    """Write to the candidates."""
    answer = rows["age"].to_numpy(float)
    rows["age"] = 7
    return answer


CLOCK = count()
FAULTS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Any]] = {
    "otherwise when it is asked again": lambda rows, _: rows["age"] + next(CLOCK),
    "otherwise in other company": lambda rows, _: rows["age"] - rows["age"].mean(),
    "writes to the tables": write,
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_fault_is_noticed(message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_objective(cp.Objective("faulty", FAULTS[message]), DATA)


def test_a_distance_of_the_row_to_itself_is_0() -> None:
    with pytest.raises(AssertionError, match="is 20 from the row to itself, not 0"):
        check_objective(cp.Distance("age", lambda rows, _: rows["age"]), DATA)


def test_what_is_no_number_is_refused_as_an_explainer_refuses_it() -> None:
    with pytest.raises(cp.InvalidInput, match="NaN or infinite"):
        check_objective(cp.Objective("nan", lambda rows, _: rows["age"] * np.nan), DATA)
