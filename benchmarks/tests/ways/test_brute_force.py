"""Brute force finds exactly the minimal ways of tables small enough to be judged by hand."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case
from benchmarks.ways import brute_force
from benchmarks.ways.brute_force import minimal_ways, values_of
from benchmarks.ways.subjects import Subject
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from counterpoint.arrays import Floats


class Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says 1 where a function of the preprocessed inputs is positive; fitting changes nothing."""

    def __init__(self, score: Any = None) -> None:
        self.score = score

    def fit(self, _x: Any, _y: Any) -> Scored:
        """Note the classes."""
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, x: Floats) -> Any:
        """Return the classes of rows."""
        return (np.array([self.score(row) for row in x]) > 0).astype(int)


def pipeline(data: pd.DataFrame, score: Any) -> Pipeline:
    """Return a model of one-hot levels and scaled numbers, in this order."""
    levels = list(data.select_dtypes("category").columns)
    numbers = [column for column in data.columns if column not in levels]
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), levels), (MinMaxScaler(), numbers)
    )
    return make_pipeline(encode, Scored(score)).fit(data, np.arange(len(data)) % 2)


def case_of(data: pd.DataFrame, score: Any) -> Case:
    """Return the case of the first row of a table."""
    return Case(Background(pipeline(data, score), data), data.iloc[[0]], 1)


def distances(ways: Any) -> dict[tuple[int, ...], float]:
    """Return the least distance on the grid of each way."""
    return {way.features: way.distance for way in ways}


NUMBERS = pd.DataFrame({"a": [0.0, 1, 2, 4], "b": [0.0, 1, 2, 4], "c": [0.0, 1, 2, 4]})


def test_a_way_by_one_feature_hides_the_pairs_with_it_but_no_other_pair() -> None:
    """The inputs are quarters: a alone works from 1 on, and b and c together from 3/2 on."""
    case = case_of(NUMBERS, lambda x: 2 * x[0] + x[1] + x[2] - 1.4)

    ways = minimal_ways(case, most=3)

    assert distances(ways) == pytest.approx({(0,): 1 / 3, (1, 2): 0.5})


def test_three_features_that_work_only_together_are_one_way() -> None:
    case = case_of(NUMBERS, lambda x: min(x) - 0.4)

    assert minimal_ways(case, most=2) == []
    assert distances(minimal_ways(case, most=3)) == pytest.approx({(0, 1, 2): 0.5})


def test_levels_count_as_one_whatever_they_are() -> None:
    data = NUMBERS[["a"]].assign(kind=pd.Categorical(["x", "y", "z", "x"]))
    case = case_of(data, lambda x: x[2] + x[3] - 0.9)  # kind z, or the largest a

    ways = minimal_ways(case, most=2)

    assert distances(ways) == pytest.approx({(0,): 0.5, (1,): 0.5})


def test_a_long_column_is_tried_at_25_observed_values_with_both_ends() -> None:
    data = pd.DataFrame({"long": np.arange(1000.0) ** 2, "short": np.arange(1000) % 7.0})
    long, short = values_of(case_of(data, sum))

    assert len(long) == 24  # and the row's own
    assert set(long) <= set(data["long"])
    assert long.max() == data["long"].max()
    assert list(short) == [1, 2, 3, 4, 5, 6]


def test_preprocessing_that_mixes_features_is_refused() -> None:
    data = NUMBERS[["a", "b"]]
    model = Pipeline([("mix", Mixed()), ("score", Scored(sum))]).fit(data, [0, 1, 0, 1])

    with pytest.raises(ValueError, match="the preprocessing mixes features"):
        minimal_ways(Case(Background(model, data), data.iloc[[0]], 1), most=1)


class Mixed(BaseEstimator):  # type: ignore[misc]
    """Gives an estimator the sum of all features."""

    def fit(self, _x: Any, _y: Any = None) -> Mixed:
        """Learn nothing."""
        self.is_fitted_ = True
        return self

    def transform(self, x: pd.DataFrame) -> Floats:
        """Return the sums."""
        return np.asarray(x.to_numpy().sum(axis=1, keepdims=True))


Corner = tuple[int, int, int]
VALUES = (0.0, 0.25, 0.5, 1.0)  # of each column of NUMBERS, as the estimator gets them
CORNERS = st.tuples(*[st.integers(0, 3)] * 3).filter(any)  # all rows but the first


@settings(max_examples=40, deadline=None)
@given(said=st.sets(CORNERS, max_size=12), block=st.sampled_from([1, 5, 10**6]))
def test_the_ways_are_those_of_the_definition(said: set[Corner], block: int) -> None:
    """Any model: it says 1 for some of the rows of a table of three short columns."""
    case = case_of(NUMBERS, lambda x: float(tuple(VALUES.index(v) for v in x) in said))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brute_force, "BLOCK", block)
        ways = minimal_ways(case, most=3)

    assert distances(ways) == pytest.approx(by_definition(said))


def by_definition(said: set[Corner]) -> dict[tuple[int, ...], float]:
    """Return the minimal ways, with their least distances."""
    least: dict[tuple[int, ...], float] = {}
    for places in said:
        changed = tuple(j for j in range(3) if places[j] > 0)
        distance = sum(VALUES[place] for place in places) / 3
        least[changed] = min(distance, least.get(changed, np.inf))
    smaller = {
        way
        for way in least
        for size in range(1, len(way))
        for part in combinations(way, size)
        if part in least
    }
    return {way: distance for way, distance in least.items() if way not in smaller}


def test_between_the_values_of_the_grid_the_nearest_is_found_on_the_decimals_of_the_data() -> None:
    """Of 1000 numbers with one decimal, 25 are tried; 34.5 is the first that works."""
    data = pd.DataFrame({"a": np.arange(1000) / 10, "b": np.arange(1000) % 7.0})
    case = case_of(data, lambda x: x[0] - 34.45 / 99.9)
    [way] = minimal_ways(case, most=2)

    finer = brute_force.finer_distance(case, way)

    assert way.distance > 0.5 * 35 / 99.9
    assert finer == pytest.approx(0.5 * 34.5 / 99.9)


def test_ways_are_read_from_the_disk_the_second_time(tmp_path: Path) -> None:
    model = pipeline(NUMBERS, lambda x: x[0] - 0.4)
    model.predict_proba = lambda rows: np.eye(2)[model.predict(rows)]
    classes = pd.Series([0, 1, 0, 1])
    subject = Subject("made", "forest", model, NUMBERS, classes, NUMBERS[:1], 1)

    first = brute_force.kept_ways(subject, 0, tmp_path)
    model[-1].score = None  # asked again, it would fail
    second = brute_force.kept_ways(subject, 0, tmp_path)

    assert first == second
    assert distances(first) == pytest.approx({(0,): 1 / 6})
