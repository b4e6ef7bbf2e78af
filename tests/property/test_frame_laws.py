"""What a table of polars, pyarrow or NumPy says comes back in the same kind and dtypes."""

from __future__ import annotations

import datetime
import functools
import inspect
import tempfile
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.table.frames import as_frame, read_data
from counterpoint.table.schema import Encoding, Schema

WORDS = st.text(alphabet="abcÄß ", min_size=1, max_size=4)
SINGLES = st.floats(-1e6, 1e6, width=32)
REALS = st.floats(-1e9, 1e9)
DAYS = st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 12, 31))
WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)
LEVELS = ["low", "mid", "high"]

POLARS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pl.Int8(), st.integers(-128, 127)),
    (pl.UInt16(), st.integers(0, 2**16 - 1)),
    (pl.Int64(), WHOLE),
    (pl.Float32(), SINGLES),
    (pl.Float64(), REALS),
    (pl.Boolean(), st.booleans()),
    (pl.String(), WORDS),
    (pl.Categorical(), WORDS),
    (pl.Enum(LEVELS), st.sampled_from(LEVELS)),
    (pl.Date(), DAYS),
]
ARROW: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint16(), st.integers(0, 2**16 - 1)),
    (pa.int64(), WHOLE),
    (pa.float32(), SINGLES),
    (pa.float64(), REALS),
    (pa.bool_(), st.booleans()),
    (pa.string(), WORDS),
    (pa.large_string(), WORDS),
    (pa.dictionary(pa.int16(), pa.string()), WORDS),
    (pa.date32(), DAYS),
    (pa.timestamp("us"), DAYS.map(lambda day: datetime.datetime(day.year, day.month, day.day))),
]


@st.composite
def tables(draw: st.DrawFn) -> Any:
    is_polars, n = draw(st.booleans()), draw(st.integers(1, 6))
    names = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    columns: dict[str, Any] = {}
    for name in names:
        dtype, values = draw(st.sampled_from(POLARS if is_polars else ARROW))
        cells = draw(st.lists(values, min_size=n, max_size=n))
        make = pl.Series if is_polars else pa.array
        key = "dtype" if is_polars else "type"
        columns[name] = make(cells, **{key: dtype})
    return pl.DataFrame(columns) if is_polars else pa.table(columns)


@settings(deadline=None)
@given(data=tables())
def test_decoding_undoes_encoding_in_values_dtypes_and_order(data: Any) -> None:
    frame, form = read_data(data)
    encoding = Encoding(Schema.infer(frame, groups={}), form)

    again = encoding.to_rows(encoding.encode(frame))

    assert type(again) is type(data)
    assert again.schema == data.schema
    assert again.equals(data)


@settings(deadline=None)
@given(data=tables())
def test_a_row_of_the_table_or_as_a_dict_has_one_genome(data: Any) -> None:
    frame, form = read_data(data)
    encoding = Encoding(Schema.infer(frame, groups={}), form)
    row = data.to_dicts()[0] if isinstance(data, pl.DataFrame) else data.to_pylist()[0]

    genomes = [encoding.encode(as_frame(form, "row")) for form in (data[:1], row)]

    np.testing.assert_array_equal(np.concatenate(genomes), encoding.encode(frame)[[0, 0]])


def judge(rows: Any) -> Any:
    """Judge rows by the texts of their cells, whatever they are."""
    cells = (
        rows.rows()
        if isinstance(rows, pl.DataFrame)
        else [tuple(row.values()) for row in rows.to_pylist()]
    )
    return np.array([sum(map(ord, "".join(map(str, row)))) % 100 / 100.0 for row in cells])


@settings(deadline=None, max_examples=40)
@given(data=tables(), high=st.floats(0.3, 1.0))
def test_whatever_the_table_results_are_of_its_kind_valid_and_saved(data: Any, high: float) -> None:
    explainer = cp.Explainer(judge, data, groups={})

    found = explainer.explain(data[:1], (high - 0.3, high), cp.Search(evaluations=60))

    rows = found.to_rows(near_misses=True)
    assert rows.schema == data.schema
    np.testing.assert_array_equal(judge(rows), found.predictions)
    assert all(high - 0.3 <= score <= high for score in judge(found.valid().to_rows()))
    with tempfile.TemporaryDirectory() as folder:
        found.save(f"{folder}/found.json")
        loaded = cp.load(f"{folder}/found.json")
    assert loaded.to_rows(near_misses=True).schema == data.schema
    assert loaded.to_frame(near_misses=True).equals(found.to_frame(near_misses=True))
    assert str(loaded) == str(found)


