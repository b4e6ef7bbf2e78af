from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.strategies import generator
from tests.unit.models.test_additive import (
    LEVELS,
    NUMBERS,
    assert_same_answers,
    draw_table,
    outcomes_of,
    predictor_of,
)
from threadpoolctl import threadpool_limits

N_TREES = 8


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):  # boosting waits for threads that do not get a core
        yield


def histogram(kind: str, **settings_of: Any) -> Any:
    boosting = (
        HistGradientBoostingClassifier if kind == "Classifier" else HistGradientBoostingRegressor
    )
    return boosting(max_iter=N_TREES, categorical_features="from_dtype", **settings_of)


def xgboost(kind: str, **settings_of: Any) -> Any:
    library = pytest.importorskip("xgboost")
    return getattr(library, f"XGB{kind}")(n_estimators=N_TREES, n_jobs=1, **settings_of)


def lightgbm(kind: str, **settings_of: Any) -> Any:
    library = pytest.importorskip("lightgbm")
    return getattr(library, f"LGBM{kind}")(
        n_estimators=N_TREES, n_jobs=1, verbose=-1, min_child_samples=3, **settings_of
    )


BY_SETS = {"enable_categorical": True, "max_cat_to_onehot": 1}
BAGS = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
BOOSTERS: dict[str, tuple[Callable[[], Any], int]] = {
    "histogram": (lambda: histogram("Classifier"), 2),
    "histogram of three": (lambda: histogram("Classifier"), 3),
    "histogram of numbers": (lambda: histogram("Regressor"), 0),
    "histogram of counts": (lambda: histogram("Regressor", loss="poisson"), 2),
    "xgboost": (lambda: xgboost("Classifier", enable_categorical=True), 2),
    "xgboost by sets": (lambda: xgboost("Classifier", **BY_SETS), 2),
    "xgboost of three": (lambda: xgboost("Classifier", **BY_SETS), 3),
    "xgboost of numbers": (lambda: xgboost("Regressor", enable_categorical=True), 0),
    "lightgbm": (lambda: lightgbm("Classifier"), 2),
    "lightgbm by sets": (lambda: lightgbm("Classifier", min_data_per_group=1, cat_smooth=1.0), 2),
    "lightgbm of three": (lambda: lightgbm("Classifier"), 3),
    "lightgbm of numbers": (lambda: lightgbm("Regressor"), 0),
    "lightgbm in bags": (lambda: lightgbm("Classifier", **BAGS), 2),
}


@pytest.mark.parametrize("kind", BOOSTERS)
@given(seed=st.integers(0, 999), misses=st.booleans())
@settings(max_examples=4, deadline=None)
def test_boosted_trees_with_their_own_categories_and_missing_values_are_trees_of_genes(
    kind: str, seed: int, misses: bool
) -> None:
    make, n_classes = BOOSTERS[kind]
    data = draw_table(seed, misses=misses)
    columns = [*NUMBERS, *LEVELS, "region_a", "region_b", "region_c"]
    model = make().fit(data[columns], outcomes_of(data, n_classes))

    predictor = predictor_of(model, data[columns])

    additive = assert_same_answers(predictor, seed)
    assert additive.forest is not None
    assert len(additive.base) == (n_classes if n_classes > 2 else 1)


@pytest.mark.parametrize(
    ("make", "n_classes"),
    [
        (lambda: GradientBoostingClassifier(n_estimators=N_TREES), 2),
        (lambda: GradientBoostingClassifier(n_estimators=N_TREES, init="zero"), 3),
        (lambda: GradientBoostingRegressor(n_estimators=N_TREES), 0),
        (lambda: xgboost("Classifier"), 2),
        (lambda: lightgbm("Classifier"), 3),
    ],
    ids=["two", "three", "numbers", "xgboost", "lightgbm"],
)
@given(seed=st.integers(0, 999))
@settings(max_examples=3, deadline=None)
def test_boosted_trees_behind_encoders_are_trees_of_genes(
    make: Callable[[], Any], n_classes: int, seed: int
) -> None:
    data = draw_table(seed)
    first = make_column_transformer((OneHotEncoder(), LEVELS), (StandardScaler(), NUMBERS))
    model = make_pipeline(first, make())
    model.fit(data[NUMBERS + LEVELS], outcomes_of(data, n_classes))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM on names, which it makes up for arrays
        assert_same_answers(predictor_of(model, data[NUMBERS + LEVELS]), seed)


@pytest.mark.parametrize("make", [xgboost, lightgbm])
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_boosting_that_stopped_early_is_its_best_rounds(make: Any) -> None:
    data, labels = draw_table(5)[NUMBERS], generator(5).integers(0, 2, 80)  # nothing to learn
    model = make("Classifier", early_stopping_rounds=2)
    model.fit(data[:60], labels[:60], eval_set=[(data[60:], labels[60:])])

    additive = assert_same_answers(predictor_of(model, data), 5)

    assert additive.forest is not None
    assert len(additive.forest.roots) < N_TREES


@pytest.mark.parametrize("shift", [0.0, 1e-35, -1e-35], ids=str)
def test_numbers_that_lightgbm_takes_for_zero_go_where_zero_goes(shift: float) -> None:
    rng = generator(6)
    signs = rng.choice([-1.0, 0.0, 1.0], 200)
    data = pd.DataFrame({"a": signs, "b": rng.random(200)})
    model = lightgbm("Classifier").fit(data, (signs > 0) ^ (data["b"] > 0.9))
    predictor = predictor_of(model, data)
    genomes = predictor.observed.copy()
    genomes[:, 0] = shift * np.arange(len(genomes)) / 100.0

    assert predictor.additive is not None

    np.testing.assert_array_equal(
        predictor.additive.outputs(genomes), predictor.plain.outputs(genomes)
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: GradientBoostingClassifier(n_estimators=3, init=DecisionTreeClassifier()),
        lambda: AdaBoostClassifier(n_estimators=3),
        lambda: xgboost("Classifier", booster="dart", rate_drop=0.5),
        lambda: xgboost("Classifier", missing=0.0),
        lambda: lightgbm("Classifier", zero_as_missing=True),
        lambda: lightgbm("Regressor", linear_tree=True),
        lambda: lightgbm("Classifier", objective="cross_entropy"),
    ],
    ids=["begins", "votes", "drops", "zero", "zeros", "lines", "entropy"],
)
@pytest.mark.filterwarnings("ignore:.*booster=dart")  # newer versions drop trees of any booster
@pytest.mark.filterwarnings("ignore:The SAMME.R algorithm")  # how scikit-learn 1.5 votes
def test_boosting_whose_sums_mean_something_else_is_not_taken_for_them(
    make: Callable[[], Any],
) -> None:
    data = draw_table(7)[NUMBERS].assign(debt=np.tile([0.0, 1.0, 2.0, 3.0], 20))

    predictor = predictor_of(make().fit(data, outcomes_of(draw_table(7), 2)), data)

    assert predictor.additive is None
