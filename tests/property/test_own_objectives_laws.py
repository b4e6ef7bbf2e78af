"""Laws of objectives of the caller's: the same bits in any company, and never a dominated row."""

from __future__ import annotations

from typing import Any, get_args

import moocore
import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.search.settings import Method

rng = np.random.default_rng(0)  # noqa: TID251
DATA = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 60),
        "pay": rng.gamma(3.0, 9.0, 60).round(1),
        "debt": rng.normal(4.0, 2.0, 60),
        "job": rng.choice(["clerk", "nurse", "smith"], 60),
    }
)
NUMBERS = ["age", "pay", "debt"]
SLOW = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
weights = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=3, max_size=3)


def model(rows: pd.DataFrame) -> Any:
    debt, pay, is_nurse = rows["debt"].to_numpy(), rows["pay"].to_numpy(), rows["job"] == "nurse"
    return 1 / (1 + np.exp(2.0 + debt - pay / 10 - 0.5 * is_nurse.to_numpy()))


def numbers_of(rows: pd.DataFrame) -> Floats:
    """Return numbers column by column: pandas takes four times as long for a list of names."""
    return np.column_stack([rows[name].to_numpy(dtype=np.float64) for name in NUMBERS])


def linear(weight: list[float]) -> Any:
    """Return a function by a matrix product, whose last bits depend on the shape of its input."""

    def function(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        return (numbers_of(rows) - numbers_of(row)) @ np.array(weight)

    return function


@st.composite
def aims(draw: st.DrawFn) -> dict[str, Any]:
    """Draw objectives, and perhaps a distance and a plausibility."""
    own = draw(st.lists(weights, max_size=3))
    found: dict[str, Any] = {
        "objectives": [cp.Objective(f"own{i}", linear(weight)) for i, weight in enumerate(own)]
    }
    if (weight := draw(st.none() | weights)) is not None:
        function = linear(weight)
        found["distance"] = cp.Distance("effort", lambda rows, row: np.abs(function(rows, row)))
    if (weight := draw(st.none() | weights)) is not None:
        found["plausibility"] = cp.Objective("rarity", linear(weight))
    return found


def bits(found: cp.Counterfactuals) -> tuple[Any, ...]:
    arrays = (found.genomes, found.predictions, found.objectives, found.problem.reference)
    return found.evaluations, found.stopped, *(array.tobytes() for array in arrays)


@SLOW
@given(
    aims(),
    st.sampled_from(get_args(Method)),
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.integers(1, 2),
)
def test_a_row_gets_the_same_bits_in_any_company(
    own: dict[str, Any], method: Method, batch: list[int], workers: int
) -> None:
    explainer = cp.Explainer(model, DATA, **own)
    search = cp.Search(method=method, evaluations=60, population=10)

    together = explainer.explain_many(DATA.iloc[batch], (0.7, 1.0), search, 5, workers=workers)

    alone = {i: bits(explainer.explain(DATA.iloc[[i]], (0.7, 1.0), search, 5)) for i in set(batch)}
    assert [bits(found) for found in together] == [alone[i] for i in batch]


@SLOW
@given(aims(), st.sampled_from(get_args(Method)), st.integers(0, 9))
def test_nothing_returned_is_dominated_and_everything_is_what_the_functions_say(
    own: dict[str, Any], method: Method, i: int
) -> None:
    search = cp.Search(method=method, evaluations=60, population=10)

    found = cp.Explainer(model, DATA, **own).explain(DATA.iloc[[i]], (0.7, 1.0), search)

    assert (
        len(found.genomes) == 0 or moocore.is_nondominated(found.objectives, keep_weakly=True).all()
    )
    frame, row = found.to_frame(near_misses=True), DATA.iloc[[i]]
    for each in (own.get("distance"), own.get("plausibility"), *own["objectives"]):
        if each is not None:
            expected: Floats = each.function(frame[DATA.columns], row)
            np.testing.assert_allclose(frame[each.name], expected, rtol=1e-9, atol=1e-9)
    assert (found.hypervolume() > 0.0) <= (len(found.genomes) > 0)
