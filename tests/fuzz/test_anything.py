"""Whatever the table, the model, the target and the rules: a result, or an error of ours.

``make -C benchmarks fuzz`` runs ten thousand cases, the gate five hundred, the default suite a few.
"""

from __future__ import annotations

import copy
import datetime
import json
import os
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.result.report.page import summarise

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
N_CASES = int(os.environ.get("COUNTERPOINT_FUZZ", "60"))

names = st.sampled_from(
    ["age", "income", "job", "in", "fixed", "a b", "größe", "x'y", 'say "hi"', "`", "1", "", "and"]
) | st.text(max_size=4)
floats = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 0.1, 1e-9, 1e12, 0.5])
texts = st.sampled_from(["a", "b", "c", "", " ", "a b", "10", "True", "nan", "ß"]) | st.text(
    max_size=3
)


class Case(NamedTuple):
    """A table, a model and what is asked of them."""

    data: Any
    model: Any
    row: Any
    target: Any
    search: Any
    limits: dict[str, Any]
    allows_missing: bool


def column(draw: Callable[..., Any], n: int, is_odd: bool) -> Any:
    """Draw one column of n values."""
    sound = ["whole", "small", "real", "coarse", "single", "flag", "text", "category", "ordered"]
    sound += ["nullable", "arrow", "constant", "missing", "missing level"]
    odd = ["infinite", "date", "huge", "mixed", "all missing"]
    kind = draw(st.sampled_from(sound + odd if is_odd else sound))
    numbers = st.lists(floats, min_size=n, max_size=n)
    wholes = st.lists(st.integers(-9, 9), min_size=n, max_size=n)
    levels = st.lists(texts, min_size=n, max_size=n)
    if kind == "whole":
        return np.array(draw(st.lists(st.integers(-(10**6), 10**6), min_size=n, max_size=n)))
    if kind == "small":
        return np.array(draw(wholes), dtype=np.int8)
    if kind == "real":
        return np.array(draw(numbers))
    if kind == "coarse":
        return np.array(draw(wholes)) / 4
    if kind == "single":
        return np.array(draw(numbers), dtype=np.float32)
    if kind == "flag":
        return np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    if kind == "text":
        return draw(levels)
    if kind in ("category", "ordered"):
        return pd.Categorical(draw(levels), ordered=kind == "ordered")
    if kind == "nullable":
        return pd.array(draw(wholes), dtype="Int64")
    if kind == "arrow":
        return pd.array(draw(wholes), dtype="int64[pyarrow]")
    if kind == "constant":
        return [draw(texts | floats)] * n
    gaps = draw(st.lists(st.booleans(), min_size=n, max_size=n)) if "miss" in kind else []
    gaps = [is_gap and i != n // 2 for i, is_gap in enumerate(gaps)]  # one value is there
    if kind == "missing":
        dtype = draw(st.sampled_from(["float64", "float32", "Int64", "int64[pyarrow]"]))
        values = draw(wholes)
        cells = [None if gap else value for gap, value in zip(gaps, values, strict=True)]
        return pd.array(cells, dtype=dtype) if "nt" in dtype else np.array(cells, dtype=dtype)
    if kind == "missing level":
        cells = [None if gap else value for gap, value in zip(gaps, draw(levels), strict=True)]
        return pd.Categorical(cells) if draw(st.booleans()) else pd.array(cells, dtype=object)
    if kind == "all missing":
        return [None] * n
    if kind == "infinite":
        return [np.inf if i == n // 2 else value for i, value in enumerate(draw(numbers))]
    if kind == "date":
        return pd.to_datetime(draw(wholes), unit="D", origin="2020-01-01")
    if kind == "huge":
        return np.array(draw(st.lists(st.integers(0, 2**63 - 1), min_size=n, max_size=n)))
    return draw(st.lists(texts | st.integers() | st.none(), min_size=n, max_size=n))


def in_kind(draw: Callable[..., Any], data: pd.DataFrame) -> Any:
    """Draw a library, and return the table as one of its own, if it can hold such columns."""
    makers: list[Callable[[pd.DataFrame], Any]] = [pl.from_pandas, pa.Table.from_pandas]
    if all(pd.api.types.is_float_dtype(dtype) for dtype in data.dtypes):
        makers.append(pd.DataFrame.to_numpy)
    maker = draw(st.sampled_from(makers))
    try:
        table = maker(data)
        as_pandas(table, list(data.columns))
    except (Exception, pl.exceptions.PanicException):  # it cannot hold it, or not give it back
        return data
    return table


def as_pandas(rows: Any, columns: list[Any]) -> pd.DataFrame:
    """Return rows of any library as pandas has them."""
    if isinstance(rows, np.ndarray):
        return pd.DataFrame(rows, columns=columns)
    return rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()


def score_of(data: pd.DataFrame, seed: int) -> Callable[[pd.DataFrame], Any]:
    """Return a score between 0 and 1 that depends on every column."""
    known = {name: sorted(map(repr, data[name].unique())) for name in data}

    def score(table: Any) -> Any:
        rows = as_pandas(table, list(data.columns))
        total = np.full(len(rows), 0.1 * (seed % 7 - 3))
        for j, name in enumerate(rows.columns):
            place = [
                known[name].index(repr(v)) if repr(v) in known[name] else 0 for v in rows[name]
            ]
            values = pd.to_numeric(rows[name], errors="coerce").to_numpy(
                dtype=np.float64, na_value=0
            )
            spread = np.nan_to_num(values, posinf=0.0, neginf=0.0) / 100.0
            total += ((seed >> j) % 3 - 1) * (np.tanh(spread) + 0.3 * np.array(place) / 10.0)
        return 1.0 / (1.0 + np.exp(-total))

    return score


def model_of(draw: Callable[..., Any], data: pd.DataFrame, is_odd: bool) -> Any:
    """Draw a model: most are sound."""
    score, kind = (
        score_of(data, draw(st.integers(0, 10**6))),
        draw(st.integers(0, 19 if is_odd else 16)),
    )
    if kind <= 8:
        return score
    if kind <= 16:
        return Classifier(score, draw(st.sampled_from([("no", "yes"), (0, 1), (0, 1, 2)])))
    if kind == 17:
        return lambda rows: np.where(score(rows) > 0.9, np.nan, score(rows))
    if kind == 18:
        return lambda rows: score(rows)[: len(rows) // 2]
    return lambda rows: rows["no such column"]


class Classifier:
    """A model with classes."""

    def __init__(self, score: Callable[[pd.DataFrame], Any], classes: tuple[Any, ...]) -> None:
        self.score, self.classes_ = score, np.array(classes)

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return a probability per class."""
        first = self.score(rows)
        rest = (1.0 - first)[:, None] * np.linspace(1.0, 2.0, len(self.classes_) - 1)
        both = np.column_stack([first, rest])
        return both / both.sum(axis=1, keepdims=True)

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the likeliest class."""
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]


def odd_rule(draw: Callable[..., Any], columns: list[Any]) -> Any:
    """Draw a rule that is nearly one of the language, or none at all."""
    name, other = draw(st.sampled_from(columns)), draw(st.sampled_from(columns))
    number = draw(st.integers(-5, 50) | floats)
    nearly = [f"{name} increases", f"`{name}` <= {number} * `{other}`", f"`{name}` in {{a, b}}"]
    nearly += [f"`{name}` in steps of {number}", f"at most {number} changes", f"fixed {name}"]
    return draw(st.sampled_from([*nearly, lambda rows: rows, 3, None]) | st.text(max_size=12))


def sound_rule(draw: Callable[..., Any], data: pd.DataFrame) -> Any:
    """Draw a rule that can be checked, though perhaps not satisfied."""
    quoted = [f"`{name}`" for name in map(str, data) if "`" not in name and name.strip()]
    numbers = [
        f"`{name}`"
        for name in data
        if f"`{name}`" in quoted
        and pd.api.types.is_numeric_dtype(data[name])
        and not pd.api.types.is_bool_dtype(data[name])
    ]
    rules: list[Any] = ["at most 2 changes", lambda rows: np.ones(len(rows), dtype=bool)]
    rules += [f"fixed {name}" for name in quoted[1:]]
    rules += [f"not changed({name}) or changed({quoted[0]})" for name in quoted]
    if len(quoted) > 1:
        rules.append(f"{quoted[0]}, {quoted[1]} change together")
    for name in numbers:
        number = draw(st.integers(-9, 9))
        rules += [f"{name} increases", f"{name} decreases by at most {abs(number) + 1}"]
        rules += [f"{name} in {number}..", f"{name} <= {number} * {numbers[0]} + 3"]
        rules += [f"{name} > was({name}) implies {numbers[-1]} >= {number}"]
    return draw(st.sampled_from(rules))


def odd_limits(draw: Callable[..., Any], columns: list[Any]) -> dict[str, Any]:
    """Draw limits of which some make no sense."""
    limits: dict[str, Any] = {}
    if draw(st.booleans()):
        limits["constraints"] = [odd_rule(draw, columns) for _ in range(2)]
    if draw(st.booleans()):
        limits["fixed"] = draw(st.lists(names | st.sampled_from(columns), max_size=2))
    if draw(st.booleans()):
        limits["max_changed"] = draw(st.sampled_from([0, 1, 99, "2"]))
    if draw(st.booleans()):
        limits["ranges"] = {draw(st.sampled_from(columns)): (draw(floats), draw(floats))}
    if draw(st.booleans()):
        limits["costs"] = {draw(st.sampled_from(columns)): draw(floats)}
    return limits


def sound_limits(draw: Callable[..., Any], data: pd.DataFrame) -> dict[str, Any]:
    """Draw limits that mean something."""
    limits: dict[str, Any] = {}
    if draw(st.booleans()):
        limits["constraints"] = [sound_rule(draw, data) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        limits["fixed"] = list(data.columns)[1:2]
    if draw(st.booleans()):
        limits["max_changed"] = draw(st.integers(1, 3))
    if draw(st.booleans()):
        limits["costs"] = {data.columns[0]: draw(st.floats(0.1, 10.0))}
    return limits


SEARCHES = [
    cp.Search(evaluations=80),
    cp.Search(evaluations=30, seconds=0.5),
    cp.WhatIf(n=2),
    cp.Search(method="random", generations=2),
    cp.Search(method="nsga2", generations=2, mutation="gaussian"),
]


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    """Draw a case; three in four make sense as far as we can tell."""
    is_odd = draw(st.integers(0, 3)) == 0
    n = draw(st.sampled_from([1, 2, 5, 30] if is_odd else [5, 30]))
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    data = pd.DataFrame({name: column(draw, n, is_odd) for name in columns})
    model = model_of(draw, data, is_odd)
    row: Any = data.iloc[[draw(st.integers(0, n - 1))]]
    if is_odd and draw(st.booleans()):
        row = {name: draw(floats | texts) for name in columns}
    wanted = (0.5, 1.0), (None, 0.4)
    fitting = [*wanted, "opposite", 0.7]
    if isinstance(model, Classifier):
        labels = [label.item() for label in model.classes_]
        fitting = [*labels, "opposite", *((label, wanted[0]) for label in labels)]
    target = draw(st.sampled_from(fitting))
    if is_odd and draw(st.booleans()):
        target = draw(st.sampled_from([*wanted, "yes", 1, "nobody"]) | st.tuples(floats, floats))
    limits = odd_limits(draw, columns) if is_odd else sound_limits(draw, data)
    table = in_kind(draw, data) if draw(st.integers(0, 2)) == 0 else data
    search, allows_missing = draw(st.sampled_from(SEARCHES)), draw(st.booleans())
    return Case(table, model, row, target, search, limits, allows_missing)


@settings(
    max_examples=N_CASES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=cases())
def test_a_case_ends_in_a_result_or_in_an_error_of_ours(case: Case) -> None:
    note(f"{type(case.data)} {case.limits}")
    before = copy.deepcopy(case.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            explainer = cp.Explainer(case.model, case.data, allow_missing=case.allows_missing)
            found = explainer.explain(case.row, case.target, case.search, **case.limits)
        except cp.CounterpointError as error:
            assert_same(case.data, before)
            check_message(str(error))
            event(f"{type(error).__name__}: {str(error)[:25]}")
            return
        check_result(found, case)
    event(f"result: {found.status}")
    assert_same(case.data, before)


def check_message(text: str) -> None:
    """Check that an error says something, in plain words."""
    assert len(text) > 20
    assert "Traceback" not in text


def assert_same(data: Any, before: Any) -> None:
    """Check that the caller's table is as it was."""
    if isinstance(data, pd.DataFrame):
        pd.testing.assert_frame_equal(data, before)
    elif isinstance(data, np.ndarray):
        np.testing.assert_array_equal(data, before)
    else:
        assert data.equals(before)


def check_shown(found: cp.Counterfactuals) -> None:
    """Check that a result can be read, drawn and put into a page, whatever its names and values."""
    assert str(found)
    assert found._repr_html_()
    assert found.explain_text(lang="de", reader="customer")
    assert found.explain_text(lang="en", reader="analyst")
    json.dumps(summarise(found, NOW), allow_nan=False)
    found.plot.parallel_data()
    found.plot.strips_data()


def check_result(found: cp.Counterfactuals, case: Case) -> None:
    """Check that what is called valid is so for the caller's own model, in the data's dtypes."""
    assert len(found.message) > 20
    check_shown(found)
    rows, limits = found.to_rows(near_misses=True), case.limits
    assert type(rows) is type(case.data)
    if isinstance(case.data, pd.DataFrame):
        assert rows.dtypes.to_dict() == case.data.dtypes.to_dict()
    elif isinstance(case.data, np.ndarray):
        assert rows.dtype == case.data.dtype
    else:
        assert rows.schema == case.data.schema
    if not case.allows_missing and isinstance(case.row, pd.DataFrame):
        frame = found.to_pandas()[list(case.row.columns)]
        assert not (frame.isna() & ~case.row.isna().to_numpy()).any(axis=None)
    if limits.get("max_changed") is not None:
        assert (found.changed.sum(axis=1) <= limits["max_changed"]).all()
    valid = found.valid()
    if len(valid) and not isinstance(case.model, Classifier):
        scores = np.asarray(case.model(valid.to_rows()))
        assert ((scores >= found.target.low) & (scores <= found.target.high)).all()
    elif len(valid) and found.target.is_decision:
        labels = case.model.predict(valid.to_rows())
        assert ((labels == found.target.label) != found.target.is_complement).all()
