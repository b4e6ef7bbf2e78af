"""Laws of saved results: nothing is lost, and no file can do more than be refused."""

from __future__ import annotations

import json
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.result.file.saving import signed
from counterpoint.table.features import RESULT_COLUMNS

SEARCH = cp.Search(generations=2, population=6)
RULES: list[list[Any]] = [
    ["at most 2 changes", "not changed(age)"],
    ["changed(age) or not changed(age)"],
    ["at most 3 changes", lambda rows: np.ones(len(rows), dtype=bool)],
]
N = 6  # observed rows


def save_and_load(found: cp.Counterfactuals) -> cp.Counterfactuals:
    with tempfile.TemporaryDirectory() as folder:
        found.save(f"{folder}/found.json")
        return cp.load(f"{folder}/found.json")


def saved_bytes(found: cp.Counterfactuals) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        found.save(f"{folder}/found.json")
        return Path(f"{folder}/found.json").read_bytes()


def load_bytes(content: bytes) -> cp.Counterfactuals:
    with tempfile.TemporaryDirectory() as folder:
        Path(f"{folder}/found.json").write_bytes(content)
        return cp.load(f"{folder}/found.json")


def assert_same(loaded: cp.Counterfactuals, found: cp.Counterfactuals) -> None:
    """Compare everything public of two results that does not ask the model."""
    for name in ("target", "search", "seed", "notes", "status", "stopped", "message"):
        assert getattr(loaded, name) == getattr(found, name)
    for name in ("row_prediction", "evaluations", "fingerprints", "constraints", "costs"):
        assert getattr(loaded, name) == getattr(found, name)
    assert loaded.objective_names == found.objective_names
    np.testing.assert_array_equal(loaded.reference, found.reference)
    for name in ("genomes", "predictions", "objectives", "reaches", "changed"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(found, name), strict=True)
    for name in ("objectives", "generation", "evaluations", "replies"):
        ours, theirs = getattr(loaded.trace, name), getattr(found.trace, name)
        np.testing.assert_array_equal(ours, theirs, strict=True)
    pd.testing.assert_frame_equal(loaded.row, found.row)
    pd.testing.assert_frame_equal(
        loaded.to_frame(near_misses=True), found.to_frame(near_misses=True)
    )
    pd.testing.assert_frame_equal(
        loaded.to_frame(only_changes=True, near_misses=True),
        found.to_frame(only_changes=True, near_misses=True),
    )
    pd.testing.assert_frame_equal(loaded.history, found.history)
    pd.testing.assert_series_equal(loaded.change_frequency(), found.change_frequency())
    assert (str(loaded), repr(loaded)) == (str(found), repr(found))
    assert (loaded.hypervolume(), loaded.diversity()) == (found.hypervolume(), found.diversity())
    assert str(loaded.valid()) == str(found.valid())
    assert str(loaded.select(2)) == str(found.select(2))
    assert str(loaded.take([])) == str(found.take([]))
    if not found.reaches.all():
        hopeless = np.flatnonzero(~found.reaches)
        assert loaded.take(hopeless).message == found.take(hopeless).message


finite = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: x + 0.0)
texts = st.text(st.characters(codec="utf-8"), max_size=4)
levels = st.one_of(texts, st.integers(-9, 9), st.booleans())


HAS_ARROW = find_spec("pyarrow") is not None
WHOLE = ["int8", "int64", "uint16", "Int32", "UInt8", *["int16[pyarrow]"] * HAS_ARROW]
REAL = ["float64", "float32", "Float64", "Sparse[float64]", *["double[pyarrow]"] * HAS_ARROW]
BOOL = ["bool", "boolean", *["bool[pyarrow]"] * HAS_ARROW]
TEXT: list[Any] = [object, "str", "string[python]", *["string[pyarrow]"] * HAS_ARROW]


def typed(values: st.SearchStrategy[Any], dtypes: list[Any]) -> st.SearchStrategy[Any]:
    """Draw a column of such values in one of the dtypes."""
    several = st.lists(values, min_size=N, max_size=N)
    return st.builds(lambda v, dtype: pd.Series(v, dtype=dtype), several, st.sampled_from(dtypes))


@st.composite
def categories(draw: st.DrawFn) -> Any:
    """Draw a column of categories, ordered or not."""
    known: Any = list(dict.fromkeys(draw(st.lists(levels, min_size=1, max_size=4))))  # True is 1
    codes = draw(st.lists(st.integers(0, len(known) - 1), min_size=N, max_size=N))
    return pd.Series(pd.Categorical.from_codes(codes, known, ordered=draw(st.booleans())))


def columns() -> st.SearchStrategy[Any]:
    """Draw a column of any kind a table may have."""
    different = st.lists(st.integers(0, 99), min_size=N, max_size=N, unique=True)
    return st.one_of(
        typed(st.integers(0, 100), WHOLE),
        typed(finite, REAL),
        typed(st.booleans(), BOOL),
        typed(texts, TEXT),
        categories(),
        different.map(lambda values: pd.Series(pd.cut(np.array(values), 3))),
    )


def own_names(columns: list[Any]) -> st.SearchStrategy[list[str]]:
    """Draw names of objectives that no column has."""
    taken = {*RESULT_COLUMNS, *columns}
    names = texts.filter(lambda name: name.strip() and name not in taken)
    return st.lists(names, max_size=2, unique=True)


