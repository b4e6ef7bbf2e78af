from __future__ import annotations

import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from tests.strategies import generator

from counterpoint.arrays import Floats
from counterpoint.models.fast_paths import MOST_CELLS, tabulate
from counterpoint.table.features import Categorical
from counterpoint.table.schema import Encoding, Schema

N = 80


def table() -> pd.DataFrame:
    rng = generator(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "job": rng.choice(["clerk", "nurse", "smith"], N),
            "debt": rng.normal(4.0, 2.0, N).round(1),
            "city": pd.Categorical(rng.choice(["Bonn", "Oslo"], N), ["Bonn", "Oslo", "Rome"]),
            "rate": rng.normal(0.0, 1.0, N).astype(np.float32),
            "owns": rng.random(N) < 0.4,
            "size": pd.Categorical(rng.choice(["s", "m"], N), ["s", "m"], ordered=True),
        }
    )


DATA = table()
ENCODING = Encoding(Schema.infer(DATA))
OBSERVED = ENCODING.encode(DATA)
NUMBERS = ["age", "debt", "rate"]
LEVELS = ["job", "city", "owns", "size"]
OF_NUMBERS = {
    "scaled": StandardScaler(),
    "ranged": MinMaxScaler(),
    "filled": make_pipeline(SimpleImputer(), StandardScaler()),
    "binned": KBinsDiscretizer(3, strategy="uniform"),
    "crossed": PolynomialFeatures(2),  # numbers may meet: they are asked, not tabulated
    "kept": "passthrough",
    "dropped": "drop",
}
OF_LEVELS = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "dense": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "single": OneHotEncoder(handle_unknown="ignore", dtype=np.float32),
    "shorter": OneHotEncoder(drop="first", handle_unknown="ignore"),
    "rare": OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist"),
    "codes": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "filled": make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    ),
}


def same(made: Any, expected: Any) -> None:
    """Assert that two matrices agree in kind, dtype, order and bits."""
    assert type(made) is type(expected)
    assert made.dtype == expected.dtype
    if hasattr(made, "toarray"):
        np.testing.assert_array_equal(made.indptr, expected.indptr)
        np.testing.assert_array_equal(made.indices, expected.indices)
        made, expected = made.toarray(), expected.toarray()
    np.testing.assert_array_equal(made, expected)
    assert made.flags.c_contiguous == expected.flags.c_contiguous


@st.composite
def genomes(draw: st.DrawFn) -> Floats:
    """Return rows that mix the values of the columns, with levels nobody has."""
    rng, n = generator(draw(st.integers(0, 99))), draw(st.integers(2, 40))
    rows = np.column_stack([rng.choice(column, n) for column in OBSERVED.T])
    if draw(st.booleans()):
        rows[0, 3] = 2.0  # Rome
    return rows


@given(
    of_numbers=st.sampled_from(list(OF_NUMBERS)),
    of_levels=st.sampled_from(list(OF_LEVELS)),
    n_numbers=st.integers(0, 3),
    n_levels=st.integers(0, 4),
    is_reversed=st.booleans(),
    threshold=st.sampled_from([0.0, 0.3, 1.0]),
    rows=genomes(),
)
@settings(max_examples=60, deadline=None)
def test_tables_give_what_the_transformer_gives_bit_for_bit(
    of_numbers: str,
    of_levels: str,
    n_numbers: int,
    n_levels: int,
    is_reversed: bool,
    threshold: float,
    rows: Floats,
) -> None:
    parts = [
        ("numbers", OF_NUMBERS[of_numbers], NUMBERS[:n_numbers]),
        ("levels", OF_LEVELS[of_levels], LEVELS[:n_levels]),
    ]
    made = ColumnTransformer(parts[::-1] if is_reversed else parts, sparse_threshold=threshold)
    made.fit(DATA)
    if made.transform(DATA).shape[1] == 0:
        return

    tables = tabulate(made, ENCODING, OBSERVED)

    if tables is None:  # it would warn of a level nobody has
        assert of_levels in ("shorter", "rare")
        assert n_levels >= 2
        return
    same(tables(rows), made.transform(ENCODING.decode(rows.copy())))


