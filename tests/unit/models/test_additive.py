from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.strategies import generator

from counterpoint.arrays import MISSING, Floats
from counterpoint.models.additive import AdditiveModel, rows_at_thresholds
from counterpoint.models.fast_paths import are_same, quick_ways
from counterpoint.models.predictor import Predictor
from counterpoint.table.schema import Encoding, Schema

N = 80
NUMBERS, LEVELS = ["income", "debt", "share", "age"], ["job", "member"]


def draw_table(seed: int, *, misses: bool = False) -> pd.DataFrame:
    """Return numbers of three dtypes, two features of levels and a one-hot group."""
    rng = generator(seed)
    region = rng.integers(0, 3, N)
    data = pd.DataFrame(
        {
            "income": rng.gamma(2.0, 20.0, N).round(2),
            "debt": rng.normal(0.0, 3.0, N),
            "share": rng.random(N).astype(np.float32),
            "age": rng.integers(18, 80, N),
            "job": pd.Categorical(rng.choice(["clerk", "nurse", "none", "smith"], N)),
            "member": rng.random(N) < 0.5,
            "region_a": (region == 0).astype(int),
            "region_b": (region == 1).astype(int),
            "region_c": (region == 2).astype(int),
        }
    )
    if misses:
        data.loc[rng.random(N) < 0.2, "debt"] = np.nan
        data.loc[rng.random(N) < 0.2, "income"] = np.nan
    return data


def outcomes_of(data: pd.DataFrame, n_classes: int) -> Any:
    """Return classes, or numbers if there are none, that every kind of column has a say in."""
    score = data["income"].fillna(90.0) / 40.0 + data["debt"].isna() + data["debt"].fillna(0.0) / 3
    score += 2.0 * data["share"] - data["age"] / 60.0 + (data["job"] == "nurse") + data["member"]
    score += data["region_b"]
    if n_classes == 0:
        return score
    return np.digitize(score, np.quantile(score, np.linspace(0.0, 1.0, n_classes + 1)[1:-1]))


def schema_of(data: pd.DataFrame) -> Schema:
    groups = {"region": ["region_a", "region_b", "region_c"]}
    return Schema.infer(data, groups=groups if "region_a" in data else None)


