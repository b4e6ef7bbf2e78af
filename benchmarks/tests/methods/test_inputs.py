"""What a model behind preprocessing really gets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case, NotApplicable
from benchmarks.methods.inputs import linear_score, unwrap
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.cases import fitted, other_class
from tests.logistic import UP, Logistic, square


def test_inputs_are_what_the_preprocessing_makes() -> None:
    background = fitted(LogisticRegression(), 0)

    estimator, inputs = unwrap(background.model, background.codec)

    expected = background.model[0].transform(background.train)
    ours = np.column_stack([entry.value(background.observed) for entry in inputs])
    np.testing.assert_allclose(ours, expected, atol=1e-12)
    assert estimator is background.model[-1]


def test_scalers_follow_each_other() -> None:
    rows = square(5) * [3.0, 7.0]
    classes = (rows["x"] > 1.4).astype(int)
    steps = (StandardScaler(), MinMaxScaler(), LogisticRegression())
    model = make_pipeline(*steps).fit(rows, classes)
    background = Background(model, rows)

    _, inputs = unwrap(model, background.codec)

    ours = np.column_stack([entry.value(background.observed) for entry in inputs])
    np.testing.assert_allclose(ours, model[:-1].transform(rows), atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), i=st.integers(0, 149))
def test_a_linear_score_is_the_decision_towards_the_target(seed: int, i: int) -> None:
    background = fitted(LogisticRegression(), seed)
    case = other_class(background, i)

    score = linear_score(case).at(background.observed)

    decision = background.model.decision_function(background.train)
    np.testing.assert_allclose(score, decision if case.target == 1 else -decision, atol=1e-9)


def test_what_cannot_be_looked_into_is_said() -> None:
    rows = square(5)
    classes = (rows["x"] > 0.4).astype(int)
    curved = make_pipeline(PolynomialFeatures(), LogisticRegression()).fit(rows, classes)
    tree = DecisionTreeClassifier().fit(rows, classes)

    with pytest.raises(NotApplicable, match="step PolynomialFeatures is neither a one-hot"):
        unwrap(curved, Background(curved, rows).codec)
    with pytest.raises(NotApplicable, match="DecisionTreeClassifier has no linear score"):
        linear_score(Case(Background(tree, rows), rows.iloc[[0]], 1))
    with pytest.raises(NotApplicable, match="Logistic has no linear score"):
        linear_score(Case(Background(Logistic(0.0, x=1.0), rows), rows.iloc[[0]], UP))


def test_levels_that_a_model_takes_in_its_own_way_are_named() -> None:
    rows = pd.DataFrame({"c": pd.Categorical(["a", "b"])})
    codec = Background(None, rows).codec

    with pytest.raises(NotApplicable, match=r"levels of \['c'\] in a way that is not known"):
        unwrap(SVC(), codec)
