"""Same row, same seed, same bits: alone, in any batch and order, with any number of workers."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from tests.strategies import generator, loans

import counterpoint as cp
from counterpoint.search.settings import Method

SEARCH = cp.Search(method="nsga2", population=20, generations=12)
METHODS: list[Method] = ["explore", "nsga2"]
NUMBERS, LEVELS = ["age", "amount", "debt", "rate"], ["job", "city", "owns"]
N_ALONE = 7
MODELS = ["forest", "logistic", "network"]


DATA = loans()
NOISE = generator(1).normal(0.0, 0.3, len(DATA))
SCORE = DATA["amount"] / 900 + DATA["owns"] + (DATA["job"] == "nurse") - DATA["debt"] / 2 + NOISE
LABELS = np.where(SCORE.gt(SCORE.median()), "good", "bad")


def fitted(classifier: Any, labels: Any = LABELS) -> Any:
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), LEVELS))
    return make_pipeline(encode, classifier).fit(DATA, labels)


@cache
def explainer_of(name: str) -> cp.Explainer:
    classifiers = {
        "forest": RandomForestClassifier(20, random_state=0),
        "logistic": LogisticRegression(),
        "network": MLPClassifier((16,), max_iter=60, random_state=0, early_stopping=True),
    }
    return cp.Explainer(fitted(classifiers[name]), DATA)


def bits(found: cp.Counterfactuals) -> tuple[Any, ...]:
    """Return everything that must not differ in a single bit."""
    arrays = (found.genomes, found.predictions, found.objectives, found.history.to_numpy())
    return found.evaluations, found.trace.stopped, *(array.tobytes() for array in arrays)


@cache
def alone(name: str, method: Method) -> list[tuple[Any, ...]]:
    explainer, search = explainer_of(name), SEARCH.with_(method=method)
    return [
        bits(explainer.explain(DATA.iloc[[i]], "opposite", search, seed=7)) for i in range(N_ALONE)
    ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("size", "workers"), [(1, 1), (7, 1), (7, 2), (40, 1), (40, 2)])
def test_a_row_gets_the_same_bits_in_any_batch(
    name: str, method: Method, size: int, workers: int
) -> None:
    rows, search = DATA.iloc[:size], SEARCH.with_(method=method)

    together = explainer_of(name).explain_many(rows, "opposite", search, 7, workers=workers)

    n = min(size, N_ALONE)
    assert [bits(found) for found in together[:n]] == alone(name, method)[:n]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_a_row_gets_the_same_bits_in_any_order_and_beside_its_copy(
    name: str, method: Method
) -> None:
    order = [*generator(3).permutation(N_ALONE).tolist(), 2, 2, 50, 0]
    search = SEARCH.with_(method=method)

    together = explainer_of(name).explain_many(DATA.iloc[order], "opposite", search, seed=7)

    for i, found in zip(order, together, strict=True):
        if i < N_ALONE:
            assert bits(found) == alone(name, method)[i]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_repeats_a_search_and_another_does_not(name: str, method: Method) -> None:
    explainer, search = explainer_of(name), SEARCH.with_(method=method)

    again, other = (
        explainer.explain(DATA.iloc[[0]], "opposite", search, seed=seed) for seed in (7, 8)
    )

    assert bits(again) == alone(name, method)[0]
    assert other.genomes.tobytes() != again.genomes.tobytes()


@pytest.mark.parametrize(
    "search",
    [
        *(SEARCH.with_(method=method, generations=8) for method in get_args(Method)),
        SEARCH.with_(mutation="gaussian", initialization="observed", generations=6),
        SEARCH.with_(initialization="deviation", population=9, generations=6),
        SEARCH.with_(evaluations=201, generations=None),
        cp.WhatIf(n=3),
    ],
)
def test_the_same_holds_for_every_kind_of_search(search: Any) -> None:
    explainer, rows = explainer_of("logistic"), DATA.iloc[:5]

    together = explainer.explain_many(rows, "opposite", search, seed=1, workers=2)

    for i, found in enumerate(together):
        assert bits(found) == bits(explainer.explain(rows.iloc[[i]], "opposite", search, seed=1))


def test_rows_whose_patience_ends_at_different_times_are_as_alone() -> None:
    explainer, rows = explainer_of("forest"), DATA.iloc[:10]
    search = SEARCH.with_(population=12, generations=60, patience=2)

    together = explainer.explain_many(rows, "opposite", search, seed=2)

    assert len({len(found.history) for found in together}) > 2
    assert {found.trace.stopped for found in together} == {"patience"}
    for i, found in enumerate(together):
        assert bits(found) == bits(explainer.explain(rows.iloc[[i]], "opposite", search, seed=2))


def test_limits_do_not_make_a_row_see_its_company() -> None:
    """Ranges force some rows to change, and other rows lie beyond the data."""
    explainer = explainer_of("logistic")
    rows = DATA.iloc[:8].copy()
    rows.loc[2, "age"], rows.loc[3, "debt"] = 95, 40.0
    limits: dict[str, Any] = {"ranges": {"amount": (500, 4000), "debt": (2, 6)}, "max_changed": 4}

    together = explainer.explain_many(rows, ("good", (0.9, 1.0)), SEARCH, **limits)

    for i, found in enumerate(together):
        one = explainer.explain(rows.iloc[[i]], ("good", (0.9, 1.0)), SEARCH, **limits)
        assert bits(found) == bits(one)


def is_owner_or_old(rows: pd.DataFrame) -> Any:
    return (rows["owns"] | (rows["age"] >= 30)).to_numpy()


RULES = [
    "amount <= 150 * age",
    "job = nurse implies debt in 1..5",
    "at most 4 changes",
    "city, rate change together",
]


@pytest.mark.parametrize("constraints", [RULES, [*RULES, is_owner_or_old]])
@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("workers", [1, 2])
def test_rules_do_not_make_a_row_see_its_company(
    constraints: list[Any], method: Method, workers: int
) -> None:
    explainer, rows = explainer_of("logistic"), DATA.iloc[:9]
    search = SEARCH.with_(method=method, generations=8)
    options: dict[str, Any] = {"search": search, "constraints": constraints, "seed": 5}

    together = explainer.explain_many(rows, "opposite", **options, workers=workers)

    assert sum(len(found.genomes) for found in together) > 0
    for i, found in enumerate(together):
        assert bits(found) == bits(explainer.explain(rows.iloc[[i]], "opposite", **options))


class Dependent:
    """A model whose scores depend a little on which rows are asked together."""

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return scores that lean on the batch's own mean."""
        score = rows["amount"] / 900 - rows["debt"] / 2 + 1e-3 * rows["rate"].mean()
        return 1.0 / (1.0 + np.exp(-score))


