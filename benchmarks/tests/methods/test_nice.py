"""NICE: the nearest unlike neighbour, and the way to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case
from benchmarks.methods.nice import Nice, nearest_unlike
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from tests.cases import fitted, other_class
from tests.logistic import UP, Logistic, square

FOREST = RandomForestClassifier(20, random_state=0)


def test_the_walk_is_the_one_found_by_hand() -> None:
    """The neighbour is (0.6, 0.2): x alone suffices, and y alone does not."""
    rows = pd.DataFrame({"x": [0.0, 1.0, 0.6, 0.1], "y": [0.0, 1.0, 0.2, 0.9]})
    background = Background(Logistic(-0.55, x=1.0, y=0.01), rows)
    case = Case(background, pd.DataFrame({"x": [0.2], "y": [0.0]}), UP)

    none, sparsity = Nice("none").explain(case), Nice("sparsity").explain(case)

    np.testing.assert_array_equal(none.to_numpy(), [[0.6, 0.2]])
    np.testing.assert_array_equal(sparsity.to_numpy(), [[0.6, 0.0]])


def test_proximity_weighs_the_gain_by_the_way() -> None:
    """Each feature suffices alone: x brings more, y more per distance."""
    rows = pd.DataFrame({"x": [0.0, 1.0, 0.5], "y": [0.0, 0.1, 1.0]})
    model = LogisticRegression().fit(rows, [0, 1, 1])
    model.coef_, model.intercept_ = np.array([[2.0, 6.0]]), np.array([-0.5])
    case = Case(Background(model, rows), rows.iloc[[0]], 1)

    sparsity, proximity = (Nice(variant).explain(case) for variant in ("sparsity", "proximity"))

    np.testing.assert_array_equal(sparsity.to_numpy(), [[1.0, 0.0]])
    np.testing.assert_array_equal(proximity.to_numpy(), [[0.0, 0.1]])


@settings(max_examples=15, deadline=None)
@given(i=st.integers(0, 149))
def test_none_is_the_nearest_observed_row_of_the_target(i: int) -> None:
    background = fitted(FOREST, 0)
    case = other_class(background, i)
    train, row = background.train, background.train.iloc[i]
    ranges = train[["a", "b", "d"]].max() - train[["a", "b", "d"]].min()
    apart = ((train[["a", "b", "d"]] - row[["a", "b", "d"]]).abs() / ranges).sum(axis=1)
    apart += train["c"] != row["c"]
    is_unlike = (background.model.predict(train) == case.target) & (
        background.classes == case.target
    )

    found = Nice("none").explain(case)

    expected = train.loc[apart[is_unlike].idxmin()]
    np.testing.assert_allclose(case.gower(case.codec.encode(found)) * 4, apart[is_unlike].min())
    assert apart[expected.name] == apart[is_unlike].min()
    assert (train == found.iloc[0].to_numpy()).all(axis=1).any()


@settings(max_examples=15, deadline=None)
@given(i=st.integers(0, 149), variant=st.sampled_from(["sparsity", "proximity"]))
def test_the_walk_ends_between_row_and_neighbour_at_the_target(i: int, variant: str) -> None:
    case = other_class(fitted(FOREST, 0), i)

    found = case.codec.encode(Nice(variant).explain(case))[0]  # type: ignore[arg-type]

    neighbour = nearest_unlike(case)
    assert neighbour is not None
    assert ((found == case.genome) | (found == neighbour)).all()
    assert case.reaches(found[None])[0]


def test_no_unlike_row_is_a_reason() -> None:
    background = Background(Logistic(-9.0, x=1.0), square(3))

    found = Nice().explain(Case(background, square(3).iloc[[0]], UP))

    assert len(found) == 0
    assert found.attrs["reason"] == "no observed row reaches the target"


@pytest.mark.parametrize("variant", ["none", "sparsity", "proximity"])
def test_each_variant_has_a_name(variant: str) -> None:
    assert Nice(variant).name == f"nice {variant}"  # type: ignore[arg-type]