@st.composite
def results(draw: st.DrawFn) -> cp.Counterfactuals:
    """Draw a table, a question and its answer."""
    more = st.lists(levels | st.tuples(texts, texts), max_size=3)
    drawn = draw(more)
    names = list(dict.fromkeys(["age", *drawn]))  # True is 1
    frame = pd.DataFrame({j: draw(columns()) for j in range(len(names))})
    frame.columns = pd.Index(names, tupleize_cols=False)
    indices: list[Any] = [pd.RangeIndex(N), pd.Index(list("abcdef"), name="id")]
    frame.index = draw(st.sampled_from(indices))
    scores = draw(st.lists(st.floats(0, 1), min_size=4, max_size=4))

    def model(rows: pd.DataFrame) -> Any:
        sums = [sum(map(hash_of, row)) for row in rows.astype(object).to_numpy()]
        return np.array([scores[total % 4] for total in sums])

    low = draw(st.floats(0.1, 1))
    target = draw(st.sampled_from([(low, None), (None, low - 0.05), (low, 1.5), low]))
    fixed = draw(st.lists(st.sampled_from(names), max_size=len(names) - 1, unique=True))
    searches: list[Any] = [SEARCH, cp.WhatIf(n=2), cp.Search(generations=1, epsilon=None)]
    search = draw(st.sampled_from(searches))

    def own(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        sums = [sum(map(hash_of, cells)) for cells in rows.astype(object).to_numpy()]
        return [total % 7 + 0.125 * len(row) for total in sums]

    aims: Any = {
        "objectives": [cp.Objective(name, own) for name in draw(own_names(names))],
        "distance": draw(st.sampled_from([None, cp.Gower("mad"), cp.Distance("distance", own, 9)])),
        "plausibility": draw(st.sampled_from([None, cp.Objective("implausibility", own)])),
    }
    precision: Any = draw(st.sampled_from(["observed", "full"]))
    explainer = cp.Explainer(model, frame, precision=precision, **aims)
    row = frame.iloc[[draw(st.integers(0, N - 1))]]
    max_changed = draw(st.none() | st.integers(1, 3))
    seed = draw(st.integers(0, 2**64 - 1))
    rules = draw(st.sampled_from([[], *RULES]))
    limits: Any = {"fixed": fixed, "max_changed": max_changed, "constraints": rules}
    costs = draw(st.none() | st.dictionaries(st.sampled_from(names), st.floats(0.1, 9.0)))
    if isinstance(aims["distance"], cp.Distance):
        costs = None
    try:
        return explainer.explain(row, target, search, seed, **limits, costs=costs)
    except cp.InvalidInput as error:  # rules and limits can pin every feature
        assume("leave every feature at the row's value" not in str(error))
        raise


def hash_of(value: Any) -> int:
    """Return a number for a cell, the same in every process."""
    return len(str(value)) + sum(map(ord, str(value)))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(found=results())
def test_a_loaded_result_is_the_saved_one_in_everything(found: cp.Counterfactuals) -> None:
    loaded = save_and_load(found)

    assert_same(loaded, found)
    assert saved_bytes(loaded) == saved_bytes(found)


def small_result() -> cp.Counterfactuals:
    data = pd.DataFrame(
        {"age": [20, 30, 40], "job": ["a", "b", "a"], "size": pd.Categorical(["S", "M", "S"])}
    )
    explainer = cp.Explainer(lambda rows: rows["age"] / 50, data)
    row = {"age": 20, "job": "a", "size": "S"}
    search, rules = cp.Search(generations=1, population=4), ["age increases", "job in {a, b}"]
    return explainer.explain(row, (0.7, None), search, constraints=rules, costs={"age": 2.0})


FOUND = small_result()
SAVED = saved_bytes(FOUND)
DOCUMENT = json.loads(SAVED)


@settings(deadline=None, max_examples=400)
@given(at=st.integers(0, len(SAVED) - 1), byte=st.integers(0, 255))
def test_a_file_with_one_wrong_byte_is_the_same_or_refused(at: int, byte: int) -> None:
    content = SAVED[:at] + bytes([byte]) + SAVED[at + 1 :]

    try:
        loaded = load_bytes(content)
    except cp.CounterpointError:
        return
    assert_same(loaded, FOUND)


@settings(deadline=None, max_examples=100)
@given(end=st.integers(0, len(SAVED) - 2))
def test_a_part_of_a_file_is_refused(end: int) -> None:
    try:
        load_bytes(SAVED[:end])
    except cp.InvalidInput:
        return
    raise AssertionError(f"the first {end} bytes of {len(SAVED)} were believed")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([2**63, 10**400, -1, 0, 1e308, "object", "category", "datetime64[ns]"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=5)
            | st.sampled_from(
                ["numpy", "tuple", "interval", "timestamp", "categories", "of", "sparse"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=200)
@given(value=json_values)
@example(value={"format": "counterpoint/counterfactuals", "version": 1})
def test_any_json_is_refused(value: Any) -> None:
    try:
        load_bytes(json.dumps(value).encode())
    except cp.InvalidInput:
        return
    raise AssertionError("it was believed")


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value of a document."""
    pairs: Any = enumerate(value) if isinstance(value, list) else ()
    pairs = value.items() if isinstance(value, dict) else pairs
    return [way, *(place for key, inner in pairs for place in places(inner, (*way, key)))]


PLACES = [place for place in places(DOCUMENT) if place]


@settings(deadline=None, max_examples=600)
@given(place=st.sampled_from(PLACES), value=json_values | st.sampled_from([*DOCUMENT.values()]))
def test_any_value_in_any_place_gives_a_result_or_is_refused(place: Any, value: Any) -> None:
    """With a checksum that fits: a forged file may load, but must then work as a result does."""
    document = json.loads(SAVED)
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        content = json.dumps(signed(document)).encode()
    except ValueError:  # NaN has no place in JSON
        content = json.dumps(document).encode()

    try:
        loaded = load_bytes(content)
    except cp.CounterpointError:
        return
    assert len(loaded.to_frame(near_misses=True)) == len(loaded.genomes)
    assert str(loaded)
    assert len(loaded.history) == len(loaded.trace.evaluations)