def test_a_model_that_sees_its_batch_is_asked_row_by_row() -> None:
    explainer, rows = cp.Explainer(Dependent(), DATA), DATA.iloc[:9]
    one_by_one = [
        bits(explainer.explain(rows.iloc[[i]], "opposite", SEARCH, seed=7)) for i in range(9)
    ]

    for workers in (1, 2):
        together = explainer.explain_many(rows, "opposite", SEARCH, 7, workers=workers)

        assert [bits(found) for found in together] == one_by_one
        for found in together:
            assert any("scores depend on which rows it is asked together" in n for n in found.notes)


def test_a_model_that_does_not_see_its_batch_has_no_note() -> None:
    together = explainer_of("forest").explain_many(DATA.iloc[:3], "opposite", SEARCH)

    assert [found.notes for found in together] == [(), (), ()]


@pytest.mark.parametrize("threshold", [0.3, 0.65])
@pytest.mark.parametrize("label", ["good", "bad"])
def test_a_class_is_reached_only_if_predict_names_it(threshold: float, label: str) -> None:
    model = fitted(FixedThresholdClassifier(LogisticRegression(), threshold=threshold))
    explainer, rows = cp.Explainer(model, DATA), DATA[model.predict(DATA) != label].iloc[:5]

    together = explainer.explain_many(rows, label, SEARCH)

    assert sum(len(found.valid()) for found in together) > 0
    for i, found in enumerate(together):
        valid = found.valid().to_frame()
        if len(valid):
            assert (model.predict(valid[DATA.columns]) == label).all()
        assert bits(found) == bits(explainer.explain(rows.iloc[[i]], label, SEARCH))


