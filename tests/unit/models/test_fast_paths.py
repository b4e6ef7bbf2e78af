from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from counterpoint.models.fast_paths import (
    ColumnTables,
    FastPath,
    array_layouts,
    bare_ways,
    peel,
    quick_ways,
)
from counterpoint.models.known_models import Core, LinearCore
from counterpoint.table.schema import Encoding, Schema

DATA = pd.DataFrame({"a": [1, 2, 3, 4] * 8, "b": [0.5, 1.5, 2.0, 2.5] * 8, "c": list("xyxz") * 8})
LABELS = [0, 1] * 16
NUMBERS = DATA[["a", "b"]]


def ways_of(model: Any, data: pd.DataFrame) -> list[FastPath]:
    encoding = Encoding(Schema.infer(data))
    return quick_ways(model, encoding, encoding.encode(data))


@pytest.mark.parametrize(
    "model", [lambda rows: rows["a"], LogisticRegression(), object(), make_pipeline("passthrough")]
)
def test_what_is_no_fitted_estimator_has_no_quick_way(model: Any) -> None:
    assert ways_of(model, NUMBERS) == []


def test_an_estimator_of_text_that_encodes_it_somewhere_inside_has_no_quick_way() -> None:
    encode = make_column_transformer((OneHotEncoder(), ["a", "b", "c"]))
    nested = make_pipeline(make_pipeline(encode), LogisticRegression()).fit(DATA, LABELS)

    assert ways_of(nested, DATA) == []


def test_a_tree_is_asked_by_its_core_first_and_then_without_names() -> None:
    model = DecisionTreeClassifier().fit(NUMBERS, LABELS)

    first, second, *_ = ways_of(model, NUMBERS)

    assert isinstance(first.model, Core)
    assert isinstance(second.model, DecisionTreeClassifier)
    assert not hasattr(second.model, "feature_names_in_")


def test_a_search_over_settings_is_asked_by_the_best_it_found() -> None:
    model = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2).fit(NUMBERS, LABELS)

    ways = ways_of(model, NUMBERS)

    assert all(isinstance(way.model, LogisticRegression | LinearCore) for way in ways)


@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_mean=False)])
@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearRegression(), RidgeClassifier()])
def test_a_linear_model_behind_a_scaler_gives_the_same_bits_without_its_checks(
    scaler: Any, estimator: Any
) -> None:
    model = make_pipeline(clone(scaler), clone(estimator)).fit(NUMBERS, LABELS)
    rows = NUMBERS.to_numpy()[:, ::-1] * 1.7
    frame, given = pd.DataFrame(rows, columns=["a", "b"]), rows.copy()

    first, *_ = ways_of(model, NUMBERS)

    methods = [name for name in ("predict_proba", "predict") if hasattr(model, name)]
    asks = {name: first.ask(name) for name in methods}
    assert all(
        ask is not None and np.array_equal(ask(rows), getattr(model, name)(frame))
        for name, ask in asks.items()
    )
    assert np.array_equal(rows, given)


def test_what_is_not_finite_is_left_to_the_linear_model_itself() -> None:
    core = LinearCore(LogisticRegression().fit(NUMBERS.to_numpy(), LABELS))

    with pytest.raises(ValueError, match="finite"):
        core.predict_proba(np.array([[np.nan, 1.0]]))


def test_a_pipeline_is_asked_by_its_last_step() -> None:
    model = make_pipeline(StandardScaler(), "passthrough", LogisticRegression())
    model.fit(NUMBERS.to_numpy(), LABELS)

    way = peel(FastPath(np.copy, model))

    assert way.model is model[-1]
    np.testing.assert_array_equal(
        way.to_rows(NUMBERS.to_numpy()), model[0].transform(NUMBERS.to_numpy())
    )


def test_a_pipeline_of_columns_is_asked_by_tables() -> None:
    encode = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    model = make_pipeline(encode, LogisticRegression()).fit(DATA, LABELS)
    encoding = Encoding(Schema.infer(DATA))

    (way,) = bare_ways(model, encoding, encoding.encode(DATA))

    assert isinstance(way.to_rows, ColumnTables)
    assert model.steps[0][1] is encode
    np.testing.assert_array_equal(
        way.model.predict_proba(way.to_rows(encoding.encode(DATA))), model.predict_proba(DATA)
    )


def test_boosting_that_encodes_categories_is_asked_by_tables() -> None:
    data = DATA.astype({"c": "category"})
    model = HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=2, categorical_features="from_dtype"
    ).fit(data, LABELS)
    encoding = Encoding(Schema.infer(data))

    (way,) = bare_ways(model, encoding, encoding.encode(data))

    assert isinstance(way.to_rows, ColumnTables)
    assert model._preprocessor is not None
    np.testing.assert_array_equal(
        way.model.predict_proba(way.to_rows(encoding.encode(data))), model.predict_proba(data)
    )


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ({"a": "float64", "b": "float64"}, [("float64", "C")]),
        ({"a": "int32", "b": "int16"}, [("int32", "F"), ("float64", "F"), ("float64", "C")]),
        ({"a": "int8", "b": "float32"}, [("float32", "F"), ("float64", "F"), ("float64", "C")]),
        ({"a": "bool", "b": "float32"}, [("float32", "F"), ("float64", "F"), ("float64", "C")]),
        ({"a": "Int64", "b": "float32"}, [("float64", "F"), ("float64", "C")]),
    ],
    ids=str,
)
def test_an_array_has_the_dtype_and_order_of_the_frames(
    dtypes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    data = NUMBERS.round(0).astype(dtypes)
    encoding = Encoding(Schema.infer(data))
    genomes = encoding.encode(data)

    arrays = [to_array(genomes) for to_array in array_layouts(encoding)]

    orders = ["C" if array.flags.c_contiguous else "F" for array in arrays]
    assert [(a.dtype.name, order) for a, order in zip(arrays, orders, strict=True)] == expected
    assert not any(np.shares_memory(array, genomes) for array in arrays)