def test_asking_leaves_the_transformer_as_it_was() -> None:
    made = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["job"]))
    made.fit(DATA)
    before = joblib.hash(made)

    tables = tabulate(made, ENCODING, OBSERVED)

    assert tables is not None
    tables(OBSERVED)
    assert joblib.hash(made) == before


@pytest.mark.parametrize("chosen", ["job", ["job"], slice("job", "job"), [1], 1, slice(1, 2)])
def test_columns_may_be_named_or_counted(chosen: Any) -> None:
    encode = CountVectorizer() if isinstance(chosen, str | int) else OneHotEncoder()
    made = ColumnTransformer([("job", encode, chosen)], remainder=StandardScaler())
    data = DATA[["age", "job", "debt"]]
    encoding = Encoding(Schema.infer(data))

    tables = tabulate(made.fit(data), encoding, encoding.encode(data))

    assert tables is not None
    same(tables(encoding.encode(data)), made.transform(data))


def test_a_table_in_another_order_than_the_transformers_is_understood() -> None:
    made = make_column_transformer((StandardScaler(), ["age", "debt"]), (OneHotEncoder(), ["job"]))
    made.fit(DATA[["debt", "job", "age"]])
    data = DATA[["age", "debt", "job"]]
    encoding = Encoding(Schema.infer(data))

    tables = tabulate(made, encoding, encoding.encode(data))

    assert tables is not None
    same(tables(encoding.encode(data)), made.transform(data))


class Crossed(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Say whether two columns of text are equal: no column alone decides it."""

    def fit(self, rows: Any, labels: Any = None) -> Crossed:  # noqa: ARG002
        """Learn nothing."""
        return self

    def transform(self, rows: pd.DataFrame) -> Any:
        """Return one column."""
        return (rows.iloc[:, 0].astype(str) == rows.iloc[:, 1].astype(str)).to_numpy()[
            :, None
        ] * 1.0


def test_a_column_made_of_two_has_no_table() -> None:
    data = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": ["x", "x", "y", "y"]})
    encoding = Encoding(Schema.infer(data))
    made = ColumnTransformer([("both", Crossed(), ["a", "b"])]).fit(data)

    assert tabulate(made, encoding, encoding.encode(data)) is None


class WarningEncoder(OneHotEncoder):  # type: ignore[misc]
    """Warn of levels that it does not know, as scikit-learn's own can since its version 1.6."""

    def transform(self, rows: pd.DataFrame) -> Any:
        """Return a column for each known level."""
        if not rows.isin(["Bonn", "Oslo"]).all(axis=None):
            warnings.warn("a level that is not known", stacklevel=2)
        return super().transform(rows)


@pytest.mark.parametrize("encode", [OneHotEncoder(), WarningEncoder(handle_unknown="ignore")])
def test_a_transformer_that_refuses_a_level_or_warns_of_it_has_no_table(encode: Any) -> None:
    made = make_column_transformer((encode, ["city"])).fit(DATA)  # Rome is a level nobody has

    assert tabulate(made, ENCODING, OBSERVED) is None


def test_numbers_and_levels_that_go_in_together_have_no_table() -> None:
    made = make_column_transformer((OrdinalEncoder(), ["age", "job"])).fit(DATA)

    assert tabulate(made, ENCODING, OBSERVED) is None


def test_columns_that_stay_text_have_no_table() -> None:
    made = make_column_transformer(("passthrough", ["age", "job"])).fit(DATA)

    assert tabulate(made, ENCODING, OBSERVED) is None


def test_columns_of_very_many_levels_are_left_to_frames() -> None:
    n = int(MOST_CELLS**0.5) + 1
    data = pd.DataFrame({"name": [f"n{i}" for i in range(n)]})
    encoding = Encoding(Schema.infer(data, features={"name": Categorical()}))
    made = make_column_transformer((OneHotEncoder(dtype=np.float32), ["name"])).fit(data)

    assert tabulate(made, encoding, encoding.encode(data)) is None