@pytest.mark.parametrize("label", ["good", "bad"])
def test_a_tie_of_the_forest_reaches_the_first_class_only(label: str) -> None:
    """With ten trees a probability of exactly 0.5 is common; `predict` then names the first."""
    forest = make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS)),
        RandomForestClassifier(10, random_state=0),
    ).fit(DATA, LABELS)
    explainer = cp.Explainer(forest, DATA)
    rows = DATA[forest.predict(DATA) != label].iloc[:12]

    together = explainer.explain_many(rows, label, SEARCH)

    assert any(0.5 in found.predictions for found in together)
    for found in together:
        is_tie = found.predictions == 0.5
        assert ((found.objectives[is_tie, 0] == 0.0) == (label == forest.classes_[0])).all()
        assert (found.valid().predictions >= 0.5).all()


class Machine:
    """A support vector machine with probabilities fitted apart, as libsvm's are."""

    def __init__(self) -> None:
        self.svc = fitted(SVC(gamma="scale"))
        self.classes_ = self.svc.classes_

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the side of the margin."""
        return self.svc.predict(rows)

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return Platt's sigmoid with an offset: it crosses 0.5 elsewhere than the margin."""
        good = 1.0 / (1.0 + np.exp(-3.0 * self.svc.decision_function(rows) - 1.0))
        return np.column_stack([1.0 - good, good])


def test_predict_is_asked_where_it_disagrees_with_the_probabilities() -> None:
    model = Machine()
    explainer = cp.Explainer(model, DATA)
    refused = model.predict(DATA) == "bad"
    assert (refused & (model.predict_proba(DATA)[:, 1] > 0.5)).any()
    rows = DATA[refused].iloc[:5]

    together = explainer.explain_many(rows, "good", SEARCH)

    assert sum(len(found.valid()) for found in together) > 0
    for i, found in enumerate(together):
        valid = found.valid().to_frame()[DATA.columns]
        assert len(valid) == 0 or (model.predict(valid) == "good").all()
        assert any("predict does not always name the likeliest class" in n for n in found.notes)
        assert bits(found) == bits(explainer.explain(rows.iloc[[i]], "good", SEARCH))


class Surprising:
    """A classifier whose `predict` denies odd ages, of which the data have none."""

    classes_ = np.array(["bad", "good"])

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return P(good) by age."""
        good = rows["age"].to_numpy() / 80.0
        return np.column_stack([1.0 - good, good])

    def predict(self, rows: pd.DataFrame) -> Any:
        """Name the likeliest class, but none of odd age is good."""
        is_good = (self.predict_proba(rows)[:, 1] > 0.5) & (rows["age"].to_numpy() % 2 == 0)
        return np.where(is_good, "good", "bad")


def test_predict_that_disagrees_only_with_candidates_is_believed() -> None:
    data = DATA.assign(age=DATA["age"] // 2 * 2)[["age", "debt", "owns"]]
    explainer, model = cp.Explainer(Surprising(), data), Surprising()
    rows = data[data["age"] < 40].iloc[:6]

    together = explainer.explain_many(rows, "good", SEARCH)

    for i, found in enumerate(together):
        assert len(found.valid()) > 0
        assert (model.predict(found.valid().to_frame()[data.columns]) == "good").all()
        assert bits(found) == bits(explainer.explain(rows.iloc[[i]], "good", SEARCH))
