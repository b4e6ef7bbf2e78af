from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from tests.unit.models.test_additive import (
    LEVELS,
    NUMBERS,
    assert_same_answers,
    draw_table,
    outcomes_of,
    predictor_of,
)

LINEAR = {
    "logistic": (LogisticRegression(), 2),
    "logistic of three": (LogisticRegression(max_iter=1000), 3),
    "discriminant": (LinearDiscriminantAnalysis(), 3),
    "support vectors": (LinearSVC(), 2),
    "support vectors of three": (LinearSVC(), 3),
    "kernel": (SVC(kernel="linear"), 2),
    "ridge of classes": (RidgeClassifier(), 2),
    "descent of classes": (SGDClassifier(random_state=0), 3),
    "descent with probabilities": (SGDClassifier(loss="log_loss", random_state=0), 2),
    "least squares": (LinearRegression(), 0),
    "ridge": (Ridge(), 0),
    "lasso": (Lasso(0.01), 0),
    "descent": (SGDRegressor(random_state=0), 0),
}


@pytest.mark.parametrize("kind", LINEAR)
@given(seed=st.integers(0, 999), scaler=st.sampled_from([StandardScaler(), MinMaxScaler()]))
@settings(max_examples=3, deadline=None)
def test_linear_models_behind_encoders_and_scalers_are_sums_over_genes(
    kind: str, seed: int, scaler: Any
) -> None:
    data, (model, n_classes) = draw_table(seed), LINEAR[kind]
    columns = [*NUMBERS, *LEVELS, "region_a", "region_b", "region_c"]
    group = ("passthrough", ["region_a", "region_b", "region_c"])
    encode = OneHotEncoder(sparse_output=False)
    first = make_column_transformer((encode, LEVELS), (scaler, NUMBERS), group)
    model = make_pipeline(first, model).fit(data[columns], outcomes_of(data, n_classes))

    predictor = predictor_of(model, data[columns])

    additive = assert_same_answers(predictor, seed)
    assert additive.forest is None
    is_level = np.array([not each.is_numeric for each in predictor.encoding.schema.features])
    assert (additive.slopes[is_level] == 0.0).all()
    assert (additive.level_values[~is_level] == 0.0).all()


def test_a_linear_model_of_counts_is_the_exponential_of_a_sum() -> None:
    data = draw_table(4)[NUMBERS]
    model = make_pipeline(MinMaxScaler(), PoissonRegressor())
    predictor = predictor_of(model.fit(data, outcomes_of(draw_table(4), 3)), data)

    assert predictor.additive is not None
    assert predictor.additive.link == "exp"

    np.testing.assert_allclose(
        predictor.additive.outputs(predictor.observed), predictor.plain.observed_outputs
    )


@given(seed=st.integers(0, 999))
@settings(max_examples=3, deadline=None)
def test_a_missing_value_adds_what_its_imputer_makes_of_it(seed: int) -> None:
    data = draw_table(seed, misses=True)[NUMBERS + LEVELS]
    fill = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    first = make_column_transformer((OneHotEncoder(), LEVELS), (fill, NUMBERS))
    model = make_pipeline(first, LogisticRegression())
    model.fit(data, outcomes_of(draw_table(seed, misses=True), 2))

    additive = assert_same_answers(predictor_of(model, data), seed)

    is_missing = [True, True, False, False, False, False]
    assert (additive.level_values[:, -1].any(axis=1) == is_missing).all()


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(FunctionTransformer(np.cbrt), LogisticRegression()),
        SVC(kernel="rbf"),
    ],
    ids=["curve", "kernel"],
)
def test_what_is_not_linear_in_genes_is_no_sum_over_them(model: Any) -> None:
    data = draw_table(1)[NUMBERS]

    predictor = predictor_of(model.fit(data, outcomes_of(draw_table(1), 2)), data)

    assert predictor.additive is None
