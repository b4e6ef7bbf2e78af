"""The adversarial forest: columns, leaves, imitation, and when it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from tests.strategies import generator

from counterpoint.arrays import Floats
from counterpoint.density.adversarial_forest import (
    BY_THRESHOLD,
    MOST_LEVELS,
    Columns,
    Settings,
    as_columns,
    columns_of,
    grouped,
    grove_of,
    grow,
    imitate,
    leaves_of,
)
from counterpoint.streams import row_keys
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Space, describe_space

KEYS = row_keys(0, np.zeros((1, 1)))
SETTINGS = Settings(trees=20, min_leaf=5, rounds=5, delta=0.0, seed=0)


def encoded(frame: pd.DataFrame) -> tuple[Floats, Space]:
    schema = Schema.infer(frame)
    genomes = Encoding(schema).encode(frame)
    return genomes, describe_space(schema, genomes)


def mixed(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = generator(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "job": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "y": x + 0.3 * rng.normal(size=n),
            "owns": rng.random(n) < 0.4,
            "age": rng.integers(18, 60, n),
        }
    )


def ready(frame: pd.DataFrame) -> tuple[Floats, Columns]:
    genomes, space = encoded(frame)
    columns = columns_of(genomes, space)
    return grouped(genomes, columns), columns


def test_numbers_keep_their_column_and_each_level_gets_one() -> None:
    rows, columns = ready(mixed())

    assert columns.numbers.tolist() == [0, 2, 4]
    assert columns.levels.tolist() == [1, 3]
    assert columns.feature.tolist() == [0, 2, 4, 1, 1, 1, 3]  # of two levels one tells all
    assert columns.level.tolist() == [BY_THRESHOLD] * 3 + [0, 1, 2, 1]
    table = as_columns(rows, columns)
    np.testing.assert_array_equal(table[:, 4], rows[:, 1] == 1.0)
    np.testing.assert_array_equal(table[:, 1], rows[:, 2].astype(np.float32))


def test_rare_levels_share_a_place() -> None:
    codes = np.repeat(np.arange(50), np.arange(50) + 1)
    names = pd.Categorical.from_codes(codes, pd.Index([f"l{i}" for i in range(50)]))
    genomes, space = encoded(pd.DataFrame({"name": names, "x": np.arange(len(codes))}))

    columns = columns_of(genomes, space)

    places = columns.groups[0]
    assert columns.n_groups.tolist() == [MOST_LEVELS]
    assert places[49] == 0  # the most frequent first
    assert (places[:19] == MOST_LEVELS - 1).all()
    assert len(set(places[19:].tolist())) == MOST_LEVELS - 1


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 99), n_trees=st.integers(1, 6))
def test_rows_fall_into_the_leaves_scikit_learn_says(seed: int, n_trees: int) -> None:
    rows, columns = ready(mixed(80, seed))
    rows = np.rint(8.0 * rows) / 8.0  # exact in single precision, in which scikit-learn reads them
    rows[:, columns.levels] = np.rint(rows[:, columns.levels])
    forest = RandomForestClassifier(n_trees, random_state=seed)
    table = as_columns(rows, columns)
    forest.fit(table, generator(seed).integers(0, 2, len(rows)))

    leaves = leaves_of(grove_of(forest.estimators_, columns), rows)

    own = forest.apply(table).T
    sizes = [tree.tree_.node_count for tree in forest.estimators_]
    np.testing.assert_array_equal(leaves, own + (np.cumsum(sizes) - sizes)[:, None])


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 99), round_=st.integers(1, 9))
def test_imitated_rows_take_every_value_from_one_leaf(seed: int, round_: int) -> None:
    """Rows tell by their value which row lent it: then all lenders of a row share a leaf."""
    rng, n = generator(seed), 60
    genomes = np.repeat(np.arange(n, dtype=np.float64)[:, None], 3, axis=1)
    leaves = rng.integers(0, 5, (4, n))

    synthetic = imitate(genomes, leaves, KEYS, round_)

    lenders = synthetic.astype(np.int64)
    together = (leaves[:, lenders] == leaves[:, lenders[:, :1]]).all(axis=2)
    assert together.any(axis=0).all()
    assert len(np.unique(lenders)) > n / 4


def test_leaves_are_imitated_as_often_as_they_cover_rows() -> None:
    n = 4000
    leaves = (np.arange(n) % 10 < 3).astype(np.int64)[None]
    genomes = leaves.T.astype(np.float64)

    synthetic = imitate(genomes, leaves, KEYS, 1)

    np.testing.assert_array_equal(synthetic, genomes)


def test_the_forest_stops_when_it_cannot_tell_any_more() -> None:
    rows, columns = ready(mixed(600))

    grove, accuracy = grow(rows, columns, SETTINGS)

    assert accuracy[0] > 0.6  # x and y go together
    assert accuracy[-1] < 0.5
    assert len(grove.roots) == 20


def test_independent_features_are_told_by_chance_only() -> None:
    rng = generator(1)
    frame = pd.DataFrame(rng.normal(size=(500, 3)), columns=list("abc"))
    rows, columns = ready(frame)

    _, accuracy = grow(rows, columns, SETTINGS)

    assert abs(accuracy[0] - 0.5) < 0.08


def test_no_more_rounds_are_grown_than_allowed_nor_needed() -> None:
    rows, columns = ready(mixed(300))

    def rounds(**changes: Any) -> int:
        return len(grow(rows, columns, Settings(**{**SETTINGS.__dict__, **changes}))[1])

    assert rounds(rounds=1) == 2
    assert rounds(delta=0.5) == 1


def test_the_same_seed_grows_the_same_forest_and_another_does_not() -> None:
    rows, columns = ready(mixed(150))

    one, again, other = (
        grow(rows, columns, Settings(**{**SETTINGS.__dict__, "seed": seed}))[0]
        for seed in (5, 5, 6)
    )

    for ours, theirs in zip(one, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(one.threshold, other.threshold)
