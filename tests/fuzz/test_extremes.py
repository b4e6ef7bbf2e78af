"""Whatever the magnitudes of numbers: a result of finite numbers, or an error of ours.

``make -C benchmarks fuzz`` runs this once more with every index of every kernel checked.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

import counterpoint as cp

N_CASES = int(os.environ.get("COUNTERPOINT_FUZZ", "60"))
EDGES = [0.0, 5e-324, 1e-310, 2.3e-308, 1e-200, 1e-50, 1.0, 2.0**53, 1e38, 1e99, 1e100, 1e101]
EDGES += [2.0**1000, 1e308, 1.7976931348623157e308]

signs, ordinary = st.sampled_from([-1.0, 1.0]), st.floats(-10.0, 10.0)


def magnitudes(most: int) -> st.SearchStrategy[float]:
    """Draw a number of any magnitude up to 10 to so much, often an edge of what floats can do."""
    edges = st.sampled_from([edge for edge in EDGES if edge <= float(f"1e{most}") * 9.0])
    sizes = st.builds(lambda n, power: float(f"{n}e{power}"), st.integers(1, 9), powers(most))
    return st.builds(lambda sign, size: sign * size, signs, edges | sizes)


def powers(most: int) -> st.SearchStrategy[int]:
    """Draw a power of ten, a usual one in half of the cases."""
    return st.integers(-320, most) | st.integers(-3, 6)


class Case(NamedTuple):
    """A table of extreme numbers, and what is asked of it."""

    data: pd.DataFrame
    row: dict[str, Any]
    target: tuple[float | None, float | None]
    search: Any
    features: dict[str, Any]
    limits: dict[str, Any]
    plausibility: Any
    scale: float


def column(draw: Callable[..., Any], n: int, numbers: st.SearchStrategy[float]) -> Any:
    """Draw n numbers that have one magnitude, or any, or are all the same."""
    kind = draw(st.sampled_from(["plain", "any", "same", "two", "scaled", "single", "missing"]))
    if kind == "plain":
        return np.array(draw(st.lists(ordinary, min_size=n, max_size=n)))
    if kind == "same":
        return np.full(n, draw(numbers))
    if kind == "two":
        return np.resize([draw(numbers), draw(numbers)], n)
    few = np.array(draw(st.lists(ordinary | numbers if kind == "any" else ordinary, min_size=4)))
    with np.errstate(all="ignore"):
        values = np.resize(few, n) * (1.0 if kind == "any" else draw(numbers))
        if kind == "single":
            return values.astype(np.float32)
    if kind == "missing":
        values[::3] = np.nan
    return values


SEARCHES = [
    cp.Search(evaluations=80),
    cp.WhatIf(n=2),
    cp.Search(method="random", generations=2),
    cp.Search(method="nsga2", generations=2, mutation="gaussian"),
    cp.Search(method="nsga2", generations=2, mutation="conditional"),
]
RULES = ["a increases", "a decreases by at most {0}", "a <= {0} * b + {1}", "a in {0}..", "a > b"]
RULES += ["a in steps of {0}", "a * b <= {0}", "a / b >= {1}", "a > was(a) implies b >= {0}"]


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    """Draw a case; ranges, kinds and rules may mean nothing."""
    n = draw(st.sampled_from([2, 5, 40]))
    numbers = magnitudes(draw(st.sampled_from([99, 99, 99, 37, 308])))  # the last is refused
    data = pd.DataFrame({name: column(draw, n, numbers) for name in "abc"})
    row = data.iloc[draw(st.integers(0, n - 1))].to_dict()
    if draw(st.booleans()):
        row[draw(st.sampled_from("abc"))] = draw(numbers)
    limits: dict[str, Any] = {}
    if draw(st.integers(0, 2)) == 0:
        limits["ranges"] = {"a": sorted([draw(numbers), draw(numbers)])}
    if draw(st.integers(0, 2)) == 0:
        text = draw(st.sampled_from(RULES)).format(repr(draw(numbers)), repr(draw(numbers)))
        limits["constraints"] = [text]
    if draw(st.integers(0, 2)) == 0:
        limits["costs"] = {"a": abs(draw(numbers)), "b": abs(draw(numbers))}
    features = {}
    if draw(st.integers(0, 2)) == 0:
        decimals = draw(st.sampled_from([None, 0, 2, 12]))
        seen = [float(value) for value in data["b"] if np.isfinite(value)]
        ends = [*seen, draw(numbers), draw(numbers)]
        features["b"] = cp.Real(min(ends), max(ends), decimals=decimals)
    scale = abs(draw(numbers)) if draw(st.booleans()) else 1.0
    target = draw(st.sampled_from([(0.5 * scale, None), (None, 0.4 * scale), (0.3, 0.7)]))
    makes = draw(st.sampled_from([lambda: None, lambda: None, cp.ForestPlausibility]))
    return Case(
        data, row, target, draw(st.sampled_from(SEARCHES)), features, limits, makes(), scale
    )


def model_of(case: Case) -> Callable[[pd.DataFrame], Any]:
    """Return a model whose answers lie between 0 and the case's scale, whatever it is asked."""

    def model(rows: pd.DataFrame) -> Any:
        values = np.nan_to_num(rows.to_numpy(dtype=np.float64))
        size = np.sign(values) * np.log1p(np.abs(values) * 1e30)
        return case.scale * (0.5 + 0.5 * np.tanh(size.sum(axis=1) / 50.0))

    return model


@settings(
    max_examples=N_CASES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=cases())
def test_extreme_numbers_end_in_a_finite_result_or_in_an_error_of_ours(case: Case) -> None:
    note(f"{case}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's, of an overflow
        try:
            found = cp.Explainer(
                model_of(case), case.data, features=case.features, plausibility=case.plausibility
            ).explain(case.row, case.target, case.search, **case.limits)
        except cp.CounterpointError as error:
            event(f"{type(error).__name__}: {str(error)[:25]}")
            return
    event(f"result: {found.status}")
    assert np.isfinite(found.objectives).all()
    assert np.isfinite(found.genomes).all()
    assert str(found)
