from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.strategies import generator
from threadpoolctl import threadpool_limits

from counterpoint.arrays import Floats
from counterpoint.models.known_models import core_of, own_sums

N, D = 150, 4


def draw_table() -> Floats:
    rng = generator(0)
    table = rng.normal(size=(N, D)).round(2)
    table[:, 3] = rng.integers(0, 9, N)  # may be taken as categories
    return table


TABLE = draw_table()
SCORE = TABLE[:, 0] + (TABLE[:, 3] % 3) + TABLE[:, 1] ** 2
TWO = np.where(np.median(SCORE) < SCORE, "good", "bad")
THREE = np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.7]))
CATEGORIES = [False, False, False, True]


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):  # boosting waits for threads that do not get a core
        yield


def classifiers() -> dict[str, tuple[Any, Any]]:
    boost = HistGradientBoostingClassifier
    return {
        "forest": (RandomForestClassifier(20, random_state=0), TWO),
        "forest of three": (RandomForestClassifier(20, random_state=0), THREE),
        "extra": (ExtraTreesClassifier(7, max_depth=4, random_state=0), TWO),
        "tree": (DecisionTreeClassifier(max_depth=5, random_state=0), THREE),
        "boosting": (boost(max_iter=20, random_state=0), TWO),
        "boosting of three": (boost(max_iter=20, random_state=0), THREE),
        "boosting without a step": (boost(max_iter=20, min_samples_leaf=N), TWO),
    }


def regressors() -> dict[str, tuple[Any, Any]]:
    boost = HistGradientBoostingRegressor
    return {
        "forest": (RandomForestRegressor(20, random_state=0), SCORE),
        "tree": (DecisionTreeRegressor(random_state=0), SCORE),
        "boosting": (boost(max_iter=20), SCORE),
        "boosting of counts": (boost(max_iter=20, loss="poisson"), np.exp(SCORE / 4)),
    }


def fit_by_category() -> Any:
    """Return boosting that splits the first column by category, and does not know all of them."""
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features=CATEGORIES)
    with threadpool_limits(1):
        model.fit(TABLE[TABLE[:, 3] < 8], TWO[TABLE[:, 3] < 8])
    bare = copy.copy(model)
    bare._preprocessor = None  # what comes before it, and puts that column first
    return bare


BY_CATEGORY = fit_by_category()


@pytest.fixture(params=classifiers(), scope="module")
def classifier(request: pytest.FixtureRequest) -> Any:
    model, labels = classifiers()[request.param]
    return model.fit(TABLE, labels)


@pytest.fixture(params=regressors(), scope="module")
def regressor(request: pytest.FixtureRequest) -> Any:
    model, values = regressors()[request.param]
    return model.fit(TABLE, values)


def rows_like(seed: int, n: int) -> Floats:
    """Return rows with values near, at and beyond those of the table, and unknown categories."""
    rng = generator(seed)
    rows = np.column_stack([rng.choice(column, n) for column in TABLE.T])
    rows[:, :3] += rng.choice([0.0, 0.0, 0.005, -3.0, 1e6], (n, 3))
    rows[:, 3] = rng.integers(0, 12, n)
    return rows


@given(seed=st.integers(0, 999), n=st.integers(1, 60))
@settings(max_examples=15, deadline=None)
def test_a_core_scores_and_decides_as_its_classifier_does(
    classifier: Any, seed: int, n: int
) -> None:
    rows = rows_like(seed, n)

    core = core_of(classifier, own_sums(classifier, 256))

    np.testing.assert_array_equal(core.predict_proba(rows), classifier.predict_proba(rows))
    np.testing.assert_array_equal(core.predict(rows), classifier.predict(rows))


@given(seed=st.integers(0, 999), n=st.integers(1, 60))
@settings(max_examples=15, deadline=None)
def test_a_core_scores_as_its_regressor_does(regressor: Any, seed: int, n: int) -> None:
    rows = rows_like(seed, n)

    core = core_of(regressor, own_sums(regressor, 256))

    np.testing.assert_array_equal(core.predict(rows), regressor.predict(rows))


@given(seed=st.integers(0, 999), n=st.integers(1, 60))
@settings(max_examples=15, deadline=None)
def test_a_core_splits_by_category_as_its_classifier_does(seed: int, n: int) -> None:
    rows = rows_like(seed, n)[:, [3, 0, 1, 2]]

    core = core_of(BY_CATEGORY, own_sums(BY_CATEGORY, 256))

    np.testing.assert_array_equal(core.predict_proba(rows), BY_CATEGORY.predict_proba(rows))


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_missing_values_go_where_the_model_sends_them(name: str) -> None:
    model, labels = classifiers()[name]
    holes = np.where(generator(1).random(TABLE.shape) < 0.2, np.nan, TABLE)
    model.fit(holes, labels)

    core = core_of(model, own_sums(model, 256))

    np.testing.assert_array_equal(core.predict_proba(holes), model.predict_proba(holes))


def test_a_core_leaves_its_model_as_it_was(classifier: Any) -> None:
    before = joblib.hash(classifier)

    core_of(classifier, own_sums(classifier, 256)).predict_proba(TABLE)

    assert joblib.hash(classifier) == before


def test_a_booster_without_trees_of_one_kind_scores_as_its_classifier_does() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    frame = pd.DataFrame(TABLE, columns=list("abcd"))
    model = lightgbm.LGBMClassifier(n_estimators=9, n_jobs=1, verbose=-1, zero_as_missing=True)
    model.fit(frame, TWO)

    core = core_of(model, own_sums(model, 256))

    np.testing.assert_array_equal(core.predict_proba(TABLE), model.predict_proba(frame))
    np.testing.assert_array_equal(core.predict(TABLE), model.predict(frame))


def test_what_shows_neither_trees_nor_a_booster_has_no_core() -> None:
    model = KNeighborsClassifier().fit(TABLE, TWO)

    assert core_of(model, own_sums(model, 256)) is None


def test_a_bag_of_trees_that_see_few_features_is_no_forest_and_told_apart_by_trial() -> None:
    bag = BaggingClassifier(DecisionTreeClassifier(), 5, max_features=0.5, random_state=0)
    bag.fit(TABLE, TWO)

    core = core_of(bag, own_sums(bag, 256))

    assert not np.array_equal(core.predict_proba(TABLE), bag.predict_proba(TABLE))