def tables_of(thing: Any) -> dict[str, Any]:
    """Return the tables that its public properties, and methods without arguments, give."""
    found: dict[str, Any] = {}
    for name in dir(type(thing)):
        value = inspect.getattr_static(type(thing), name)
        if name.startswith("_") or name in ("to_pandas", "serve"):  # says pandas; never ends
            continue
        if inspect.isfunction(value):
            _, *parameters = inspect.signature(value).parameters.values()
            if all(each.default is not each.empty for each in parameters):
                found[name] = getattr(thing, name)()
        elif isinstance(value, property | functools.cached_property):
            found[name] = getattr(thing, name)
    libraries = ("pandas", "polars", "pyarrow")
    return {
        name: value
        for name, value in found.items()
        if type(value).__module__.partition(".")[0] in libraries
    }


def score(rows: Any) -> Any:
    """Score rows of any kind by two of their columns."""
    return np.asarray(rows["age"]) / 50 - np.asarray(rows["debt"]) / 20


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_table_that_is_returned_is_of_the_callers_kind(kind: Any) -> None:
    data = kind(
        {"age": [20, 30, 40, 50], "debt": [9.0, 5.0, 3.0, 1.0], "job": ["a", "b", "a", "c"]}
    )
    explainer, row, target = cp.Explainer(score, data), data[:1], (0.5, None)
    found = explainer.explain(row, target, cp.Search(evaluations=200))
    ways = found.ways()
    judgement, verified = (
        explainer.judge(found.to_rows(), row, target),
        explainer.verify(row, target),
    )

    tables = {
        f"{type(thing).__name__}.{name}": table
        for thing in (explainer, found, ways, ways[0], judgement, verified)
        for name, table in tables_of(thing).items()
    }
    tables["explain_frame"] = cp.explain_frame(explainer, row, target)

    assert {"Counterfactuals.safety", "Counterfactuals.change_frequency"} <= set(tables)
    kinds = {name: type(table).__module__.partition(".")[0] for name, table in tables.items()}
    assert set(kinds.values()) == {type(data).__module__.partition(".")[0]}, kinds


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table])
def test_without_an_index_features_are_a_column(kind: Any) -> None:
    columns: dict[str, list[Any]] = {"age": [20, 30, 40, 50], "debt": [9.0, 5.0, 3.0, 1.0]}
    row = {name: values[0] for name, values in columns.items()}
    known = cp.Explainer(score, pd.DataFrame(columns)).explain(row, (0.5, None))
    found = cp.Explainer(score, kind(columns)).explain(row, (0.5, None))

    frequency, safety = found.change_frequency(), found.safety()

    expected = known.change_frequency()
    assert list(frequency["feature"].to_pylist() if kind is pa.table else frequency["feature"]) == (
        expected.index.tolist()
    )
    np.testing.assert_array_equal(frequency["frequency"].to_numpy(), expected.to_numpy())
    for name, column in known.safety().items():
        np.testing.assert_array_equal(safety[name].to_numpy(), column.to_numpy())


@settings(deadline=None)
@given(
    codes=st.lists(st.integers(0, 3), min_size=2, max_size=12),
    drops=st.booleans(),
    dtype=st.sampled_from(["bool", "int8", "float32", "float64", "Int64", "boolean"]),
    order=st.permutations(["age", "job_a", "job_b", "job_c"]),
)
def test_a_group_in_any_order_and_dtype_comes_back(
    codes: list[int], drops: bool, dtype: Any, order: list[str]
) -> None:
    switches = np.array(codes)[:, None] == np.arange(3)
    if not drops:
        switches[~switches.any(axis=1), 0] = True
    data = pl.DataFrame(dict(zip(["job_a", "job_b", "job_c"], switches.T, strict=True))).to_pandas()
    data = data.astype(dtype).assign(age=np.arange(len(codes)))[order]
    encoding = Encoding(Schema.infer(data, groups={"job": ["job_a", "job_b", "job_c"]}))

    genomes = encoding.encode(data)

    again = encoding.decode(genomes)
    assert again.equals(data)
    assert (again.dtypes == data.dtypes).all()
    assert genomes.shape[1] == 2
