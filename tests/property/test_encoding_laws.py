"""Encoding loses nothing: what a frame says, its genomes say, and the frame comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.arrays import LARGEST
from counterpoint.table.frames import as_frame
from counterpoint.table.schema import Encoding, Schema

words = st.text(alphabet="abcÄß ", min_size=1, max_size=4)
singles = st.floats(-1e6, 1e6, width=32)


def column_of(dtype: str, values: st.SearchStrategy[Any], n: int) -> st.SearchStrategy[Any]:
    return st.lists(values, min_size=n, max_size=n).map(lambda v: pd.Series(v, dtype=dtype))


@st.composite
def categories(draw: st.DrawFn, n: int) -> Any:
    levels: Any = draw(
        st.lists(words, min_size=1, max_size=5, unique=True)
        | st.lists(st.integers(-9, 9), min_size=1, max_size=5, unique=True)
        | st.permutations([True, False])
    )
    codes = draw(st.lists(st.integers(0, len(levels) - 1), min_size=n, max_size=n))
    is_ordered = draw(st.booleans())
    return pd.Series(pd.Categorical.from_codes(codes, categories=levels, ordered=is_ordered))


def columns(n: int) -> st.SearchStrategy[Any]:
    whole = st.integers(-(2**53) + 1, 2**53 - 1)
    real = st.floats(-LARGEST, LARGEST)
    return st.one_of(
        column_of("int64", whole, n),
        column_of("int8", st.integers(-128, 127), n),
        column_of("uint16", st.integers(0, 2**16 - 1), n),
        column_of("Int64", whole, n),
        column_of("float64", real, n),
        column_of("float64", st.decimals(-99, 99, places=2).map(float), n),
        column_of("float32", singles, n),
        column_of("Float64", real, n),
        column_of("Float32", singles, n),
        column_of("bool", st.booleans(), n),
        column_of("boolean", st.booleans(), n),
        column_of("str", words, n),
        column_of("object", words, n),
        categories(n),
    )


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(1, 6))
    names = draw(st.lists(words | st.integers(0, 9), min_size=1, max_size=5, unique=True))
    data: pd.DataFrame = pd.concat([draw(columns(n)) for _ in names], axis=1)
    data.columns = pd.Index(names)
    return data


@settings(deadline=None)
@given(data=frames())
def test_decoding_undoes_encoding_in_values_dtypes_categories_and_order(data: pd.DataFrame) -> None:
    encoding = Encoding(Schema.infer(data))

    decoded = encoding.decode(encoding.encode(data))

    pd.testing.assert_frame_equal(decoded, data, check_exact=True)


@settings(deadline=None)
@given(data=frames())
def test_encoding_undoes_decoding(data: pd.DataFrame) -> None:
    encoding = Encoding(Schema.infer(data))
    genomes = encoding.encode(data)

    again = encoding.encode(encoding.decode(genomes))

    np.testing.assert_array_equal(again, genomes)


@settings(deadline=None)
@given(data=frames(), choice=st.randoms(use_true_random=False))
def test_the_order_of_a_rows_columns_does_not_matter(data: pd.DataFrame, choice: Any) -> None:
    encoding = Encoding(Schema.infer(data))
    order = list(range(data.shape[1]))
    choice.shuffle(order)

    genomes = encoding.encode(data.iloc[:, order])

    np.testing.assert_array_equal(genomes, encoding.encode(data))


@settings(deadline=None)
@given(data=frames())
def test_a_row_as_dict_series_or_frame_has_one_genome(data: pd.DataFrame) -> None:
    encoding = Encoding(Schema.infer(data))
    mixed = data.astype(object)  # so that a row keeps its integers beside floats
    forms: list[Any] = [data.iloc[[0]], mixed.iloc[[0]], mixed.iloc[0], mixed.iloc[0].to_dict()]

    genomes = [encoding.encode(as_frame(form, "row"), "row") for form in forms]

    np.testing.assert_array_equal(np.concatenate(genomes), encoding.encode(data)[[0] * 4])


@settings(deadline=None)
@given(data=frames())
def test_genomes_lie_in_the_observed_box(data: pd.DataFrame) -> None:
    schema = Schema.infer(data)

    genomes = Encoding(schema).encode(data)

    assert (genomes >= [feature.low for feature in schema.features]).all()
    assert (genomes <= [feature.high for feature in schema.features]).all()
