"""Small tables of levels, whole numbers, one-hot groups and gaps: answers against trying all rows.

``make -C benchmarks fuzz`` runs ten thousand cases, the gate five hundred, the default suite a few.
"""

from __future__ import annotations

import itertools
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
LABELS = ["no", "maybe", "yes", "never"]
EXHAUSTIVE = cp.Search(evaluations=2000)
SEARCHES = [
    EXHAUSTIVE,
    EXHAUSTIVE,
    cp.WhatIf(n=3),
    cp.Search(method="nsga2", generations=4, mutation="gaussian"),
    cp.Search(method="random", generations=4),
]

Value = Any  # a level, a whole number or None for missing


class Part(NamedTuple):
    """One feature: what it may be, and how a value is written in the columns of the table."""

    name: str
    domain: list[Value]
    columns: list[str]
    is_number: bool
    lacks_first: bool = False  # a one-hot group without its first level

    @property
    def written(self) -> dict[tuple[Any, ...], Value]:
        """All values, by what the columns hold; no group is missing."""
        missing = [None] if len(self.columns) == 1 else []
        return {key(self.cells(value)): value for value in [*self.domain, *missing]}

    def cells(self, value: Value) -> list[Any]:
        """Return what the columns hold."""
        if len(self.columns) == 1:
            return [value]
        levels = self.domain[1:] if self.lacks_first else self.domain
        return [int(value == level) for level in levels]


class Model:
    """Classes by a table of weights per value, with ties here and there."""

    def __init__(self, parts: list[Part], weights: Any, threshold: float | None) -> None:
        self.parts, self.weights, self.threshold = parts, weights, threshold
        self.classes_ = np.array(LABELS[: weights.shape[-1]])

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return the share of each class in the sum of weights."""
        total = np.full((len(rows), len(self.classes_)), 1.0)
        for j, part in enumerate(self.parts):
            known = {cells: k for k, cells in enumerate(part.written)}
            rest = len(part.domain)  # two levels at once, which nobody has
            cells = rows[part.columns].astype(object).to_numpy()
            places = [known.get(key(row), rest) for row in cells]
            total += self.weights[j, places]
        return total / total.sum(axis=1, keepdims=True)

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the likeliest class, or the last as soon as it reaches a threshold."""
        shares = self.predict_proba(rows)
        codes = shares.argmax(axis=1)
        if self.threshold is not None:
            codes = np.where(shares[:, -1] >= self.threshold, len(self.classes_) - 1, codes)
        return self.classes_[codes]


def key(cells: Any) -> tuple[Any, ...]:
    """Return cells so that they can be compared, missing ones too."""
    return tuple(
        None if pd.isna(cell) else float(cell) if not isinstance(cell, str) else cell
        for cell in cells
    )


class Case(NamedTuple):
    """A table, a model, and what is asked of one of the rows."""

    parts: list[Part]
    observed: list[tuple[Value, ...]]
    model: Model
    is_function: bool
    row: tuple[Value, ...]
    target: Any
    search: Any
    limits: dict[str, Any]

    def frame(self, rows: list[tuple[Value, ...]]) -> pd.DataFrame:
        """Return rows as the model takes them."""
        columns: dict[str, Any] = {}
        for j, part in enumerate(self.parts):
            cells = [part.cells(row[j]) for row in rows]
            columns |= {name: [each[i] for each in cells] for i, name in enumerate(part.columns)}
        kinds = {
            p.columns[0]: np.float64 if p.is_number else object
            for p in self.parts
            if len(p.columns) == 1
        }
        return pd.DataFrame(columns).astype(kinds)

    @property
    def possible(self) -> list[tuple[Value, ...]]:
        """All rows that limits allow, other than the row itself."""
        fixed, ranges = self.limits.get("fixed", ()), self.limits.get("ranges", {})
        choices = []
        for j, part in enumerate(self.parts):
            seen = [row[j] for row in self.observed if row[j] is not None]
            declared = part.domain[part.lacks_first :] if len(part.columns) > 1 else []
            values: list[Value] = sorted({*seen, *declared})
            if part.is_number:
                low, high = ranges.get(part.name, (min(seen), max(seen)))
                values = list(range(int(low), int(high) + 1))
            if self.row[j] is None:
                values.append(None)
            choices.append([self.row[j]] if part.name in fixed else values)
        most = self.limits.get("max_changed", len(self.parts))
        rows = itertools.product(*choices)
        return [row for row in rows if 0 < self.n_changed(row) <= most]

    def n_changed(self, row: tuple[Value, ...]) -> int:
        """Return how many features differ from the explained row."""
        return sum(value != own for value, own in zip(row, self.row, strict=True))

    def distance(self, row: tuple[Value, ...]) -> float:
        """Return Gower's distance to the explained row, which lacks nothing that differs."""
        total = 0.0
        for j, part in enumerate(self.parts):
            seen = [each[j] for each in self.observed if each[j] is not None]
            if row[j] != self.row[j]:
                is_far = not part.is_number or max(seen) == min(seen)
                total += 1.0 if is_far else abs(row[j] - self.row[j]) / (max(seen) - min(seen))
        return total / len(self.parts)

    def is_valid(self, rows: list[tuple[Value, ...]]) -> list[bool]:
        """Return which rows the model says the target of."""
        if not rows:
            return []
        labels = self.model.predict(self.frame(rows))
        own = self.model.predict(self.frame([self.row]))[0]
        if self.target == "opposite":
            return list(labels != own)
        wanted = self.target if isinstance(self.target, set) else {self.target}
        return [label in wanted for label in labels]


