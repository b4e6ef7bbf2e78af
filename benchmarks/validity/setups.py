"""The set-ups: which table, model, target, limits, form and precision meet."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

import counterpoint as cp
from benchmarks.validity.models import Model, fit
from benchmarks.validity.tables import Table, load


class SetUp(NamedTuple):
    """One set-up, by the names of what it is made of."""

    table: str
    model: str
    target: Any  # a number stands for that share of a regression model's or a score's answers
    form: str = "pandas"
    limits: dict[str, Any] = {}  # noqa: RUF012 - never changed
    options: dict[str, Any] = {}  # noqa: RUF012 - of the explainer
    search: Any = cp.Search()
    decimals: dict[str, int] = {}  # noqa: RUF012 - the declared or observed ones, checked here

    @property
    def words(self) -> list[str]:
        """The cells of a line that says what it is."""
        limits = ", ".join(
            str(rule) for key, value in self.limits.items() for rule in stated(key, value)
        )
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        wanted = self.target
        target = " or ".join(sorted(wanted)) if isinstance(wanted, set) else str(wanted)
        return [self.table, self.model, target, self.form, limits, options]


def stated(key: str, value: Any) -> list[str]:
    """Return a limit in words."""
    return list(value) if key == "constraints" else [f"{key}={value}"]


SHORT = cp.Search(evaluations=500)
PAPER = cp.Search(method="nsga2", generations=20, patience=None)
CREDIT_RULES = ["age increases", "duration in 6..48", "credit_amount <= 400 * duration"]
SETUPS = [
    SetUp("credit", "logistic", "good", limits={"fixed": ["sex", "age"]}),
    SetUp("credit", "forest", "opposite", limits={"max_changed": 3}),
    SetUp("credit", "boosting", "good", limits={"constraints": CREDIT_RULES}),
    SetUp("credit", "support vectors", "good", "dict", {"vary": ["duration", "credit_amount"]}),
    SetUp("credit", "network", ("good", (0.6, 0.9)), limits={"ranges": {"age": (20, 60)}}),
    SetUp("credit", "threshold", "opposite", limits={"constraints": ["at most 2 changes"]}),
    SetUp("credit", "logistic", "good", search=PAPER),
    SetUp("wine", "forest", "class_1", "numpy"),
    SetUp("wine", "logistic", {"class_0", "class_2"}, "polars"),
    SetUp("wine", "boosting", "opposite", limits={"max_changed": 4}),
    SetUp("wine", "float32 object", "opposite", options={"precision": "full"}),
    SetUp("wine", "support vectors", "class_0", "numpy", search=SHORT),
    SetUp("breast_cancer", "logistic", "opposite", "polars"),
    SetUp("breast_cancer", "float32 function", "benign", "numpy"),
    SetUp("breast_cancer", "threshold", "benign", options={"precision": "full"}, search=SHORT),
    SetUp("breast_cancer", "labels only", "opposite", search=SHORT),
    SetUp("iris", "network", "versicolor", "polars"),
    SetUp("iris", "labels only", {"setosa", "virginica"}),
    SetUp("iris", "float32 function", "opposite", "dict", options={"precision": "full"}),
    SetUp("iris", "forest", "virginica", "numpy", search=cp.WhatIf(n=30)),
    SetUp("diabetes", "ridge", 0.7),
    SetUp("diabetes", "forest regressor", 0.6, "numpy", {"max_changed": 3}),
    SetUp("diabetes", "boosting regressor", 0.8, limits={"fixed": ["sex", "age"]}),
    SetUp("diabetes", "float32 outputs", 0.6, "polars", options={"precision": "full"}),
    SetUp("one-hot", "logistic", "high", limits={"constraints": ["age increases"]}),
    SetUp("one-hot", "float32 object", "opposite", limits={"max_changed": 2}),
    SetUp("one-hot", "boosting", {"mid", "high"}, options={"groups": "declared"}),
    SetUp("one-hot", "float32 outputs", 0.5, "numpy", options={"groups": "declared"}),
    SetUp("missing", "logistic", "high"),
    SetUp("missing", "boosting", "opposite", options={"allow_missing": True}),
    SetUp("missing", "forest", "high", "dict", {"constraints": ["age increases"]}),
    SetUp("dated", "logistic", "high", limits={"fixed": ["grade"]}),
    SetUp("dated", "boosting regressor", 0.6, limits={"max_changed": 2}),
    SetUp("dated", "forest", "opposite", search=cp.Search(method="random", evaluations=800)),
    SetUp("wide", "ridge", 0.7, limits={"max_changed": 5}, search=SHORT),
    SetUp("wide", "float32 object", "opposite", search=SHORT),
    SetUp("fine", "logistic", "high", options={"features": 2}, decimals=dict.fromkeys("pqrs", 2)),
    SetUp("fine", "float32 score", 0.6, options={"features": 1}, decimals=dict.fromkeys("pqrs", 1)),
    SetUp("fine", "boosting", "opposite", options={"precision": "observed"}),
    SetUp("fine", "network", ("low", (0.5, None)), "polars", options={"precision": "full"}),
]


class Trial(NamedTuple):
    """A set-up that was built: its explainer, the rows to explain, and how to judge answers."""

    setup: SetUp
    table: Table
    model: Model
    explainer: cp.Explainer
    target: Any
    rows: Any  # those that are to be explained, as the data are

    def reaches(self, answers: Any, own: Any) -> Any:
        """Return which answers are what the caller wanted, given what the row itself gets."""
        target = self.target
        if isinstance(target, tuple):
            bounds = target[1] if isinstance(target[1], tuple) else target
            low, high = (np.nan if bound is None else bound for bound in bounds)
            return ~((answers < low) | (answers > high))
        if isinstance(target, set):
            return np.isin(answers, list(target))
        return answers != own if target == "opposite" else answers == target


def in_form(frame: pd.DataFrame, form: str) -> Any:
    """Return a table as the caller of that form has it."""
    if form == "numpy":
        return frame.to_numpy()
    return pl.from_pandas(frame) if form == "polars" else frame


def probability(model: Any, label: Any) -> Callable[[Any], Any]:
    """Return what asks a model for the probability of a class."""
    column = list(model.classes_).index(label)
    return lambda rows: model.predict_proba(rows)[:, column]


def options_of(setup: SetUp, table: Table) -> dict[str, Any]:
    """Return what the explainer is given besides: groups and decimals are written out."""
    options = dict(setup.options)
    if options.get("groups"):
        places = (
            list(range(len(table.data.columns))) if setup.form == "numpy" else table.data.columns
        )
        named: dict[Hashable, Any] = dict(zip(table.data.columns, places, strict=True))
        groups = {"job": table.groups[0], "home": table.partial[0]}
        options["groups"] = {name: [named[c] for c in group] for name, group in groups.items()}
    if "features" in options:
        names: list[Hashable] = list(setup.decimals)
        options["features"] = {name: cp.Real(decimals=options["features"]) for name in names}
    return options


def build(setup: SetUp) -> Trial:
    """Fit the model of a set-up and make its explainer."""
    table = load(setup.table)
    model = fit(setup.model, table, setup.form)
    data, target = in_form(table.data, setup.form), setup.target
    if isinstance(target, float):
        low, high = np.quantile(model.answer(data), [target, target + 0.15])
        target = (float(low), float(high))
    elif isinstance(target, tuple):
        model = model._replace(answer=probability(model.asked, target[0]))
    explainer = cp.Explainer(model.asked, data, classes=model.classes, **options_of(setup, table))
    trial = Trial(setup, table, model, explainer, target, data)
    answers = model.answer(data)
    wrong = np.ones(len(answers), bool) if target == "opposite" else ~trial.reaches(answers, None)
    return trial._replace(rows=taken(data, spread(np.flatnonzero(wrong))))


def taken(table: Any, places: Any) -> Any:
    """Return some rows of a table of any form."""
    return table.iloc[places] if isinstance(table, pd.DataFrame) else table[places]


def spread(places: Any) -> Any:
    """Return places in an order in which the first few are spread over all of them."""
    return places[np.argsort(np.arange(len(places)) * 0.6180339887498949 % 1.0, kind="stable")]
