"""Laws of one-hot columns that nobody declared: what was one feature is searched as one."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.strategies import generator

import counterpoint as cp
from counterpoint.table.groups import prefixes_of
from counterpoint.table.schema import Encoding, Schema

N = 240
WORDS = ["a", "b", "type", "home", "Age", "is", "1", "-1", "<5", "x y", "é", "[T]", "(1, 2]", "nan"]
JOINTS = ["_", "__", ".", "-", " ", "=", ": ", "/", "|", "→"]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
names = st.builds(lambda words, joint: joint.join(words), texts, st.sampled_from(JOINTS))


class Encoded(NamedTuple):
    """A table that was one-hot encoded, and which columns each of its features became."""

    table: pd.DataFrame
    sources: list[list[str]]


@st.composite
def encoded_tables(draw: st.DrawFn, *, drop_first: bool) -> Encoded:
    """Draw a table from `pd.get_dummies`, with awkward names, flags and a number beside it."""
    rng = generator(draw(st.integers(0, 2**32)))
    features = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    joint, dtype = draw(st.sampled_from(JOINTS)), draw(st.sampled_from(["bool", "int64", "float"]))
    parts: list[pd.DataFrame] = []
    for name in features:
        fewest = 3 if drop_first else 2
        levels = draw(st.lists(names, min_size=fewest, max_size=5, unique=True))
        values = pd.Series(levels)[rng.permutation(np.arange(N) % len(levels))]
        dummies = pd.get_dummies(
            values.to_frame(name), prefix_sep=joint, drop_first=drop_first, dtype=dtype
        )
        parts.append(dummies.reset_index(drop=True))
    flags = {f"{name}{joint}flag": rng.integers(0, 2, N) for name in features[:2]}
    table = pd.concat([*parts, pd.DataFrame(flags | {"income": rng.integers(1, 90, N)})], axis=1)
    assume(table.columns.is_unique)
    return Encoded(table, [list(part.columns) for part in parts])


def schema_of(table: pd.DataFrame) -> tuple[Schema, list[str]]:
    """Return the schema, and what is said of the table."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schema = Schema.infer(table)
    return schema, [str(each.message) for each in caught]


def any_rows(schema: Schema, n: int = 200) -> pd.DataFrame:
    """Return rows that a search could make: any value of each feature, whatever the others are."""
    rng = generator(0)
    genomes = [rng.integers(int(each.low), int(each.high) + 1, n) for each in schema.features]
    return Encoding(schema).decode(np.column_stack(genomes).astype(np.float64))


@settings(deadline=None, max_examples=50)
@given(encoded_tables(drop_first=False))
def test_complete_encodings_are_found_whole_whatever_they_are_called(encoded: Encoded) -> None:
    schema, said = schema_of(encoded.table)

    groups = [[column.name for column in each.columns] for each in schema.features if each.columns]
    assert sorted(groups) == sorted(encoded.sources)
    assert len(said) == 1
    rows = any_rows(schema)
    assert all((rows[columns].sum(axis=1) == 1).all() for columns in encoded.sources)
    encoding = Encoding(schema)
    pd.testing.assert_frame_equal(encoding.decode(encoding.encode(encoded.table)), encoded.table)


def are_apart(sources: list[list[str]]) -> bool:
    """Whether no two encodings have a prefix in common that is longer than what begins them all."""
    prefixes = [{each for column in columns for each in prefixes_of(column)} for columns in sources]
    return all(not a & b for i, a in enumerate(prefixes) for b in prefixes[:i])


@settings(deadline=None, max_examples=50)
@given(encoded_tables(drop_first=True))
def test_encodings_without_their_first_column_never_have_two_on(encoded: Encoded) -> None:
    assume(are_apart(encoded.sources))
    schema, said = schema_of(encoded.table.drop(columns=encoded.table.filter(regex="flag$")))

    assert len(said) == 1
    rows = any_rows(schema)
    assert all((rows[columns].sum(axis=1) <= 1).all() for columns in encoded.sources)


@settings(deadline=None, max_examples=8)
@given(encoded_tables(drop_first=False), st.booleans())
def test_no_returned_row_has_two_levels_on(encoded: Encoded, is_paper: bool) -> None:
    def model(rows: pd.DataFrame) -> Any:
        weights = np.linspace(-1.0, 1.0, len(rows.columns) - 1)
        return rows.iloc[:, :-1].to_numpy(np.float64) @ weights + rows["income"] / 90

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.DataWarning)
        explainer = cp.Explainer(model, encoded.table)
    search: Any = cp.Search(evaluations=200)
    if is_paper:
        search = cp.Search(method="nsga2", evaluations=200, population=10)

    found = explainer.explain(encoded.table[:1], (1.5, None), search)

    rows = found.to_rows(near_misses=True)
    assert all((rows[columns].sum(axis=1) == 1).all() for columns in encoded.sources)