def part_of(draw: Callable[..., Any], j: int) -> Part:
    """Draw a feature."""
    kind = draw(st.sampled_from(["level", "number", "flag", "group", "group without first"]))
    name = f"f{j}"
    if kind == "number":
        return Part(name, list(range(draw(st.integers(2, 5)))), [name], True)
    if kind == "flag":
        return Part(name, ["off", "on"], [name], False)
    levels = ["a", "b", "c", "d"][: draw(st.integers(2, 4))]
    if kind == "level":
        return Part(name, levels, [name], False)
    has_all = kind == "group" or len(levels) == 2
    columns = [f"{name}_{level}" for level in (levels if has_all else levels[1:])]
    return Part(name, levels, columns, False, not has_all)


def wanted_of(case: Case) -> list[Any]:
    """Return targets that the row does not reach, as far as there are others."""
    own = case.model.predict(case.frame([case.row]))[0]
    others = [str(label) for label in case.model.classes_ if label != own]
    return ["opposite", *others, set(others), {*others[:1], LABELS[0]}]


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    """Draw a case."""
    parts = [part_of(draw, j) for j in range(draw(st.integers(2, 4)))]
    n, n_classes = draw(st.integers(12, 30)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))  # noqa: TID251 - made-up data
    may_miss = [len(part.columns) == 1 and draw(st.integers(0, 2)) == 0 for part in parts]
    observed = [
        tuple(
            None if miss and i > 3 and rng.random() < 0.2 else part.domain[k % len(part.domain)]
            for part, miss, k in zip(parts, may_miss, rng.integers(0, 12, len(parts)), strict=True)
        )
        for i in range(n)
    ]
    weights = rng.integers(0, draw(st.sampled_from([3, 50])), (len(parts), 6, n_classes)) / 4.0
    threshold = draw(st.sampled_from([None, None, 0.3]))
    model = Model(parts, weights, threshold)
    row = observed[draw(st.integers(0, n - 1))]
    wanted = wanted_of(Case(parts, observed, model, False, row, "opposite", None, {}))
    limits: dict[str, Any] = {}
    if draw(st.booleans()):
        limits["max_changed"] = draw(st.integers(1, len(parts)))
    if draw(st.integers(0, 2)) == 0:
        limits["fixed"] = [parts[0].name]
    numbers = [part for j, part in enumerate(parts[1:], 1) if part.is_number]
    if numbers and draw(st.booleans()):
        limits["ranges"] = {numbers[0].name: (0, 1)}
    return Case(
        parts,
        observed,
        model,
        draw(st.booleans()),
        row,
        draw(st.sampled_from(wanted)),
        draw(st.sampled_from(SEARCHES)),
        limits,
    )


@settings(
    max_examples=N_CASES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=cases())
def test_answers_are_those_of_trying_all_rows(case: Case) -> None:
    data = case.frame(case.observed)
    note(f"{data.to_string()}\n{case.row} {case.target} {case.search} {case.limits}")
    groups = {part.name: part.columns for part in case.parts if len(part.columns) > 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            explainer = explainer_of(case, data, groups)
            row = case.frame([case.row])
            found = explainer.explain(row, case.target, case.search, **case.limits)
        except cp.CounterpointError as error:
            event(f"{type(error).__name__}: {str(error)[:25]}")
            return
    possible = case.possible
    valid = [r for r, ok in zip(possible, case.is_valid(possible), strict=True) if ok]
    told = [decoded(case, cells) for cells in found.to_rows().to_dict("records")]
    event(f"{found.status}, {len(valid) > 0}")

    assert len(set(told)) == len(told)
    assert set(told) <= set(valid)
    if isinstance(case.search, cp.WhatIf):
        seen = [row for row in set(valid) & set(case.observed) if None not in row]
        assert len(told) == min(3, len(seen)) or found.status == "already_met"
    if case.search is EXHAUSTIVE:
        check_best(case, found, told, valid)


def explainer_of(case: Case, data: pd.DataFrame, groups: dict[str, Any]) -> cp.Explainer:
    """Return an explainer of the model, or of a function that gives labels only."""
    features = {p.name: cp.Integer() for p in case.parts if p.is_number}
    if case.is_function:
        classes = list(case.model.classes_)
        return cp.Explainer(
            case.model.predict, data, classes=classes, groups=groups, features=features
        )
    return cp.Explainer(case.model, data, groups=groups, features=features)


def decoded(case: Case, cells: dict[str, Any]) -> tuple[Value, ...]:
    """Return a returned row by features; two levels at once are no row of anybody."""
    values: list[Value] = []
    for part in case.parts:
        own = key([cells[column] for column in part.columns])
        assert own in part.written, f"{cells} is nothing that {part.name} can be"
        values.append(part.written[own])
    return tuple(values)


def check_best(
    case: Case, found: cp.Counterfactuals, told: list[tuple[Value, ...]], valid: Any
) -> None:
    """Check that what can be reached is, with the fewest changes and by the shortest way."""
    if found.status == "already_met":
        assert case.is_valid([case.row]) == [True]
        return
    assert bool(told) == bool(valid)
    if not valid:
        return
    assert min(map(case.n_changed, told)) == min(map(case.n_changed, valid))
    if None in case.row:
        return
    distances = found.to_frame()["distance"]
    np.testing.assert_allclose(distances, [case.distance(row) for row in told], atol=1e-9)
    for most in range(1, len(case.parts) + 1):
        ways = [case.distance(row) for row in valid if case.n_changed(row) <= most]
        ours = [case.distance(row) for row in told if case.n_changed(row) <= most]
        if ways:
            assert min(ours) <= min(ways) + 1e-9