def predictor_of(model: Any, data: pd.DataFrame) -> Predictor:
    encoding = Encoding(schema_of(data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Predictor(model, encoding, encoding.encode(data))


def genomes_like(predictor: Predictor, seed: int, n: int = 60) -> Floats:
    """Return genomes of values and levels that never met, numbers near and beyond the observed."""
    rng, features = generator(seed), predictor.encoding.schema.features
    genomes = np.column_stack([rng.choice(column, n) for column in predictor.observed.T])
    for j, feature in enumerate(features):
        if feature.is_numeric:
            step = rng.choice([0.0, 1.0, -7.0, 1000.0], n)
            step = np.where(genomes[:, j] == MISSING, 0.0, step)
            moved = np.clip(genomes[:, j] + step, *feature.dtype_range)
            genomes[:, j] = np.where(step == 0.0, genomes[:, j], moved)
            if feature.is_single:
                genomes[:, j] = genomes[:, j].astype(np.float32)
        else:
            genomes[:, j] = rng.integers(0, len(feature.levels), n)
    return genomes


def assert_same_answers(predictor: Predictor, seed: int) -> AdditiveModel:
    """Compare with the model's own answers, on random genomes and beside thresholds."""
    additive = predictor.additive
    assert additive is not None
    genomes = genomes_like(predictor, seed)
    if additive.forest is not None:
        at = rows_at_thresholds(additive.forest, predictor.encoding, genomes)
        genomes = np.concatenate([genomes, at])

    answers = additive.outputs(genomes)

    expected = predictor.plain.outputs(genomes)
    np.testing.assert_allclose(answers, expected, rtol=1e-6, atol=1e-6)
    if additive.forest is not None:
        assert_first_way_is_exact(predictor, additive, genomes)
    return additive


def assert_first_way_is_exact(
    predictor: Predictor, additive: AdditiveModel, genomes: Floats
) -> None:
    """Compare what the trees say of genomes with the model's own scores and labels, bit by bit."""
    way = quick_ways(predictor.model, predictor.encoding, predictor.observed, additive)[0]
    for method in {predictor.method, "predict"}:
        ask, plain = way.ask(method), predictor._asked_plainly(method).plain
        assert ask is not None
        assert are_same(ask(genomes), plain(genomes))
        np.testing.assert_array_equal(way.to_rows(genomes), genomes)


TREES = {
    "tree": (DecisionTreeClassifier(max_depth=5, random_state=0), 3),
    "forest": (RandomForestClassifier(6, random_state=0), 2),
    "extra": (ExtraTreesClassifier(6, random_state=0), 3),
    "regression tree": (DecisionTreeRegressor(max_depth=5, random_state=0), 0),
    "regression forest": (RandomForestRegressor(6, random_state=0), 0),
    "extra regression": (ExtraTreesRegressor(6, random_state=0), 0),
}
SCALERS = {
    "passthrough": "passthrough",
    "standard": StandardScaler(),
    "range": MinMaxScaler(clip=True),
    "power": PowerTransformer(),
    "quantile": QuantileTransformer(n_quantiles=20),
    "falling": FunctionTransformer(np.negative),
    "two": make_pipeline(StandardScaler(), MinMaxScaler()),
}
ENCODERS = {"one-hot": OneHotEncoder(handle_unknown="ignore"), "ordinal": OrdinalEncoder()}


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("encoder", ENCODERS)
@given(seed=st.integers(0, 999), scaler=st.sampled_from(sorted(SCALERS)))
@settings(max_examples=4, deadline=None)
def test_trees_behind_encoders_and_scalers_are_trees_of_genes(
    kind: str, encoder: str, seed: int, scaler: str
) -> None:
    data, (model, n_classes) = draw_table(seed), TREES[kind]
    first = make_column_transformer((ENCODERS[encoder], LEVELS), (SCALERS[scaler], NUMBERS))
    model = make_pipeline(first, model).fit(data[NUMBERS + LEVELS], outcomes_of(data, n_classes))

    predictor = predictor_of(model, data[NUMBERS + LEVELS])

    additive = assert_same_answers(predictor, seed)
    assert additive.forest is not None
    assert additive.forest.goes_left.shape[1] == 4  # as many as the most levels


@pytest.mark.parametrize("before", [(), ("passthrough",), (None,), (StandardScaler(),)], ids=str)
@given(seed=st.integers(0, 999))
@settings(max_examples=4, deadline=None)
def test_columns_of_a_one_hot_group_are_one_gene(before: tuple[Any, ...], seed: int) -> None:
    data = draw_table(seed).drop(columns="job")
    model = make_pipeline(*before, RandomForestClassifier(6, random_state=0))
    model.fit(data, outcomes_of(draw_table(seed), 2))

    predictor = predictor_of(model, data)

    additive = assert_same_answers(predictor, seed)
    assert additive.slopes.shape == (6, 2)


@pytest.mark.parametrize("fill", ["passthrough", SimpleImputer(add_indicator=True)], ids=str)
@given(seed=st.integers(0, 999))
@settings(max_examples=4, deadline=None)
def test_missing_values_go_where_the_model_or_its_imputer_sends_them(fill: Any, seed: int) -> None:
    data = draw_table(seed, misses=True)[NUMBERS + LEVELS]
    first = make_column_transformer((OneHotEncoder(), LEVELS), (fill, NUMBERS))
    model = make_pipeline(first, RandomForestClassifier(6, random_state=0))
    model.fit(data, outcomes_of(draw_table(seed, misses=True), 2))

    assert_same_answers(predictor_of(model, data), seed)


def test_a_search_over_settings_is_the_best_it_found() -> None:
    data = draw_table(1)[NUMBERS]
    model = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [3]}, cv=2)
    model.fit(data, outcomes_of(draw_table(1), 2))

    assert_same_answers(predictor_of(model, data), 1)


def test_a_feature_without_a_second_value_in_the_data_is_no_constant_of_the_model() -> None:
    data = draw_table(2)[NUMBERS]
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    model.fit(data, outcomes_of(draw_table(2), 2))
    predictor = predictor_of(model, data.assign(age=30))
    genomes = predictor.observed.copy()
    genomes[:, 3] = data["age"]

    assert predictor.additive is not None

    np.testing.assert_array_equal(
        predictor.additive.outputs(genomes), predictor.plain.outputs(genomes)
    )


class Halved(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that answers otherwise than its type does."""

    def predict_proba(self, rows: Any) -> Any:
        """Return probabilities nearer to one half."""
        return super().predict_proba(rows) / 2.0 + 0.25


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(PolynomialFeatures(2), DecisionTreeClassifier()),
        make_pipeline(FunctionTransformer(np.sin), DecisionTreeClassifier()),
        Halved(),
    ],
    ids=["products", "waves", "subclass"],
)
def test_what_is_no_sum_over_genes_is_not_taken_for_one(model: Any) -> None:
    data = draw_table(3)[NUMBERS]

    predictor = predictor_of(model.fit(data, outcomes_of(draw_table(3), 2)), data)

    assert predictor.additive is None


def test_a_function_is_no_sum() -> None:
    data = draw_table(3)[NUMBERS]

    assert predictor_of(lambda rows: rows["age"] / 100.0, data).additive is None
